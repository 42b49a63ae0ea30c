"""Colour models of the object and the background: mixtures of Gaussians in CIELAB.

An image has far fewer colours than pixels, so models use a `Palette`: the image's colours quantised to small boxes of
RGB, each with its mean Lab colour.  A fit uses counts per palette entry, an evaluation is a table lookup.  The cost of
both hardly depends on the size of the image.

    index[y, x]   entry of the palette                 int32, (H, W)
    colour[i]     mean Lab colour of entry i            float64, (n, 3)
    count[i]      pixels of entry i                     float64, (n,)

Mixtures are fitted as in GrabCut [1]: the component with the largest variance is split along its main axis
until there are enough (Orchard and Bouman [2]), which needs no random initialisation.  A few EM steps follow.

[1] Rother, Kolmogorov, Blake. "GrabCut." ACM Transactions on Graphics 23(3), 2004.
[2] Orchard, Bouman. "Color quantization of images." IEEE Transactions on Signal Processing 39(12), 1991.
"""

import math
from typing import NamedTuple

import numpy as np

from gridcut.device import inner_kernel, kernel

COMPONENTS = 5  # of the object and of the background, as in GrabCut
IMAGE_COMPONENTS = 10  # of the whole image
OUTLIERS = 0.01  # weight of the whole image's colours in each model, which bounds the cost of a pixel
NOISE = 1.0  # minimum variance of each component (Lab units squared)
EM_STEPS = 4
BITS = 6  # of each RGB channel, used for palette entries
TINY = 1e-30


class Palette(NamedTuple):
    """The colours of an image; see the module's docstring."""

    index: np.ndarray  # type: ignore[assignment]  # hides tuple.index
    colour: np.ndarray
    count: np.ndarray  # type: ignore[assignment]  # hides tuple.count

    def counts(self, weight: np.ndarray) -> np.ndarray:
        """Total weight of every entry; `weight` is (H, W), bool or float."""
        if weight.dtype == bool:
            return np.bincount(self.index[weight], minlength=len(self.colour)).astype(float)
        return np.bincount(self.index.ravel(), weight.ravel(), minlength=len(self.colour))


class Mixture(NamedTuple):
    """Weights (k,), means (k, 3) and covariances (k, 3, 3) of Gaussians in Lab."""

    weight: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray

    def density(self, colour: np.ndarray) -> np.ndarray:
        """Probability density at Lab colours (n, 3), per cubic Lab unit."""
        out = np.empty(len(colour))
        density_kernel(colour, self.mean, *self._forms(), out)
        return out

    def _forms(self):
        """Log of each component's peak (k,), and its inverse covariance (k, 3, 3)."""
        weight = np.maximum(self.weight, TINY)
        peak = np.log(weight) - 0.5 * np.log(np.linalg.det(2 * np.pi * self.covariance))
        return peak, np.linalg.inv(self.covariance)


@inner_kernel
def log_part(r, g, b, mean, peak, form, k):
    """Log of weight times density of component k at a colour."""
    x, y, z = r - mean[k, 0], g - mean[k, 1], b - mean[k, 2]
    square = form[k, 0, 0] * x * x + form[k, 1, 1] * y * y + form[k, 2, 2] * z * z
    square += 2.0 * (form[k, 0, 1] * x * y + form[k, 0, 2] * x * z + form[k, 1, 2] * y * z)
    return peak[k] - 0.5 * square


@kernel
def density_kernel(colour, mean, peak, form, out):
    """Write the mixture's density at every colour."""
    for i in range(len(colour)):
        total = 0.0
        for k in range(len(peak)):
            total += math.exp(log_part(colour[i, 0], colour[i, 1], colour[i, 2], mean, peak, form, k))
        out[i] = total


@kernel
def em_kernel(colour, count, mean, peak, form, total, first, second):
    """Add to each component's weight (k,) and its first and second moments about the old mean."""
    K = len(peak)
    part = np.empty(K)
    for i in range(len(colour)):
        highest = -np.inf
        for k in range(K):
            part[k] = log_part(colour[i, 0], colour[i, 1], colour[i, 2], mean, peak, form, k)
            highest = max(highest, part[k])
        norm = 0.0
        for k in range(K):
            part[k] = math.exp(part[k] - highest)
            norm += part[k]
        for k in range(K):
            share = count[i] * part[k] / norm
            if share > 0.0:
                total[k] += share
                for c in range(3):
                    step = colour[i, c] - mean[k, c]
                    first[k, c] += share * step
                    for d in range(3):
                        second[k, c, d] += share * step * (colour[i, d] - mean[k, d])


def lab_image(rgb: np.ndarray) -> np.ndarray:
    """CIELAB of float32 RGB in [0, 1]: L in [0, 100], float32, (H, W, 3)."""
    import cv2

    return cv2.cvtColor(np.ascontiguousarray(rgb, np.float32), cv2.COLOR_RGB2LAB)


def prepare_lab() -> None:
    """Let OpenCV compute its tables of CIELAB, 0.1 s; a later conversion waits for them or finds them there."""
    lab_image(np.zeros((1, 1, 3), np.float32))


def make_palette(rgb: np.ndarray, lab: np.ndarray, bits: int = BITS) -> Palette:
    """Palette of an image given as RGB in [0, 1] and as Lab, with this number of bits of each RGB channel."""
    levels = 1 << bits
    index = np.empty(rgb.shape[:2], np.int32)
    entry_of = np.full(levels**3, -1, np.int32)
    total = np.zeros((levels**3, 4))
    n = palette_kernel(rgb, lab, levels, entry_of, total, index)
    count = total[:n, 3].copy()
    return Palette(index, total[:n, :3] / count[:, None], count)


@kernel
def palette_kernel(rgb, lab, levels, entry_of, total, index):
    """Write each pixel's entry and the sums of Lab and of pixels per entry; return the number of entries."""
    n = 0
    for y in range(rgb.shape[0]):
        for x in range(rgb.shape[1]):
            box = 0
            for c in range(3):
                box = box * levels + min(levels - 1, max(0, int(rgb[y, x, c] * levels)))
            i = entry_of[box]
            if i < 0:
                i = n
                entry_of[box] = n
                n += 1
            index[y, x] = i
            for c in range(3):
                total[i, c] += lab[y, x, c]
            total[i, 3] += 1.0
    return n


def fit_mixture(colour: np.ndarray, count: np.ndarray, components: int) -> Mixture:
    """Fit Gaussians to Lab colours (n, 3) that occur `count` (n,) times; `count` must not be all 0."""
    used = np.flatnonzero(count > 0)
    colour, count = colour[used], count[used]
    # Use fewer components for too few colours or pixels.
    components = max(1, min(components, len(used) // 2, int(count.sum()) // 10))
    groups = [_Group(colour, count)]
    while len(groups) < components:
        widest = max(range(len(groups)), key=lambda k: groups[k].spread)
        groups[widest : widest + 1] = groups[widest].halves()
    mixture = Mixture(
        np.array([group.total for group in groups]) / count.sum(),
        np.array([group.mean for group in groups]),
        np.array([group.covariance for group in groups]) + NOISE * np.eye(3),
    )
    for _ in range(EM_STEPS if components > 1 else 0):
        mixture = _em_step(mixture, colour, count)
    return mixture


class _Group:
    """Colours of one component of the initial mixture."""

    def __init__(self, colour, count):
        self.colour, self.count = colour, count
        self.total = count.sum()
        self.mean = count @ colour / self.total
        step = colour - self.mean
        self.covariance = (step * count[:, None]).T @ step / self.total
        values, axes = np.linalg.eigh(self.covariance)
        self.axis = axes[:, -1]
        self.spread = self.total * values[-1] if len(colour) > 1 else -1.0

    def halves(self):
        beyond = (self.colour - self.mean) @ self.axis > 0
        if beyond.all() or not beyond.any():  # a single colour, up to rounding
            beyond = np.arange(len(beyond)) > 0
        return [_Group(self.colour[half], self.count[half]) for half in (~beyond, beyond)]


def _em_step(mixture, colour, count):
    components = len(mixture.weight)
    total, first = np.zeros(components), np.zeros((components, 3))
    second = np.zeros((components, 3, 3))
    em_kernel(colour, count, mixture.mean, *mixture._forms(), total, first, second)
    held = np.maximum(total, TINY)
    shift = first / held[:, None]
    covariance = second / held[:, None, None] - shift[:, :, None] * shift[:, None, :]
    return Mixture(total / total.sum(), mixture.mean + shift, covariance + NOISE * np.eye(3))


def log_densities(palette: Palette, object_weight, background_weight, whole: np.ndarray):
    """-log p(colour | object) and -log p(colour | background) at every entry of the palette, in nats.

    `object_weight`, `background_weight`: weight per entry to fit to; `whole`: density of the whole image at
    every entry, which has a small weight in each model, so that the cost of a pixel is bounded.
    """
    return [log_density(palette, count, whole) for count in (object_weight, background_weight)]


def log_density(palette: Palette, weight: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """-log p(colour | model) at every entry of the palette, in nats, the model fitted to `weight` per entry."""
    return mixed_cost(fit_mixture(palette.colour, weight, COMPONENTS).density(palette.colour), whole)


def mixed_cost(density: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """-log of a model's density mixed with a small share of the whole image's, in nats."""
    return -np.log((1 - OUTLIERS) * density + OUTLIERS * whole + TINY)


def whole_density(palette: Palette) -> np.ndarray:
    """Density of the whole image's colours at every entry of the palette."""
    return fit_mixture(palette.colour, palette.count, IMAGE_COMPONENTS).density(palette.colour)
