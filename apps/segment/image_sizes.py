"""Images, marks, masks and labels at another size of the same picture.

Colours of a smaller image are means over its pixels.  Labels are taken at the centres of the pixels.  In a smaller
image, all pixels that contain a mark are marked, so that thin strokes remain.
"""

import numpy as np

from apps.common.row_blocks import in_parallel
from apps.segment.marks import BACKGROUND, OBJECT, OPEN

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
    # One channel at a time as float32, which is a third of the memory.
    return cv2.merge([means(values[..., c], shape) / np.float32(255) for c in range(values.shape[2])])


def reduced(rgb, marks, *masks, pixels: int):
    """Image, marks and masks (None remains None) at about that number of pixels; the image becomes float32.

    A mark is kept unless the other kind covers more of its pixel.
    """
    shape = reduced_shape(marks.shape, pixels)
    shares = (lambda mark=mark: means(marks == mark, shape) for mark in (OBJECT, BACKGROUND))
    fewer, on_object, on_background = in_parallel((lambda: means(rgb, shape), *shares))
    small = np.full(shape, OPEN, np.int8)
    least = 0 if (marks == OBJECT).any() else MIN_SHARE
    small[(on_background > least) & (on_background >= on_object)] = BACKGROUND
    small[on_object > on_background] = OBJECT
    return fewer, small, *(None if mask is None else means(mask, shape) >= 0.5 for mask in masks)


def reduced_marks(marks: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Marks of any labels at a smaller size: the mark at the centre of each pixel, or else one inside it."""
    if marks.shape == tuple(shape):
        return marks
    out = np.full(shape, OPEN, marks.dtype)
    where = np.nonzero(marks != OPEN)
    out[tuple(index * n // m for index, n, m in zip(where, shape, marks.shape, strict=True))] = marks[where]
    centres = at_centres(marks, shape)
    np.copyto(out, centres, where=centres != OPEN)
    return out


def at_centres(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Labels, marks or a mask at another size, each pixel the value at its centre."""
    if values.shape == tuple(shape):
        return values
    places = [centres(n, m) for n, m in zip(shape, values.shape, strict=True)]
    for axis in reversed(range(len(places))):  # the rows, which are copied whole, last
        values = np.take(values, places[axis], axis)
    return values


def centres(count: int, size: int) -> np.ndarray:
    """The lines, of `size`, at the centres of `count` lines of another size."""
    return (np.arange(count) * 2 + 1) * size // (2 * count)


def interpolated(planes: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Costs (L, h, w) at another size, interpolated linearly."""
    import cv2

    return np.stack([cv2.resize(plane, shape[::-1], interpolation=cv2.INTER_LINEAR) for plane in planes])
