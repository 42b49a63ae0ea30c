"""Values of label maps and strokes of images and volumes."""

import numpy as np

from apps.common.images import InputError, as_integers

MAX_LABEL = 65535  # label maps are written with 16 bits


def label_values(values: np.ndarray, name: str) -> np.ndarray:
    """Labels of any shape as uint8 or uint16, values unchanged; integers stored as floats are accepted.

    Raises InputError, with a message that starts with `name`, for NaN, fractions, negative values and values above
    65535.
    """
    values = as_integers(values, name)
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    if low < 0:
        raise InputError(f"{name} holds the value {low}; labels are integers from 0 (no label) to {MAX_LABEL}")
    if high > MAX_LABEL:
        raise InputError(f"{name} holds values up to {high}; {MAX_LABEL} is the largest label")
    return values.astype(np.uint8 if high < 256 else np.uint16)
