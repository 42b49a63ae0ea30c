"""Positions of points on a space-filling curve (Z-order): points near to each other on it are near to each other.

Only the speed of its users depends on the order, so the solver of points and the certificate share it.
"""

import numpy as np

BITS = 62  # of a position


def extent(x, y):
    """Lowest and highest coordinates (d,) of two sets of points (n, d), axis by axis: 30 times as fast as across."""
    axes = list(zip(x.T, y.T, strict=True))
    low, high = [min(a.min(), b.min()) for a, b in axes], [max(a.max(), b.max()) for a, b in axes]
    return np.array(low), np.array(high)


def curve(points, low, high):
    """Positions of the points (n, d) on a Z-order curve through the box from low to high; int64."""
    bits = min(BITS // points.shape[1], 16)
    span = np.where(high > low, high - low, 1.0)
    cells = [np.minimum((p - a) / s * 2**bits, 2**bits - 1) for p, a, s in zip(points.T, low, span, strict=True)]
    cells = [cell.astype(np.int64) for cell in cells]
    position = np.zeros(len(points), np.int64)
    for bit in reversed(range(bits)):
        for cell in cells:
            position = (position << 1) | ((cell >> bit) & 1)
    return position
