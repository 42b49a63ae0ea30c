"""A synthetic rectified pair with exact disparities, from one photograph: an object in front of a slanted wall."""

import numpy as np

from apps.motion.samples import Sample

WALL_DISPARITY = 6.0, 14.0  # pixels, at the left and right end of the image
OBJECT_DISPARITY = 18.0, 26.0  # pixels, at the top and bottom of the image
INPAINT_RADIUS = 9  # pixels around the object from which the wall behind it is inpainted


def layered_pair(rgb: np.ndarray, mask: np.ndarray) -> Sample:
    """Use a photograph (H, W, 3), uint8, as the left image, and render the view of a camera to its right.

    The object marked by `mask` (H, W) is in front of a wall that shows the rest of the photograph; both are slanted.
    The strip of the wall that only the right camera sees is inpainted from its surroundings.
    """
    import cv2

    height, width = mask.shape
    y, x = np.mgrid[:height, :width].astype(np.float32)
    wall_step = (WALL_DISPARITY[1] - WALL_DISPARITY[0]) / max(width - 1, 1)
    object_step = (OBJECT_DISPARITY[1] - OBJECT_DISPARITY[0]) / max(height - 1, 1)
    wall, in_front = WALL_DISPARITY[0] + wall_step * x, OBJECT_DISPARITY[0] + object_step * y
    # The left image's position of the right camera's pixel x is x + d, with d linear along the row.
    from_wall, from_object = (x + WALL_DISPARITY[0]) / (1 - wall_step), x + in_front
    grown = cv2.dilate(mask.astype(np.uint8), np.ones((3, 3), np.uint8), iterations=2)
    behind = cv2.inpaint(rgb, grown, INPAINT_RADIUS, cv2.INPAINT_TELEA)

    def resampled(image, there):
        return cv2.remap(image, there, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)

    covered = resampled(np.float32(mask), from_object)[..., None]
    right = covered * resampled(rgb, from_object) + (1 - covered) * resampled(behind, from_wall)
    disparity = np.where(mask, in_front, wall)
    flow = np.dstack([-disparity, np.zeros_like(disparity)])
    return Sample(rgb, (right + 0.5).astype(np.uint8), flow, np.ones(mask.shape, bool))
