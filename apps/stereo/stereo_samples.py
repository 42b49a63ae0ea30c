"""A rectified pair whose disparities are known, from one photograph: an object before a slanted wall."""

import numpy as np

from apps.motion.samples import Sample

WALL_DISPARITY = 6.0, 14.0  # pixels of disparity at the left and the right end of a picture; and
OBJECT_DISPARITY = 18.0, 26.0  # of the object at its top and its bottom
INPAINT_RADIUS = 9  # pixels around the object from which the wall behind it is made up


def layered_pair(rgb: np.ndarray, mask: np.ndarray) -> Sample:
    """A photograph (H, W, 3), uint8, as the left picture, and what a camera beside it would see.

    What `mask` (H, W) marks stands before a wall that carries the rest of the photograph; both are slanted.  The right
    camera sees a strip of the wall that the object hides from the left one: it is made up from what is beside it.
    """
    import cv2

    height, width = mask.shape
    y, x = np.mgrid[:height, :width].astype(np.float32)
    wall_step = (WALL_DISPARITY[1] - WALL_DISPARITY[0]) / max(width - 1, 1)
    object_step = (OBJECT_DISPARITY[1] - OBJECT_DISPARITY[0]) / max(height - 1, 1)
    wall, in_front = WALL_DISPARITY[0] + wall_step * x, OBJECT_DISPARITY[0] + object_step * y
    # Where the right camera's pixel x lies on the left: x + d there, d being linear along the row.
    from_wall, from_object = (x + WALL_DISPARITY[0]) / (1 - wall_step), x + in_front
    grown = cv2.dilate(np.uint8(mask), np.ones((3, 3), np.uint8), iterations=2)
    behind = cv2.inpaint(rgb, grown, INPAINT_RADIUS, cv2.INPAINT_TELEA)

    def resampled(image, there):
        return cv2.remap(image, there, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)

    covered = resampled(np.float32(mask), from_object)[..., None]
    right = covered * resampled(rgb, from_object) + (1 - covered) * resampled(behind, from_wall)
    disparity = np.where(mask, in_front, wall)
    flow = np.dstack([-disparity, np.zeros_like(disparity)])
    return Sample(rgb, np.uint8(right + 0.5), flow, np.ones(mask.shape, bool))
