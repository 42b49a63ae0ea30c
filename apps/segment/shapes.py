"""Parts and holes of a mask: what to keep, what to fill.

The object hangs together over sides only (4 neighbours), so the background does over sides and corners.
"""

import numpy as np


def keep_parts(mask: np.ndarray, keep: str, strokes: np.ndarray) -> np.ndarray:
    """Parts of a mask that touch a stroke ("touching"), all, or the largest."""
    if keep == "all" or not mask.any():
        return mask
    part, area = _parts(mask, 4)
    if keep == "largest":
        return part == 1 + np.argmax(area[1:])
    kept = np.zeros(len(area), bool)
    kept[part[strokes & mask]] = True
    kept[0] = False
    return kept[part]


def fill_holes_of(mask: np.ndarray, strokes: np.ndarray) -> np.ndarray:
    """The mask with its holes filled, but for those that hold a background stroke."""
    hole, area = _parts(~mask, 8)
    filled = np.ones(len(area), bool)
    for edge in (hole[0], hole[-1], hole[:, 0], hole[:, -1], hole[strokes & ~mask]):
        filled[edge] = False
    filled[0] = False
    return mask | filled[hole]


def drop_small(mask, min_area: int, object_strokes, background_strokes) -> np.ndarray:
    """Parts below `min_area` pixels go, then such holes; those that hold a stroke of their kind stay."""
    part, area = _parts(mask, 4)
    kept = area >= min_area
    kept[part[object_strokes & mask]] = True
    kept[0] = False
    mask = kept[part]
    hole, area = _parts(~mask, 8)
    filled = area < min_area
    filled[hole[background_strokes & ~mask]] = False
    filled[0] = False
    return mask | filled[hole]


def _parts(mask, connectivity):
    """Number of each pixel's part (0 outside the mask), and the area of each."""
    import cv2

    _, part, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=connectivity)
    return part, stats[:, cv2.CC_STAT_AREA]
