"""Rectangles of an image as tuples of two slices, of rows and of columns."""

import numpy as np

Rectangle = tuple[slice, ...]  # of a volume, three


def tiles_of(shape: tuple[int, ...], side: int) -> list[Rectangle]:
    """Squares of `side` pixels that cover an image of this shape (H, W, ...); those at the end are smaller."""
    H, W = shape[:2]
    return [
        (slice(y, min(H, y + side)), slice(x, min(W, x + side))) for y in range(0, H, side) for x in range(0, W, side)
    ]


def bounds(mask: np.ndarray) -> Rectangle | None:
    """The smallest rectangle that contains all True pixels of a mask (H, W); None if there is none."""
    rows = np.flatnonzero(mask.any(axis=1))
    if not rows.size:
        return None
    columns = np.flatnonzero(mask.any(axis=0))
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)


def area(part: Rectangle) -> int:
    """Pixels of a rectangle."""
    rows, columns = part
    return (rows.stop - rows.start) * (columns.stop - columns.start)


def widened(part: Rectangle, margin: int, shape: tuple[int, ...]) -> Rectangle:
    """A rectangle with a margin of that many pixels on each side, inside an image of this shape (H, W, ...)."""
    (rows, columns), (H, W) = part, shape[:2]
    return (
        slice(max(0, rows.start - margin), min(H, rows.stop + margin)),
        slice(max(0, columns.start - margin), min(W, columns.stop + margin)),
    )


def relative(part: Rectangle, whole: Rectangle) -> Rectangle:
    """A rectangle of the image as one of the array that contains the rectangle `whole` only."""
    return tuple(slice(a.start - b.start, a.stop - b.start) for a, b in zip(part, whole, strict=True))


def absolute(part: Rectangle, whole: Rectangle) -> Rectangle:
    """The inverse of `relative`."""
    return tuple(slice(a.start + b.start, a.stop + b.start) for a, b in zip(part, whole, strict=True))
