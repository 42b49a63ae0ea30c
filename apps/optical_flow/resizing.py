"""Resize a flow together with its vectors."""

import numpy as np


def resized(flow: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Resize a flow and scale its vectors accordingly."""
    import cv2

    height, width = flow.shape[:2]
    if (height, width) == tuple(shape):
        return flow
    area = shape[0] * shape[1] < 0.5 * height * width
    small = cv2.resize(flow, (shape[1], shape[0]), interpolation=cv2.INTER_AREA if area else cv2.INTER_LINEAR)
    ratio = np.array([shape[1] / width, shape[0] / height], np.float32)
    scale = np.tile(ratio, shape[1])  # whole rows: a fast inner loop
    return (small.reshape(shape[0], -1) * scale).reshape(small.shape)
