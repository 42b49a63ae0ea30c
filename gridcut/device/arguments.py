"""Validation of parameters, the same in every package, and the error of every certificate.

A wrong type raises TypeError, a wrong value ValueError.  Both messages contain the parameter's name, the value received
and the accepted values.
"""

import math
import operator
from collections.abc import Callable, Iterable
from functools import wraps
from numbers import Real
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


MAX_COUNT = 2**62  # counts that kernels sum in 64 bits
MAX_THREADS = 1024
WIDE = np.int32, np.int64, np.float32, np.float64
REGISTERED = 2  # dtype.isbuiltin of a type that is not numpy's own


def check_count(name: str, value, minimum: int = 1, maximum: int = MAX_COUNT, *, why: str = "") -> int:
    """Return an integer of any library as an int; bool, floats and strings raise TypeError.

    why   follows the bound in the message, such as "one of them relabels"
    """
    try:
        count = None if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        count = None
    if count is None:
        raise TypeError(f"{name} must be an integer, got {value!r:.60} ({type(value).__name__})")
    if count < minimum:
        raise ValueError(f"{name} must be {minimum} or more, {why + '; ' if why else ''}got {count}")
    if count > maximum:
        raise ValueError(f"{name} must be at most {maximum}, got {count}")
    return count


def check_switch(name: str, value) -> bool:
    """Return True or False of any library as a bool; strings, which would count as True, raise TypeError."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r:.60} ({type(value).__name__})")
    return bool(value)


def check_real(name: str, value) -> float:
    """Return a real number of any library as a float; bool and strings raise TypeError, NaN raises ValueError."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r:.60} ({type(value).__name__})")
    number = float(value)
    if math.isnan(number):
        raise ValueError(f"{name} must be a number, got nan")
    return number


def check_positive(name: str, value) -> float:
    """Return a positive number, or infinity, as a float."""
    number = check_real(name, value)
    if not number > 0:
        raise ValueError(f"{name} must be positive, got {value!r}")
    return number


def check_name(argument: str, name, known: Iterable[str]) -> None:
    """Raise an error unless `name` is "auto" or one of the known names."""
    if not isinstance(name, str):
        raise TypeError(f"{argument} must be a name, got {type(name).__name__}")
    if name != "auto" and name not in known:
        names = ", ".join(repr(known_name) for known_name in ("auto", *known))
        raise ValueError(f"{argument} must be one of {names}; got {name!r}")


def check_accepted(method: str, accepted: Iterable[str], given: Iterable[str]) -> None:
    """TypeError for a parameter that the method does not accept."""
    for name in given:
        if name not in accepted:
            accepts = ", ".join(accepted) or "no parameters"
            raise TypeError(f"method {method!r} got an unexpected parameter {name!r}; it accepts {accepts}")


def numbers_of(name: str, value) -> np.ndarray:
    """An array of booleans, floats, or integers that int64 can hold; TypeError for others."""
    array = plain_array(name, value)
    if array.dtype.kind not in "biuf" or array.dtype == np.uint64:
        raise TypeError(f"{name} must hold integers up to 64 bits (signed) or floats, got {array.dtype}")
    return array


def check_callback(callback) -> None:
    """Raise TypeError unless `callback` is callable or None."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {type(callback).__name__}")


def reject_masked(name: str, value) -> None:
    """Raise TypeError for a masked array with masked entries, since numpy would silently drop the mask."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise TypeError(
            f"{name} is a masked array with {np.ma.count_masked(value)} masked entries, which would be ignored; "
            "fill them (np.ma.filled), and if the function has a parameter mask, pass the valid entries as mask=~a.mask"
        )


def plain_array(name: str, value) -> np.ndarray:
    """Return np.asarray(value); TypeError for masked entries, ragged lists and anything that is not an array.

    Numbers that are no types of numpy are widened to such types: those that another library has registered, such as
    bfloat16 of ml_dtypes, and the Python numbers of tables, such as Int64 of pandas.
    """
    reject_masked(name, value)
    try:
        array = np.asarray(value)
        if array.dtype == object and hasattr(value, "__array__") and not isinstance(value, np.ndarray):
            numbers = np.array(array.tolist())
            if numbers.dtype == object:
                array.astype(float)  # for its error, which says what is not a number
            array = numbers
    except Exception as error:
        reason = str(error).partition("\n")[0]  # what to do, as by a tensor that has a gradient
        raise TypeError(f"{name} must be an array of numbers, got {type(value).__name__}: {reason}") from error
    if array.dtype.isbuiltin == REGISTERED:
        wider = [dtype for dtype in WIDE if np.can_cast(array.dtype, dtype)]
        return array.astype(wider[0]) if wider else array
    return array


class CertificateError(RuntimeError):
    """Raised when a result fails its certificate: a defect in cutmatch, or arrays modified since the solve.

    Every `check()` of `gridcut`, `assign`, `matching` and `apps` raises this class.
    """


# Views of a caller's arrays in the few types for which kernels are compiled: numba types read-only arrays apart, so a
# kernel would be compiled once more for a matrix from a read-only file, and once for each subset of its read-only
# arguments.  Kernels never write to their inputs, so they get views that do not carry the mark.


class _Memory:
    """The memory of an array, exposed to numpy as writeable; keeps the array alive."""

    def __init__(self, owner: np.ndarray, interface: dict):
        self.owner = owner
        self.__array_interface__ = interface


def unmarked(array: np.ndarray) -> np.ndarray:
    """The array itself, or a view of a read-only one without that mark; for kernels that do not write to it."""
    if array.flags.writeable:
        return array
    interface = array.__array_interface__
    return np.asarray(_Memory(array, {**interface, "data": (interface["data"][0], False)}))


def flat_memory(array: np.ndarray, first: int, length: int) -> np.ndarray:
    """`length` numbers of the memory of an array, from `first` bytes after its first entry on, writeable."""
    interface = array.__array_interface__
    place = {"data": (interface["data"][0] + first, False), "shape": (length,), "strides": None}
    return np.asarray(_Memory(array, {**interface, **place}))


# One call at a time: an object that keeps state refuses a second call while one is running.
#
# Two threads in one solver would corrupt its state and get wrong results without an error, as would a callback that
# changes the solver it is called from.  The methods that read or change the state are therefore decorated.  A call
# never waits for another one: it raises RuntimeError.
#
# A flag serves instead of a lock, which takes longer.  Python switches threads and raises interrupts at calls and
# loops, so never between the test of the flag and its assignment, nor between the end of a method and the first
# `finally`.  The second `finally` is for errors that a tracing function raises in the first one.

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


def one_at_a_time(
    method: Callable[Concatenate[Any, Arguments], Returned],
) -> Callable[Concatenate[Any, Arguments], Returned]:
    """Decorate a method that must not run while a decorated method of the same object is running.

    Its class has the attribute `_is_running`, False, which copies of the object must not get.
    """

    @wraps(method)
    def call(self: Any, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Returned:
        if self._is_running:
            name = type(self).__name__
            raise RuntimeError(
                f"this {name} is in use by another thread, or by the call whose callback uses it; use one {name} per "
                "thread, or a lock"
            )
        try:
            try:
                self._is_running = True
                return method(self, *arguments, **named)
            finally:
                self._is_running = False
        finally:
            self._is_running = False

    return call
