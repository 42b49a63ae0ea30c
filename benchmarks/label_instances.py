"""Multi-label energies: from images in scikit-image, and from public benchmarks if `--data` contains them.

The costs of stereo are those of Szeliski et al., "A comparative study of energy minimization methods for Markov
random fields" (PAMI 2008): Birchfield and Tomasi's, and weights that are larger where the image is smooth.
"""

from pathlib import Path
from typing import NamedTuple

import imageio.v3 as iio
import numpy as np


class LabelInstance(NamedTuple):
    unary: np.ndarray
    weights: dict
    cost: np.ndarray


def potts(count):
    return 1 - np.eye(count, dtype=np.int64)


def truncated(count, most, power=1):
    label = np.arange(count)
    return np.minimum(np.abs(label[:, None] - label) ** power, most)


def birchfield_tomasi(left, right, count, most=255):
    """Costs (count, H, W) of disparities, summed over the channels and cut off at `most` a channel."""
    left, right = left.astype(np.int32), right.astype(np.int32)
    width = left.shape[1]

    def interval(image):
        before, after = image.copy(), image.copy()
        before[:, 1:] = (image[:, 1:] + image[:, :-1]) // 2
        after[:, :-1] = (image[:, :-1] + image[:, 1:]) // 2
        three = (image, before, after)
        return np.minimum.reduce(three), np.maximum.reduce(three)

    (left_low, left_high), (right_low, right_high) = interval(left), interval(right)
    costs = np.full((count, *left.shape[:2]), left.shape[2] * most, np.int32)
    for d in range(count):
        here, there = (slice(None), slice(d, None)), (slice(None), slice(0, width - d))
        one = np.maximum(left[here] - right_high[there], right_low[there] - left[here])
        other = np.maximum(right[there] - left_high[here], left_low[here] - right[there])
        apart = np.maximum(np.minimum(np.maximum(one, 0), np.maximum(other, 0)), 0).sum(-1)
        costs[d, :, d:] = np.minimum(apart, left.shape[2] * most)
    return costs


def smooth_weights(image, weight, threshold, factor):
    """`weight`, and `factor` times that where a channel changes by less than `threshold` in the root mean square."""
    image = image.astype(np.int64)
    weights = {}
    for offset, axis in (((0, 1), 1), ((1, 0), 0)):
        step = (np.diff(image, axis=axis) ** 2).sum(-1)
        near = np.zeros(image.shape[:2], bool)
        near[tuple(slice(n) for n in step.shape)] = step < image.shape[2] * threshold**2
        weights[offset] = np.where(near, weight * factor, weight).astype(np.int32)
    return weights


def motorcycle(data):
    """Quarter size, 16 disparities, truncated linear costs."""
    import cv2
    import skimage.data

    left, right, _ = skimage.data.stereo_motorcycle()
    size = left.shape[1] // 4, left.shape[0] // 4
    left, right = (cv2.resize(image, size, interpolation=cv2.INTER_AREA) for image in (left, right))
    return LabelInstance(birchfield_tomasi(left, right, 16, 16), smooth_weights(left, 10, 10, 3), truncated(16, 2))


def camera(data, scale=None):
    """The photographer with noise, restored with 32 grey levels and one weight; half the size, or `scale` times it."""
    import skimage.data

    clean = skimage.data.camera().astype(np.int64)
    clean = np.kron(clean, np.ones((scale, scale), np.int64)) if scale else clean[::2, ::2]
    noisy = np.clip(clean + np.random.default_rng(0).normal(0, 20, clean.shape), 0, 255).astype(np.int64)
    level = 4 + 8 * np.arange(32)[:, None, None]
    unary = np.minimum(np.abs(noisy - level), 80).astype(np.int32)
    return LabelInstance(unary, {(0, 1): 6, (1, 0): 6}, truncated(32, 4))


def tsukuba_potts(data):
    costs = np.load(data / "mrf/tsukuba_potts/tsukuba_potts.npz")["unary"]
    unary = np.ascontiguousarray(costs.reshape(384, 288, 16).transpose(2, 1, 0), np.int32)
    return LabelInstance(unary, {(0, 1): 20, (1, 0): 20}, potts(16))


def tsukuba_energy(left, right):
    return LabelInstance(birchfield_tomasi(left, right, 16), smooth_weights(left, 20, 8, 2), truncated(16, 2))


def teddy_energy(left, right):
    return LabelInstance(birchfield_tomasi(left, right, 60, 16), smooth_weights(left, 10, 10, 3), potts(60))


PUBLISHED = {"tsukuba": tsukuba_energy, "teddy": teddy_energy}  # of a pair, uint8 RGB: their settings for it


def tsukuba(data):
    return tsukuba_energy(*(iio.imread(data / f"stereo/tsukuba/im{i}.png")[..., :3] for i in (3, 4)))


def teddy(data):
    return teddy_energy(*(iio.imread(data / f"stereo/teddy/im{i}.png")[..., :3] for i in (2, 6)))


def penguin(data):
    """256 grey levels in steps of 4, a hole to fill, truncated squares: for swaps."""
    image, mask = (iio.imread(data / f"mrf/denoise/penguin-{name}.png") for name in ("input", "mask"))
    image, mask = (a[..., 0] if a.ndim == 3 else a for a in (image, mask))
    level = 2 + 4 * np.arange(64)[:, None, None]
    unary = ((image.astype(np.int64) - level) ** 2 * (mask != 0)).astype(np.int32)
    return LabelInstance(unary, {(0, 1): 400, (1, 0): 400}, truncated(64, 12, 2))


# name: how it is made, which move, and the folder of public data it needs (None: it comes with scikit-image)
INSTANCES = {
    "motorcycle": (motorcycle, "expansion", None),
    "camera": (camera, "expansion", None),
    "camera, swap": (camera, "swap", None),
    "tsukuba potts": (tsukuba_potts, "expansion", Path("mrf/tsukuba_potts")),
    "tsukuba": (tsukuba, "expansion", Path("stereo/tsukuba")),
    "teddy": (teddy, "expansion", Path("stereo/teddy")),
    "penguin": (penguin, "swap", Path("mrf/denoise")),
}
