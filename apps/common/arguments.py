"""Validation of scalar arguments of the library functions."""

from numbers import Integral, Real


def check_number(value, name: str, integer: bool = False) -> None:
    """Raise TypeError unless `value` is a real number, or an integer if `integer`; bool is neither."""
    if isinstance(value, bool) or not isinstance(value, Integral if integer else Real):
        kind = "an integer" if integer else "a number"
        raise TypeError(f"{name} must be {kind}, got {value!r} of type {type(value).__name__}")
