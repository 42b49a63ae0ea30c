"""Images, marks, masks and labels at another size of the same picture.

Colours of a smaller image are means over its pixels.  Labels are taken at the centres of the pixels.  In a smaller
image, all pixels that contain a mark are marked, so that thin strokes remain.
"""

from functools import partial

import numpy as np

from apps.common.rectangles import Rectangle, bounds, tiles_of, widened
from apps.common.row_blocks import for_blocks, in_parallel
from apps.segmentation.marks import OPEN, labels_in

TILE = 128  # pixels: side of the parts of an image that are searched for outline
MIN_SHARE = 0.999  # of a pixel of the reduced image that is outside a box; an object may touch the edge of the box


def reduced_shape(shape: tuple[int, ...], pixels: int) -> tuple[int, int]:
    """Shape (H, W) of an image reduced to about that number of pixels."""
    scale = (pixels / (shape[0] * shape[1])) ** 0.5
    return max(1, round(shape[0] * scale)), max(1, round(shape[1] * scale))


def means(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Means over the pixels of a smaller image, float32: of an image (H, W, C), or of one channel or mask (H, W)."""
    import cv2

    if values.ndim == 2 or values.dtype != np.uint8:
        return cv2.resize(np.asarray(values, np.float32), shape[::-1], interpolation=cv2.INTER_AREA)
    plane = np.empty(values.shape[:2], np.float32)  # of one channel at a time, a third of the memory

    def of_channel(c: int) -> np.ndarray:
        for_blocks(lambda first, last: np.copyto(plane[first:last], values[first:last, :, c]), plane.shape)
        return means(plane, shape) / np.float32(255)

    return cv2.merge([of_channel(c) for c in range(values.shape[2])])


def reduced_mask(mask: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A mask or levels (H, W) at a smaller size, of the same dtype: the rounded means over its pixels."""
    small = means(mask, shape)
    return small >= 0.5 if mask.dtype == bool else np.rint(small).astype(mask.dtype)


def reduced_marks(marks: np.ndarray, shape: tuple[int, ...], least: float = 0) -> np.ndarray:
    """Marks at a smaller size: of those in a pixel, the one that covers most of it, and more than `least`."""
    if marks.shape == tuple(shape):
        return marks
    labels = labels_in(marks)
    shares = in_parallel([partial(lambda label: means(marks == label, shape), label) for label in labels])
    small, most = np.full(shape, OPEN, marks.dtype), np.full(shape, least, np.float32)
    for label, share in zip(labels, shares, strict=True):
        small[share > most] = label
        np.maximum(most, share, out=most)
    return small


def at_centres(values: np.ndarray, shape: tuple[int, ...], part: Rectangle | None = None) -> np.ndarray:
    """Labels, marks or a mask at another size, each pixel the value at its centre; perhaps only a part of them."""
    if values.shape == tuple(shape):
        return values if part is None else values[part]
    sides = part or (slice(None),) * len(shape)
    places = [centres(n, m)[side] for n, m, side in zip(shape, values.shape, sides, strict=True)]
    for axis in reversed(range(len(places))):  # the rows, which are copied whole, last
        values = np.take(values, places[axis], axis)
    return values


def part_at_centres(mask: np.ndarray, shape: tuple[int, ...]) -> Rectangle:
    """The part of a grid of another size that has its centres in the bounds of a mask (H, W)."""
    sides = bounds(mask) or (slice(0, 0), slice(0, 0))
    lines = zip(shape, mask.shape, sides, strict=True)
    ends = [np.searchsorted(centres(n, m), (side.start, side.stop)) for n, m, side in lines]
    return tuple(slice(int(start), int(stop)) for start, stop in ends)


def tiles_along(labels: np.ndarray, margin: int) -> list[Rectangle]:
    """The tiles of an image with two labels or more, (H, W), within a margin in pixels."""
    parts = ((tile, labels[widened(tile, margin, labels.shape)]) for tile in tiles_of(labels.shape, TILE))
    return [tile for tile, part in parts if part.min() != part.max()]


def centres(count: int, size: int) -> np.ndarray:
    """The lines, of `size`, at the centres of `count` lines of another size."""
    return (np.arange(count) * 2 + 1) * size // (2 * count)


def enlarged(
    values: np.ndarray,
    shape: tuple[int, ...],
    part: Rectangle | None = None,
    offset: tuple[float, float] = (0.0, 0.0),
) -> np.ndarray:
    """Values (h, w) at another size, interpolated linearly; or a part of them, moved back by an offset (x, y)."""
    import cv2

    if part is None:
        return cv2.resize(values, shape[::-1], interpolation=cv2.INTER_LINEAR)
    (rows, columns), (dx, dy), (y, x) = part, offset, [m / n for m, n in zip(values.shape, shape, strict=True)]
    places = np.array([[x, 0, (columns.start + dx + 0.5) * x - 0.5], [0, y, (rows.start + dy + 0.5) * y - 0.5]])
    size = columns.stop - columns.start, rows.stop - rows.start
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    return cv2.warpAffine(values, places, size, flags=flags, borderMode=cv2.BORDER_REPLICATE)
