"""Frame pairs with known flow, from images that come with scikit-image."""

from typing import NamedTuple

import numpy as np


class Sample(NamedTuple):
    """Two frames uint8 (H, W, 3), the true flow float32 (H, W, 2) in pixels, and its known pixels, bool (H, W)."""

    first: np.ndarray
    second: np.ndarray
    flow: np.ndarray
    known: np.ndarray


def stereo_pair() -> Sample:
    """Return a stereo pair (Middlebury 2014, motorcycle): x on the left corresponds to x - disparity on the right."""
    import skimage.data

    left, right, disparity = skimage.data.stereo_motorcycle()
    known = np.isfinite(disparity)
    x_motion = np.where(known, -disparity, 0)
    return Sample(
        left[..., :3], right[..., :3], np.dstack([x_motion, np.zeros_like(x_motion)]).astype(np.float32), known
    )


def warped_pair(name: str = "astronaut", max_motion: float = 12.0) -> Sample:
    """Return a photograph of skimage.data and its warp by a smooth flow of up to about `max_motion` pixels."""
    import cv2
    import skimage.data

    second = np.ascontiguousarray(getattr(skimage.data, name)()[..., :3])
    height, width = second.shape[:2]
    y, x = np.mgrid[:height, :width].astype(np.float32)
    rotation = (max_motion / max(height, width)) * np.dstack([height / 2 - y, x - width / 2])
    wave = max_motion / 3 * np.dstack([np.sin(y / 40), np.cos(x / 50)])
    flow = (rotation + wave).astype(np.float32)
    source = np.dstack([x, y]) + flow
    first = cv2.remap(second, source[..., 0], source[..., 1], cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT)
    inside = (source >= 0).all(axis=2) & (source[..., 0] <= width - 1) & (source[..., 1] <= height - 1)
    return Sample(first, second, flow, inside)
