"""What only one camera sees: found by comparing the disparities of both pictures, and filled from beside it.

A pixel x of the left picture with disparity d is seen at x - d on the right.  If the right picture's own disparity
there leads back to another place, more than TOLERANCE pixels off, the match is not to be trusted: one of the two is
hidden, or wrong.  Such pixels take the disparity of the nearest trusted one to the left or right in their row, the
lesser of the two, since what is hidden lies behind [1].  A weighted median among neighbours of like colour [2] then
removes the streaks this leaves, at the filled pixels only.

[1] Scharstein, Szeliski. "A taxonomy and evaluation of dense two-frame stereo correspondence algorithms." IJCV 2002.
[2] Ma, He, Wei, Sun, Wu. "Constant time weighted median filtering for stereo matching and beyond." ICCV 2013.
"""

import numpy as np

from gridcut.device import kernel

TOLERANCE = 1.0  # pixels
MEDIAN_RADIUS = 9  # pixels to each side that the median looks at
SPATIAL_SIGMA = 6.0  # pixels, and
COLOUR_SIGMA = 0.06  # difference of colours in [0, 1], at which a neighbour's weight has fallen to exp(-1/2)


def is_consistent(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Where the disparities of the left and the right picture, (H, W), say the same; bool (H, W)."""
    height, width = left.shape
    x = np.arange(width)
    there = np.rint(x - left).astype(np.int64)
    back = np.take_along_axis(right, np.clip(there, 0, width - 1), axis=1)
    return (there >= 0) & (np.abs(back - left) <= TOLERANCE)


def filled(disparity: np.ndarray, valid: np.ndarray, rgb: np.ndarray) -> np.ndarray:
    """The disparities (H, W) with those not `valid` replaced; `rgb` float32 in [0, 1] is the picture they belong to."""
    values = np.asarray(disparity, np.float32)
    if valid.all() or not valid.any():
        return values.copy()
    background = np.minimum(_last_valid(values, valid), _last_valid(values[:, ::-1], valid[:, ::-1])[:, ::-1])
    # A row without any trusted pixel takes what the nearest row has.
    rows = np.isfinite(background[:, 0])
    nearest = np.flatnonzero(rows)[np.abs(np.subtract.outer(np.arange(len(rows)), np.flatnonzero(rows))).argmin(axis=1)]
    background = np.where(valid, values, background[nearest])
    out = background.copy()
    median_kernel(background, ~valid, rgb, MEDIAN_RADIUS, SPATIAL_SIGMA, COLOUR_SIGMA, out)
    return out


def _last_valid(values, valid):
    """At each pixel the last valid value to its left, itself included; infinity where there is none."""
    column = np.where(valid, np.arange(values.shape[1]), -1)
    last = np.maximum.accumulate(column, axis=1)
    found = np.take_along_axis(values, np.maximum(last, 0), axis=1)
    return np.where(last >= 0, found, np.float32(np.inf))


@kernel
def median_kernel(values, chosen, rgb, radius, spatial_sigma, colour_sigma, out):
    """Write the weighted median of the neighbourhood at the chosen pixels."""
    H, W = values.shape
    weight = np.empty((2 * radius + 1) ** 2, np.float32)
    value = np.empty((2 * radius + 1) ** 2, np.float32)
    for y in range(H):
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
            order = np.argsort(value[:n])
            passed = np.float32(0.0)
            for i in order:
                passed += weight[i]
                if 2 * passed >= total:
                    out[y, x] = value[i]
                    break
