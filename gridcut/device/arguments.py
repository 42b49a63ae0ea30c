"""What callers may pass for a parameter, checked the same way in every package.

A wrong kind is a TypeError, a wrong value a ValueError; both name the parameter, what came and what would be right.
"""

import math
import operator
from numbers import Real

import numpy as np

MAX_COUNT = 2**62  # of counts that kernels add up in 64 bits
MAX_THREADS = 1024


def check_count(name: str, value, minimum: int = 1, maximum: int = MAX_COUNT, *, why: str = "") -> int:
    """An integer of any library as an int; bool, floats and words are no counts.

    why   follows the bound in the message, such as "one of them relabels"
    """
    try:
        count = operator.index(value)
    except TypeError:
        count = None
    if count is None or isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be an integer, got {value!r:.60} ({type(value).__name__})")
    if count < minimum:
        raise ValueError(f"{name} must be {minimum} or more, {why + '; ' if why else ''}got {count}")
    if count > maximum:
        raise ValueError(f"{name} must be at most {maximum}, got {count}")
    return count


def check_real(name: str, value) -> float:
    """A real number of any library as a float; NaN, bool and words are refused."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r:.60} ({type(value).__name__})")
    number = float(value)
    if math.isnan(number):
        raise ValueError(f"{name} must be a number, got nan")
    return number


def check_positive(name: str, value) -> float:
    """A number above 0, infinity too, as a float."""
    number = check_real(name, value)
    if not number > 0:
        raise ValueError(f"{name} must be positive, got {value!r}")
    return number


def check_callback(callback) -> None:
    """A callable, or None."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {type(callback).__name__}")


def refuse_masked(name: str, value) -> None:
    """TypeError for a masked array with masked entries, whose mask numpy would drop without a word."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise TypeError(
            f"{name} is a masked array with {np.ma.count_masked(value)} masked entries, which would be ignored; "
            "fill them (np.ma.filled), and where the function has mask=, pass the entries that count as mask=~a.mask"
        )


def plain_array(name: str, value) -> np.ndarray:
    """np.asarray of what a caller passed; TypeError for masked entries, ragged lists and what is no array at all."""
    refuse_masked(name, value)
    try:
        return np.asarray(value)
    except Exception as error:
        raise TypeError(f"{name} must be an array of numbers, got {type(value).__name__}") from error
