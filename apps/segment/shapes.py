"""Connected parts and holes of a mask: keep, drop or fill them.

The object is 8-connected, as in the energy of apps.segment.segmentation, so a diagonal line of pixels is a single part.
The background is therefore 4-connected.
"""

import numpy as np


def keep_parts(mask: np.ndarray, keep: str, strokes: np.ndarray) -> np.ndarray:
    """Parts of a mask that touch a stroke ("touching"), all, or the largest."""
    if keep == "all" or not mask.any():
        return mask
    if keep == "largest":
        part, area = _parts(mask, 8)
        return part == 1 + np.argmax(area[1:])
    import cv2

    count, part = cv2.connectedComponents(mask.view(np.uint8), connectivity=8)  # a third of the time without areas
    kept = np.zeros(count, bool)
    kept[part[strokes & mask]] = True
    kept[0] = False
    return kept[part]


def fill_holes_of(mask: np.ndarray, strokes: np.ndarray) -> np.ndarray:
    """Fill the holes of a mask, except those that contain a background stroke."""
    hole, area = _parts(~mask, 4)
    filled = np.ones(len(area), bool)
    for edge in (hole[0], hole[-1], hole[:, 0], hole[:, -1], hole[strokes & ~mask]):
        filled[edge] = False
    filled[0] = False
    return mask | filled[hole]


def drop_small(mask, min_area: int, object_strokes, background_strokes) -> np.ndarray:
    """Drop parts, then fill holes, of fewer than `min_area` pixels, unless they contain a stroke of their kind."""
    part, area = _parts(mask, 8)
    kept = area >= min_area
    kept[part[object_strokes & mask]] = True
    kept[0] = False
    mask = kept[part]
    hole, area = _parts(~mask, 4)
    filled = area < min_area
    filled[hole[background_strokes & ~mask]] = False
    filled[0] = False
    return mask | filled[hole]


def _parts(mask, connectivity):
    """Part number of each pixel (0 outside the mask), and the area of each part."""
    import cv2

    _, part, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=connectivity)
    return part, stats[:, cv2.CC_STAT_AREA]
