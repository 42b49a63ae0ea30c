"""Whether an object can be the one that was marked: users mark no object that is empty."""

import numpy as np

BOX_SPAN = 0.5  # least share of the width, and of the height, of a box that its object spans


def is_plausible(mask: np.ndarray, is_object: np.ndarray, is_background: np.ndarray) -> bool:
    """Whether a mask of an image or a volume shows more than nothing: for marks on the object, more than these marks.

    Without such marks, the pixels that are not background are a box, and its object spans at least BOX_SPAN of it in
    all directions, because a user draws a box around an object [1].

    [1] Lempitsky, Kohli, Rother, Sharp. "Image segmentation with a bounding box prior." ICCV 2009.
    """
    if is_object.any():
        return bool(np.count_nonzero(mask) > np.count_nonzero(is_object))
    others = [tuple({*range(mask.ndim)} - {axis}) for axis in range(mask.ndim)]
    return bool(mask.any()) and all(
        np.ptp(np.flatnonzero(mask.any(axis=axes))) + 1 >= BOX_SPAN * np.count_nonzero((~is_background).any(axis=axes))
        for axes in others
    )
