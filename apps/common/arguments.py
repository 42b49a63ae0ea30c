"""Validation of arguments of the library functions."""

from numbers import Integral, Real
from os import PathLike

import numpy as np

from apps.common.errors import InputError


def array_of(values, name: str) -> np.ndarray:
    """Convert an argument to an array; InputError, starting with `name`, if it is none, such as None or a path."""
    if values is None:
        raise InputError(f"{name} must be an array, got None, which cv2.imread returns for a file that it cannot read")
    if isinstance(values, str | bytes | PathLike):
        kind = type(values).__name__
        raise InputError(f"{name} must be an array, got a {kind}: read the file first, e.g. imageio.v3.imread(path)")
    try:
        return np.asarray(values)
    except Exception as error:  # ragged lists, masked arrays of other libraries, arrays on a GPU, ...
        raise InputError(f"{name} must be an array, got {type(values).__name__} ({error})") from None


def pixels_of(image, name: str) -> np.ndarray:
    """As `array_of`, with integers of other dtypes than uint8 and uint16 as uint8 if all are from 0 to 255."""
    pixels = array_of(image, name)
    if pixels.dtype.kind in "iu" and pixels.dtype not in (np.uint8, np.uint16) and pixels.size:
        return pixels.astype(np.uint8) if 0 <= pixels.min() and pixels.max() <= 255 else pixels
    return pixels


def check_number(value, name: str, integer: bool = False) -> None:
    """Raise TypeError unless `value` is a real number, or an integer if `integer`; bool is neither."""
    if isinstance(value, bool) or not isinstance(value, Integral if integer else Real):
        kind = "an integer" if integer else "a number"
        raise TypeError(f"{name} must be {kind}, got {value!r} of type {type(value).__name__}")
