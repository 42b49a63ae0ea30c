"""Where a term of an energy lies on the grid: the slices of its pixels p, p + a, p + b, ..."""

import numpy as np

from gridcut.core.problem import Offset


def ends(shape: tuple[int, ...], offsets: tuple[Offset, ...]) -> list[tuple[slice, ...]]:
    """Indices of p, p + offsets[0], p + offsets[1], ... over all p for which all of them are in the grid."""
    axes = range(len(shape))
    low = [max([0, *(-o[i] for o in offsets)]) for i in axes]
    high = [min([shape[i], *(shape[i] - o[i] for o in offsets)]) for i in axes]
    high = [max(h, lo) for h, lo in zip(high, low, strict=True)]  # an offset longer than the grid: no place
    zero = (0,) * len(shape)
    return [tuple(slice(low[i] + o[i], high[i] + o[i]) for i in axes) for o in (zero, *offsets)]


def pixel_at(found: np.ndarray, region: tuple[slice, ...]) -> tuple[int, ...]:
    """Grid coordinates of the first True in `found`, an array over `place`."""
    inner = np.unravel_index(int(np.argmax(found)), found.shape)
    return tuple(int(i) + s.start for i, s in zip(inner, region, strict=True))
