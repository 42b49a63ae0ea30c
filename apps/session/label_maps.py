"""Label maps of several objects, whose pixels a session takes as locked objects, to be corrected one by one."""

import numpy as np

from apps.common.arguments import array_of
from apps.common.images import InputError, pixels_in
from apps.segmentation.hints import mask_in
from apps.segmentation.image_sizes import at_centres
from apps.segmentation.masks import array_in, mask_of, soft_masks_of
from apps.session.record_checks import MAX_LABEL


def label_map_of(values, name: str) -> np.ndarray | None:
    """Labels of several objects, uint8 (H, W), 0 for the background; None for other masks, such as grey levels.

    Labels above MAX_LABEL are numbered again, in their order; InputError, starting with `name`, for too many.
    """
    values = array_of(values, name)
    if values.ndim != 2 or values.dtype.kind not in "iu" or values.min() < 0 or not values.any():
        return None
    try:
        found = soft_masks_of(values, name=name)
    except InputError:  # the reader of masks says why
        return None
    if found.labels is None or len(found.values) < 2:
        return None
    if len(found.values) > MAX_LABEL:
        raise InputError(f"{name} holds {len(found.values)} objects; at most {MAX_LABEL} are possible")
    numbers = np.array(found.values)
    new = numbers if numbers[-1] <= MAX_LABEL else np.arange(1, len(numbers) + 1)
    codes = np.zeros(numbers[-1] + 1, np.uint8)
    codes[numbers] = new
    return at_centres(codes[found.labels], values.shape)


def values_in(data: bytes, path, name: str) -> np.ndarray:
    """The values (H, W) in the content of a file, for `Session.start_from`: a label map, or a mask."""
    array = array_in(data, path, name)
    pixels = pixels_in(data, path, name) if array is None else array
    is_plane = pixels.ndim == 2 or array is not None
    labels = label_map_of(pixels if is_plane else pixels_in(data, path, name, indices=True), name)
    if labels is not None:
        return labels
    return mask_of(pixels, f"{name}: {str(path)!r}") if is_plane else mask_in(data, path, name)
