"""Validation of arguments of the library functions."""

from numbers import Integral, Real

import numpy as np

from apps.common.errors import InputError


def array_of(values, name: str) -> np.ndarray:
    """Convert an argument to an array; InputError, starting with `name`, if it is none."""
    try:
        return np.asarray(values)
    except Exception as error:  # ragged lists, masked arrays of other libraries, arrays on a GPU, ...
        raise InputError(f"{name} must be an array, got {type(values).__name__} ({error})") from None


def check_number(value, name: str, integer: bool = False) -> None:
    """Raise TypeError unless `value` is a real number, or an integer if `integer`; bool is neither."""
    if isinstance(value, bool) or not isinstance(value, Integral if integer else Real):
        kind = "an integer" if integer else "a number"
        raise TypeError(f"{name} must be {kind}, got {value!r} of type {type(value).__name__}")
