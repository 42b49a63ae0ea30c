"""The offset of a mask as a whole: by how much it is displaced from the object found in the image.

Networks with strides, and programs that disagree about where the centre of a pixel is, displace a whole mask by up to
a pixel of their resolution, which may be many pixels of the image.  The offset is that of Lucas and Kanade [1]: the
displacement that best explains the difference of two images, here of the mask and of the object found, both at the
mask's resolution.  Differences larger than OUTLIER, such as a part that one of the two lacks, hardly count.

[1] Lucas, Kanade. "An iterative image registration technique with an application to stereo vision." IJCAI 1981.
"""

import numpy as np

STEPS = 4  # of Gauss-Newton; the offset is about a pixel, so the first step is nearly exact
MAX_OFFSET = 1.5  # pixels of the mask; a larger difference is no matter of strides
BLUR = 1.2  # pixels: standard deviation of the smoothing that makes the differences linear in the offset
OUTLIER = 0.15  # of the mask's range; the derivative of a Cauchy weight is largest near it
PRIOR = 1.0  # squared gradient, in pixels of the mask, of a prior for no offset; an outline of 20 pixels has about 1


def offset_of(mask: np.ndarray, found: np.ndarray) -> tuple[float, float]:
    """The offset (dx, dy), in pixels, of a mask from an object; both float32 (h, w) in [0, 1]."""
    import cv2

    mask = cv2.GaussianBlur(mask, (0, 0), BLUR)
    found = cv2.GaussianBlur(found, (0, 0), (1 + BLUR**2) ** 0.5)  # a mask of a network is already soft
    offset = np.zeros(2)
    for _ in range(STEPS):
        across = np.array([[1, 0, offset[0]], [0, 1, offset[1]]], np.float32)
        moved = cv2.warpAffine(found, across, mask.shape[::-1], borderMode=cv2.BORDER_REPLICATE)
        gy, gx = slopes(moved)
        difference = mask - moved
        weight = 1 / (1 + (difference / OUTLIER) ** 2)
        mixed = float((weight * gx * gy).sum())
        normal = np.array([[float((weight * gx * gx).sum()), mixed], [mixed, float((weight * gy * gy).sum())]])
        slope = np.array([float((weight * g * difference).sum()) for g in (gx, gy)])
        step = np.linalg.solve(normal + PRIOR * np.eye(2), -slope - PRIOR * offset)
        offset = np.clip(offset + step, -MAX_OFFSET, MAX_OFFSET)
    return float(offset[0]), float(offset[1])


def slopes(values: np.ndarray) -> list[np.ndarray]:
    """Derivatives along y and x of values (h, w); 0 along a side of one pixel."""
    return [np.gradient(values, axis=axis) if values.shape[axis] > 1 else np.zeros_like(values) for axis in (0, 1)]
