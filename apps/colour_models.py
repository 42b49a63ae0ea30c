"""Colour models of the object and the background: mixtures of Gaussians in CIELAB.

A picture has far fewer colours than pixels, so everything works on a `Palette`: the picture's colours in
small boxes of RGB, each with its mean Lab colour.  A fit sees counts per entry of the palette, an evaluation
is a table lookup. The cost of both hardly grows with the picture.

    index[y, x]   entry of the palette                 int32, (H, W)
    colour[i]     mean Lab colour of entry i            float64, (n, 3)
    count[i]      pixels of entry i                     float64, (n,)

Mixtures are fitted as in GrabCut [1]: the component with the largest variance is split along its main axis
until there are enough (Orchard and Bouman [2]), which needs no random start; a few EM steps follow.

[1] Rother, Kolmogorov, Blake. "GrabCut." ACM Transactions on Graphics 23(3), 2004.
[2] Orchard, Bouman. "Color quantization of images." IEEE Transactions on Signal Processing 39(12), 1991.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device import kernel

COMPONENTS = 5  # of the object and of the background, as in GrabCut
IMAGE_COMPONENTS = 10  # of the whole picture
OUTLIERS = 0.01  # share of each model given to the whole picture's colours: bounds what one pixel can cost
NOISE = 1.0  # variance (Lab units squared) that every component has at least
EM_STEPS = 4
SHARE = 0.5  # of a box that is taken to be background before anything is known
BITS = 6  # of each RGB channel that tell two entries of the palette apart
TINY = 1e-30


class Palette(NamedTuple):
    """The colours of a picture; see the head of this file."""

    index: np.ndarray
    colour: np.ndarray
    count: np.ndarray

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
        return np.exp(self._log_parts(colour)).sum(axis=1)

    def responsibility(self, colour: np.ndarray) -> np.ndarray:
        """Posterior of each component, (n, k); rows sum to 1."""
        log_parts = self._log_parts(colour)
        parts = np.exp(log_parts - log_parts.max(axis=1, keepdims=True))
        return parts / parts.sum(axis=1, keepdims=True)

    def _log_parts(self, colour):
        whitener = np.linalg.inv(np.linalg.cholesky(self.covariance))  # (k, 3, 3), lower triangular
        weight = np.maximum(self.weight, TINY)
        scale = np.log(weight) + np.log(np.linalg.det(whitener)) - 1.5 * np.log(2 * np.pi)
        parts = np.empty((len(colour), len(self.weight)))
        for k, (mean, axes) in enumerate(zip(self.mean, whitener, strict=True)):
            step = (colour - mean) @ axes.T
            parts[:, k] = scale[k] - 0.5 * np.einsum("ij,ij->i", step, step)
        return parts


def lab_image(rgb: np.ndarray) -> np.ndarray:
    """CIELAB of float32 RGB in [0, 1]: L in [0, 100], float32, (H, W, 3)."""
    import cv2

    return cv2.cvtColor(np.ascontiguousarray(rgb, np.float32), cv2.COLOR_RGB2LAB)


def make_palette(rgb: np.ndarray, lab: np.ndarray) -> Palette:
    """Palette of a picture given as RGB in [0, 1] and as Lab."""
    levels = 1 << BITS
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
    # Fewer components than asked when there is too little to tell them apart.
    components = max(1, min(components, len(used) // 2, int(count.sum()) // 10))
    owner = np.zeros(len(used), int)
    for new in range(1, components):
        moments = [_moments(colour, count * (owner == k)) for k in range(new)]
        spread = [np.linalg.eigh(weight * covariance) for weight, _, covariance in moments]
        widest = max(range(new), key=lambda k: spread[k][0][-1])
        _, mean, _ = moments[widest]
        beyond = (colour - mean) @ spread[widest][1][:, -1] > 0
        owner[(owner == widest) & beyond] = new
    mixture = _mixture([count * (owner == k) for k in range(components)], colour)
    for _ in range(EM_STEPS if components > 1 else 0):
        share = mixture.responsibility(colour) * count[:, None]
        mixture = _mixture(list(share.T), colour)
    return mixture


def log_densities(palette: Palette, object_weight, background_weight, whole: np.ndarray):
    """-log p(colour | object) and -log p(colour | background) at every entry of the palette, in nats.

    `object_weight`, `background_weight`: weight per entry to fit to; `whole`: density of the whole picture at
    every entry, which each model holds a small share of, so that no single pixel can cost without bound.
    """
    costs = []
    for count in (object_weight, background_weight):
        model = fit_mixture(palette.colour, count, COMPONENTS).density(palette.colour)
        costs.append(-np.log((1 - OUTLIERS) * model + OUTLIERS * whole + TINY))
    return costs


def seen_through(palette: Palette, inside: np.ndarray, outside: np.ndarray) -> np.ndarray:
    """Weight per entry of what is inside a box and not just more of what is outside.

    Half of the box is taken to be background with the colours of the outside; what the densities leave after
    taking that away is the object's share of each entry.
    """
    dense_in = fit_mixture(palette.colour, inside, IMAGE_COMPONENTS).density(palette.colour)
    dense_out = fit_mixture(palette.colour, outside, IMAGE_COMPONENTS).density(palette.colour)
    share = np.clip(1.0 - SHARE * dense_out / (dense_in + TINY), 0.0, 1.0)
    weight = inside * share**2
    return weight if weight.sum() >= 1 else inside


def whole_density(palette: Palette) -> np.ndarray:
    """Density of the whole picture's colours at every entry of the palette."""
    return fit_mixture(palette.colour, palette.count, IMAGE_COMPONENTS).density(palette.colour)


def _moments(colour, weight):
    total = weight.sum()
    if total <= 0:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    mean = weight @ colour / total
    step = colour - mean
    return total, mean, (step * weight[:, None]).T @ step / total


def _mixture(weights, colour):
    moments = [_moments(colour, weight) for weight in weights]
    total = np.array([m[0] for m in moments])
    return Mixture(
        total / total.sum(),
        np.array([m[1] for m in moments]),
        np.array([m[2] for m in moments]) + NOISE * np.eye(3),
    )
