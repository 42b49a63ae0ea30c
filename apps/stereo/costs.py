"""Matching costs: the dissimilarity of the two pixels that each disparity matches.

Pixels are compared in five channels: the three colours and the two derivatives of the grey image, which are less
sensitive than colours to different exposures of the two cameras.

    cost[d, y, x] = UNIT * sum_c  min(dissimilarity(left_c[y, x], right_c[y, x - d]), limit_c)

`absolute` is the absolute difference [1].  `birchfield-tomasi` [2] is the smaller of the distances from either value
to the range of the other image within half a pixel, so an edge that falls between two pixels costs nothing.  Where
x - d is outside the right image, the last valid cost of the row is repeated.

    left[y, x, c], right[y, x, c]   channels, float32; colours in [0, 255]

[1] Scharstein, Szeliski. "A taxonomy and evaluation of dense two-frame stereo correspondence algorithms." IJCV 2002.
[2] Birchfield, Tomasi. "A pixel dissimilarity measure that is insensitive to image sampling." PAMI 20(4), 1998.
"""

import numpy as np

from apps.stereo import COSTS
from apps.stereo.halves import in_halves
from gridcut.device import kernel

UNIT = 16  # integer costs per grey level
MAX_COLOUR_DIFFERENCE, MAX_GRADIENT_DIFFERENCE = (
    12.0,
    12.0,
)  # grey levels: truncation of each colour, and of each derivative


def disparity_costs(left, right, labels: int, kind: str = COSTS[0]) -> np.ndarray:
    """Return costs int32 (labels, H, W) of the disparities 0 to labels - 1; images are float32 RGB in [0, 1]."""
    of_left, of_right = _channels(left), _channels(right)
    limit = np.float32([MAX_COLOUR_DIFFERENCE] * 3 + [MAX_GRADIENT_DIFFERENCE] * 2)
    out = np.empty((labels, *of_left.shape[:2]), np.int32)
    if kind == "absolute":
        channels = (of_left, of_left, of_left, of_right, of_right, of_right)
    else:
        channels = (of_left, *_ranges(of_left), of_right, *_ranges(of_right))
    in_halves(out.shape[1], lambda first, last: cost_kernel(*channels, limit, UNIT, first, last, out))
    return out


def mirrored_costs(costs: np.ndarray) -> np.ndarray:
    """Return the same costs for the right image, where disparity d matches pixel x with x + d of the left image."""
    out = np.empty_like(costs)
    width = costs.shape[2]
    for d, plane in enumerate(costs):
        shift = min(d, width - 1)
        out[d, :, : width - shift] = plane[:, shift:]
        # Outside the left image the last valid cost of the pixel is repeated, as in the kernel.
        out[d, :, width - shift :] = out[d - 1, :, width - shift :] if d else 0
    return out


def _channels(rgb):
    import cv2

    levels = np.float32(255.0) * rgb
    grey = levels.mean(axis=2)
    across, down = (cv2.Sobel(grey, cv2.CV_32F, *axis, ksize=3, scale=0.25) for axis in ((1, 0), (0, 1)))
    return np.ascontiguousarray(np.dstack([levels, across, down]))


def _ranges(channels):
    """Return the minimum and maximum within half a pixel to the left and right, linearly interpolated."""
    padded = np.pad(channels, ((0, 0), (1, 1), (0, 0)), mode="edge")
    before = 0.5 * (channels + padded[:, :-2])
    after = 0.5 * (channels + padded[:, 2:])
    stack = (channels, before, after)
    return np.minimum.reduce(stack), np.maximum.reduce(stack)


@kernel
def cost_kernel(left, left_low, left_high, right, right_low, right_high, limit, unit, first, last, out):
    """Write the cost of every disparity at every pixel of the lines first..last."""
    L, _, W = out.shape
    C = left.shape[2]
    for y in range(first, last):
        for d in range(L):
            for x in range(W):
                if x < d:
                    out[d, y, x] = out[d - 1, y, x]
                    continue
                total = np.float32(0.0)
                for c in range(C):
                    a, b = left[y, x, c], right[y, x - d, c]
                    one = max(np.float32(0.0), a - right_high[y, x - d, c], right_low[y, x - d, c] - a)
                    other = max(np.float32(0.0), b - left_high[y, x, c], left_low[y, x, c] - b)
                    total += min(one, other, limit[c])
                out[d, y, x] = np.int32(total * unit + np.float32(0.5))
