"""Parallel kernels in a process that was forked from one with running OpenMP threads.

A fork copies only the calling thread.  GNU's OpenMP, numba's usual threading layer on Linux, then waits for threads
that do not exist.  numba ends such a process with SIGTERM, and a process pool starts another one, endlessly.  After
such a fork, parallel kernels therefore run serially, in a serial compilation of the same function.  With the
multiprocessing start methods "spawn" and "forkserver" they run on several threads as usual.

TBB and numba's workqueue need no such care: they restart their threads.

A fork waits until no other thread compiles or loads a kernel: the new process would never get numba's lock.
"""

import os
import sys
from types import FunctionType

import numba

from gridcut.device.numba_internals import COMPILER_LOCK

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
