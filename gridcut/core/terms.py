"""The pixels of the terms of an energy: slices of p, p + a, p + b, ... inside the grid."""

import numpy as np

from gridcut.core.problem import Offset


def ends(shape: tuple[int, ...], offsets: tuple[Offset, ...]) -> list[tuple[slice, ...]]:
    """Slices of p, p + offsets[0], p + offsets[1], ... over all p for which all of these pixels are in the grid."""
    axes = range(len(shape))
    low = [max([0, *(-o[i] for o in offsets)]) for i in axes]
    high = [min([shape[i], *(shape[i] - o[i] for o in offsets)]) for i in axes]
    high = [max(h, lo) for h, lo in zip(high, low, strict=True)]  # an offset longer than the grid: an empty slice
    zero = (0,) * len(shape)
    return [tuple(slice(low[i] + o[i], high[i] + o[i]) for i in axes) for o in (zero, *offsets)]


def pixel_at(found: np.ndarray, region: tuple[slice, ...]) -> tuple[int, ...]:
    """Grid coordinates of the first True in `found`, an array over the pixels of `region`."""
    inner = np.unravel_index(int(np.argmax(found)), found.shape)
    return tuple(int(i) + s.start for i, s in zip(inner, region, strict=True))
