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
        out = np.empty(len(colour))
        density_kernel(np.ascontiguousarray(colour.T), self.weight, self.mean, self.covariance, out)
        return out


MOMENTS = 10  # 1, x, y, z, xx, yy, zz, xy, xz, yz of a colour (x, y, z)
SQUARINGS = 16  # of a covariance; its main axis is then found if the next one is shorter by 0.01 %


@inner_kernel
def sum_moments(colour, share, total):
    """Write the sums of the moments of all colours, (3, n), each multiplied by its share."""
    w = x = y = z = xx = yy = zz = xy = xz = yz = 0.0
    for i in range(len(share)):
        a, b, c = colour[0, i], colour[1, i], colour[2, i]
        sa, sb, sc = share[i] * a, share[i] * b, share[i] * c
        w, x, y, z = w + share[i], x + sa, y + sb, z + sc
        xx, yy, zz, xy, xz, yz = xx + sa * a, yy + sb * b, zz + sc * c, xy + sa * b, xz + sa * c, yz + sb * c
    total[0], total[1], total[2], total[3] = w, x, y, z
    total[4], total[5], total[6], total[7], total[8], total[9] = xx, yy, zz, xy, xz, yz


@inner_kernel
def set_component(total, k, mean, covariance):
    """Mean and covariance of component k from its sums of moments."""
    for c in range(3):
        mean[k, c] = total[1 + c] / total[0]
    for c in range(3):
        covariance[k, c, c] = max(0.0, total[4 + c] / total[0] - mean[k, c] * mean[k, c])
    for m in range(3):
        c, d = (0, 1) if m == 0 else (0, 2) if m == 1 else (1, 2)
        covariance[k, c, d] = covariance[k, d, c] = total[7 + m] / total[0] - mean[k, c] * mean[k, d]


@inner_kernel
def set_axis(covariance, axis):
    """Write the main axis of a covariance, by repeated squaring; return the variance along it."""
    xx, yy, zz = covariance[0, 0], covariance[1, 1], covariance[2, 2]
    xy, xz, yz = covariance[0, 1], covariance[0, 2], covariance[1, 2]
    for _ in range(SQUARINGS):
        trace = xx + yy + zz
        if trace <= 0.0:
            break
        xx, yy, zz, xy, xz, yz = xx / trace, yy / trace, zz / trace, xy / trace, xz / trace, yz / trace
        xx, yy, zz, xy, xz, yz = (
            xx * xx + xy * xy + xz * xz,
            xy * xy + yy * yy + yz * yz,
            xz * xz + yz * yz + zz * zz,
            xx * xy + xy * yy + xz * yz,
            xx * xz + xy * yz + xz * zz,
            xy * xz + yy * yz + yz * zz,
        )
    longest = max(xx, yy, zz)  # the columns are now multiples of the axis
    axis[0], axis[1], axis[2] = (xx, xy, xz) if xx == longest else (xy, yy, yz) if yy == longest else (xz, yz, zz)
    length = math.sqrt(axis[0] ** 2 + axis[1] ** 2 + axis[2] ** 2)
    variance = 0.0
    for c in range(3):
        axis[c] = axis[c] / length if length > 0.0 else 1.0
    for c in range(3):
        for d in range(3):
            variance += axis[c] * covariance[c, d] * axis[d]
    return variance


@inner_kernel
def split(colour, share, new, mean, axis):
    """Move the shares of a group's colours beyond its mean along an axis to a new group; at least one, but not all."""
    left = right = 0
    for i in range(len(share)):
        along = 0.0
        for c in range(3):
            along += (colour[c, i] - mean[c]) * axis[c]
        new[i] = share[i] if along > 0.0 else 0.0
        left += share[i] > new[i]
        right += new[i] > 0.0
    if left == 0 or right == 0:  # a single colour, up to rounding
        is_first = True
        for i in range(len(share)):
            new[i] = 0.0 if is_first else share[i]
            is_first = is_first and share[i] == 0.0
    for i in range(len(share)):
        share[i] -= new[i]


@inner_kernel
def set_form(weight, mean, covariance, form):
    """Write the coefficients of the moments in the log of weight times density of a component."""
    s = covariance
    xx, yy, zz = s[1, 1] * s[2, 2] - s[1, 2] ** 2, s[0, 0] * s[2, 2] - s[0, 2] ** 2, s[0, 0] * s[1, 1] - s[0, 1] ** 2
    xy, xz = s[0, 2] * s[1, 2] - s[0, 1] * s[2, 2], s[0, 1] * s[1, 2] - s[0, 2] * s[1, 1]
    yz = s[0, 1] * s[0, 2] - s[0, 0] * s[1, 2]
    det = s[0, 0] * xx + s[0, 1] * xy + s[0, 2] * xz
    x, y, z = mean[0], mean[1], mean[2]
    a, b, c = (xx * x + xy * y + xz * z) / det, (xy * x + yy * y + yz * z) / det, (xz * x + yz * y + zz * z) / det
    form[0] = math.log(max(weight, TINY)) - 0.5 * (math.log(det) + LOG_CUBE + a * x + b * y + c * z)
    form[1], form[2], form[3] = a, b, c
    form[4], form[5], form[6] = -0.5 * xx / det, -0.5 * yy / det, -0.5 * zz / det
    form[7], form[8], form[9] = -xy / det, -xz / det, -yz / det


@inner_kernel
def write_logs(colour, form, k, out):
    """Write the log of weight times density of component k at all colours, (3, n)."""
    f0, f1, f2, f3, f4 = form[k, 0], form[k, 1], form[k, 2], form[k, 3], form[k, 4]
    f5, f6, f7, f8, f9 = form[k, 5], form[k, 6], form[k, 7], form[k, 8], form[k, 9]
    for i in range(len(out)):
        x, y, z = colour[0, i], colour[1, i], colour[2, i]
        out[i] = f0 + x * (f1 + f4 * x + f7 * y + f8 * z) + y * (f2 + f5 * y + f9 * z) + z * (f3 + f6 * z)


@kernel
def density_kernel(colour, weight, mean, covariance, out):
    """Write the mixture's density at every colour, (3, n)."""
    form, part = np.empty((len(weight), MOMENTS)), np.empty(len(out))
    out[:] = 0.0
    for k in range(len(weight)):
        set_form(weight[k], mean[k], covariance[k], form[k])
        write_logs(colour, form, k, part)
        for i in range(len(out)):
            out[i] += math.exp(part[i])


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
    # Use fewer components for too few colours or pixels.
    components = max(1, min(components, len(used) // 2, int(count.sum()) // 10))
    mixture = Mixture(np.empty(components), np.empty((components, 3)), np.empty((components, 3, 3)))
    fit_kernel(np.ascontiguousarray(colour[used].T), count[used], EM_STEPS if components > 1 else 0, *mixture)
    return mixture


@kernel
def fit_kernel(colour, count, steps, weight, mean, covariance):
    """Fit a mixture of as many components as it has room for to colours (3, n)."""
    n, K = len(count), len(weight)
    share, axis = np.zeros((K, n)), np.empty((K, 3))  # share of each component in the count of a colour
    total, spread, form = np.empty((K, MOMENTS)), np.empty(K), np.empty((K, MOMENTS))
    share[0] = count
    widest = 0
    for new in range(K):
        if new:
            split(colour, share[widest], share[new], mean[widest], axis[widest])
        for k in (widest, new):
            sum_moments(colour, share[k], total[k])
            set_component(total[k], k, mean, covariance)
            spread[k] = set_axis(covariance[k], axis[k]) * total[k, 0] if (share[k] > 0).sum() > 1 else -1.0
        widest = int(spread[: new + 1].argmax())
    for step in range(steps + 1):
        whole = total[:, 0].sum()
        for k in range(K):
            if total[k, 0] > TINY:
                set_component(total[k], k, mean, covariance)
                for c in range(3):
                    covariance[k, c, c] += NOISE
            weight[k] = total[k, 0] / whole
        if step == steps:
            break
        for k in range(K):
            set_form(weight[k], mean[k], covariance[k], form[k])
            write_logs(colour, form, k, share[k])
        for i in range(n):
            highest = share[:, i].max()
            norm = 0.0
            for k in range(K):
                share[k, i] = math.exp(share[k, i] - highest)
                norm += share[k, i]
            for k in range(K):
                share[k, i] *= count[i] / norm
        for k in range(K):
            sum_moments(colour, share[k], total[k])


def mixed_cost(density: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """-log of a model's density mixed with a small share of the whole image's, in nats."""
    return -np.log((1 - OUTLIERS) * density + OUTLIERS * whole + TINY)


def whole_density(palette: Palette) -> np.ndarray:
    """Density of the whole image's colours at every entry of the palette."""
    return fit_mixture(palette.colour, palette.count, IMAGE_COMPONENTS).density(palette.colour)
