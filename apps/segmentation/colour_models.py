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

COMPONENTS = 5  # of the object and of the background, as in GrabCut
IMAGE_COMPONENTS = 10  # of the whole image
OUTLIERS = 0.01  # weight of the whole image's colours in each model, which bounds the cost of a pixel
NOISE = 1.0  # minimum variance of each component (Lab units squared)
EM_STEPS = 4
BITS = 6  # of each RGB channel, used for palette entries
TINY = 1e-30
LOG_CUBE = 3 * math.log(2 * math.pi)


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
        return np.exp(self.logs(monomials(colour))).sum(axis=0)

    def logs(self, of: np.ndarray) -> np.ndarray:
        """Log of weight times density of each component (k, n) at colours with the monomials (10, n)."""
        inverse = np.linalg.inv(self.covariance)
        linear = (inverse @ self.mean[:, :, None])[:, :, 0]
        constant = np.log(np.linalg.det(self.covariance)) + LOG_CUBE + (linear * self.mean).sum(axis=1)
        form = np.empty((len(self.weight), len(of)))
        form[:, 0] = np.log(np.maximum(self.weight, TINY)) - 0.5 * constant
        form[:, 1:4] = linear
        form[:, 4:7] = -0.5 * inverse[:, (0, 1, 2), (0, 1, 2)]
        form[:, 7:] = -inverse[:, (0, 0, 1), (1, 2, 2)]
        return form @ of


def monomials(colour: np.ndarray) -> np.ndarray:
    """1, x, y, z, xx, yy, zz, xy, xz, yz of colours (n, 3), as rows (10, n): moments are sums of them.

    The log of a Gaussian is linear in them, so that both steps of EM are products of small matrices.
    """
    x, y, z = colour.T
    return np.stack([np.ones_like(x), x, y, z, x * x, y * y, z * z, x * y, x * z, y * z])


def means_and_covariances(moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means (k, 3) and covariances (k, 3, 3) of groups, given the sums of their monomials (k, 10)."""
    part = moments[:, 1:] / moments[:, :1]
    mean = part[:, :3]
    square = part[:, (3, 6, 7, 6, 4, 8, 7, 8, 5)].reshape(-1, 3, 3)
    covariance = square - mean[:, :, None] * mean[:, None, :]
    diagonal = np.arange(3)
    covariance[:, diagonal, diagonal] = np.maximum(covariance[:, diagonal, diagonal], 0.0)
    return mean, covariance


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
    box = np.zeros(rgb.shape[:2], np.int32)
    for c in range(3):
        box *= levels
        box += np.clip(rgb[..., c] * np.float32(levels), 0, levels - 1).astype(np.int32)
    count = np.bincount(box.ravel(), minlength=levels**3)
    used = np.flatnonzero(count)
    entry = np.zeros(levels**3, np.int32)
    entry[used] = np.arange(len(used))
    index = np.take(entry, box)
    pixels = count[used].astype(float)
    colour = [np.bincount(index.ravel(), lab[..., c].ravel()) / pixels for c in range(3)]
    return Palette(index, np.stack(colour, axis=1), pixels)


def fit_mixture(colour: np.ndarray, count: np.ndarray, components: int) -> Mixture:
    """Fit Gaussians to Lab colours (n, 3) that occur `count` (n,) times; `count` must not be all 0."""
    used = np.flatnonzero(count > 0)
    colour, count = colour[used], count[used]
    # Use fewer components for too few colours or pixels.
    components = max(1, min(components, len(used) // 2, int(count.sum()) // 10))
    of = monomials(colour)
    moments = _split(colour, count, of, components) @ of.T
    mean, covariance = means_and_covariances(moments)
    fitted = _mixture(moments, mean, covariance)
    for _ in range(EM_STEPS if components > 1 else 0):
        share = fitted.logs(of)
        share -= share.max(axis=0)
        np.exp(share, out=share)
        share *= count / share.sum(axis=0)
        moments = share @ of.T
        has_colours = moments[:, 0] > TINY  # components without any stay where they are
        mean[has_colours], covariance[has_colours] = means_and_covariances(moments[has_colours])
        fitted = _mixture(moments, mean, covariance)
    return fitted


def _mixture(moments, mean, covariance):
    weight = moments[:, 0]
    return Mixture(weight / weight.sum(), mean, covariance + NOISE * np.eye(3))


def _split(colour, count, of, components):
    """Shares (components, n) of groups in the counts: the widest group is split, along its main axis, until enough."""
    share = np.zeros((components, len(count)))
    share[0] = count
    mean, axis, spread = np.empty((components, 3)), np.empty((components, 3)), np.empty(components)
    widest = 0
    for new in range(components):
        if new:
            left = share[widest]
            is_beyond = (left > 0) & ((colour - mean[widest]) @ axis[widest] > 0)
            if not is_beyond.any() or is_beyond[left > 0].all():  # a single colour, up to rounding
                is_beyond = left > 0
                is_beyond[np.argmax(is_beyond)] = False
            share[new] = np.where(is_beyond, left, 0.0)
            left[is_beyond] = 0.0
        both = [widest, new]
        moments = share[both] @ of.T
        mean[both], covariances = means_and_covariances(moments)
        variances, axes = np.linalg.eigh(covariances)
        is_one = np.count_nonzero(share[both], axis=1) == 1
        axis[both], spread[both] = axes[..., -1], np.where(is_one, -1.0, variances[:, -1] * moments[:, 0])
        widest = int(spread[: new + 1].argmax())
    return share


def mixed_cost(density: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """-log of a model's density mixed with a small share of the whole image's, in nats."""
    return -np.log((1 - OUTLIERS) * density + OUTLIERS * whole + TINY)


def whole_density(palette: Palette) -> np.ndarray:
    """Density of the whole image's colours at every entry of the palette."""
    return fit_mixture(palette.colour, palette.count, IMAGE_COMPONENTS).density(palette.colour)
