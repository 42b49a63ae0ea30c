"""Left-right consistency check, and filling of the pixels that fail it.

A pixel x of the left image with disparity d matches x - d in the right image.  It is invalid if the right image's
disparity at x - d differs from d by more than TOLERANCE pixels: the pixel is hidden from one camera, or its disparity
is wrong.  An invalid pixel takes the smaller of the disparities of the nearest valid pixels to its left and right,
since hidden surfaces are in the background [1].  A weighted median over neighbours of similar colour [2] then removes
streaks, at the filled pixels only.

[1] Scharstein, Szeliski. "A taxonomy and evaluation of dense two-frame stereo correspondence algorithms." IJCV 2002.
[2] Ma, He, Wei, Sun, Wu. "Constant time weighted median filtering for stereo matching and beyond." ICCV 2013.
"""

import numpy as np

from apps.common.row_blocks import in_halves
from gridcut.device import inner_kernel, kernel

TOLERANCE = 1.0  # pixels
MEDIAN_RADIUS = 9  # pixels
SPATIAL_SIGMA = 6.0  # pixels
COLOUR_SIGMA = 0.06  # of colours in [0, 1]


def is_consistent(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Mark pixels where the disparities of the left and right image, (H, W), agree; bool (H, W)."""
    height, width = left.shape
    x = np.arange(width)
    there = np.rint(x - left).astype(np.int64)
    back = np.take_along_axis(right, np.clip(there, 0, width - 1), axis=1)
    return (there >= 0) & (np.abs(back - left) <= TOLERANCE)


def filled(disparity: np.ndarray, valid: np.ndarray, rgb: np.ndarray) -> np.ndarray:
    """Return the disparities (H, W) with those outside `valid` filled; `rgb`, float32 in [0, 1], is their image."""
    values = np.asarray(disparity, np.float32)
    if valid.all() or not valid.any():
        return values.copy()
    background = np.minimum(_last_valid(values, valid), _last_valid(values[:, ::-1], valid[:, ::-1])[:, ::-1])
    # A row without valid pixels is filled from the nearest row that has some.
    rows = np.isfinite(background[:, 0])
    nearest = np.flatnonzero(rows)[np.abs(np.subtract.outer(np.arange(len(rows)), np.flatnonzero(rows))).argmin(axis=1)]
    background = np.where(valid, values, background[nearest])
    out = background.copy()
    settings = MEDIAN_RADIUS, SPATIAL_SIGMA, COLOUR_SIGMA
    in_halves(lambda first, last: median_kernel(background, ~valid, rgb, *settings, first, last, out), len(out))
    return out


def _last_valid(values, valid):
    """Return the last valid value at or to the left of each pixel; infinity if there is none."""
    column = np.where(valid, np.arange(values.shape[1]), -1)
    last = np.maximum.accumulate(column, axis=1)
    found = np.take_along_axis(values, np.maximum(last, 0), axis=1)
    return np.where(last >= 0, found, np.float32(np.inf))


@inner_kernel
def sort_pairs(value, weight, count):
    """Sort the first `count` values, and their weights with them (Shell's method, quick to compile)."""
    one = np.uint64(1)
    gap = np.uint64(count) >> one  # unsigned, so that no index is tested for a negative sign
    while gap > 0:
        for i in range(gap, np.uint64(count)):
            moved, moved_weight = value[i], weight[i]
            k = i
            while k >= gap and value[k - gap] > moved:
                value[k], weight[k] = value[k - gap], weight[k - gap]
                k -= gap
            value[k], weight[k] = moved, moved_weight
        gap >>= one


@kernel
def median_kernel(values, chosen, rgb, radius, spatial_sigma, colour_sigma, first, last, out):
    """Write the weighted median of the neighbourhood of each chosen pixel of the lines first..last."""
    H, W = values.shape
    weight = np.empty((2 * radius + 1) ** 2, np.float32)
    value = np.empty((2 * radius + 1) ** 2, np.float32)
    for y in range(first, last):
        for x in range(W):
            if not chosen[y, x]:
                continue
            n = 0
            total = np.float32(0.0)
            for v in range(max(0, y - radius), min(H, y + radius + 1)):
                for u in range(max(0, x - radius), min(W, x + radius + 1)):
                    exponent = np.float32((v - y) ** 2 + (u - x) ** 2) / (spatial_sigma * spatial_sigma)
                    for c in range(3):
                        step = rgb[v, u, c] - rgb[y, x, c]
                        exponent += step * step / (colour_sigma * colour_sigma)
                    weight[n] = np.exp(np.float32(-0.5) * exponent)
                    value[n] = values[v, u]
                    total += weight[n]
                    n += 1
            sort_pairs(value, weight, n)
            passed = np.float32(0.0)
            for i in range(n):
                passed += weight[i]
                if 2 * passed >= total:
                    out[y, x] = value[i]
                    break
