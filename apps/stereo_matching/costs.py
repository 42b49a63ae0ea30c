"""Matching costs: the dissimilarity of the two pixels that each disparity matches.

Pixels are compared in five channels: the three colours and the two derivatives of the grey image, which are less
sensitive than colours to different exposures of the two cameras.  `region_costs` computes the costs of a part of either
image, for a range of disparities.

    cost[d, y, x] = UNIT * sum_c  min(dissimilarity(left_c[y, x], right_c[y, x - d]), limit_c)

The dissimilarity is that of Birchfield and Tomasi [2]: the smaller of the distances from either value to the range of
the other image within half a pixel, so an edge that falls between two pixels costs nothing.  Sub-pixel values need the
absolute difference [1].  Where x - d is outside the right image, the last valid cost of the row is repeated.

    left[y, x, c], right[y, x, c]   channels, float32; colours in [0, 255]

[1] Scharstein, Szeliski. "A taxonomy and evaluation of dense two-frame stereo correspondence algorithms." IJCV 2002.
[2] Birchfield, Tomasi. "A pixel dissimilarity measure that is insensitive to image sampling." PAMI 20(4), 1998.
"""

import cv2
import numpy as np

from apps.common.row_blocks import in_halves
from gridcut.device import kernel

UNIT = 16  # integer costs per grey level
LIMIT = np.full(5, 12, np.float32)  # grey levels: truncation of each of the three colours and two derivatives
REACH = 2  # pixels around a pixel on which its channels and their ranges depend


def disparity_costs(left, right, labels: int) -> np.ndarray:
    """Return costs int32 (labels, H, W) of the disparities 0 to labels - 1; images are float32 RGB in [0, 1]."""
    channels = (*_compared(left), *_compared(right))
    out = np.empty((labels, *left.shape[:2]), np.int32)
    where = LIMIT, UNIT, 0, 0, 0, out.shape[2], True
    in_halves(lambda first, last: cost_kernel(*channels, *where, first, last, out), out.shape[1])
    return out


def region_costs(own, other, is_left: bool, rows: slice, columns: slice, disparities: range, absolute=False):
    """Return costs int32 (disparities, rows, columns) of a part of the left image, or of the right one.

    They are those of `disparity_costs`, or of `mirrored_costs` for the right image, unless they are `absolute`.

    own, other   the whole images: the one with the part, and the one it is compared with; float32 RGB in [0, 1]
    """
    height, width = own.shape[:2]
    if is_left:
        there = slice(max(0, columns.start - disparities[-1]), columns.stop - min(disparities[0], columns.stop - 1))
    else:
        there = slice(min(width - 1, columns.start + disparities[0]), min(width, columns.stop + disparities[-1]))
    first, last = max(0, rows.start - REACH), min(height, rows.stop + REACH)
    inner = slice(rows.start - first, rows.stop - first)
    channels, starts = [], []
    for image, part in ((own, columns), (other, there)):
        start, stop = max(0, part.start - REACH), min(width, part.stop + REACH)
        channels += [array[inner] for array in _compared(image[first:last, start:stop], absolute)]
        starts.append(start)
    out = np.empty((len(disparities), rows.stop - rows.start, columns.stop - columns.start), np.int32)
    channels[:3] = [array[:, columns.start - starts[0] :] for array in channels[:3]]
    place = disparities[0], columns.start, starts[1], width, is_left
    cost_kernel(*map(np.ascontiguousarray, channels), LIMIT, UNIT, *place, 0, out.shape[1], out)
    return out


def _compared(rgb, absolute: bool = False) -> tuple:
    """Return the channels of an image, and their minima and maxima over the positions that are compared."""
    channels = _channels(rgb)
    return (channels, channels, channels) if absolute else (channels, *_ranges(channels))


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


# args: an entry call, to which Python passes arrays one by one in half the time that a bundle takes
@kernel
def cost_kernel(
    own, own_low, own_high, other, other_low, other_high, limit, unit,
    first_disparity, first_column, other_column, width, is_left, first, last, out,
):  # fmt: skip
    """Write the cost of a range of disparities at every pixel of the lines first..last of a part of an image.

    first_column, other_column   columns of their images, which are `width` wide, at which `own` and `other` begin
    """
    L, _, W = out.shape
    C = own.shape[2]
    for y in range(first, last):
        for i in range(L):
            for x in range(W):
                column = first_column + x
                # Outside the other image the last valid cost of the pixel is repeated.
                if is_left:
                    there = column - min(first_disparity + i, column) - other_column
                else:
                    there = column + min(first_disparity + i, width - 1 - column) - other_column
                total = np.float32(0.0)
                for c in range(C):
                    a, b = own[y, x, c], other[y, there, c]
                    one = max(np.float32(0.0), a - other_high[y, there, c], other_low[y, there, c] - a)
                    back = max(np.float32(0.0), b - own_high[y, x, c], own_low[y, x, c] - b)
                    total += min(one, back, limit[c])
                out[i, y, x] = np.int32(total * unit + np.float32(0.5))
