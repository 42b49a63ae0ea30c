"""Decorators of CPU kernels; gridcut/device/kernel_store.py stores their machine code on disk."""

import os
from collections.abc import Callable

import numba

import gridcut.device.kernel_store  # noqa: F401, which says that kernels are compiled
from gridcut.device.kernel_store import keep
from gridcut.device.numba_internals import (
    CALLEE,
    COMPILER_LOCK,
    ENTRY,
    INLINED,
    INNER,
    PLAIN,
    called_as,
    for_all_values,
)


def kernel(function: Callable, *, callee: dict = CALLEE, options: dict = ENTRY) -> Callable:
    """Decorate a function as numba.njit(nogil=True) does, with machine code cached on disk.

    It is compiled once for all values of literal arguments, and other kernels that call it contain its code.
    """
    inner = numba.njit(nogil=True, **callee)(function)
    return _cached(called_as(numba.njit(nogil=True, **options)(function), inner))


def plain_kernel(function: Callable) -> Callable:
    """Decorate a function as `kernel` does, that neither allocates nor returns an array.

    Without reference counts of arrays it is compiled in less time, and so are the kernels that it calls.
    """
    return kernel(function, callee=INNER, options=PLAIN)


def inner_kernel(function: Callable) -> Callable:
    """Decorate a function that only kernels call, and that neither allocates nor returns an array.

    It is compiled without reference counts of arrays.  numba counts an array once per use of a field of a tuple, which
    doubles the time of short functions on bundled arrays (measured in assign/dense/dense_augment.py).
    """
    return for_all_values(numba.njit(nogil=True, **INNER)(function))


def inlined_kernel(function: Callable) -> Callable:
    """Decorate a function as `inner_kernel` does; its code becomes part of every kernel that calls it.

    A call passes seven words per array: for steps of some hundred nanoseconds on ten arrays, a quarter of the time.
    """
    return for_all_values(numba.njit(nogil=True, **INLINED)(function))


def _cached(dispatcher):
    """Keep the machine code of a dispatcher on disk; under NUMBA_DISABLE_JIT=1 there is only the plain function."""
    return keep(dispatcher) if hasattr(dispatcher, "py_func") else dispatcher


# A fork waits until no other thread compiles or loads a kernel: the new process would never get numba's lock.

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=COMPILER_LOCK.acquire,
        after_in_parent=COMPILER_LOCK.release,
        after_in_child=COMPILER_LOCK.release,
    )
