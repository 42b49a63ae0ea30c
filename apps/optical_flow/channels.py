"""Sums, gathers and sizes of images and flows, (H, W, C), by loops over whole rows instead of over C values."""

import cv2
import numpy as np


def channel_sum(image: np.ndarray) -> np.ndarray:
    """Return the sum over the channels of a float32 image (H, W, C), C from 2 to 4; float32 (H, W)."""
    return cv2.transform(image, np.ones((1, image.shape[2]), np.float32))


def squared_distance(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the squared distance of the colours at each pixel of two float32 images (H, W, C); float32 (H, W)."""
    difference = first - second
    return channel_sum(difference * difference)


def absolute_distance(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the sum of absolute differences at each pixel of two float32 images (H, W, C); float32 (H, W)."""
    return channel_sum(cv2.absdiff(first, second))


def vectors_at(flow: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return the vectors of a float32 flow (H, W, 2) at pixels row * W + column; the shape of `index`, and 2.

    A vector is read as one item of eight bytes.  An index of -1 reads the last pixel.
    """
    return (
        np.ascontiguousarray(flow, np.float32).view(np.uint64).ravel()[index].view(np.float32).reshape(*index.shape, 2)
    )


def resized(flow: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Resize a flow and scale its vectors accordingly."""
    height, width = flow.shape[:2]
    if (height, width) == tuple(shape):
        return flow
    area = shape[0] * shape[1] < 0.5 * height * width
    small = cv2.resize(flow, (shape[1], shape[0]), interpolation=cv2.INTER_AREA if area else cv2.INTER_LINEAR)
    ratio = np.array([shape[1] / width, shape[0] / height], np.float32)
    scale = np.tile(ratio, shape[1])  # whole rows: a fast inner loop
    return (small.reshape(shape[0], -1) * scale).reshape(small.shape)
