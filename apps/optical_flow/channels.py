"""Sums and gathers over the channels of images, (H, W, C), by loops over whole rows instead of over C values."""

import numpy as np


def channel_sum(image: np.ndarray) -> np.ndarray:
    """Return the sum over the channels of a float32 image (H, W, C), C from 2 to 4; float32 (H, W)."""
    import cv2

    return cv2.transform(image, np.ones((1, image.shape[2]), np.float32))


def squared_distance(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the squared distance of the colours at each pixel of two float32 images (H, W, C); float32 (H, W)."""
    difference = first - second
    return channel_sum(difference * difference)


def absolute_distance(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the sum of absolute differences at each pixel of two float32 images (H, W, C); float32 (H, W)."""
    import cv2

    return channel_sum(cv2.absdiff(first, second))


def vectors_at(flow: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return the vectors of a float32 flow (H, W, 2) at pixels row * W + column; the shape of `index`, and 2.

    A vector is read as one item of eight bytes.  An index of -1 reads the last pixel.
    """
    return (
        np.ascontiguousarray(flow, np.float32).view(np.uint64).ravel()[index].view(np.float32).reshape(*index.shape, 2)
    )
