"""Decorators of CPU kernels; gridcut/device/kernel_store.py stores their machine code on disk."""

import os
import sys
import threading
from collections.abc import Callable
from functools import cache, update_wrapper
from types import FunctionType

import numba

import gridcut.device.compiling  # noqa: F401, which says that kernels are compiled
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

_layer_lock = threading.Lock()


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


def parallel_kernel(function: Callable) -> Callable:
    """Decorate a function with numba.prange loops; it may be called from several threads concurrently."""
    return _cached_parallel(_cached(numba.njit(nogil=True, parallel=True)(function)), function)


def _cached_parallel(dispatcher, function):
    if not hasattr(dispatcher, "py_func"):  # with NUMBA_DISABLE_JIT=1 it is a plain function
        return dispatcher
    serial = cache(lambda: kernel(serial_copy(function)))

    def call(*args):
        if must_run_serially():
            return serial()(*args)
        # The workqueue layer aborts the process if two threads enter it; omp and tbb accept concurrent calls.
        if _layer() in ("omp", "tbb"):
            return dispatcher(*args)
        with _layer_lock:
            return dispatcher(*args)

    update_wrapper(call, dispatcher.py_func)
    call.dispatcher = dispatcher
    call.py_func = dispatcher.py_func
    return call


def _layer() -> str:
    """numba's threading layer, or '' before the first parallel call selects one."""
    try:
        return numba.threading_layer()
    except ValueError:
        return ""


def _cached(dispatcher):
    """Keep the machine code of a dispatcher on disk; under NUMBA_DISABLE_JIT=1 there is only the plain function."""
    return keep(dispatcher) if hasattr(dispatcher, "py_func") else dispatcher


# A fork copies only the calling thread.  GNU's OpenMP, numba's usual threading layer on Linux, then waits for threads
# that do not exist.  numba ends such a process with SIGTERM, and a process pool starts another one, endlessly.  After
# such a fork, parallel kernels therefore run serially, in a serial compilation of the same function.  With the
# multiprocessing start methods "spawn" and "forkserver" they run on several threads as usual.  TBB and numba's
# workqueue need no such care: they restart their threads.
#
# A fork waits until no other thread compiles or loads a kernel: the new process would never get numba's lock.

_forked_from_openmp = False


def must_run_serially() -> bool:
    """Whether this process or an ancestor was forked while OpenMP threads were running."""
    return _forked_from_openmp


def serial_copy(function):
    """Copy a function under another name, so that its machine code is cached in another file."""
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__qualname__ = f"{function.__qualname__}_serial"
    return copy


def _after_fork_in_child() -> None:
    global _forked_from_openmp
    try:
        layer = numba.threading_layer()
    except ValueError:  # no parallel kernel has run, and numba's number of threads has not been queried
        return
    if layer == "omp" and sys.platform.startswith("linux"):
        _forked_from_openmp = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=COMPILER_LOCK.acquire,
        after_in_parent=COMPILER_LOCK.release,
        after_in_child=COMPILER_LOCK.release,
    )
    os.register_at_fork(after_in_child=_after_fork_in_child)
