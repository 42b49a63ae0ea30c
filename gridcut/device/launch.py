"""Kernel launches with little work on the host.

numba examines every argument at every launch: 28 µs with one array, 52 µs with eight.  Here a kernel is found by the
dtypes of its arguments, which are packed in one call, and a repeated launch is packed once.  Arguments are flat arrays,
NumPy's int32, int64, uint64, float32 and float64, Python's ints, and tuples of those, with names or without (a kernel
that takes many arrays gets them as bundles).  With any other argument, and in tests/simulator, numba launches.

    launch(kernel, blocks, threads, *args)      like kernel[blocks, threads](*args)
    prepare(kernel, blocks, threads, *args)     return a callable that launches, any number of times
    most_blocks(kernel, args, threads)          `cooperative_blocks`, cached
    blocks_of(items, threads)                   blocks for one thread per item
    recording()                                 the launches within, to be repeated
"""

import ctypes
import struct
import threading
from contextlib import contextmanager

import numpy as np
from cuda.bindings import driver

from gridcut.device.cuda import cooperative_blocks
from gridcut.device.memory import current_gpu
from gridcut.device.numba_cuda_internals import address_of, argument_types, handle_of, is_cooperative

ARRAY_WORDS = 7  # per array, in numba's calling convention: two unused, size, itemsize, address, length, stride
SCALARS = {np.int32: "q", np.int64: "q", np.uint64: "Q", np.float32: "f4x", np.float64: "d", int: "q"}

_compiled_kernels = {}  # (kernel, GPU, dtypes) -> _Compiled
_max_blocks = {}
_tapes = threading.local()  # .tape: the launches that this thread is recording
_lock = threading.Lock()  # numba cannot load one kernel from two threads concurrently


class _Compiled:
    """A kernel compiled for some dtypes and loaded on one GPU, to be launched by the driver."""

    def __init__(self, kernel, args, kinds):
        signature = argument_types(kernel, args)
        compiled = kernel.overloads.get(signature) or kernel.compile(signature)
        cooperative = is_cooperative(compiled)
        self.name = kernel.py_func.__name__
        self.code = driver.CUfunction(handle_of(compiled))
        self.start = driver.cuLaunchCooperativeKernel if cooperative else driver.cuLaunchKernel
        self.tail = () if cooperative else (0,)
        formats = _formats(kinds)
        self.count = struct.calcsize(f"={formats}") // 8
        self.pack = struct.Struct(f"={self.count}q{formats}").pack_into
        self.buffer = ctypes.c_int64 * (2 * self.count)

    def words(self, values):
        """Pack the arguments, eight bytes each, after the pointers to each of them."""
        buffer = self.buffer()
        first = ctypes.addressof(buffer) + 8 * self.count
        self.pack(buffer, 0, *range(first, first + 8 * self.count, 8), *values)
        return buffer


def launch(kernel, blocks, threads: int, *args) -> None:
    """Launch a kernel once; blocks: one integer, or a tuple of three."""
    start = prepare(kernel, blocks, threads, *args)
    start()
    tape = getattr(_tapes, "tape", None)
    if tape is not None:
        tape.append(start)


@contextmanager
def recording():
    """Yield a list to which all `launch` in this thread append callables that launch again.

    They do not keep arrays alive: their caller must ensure that the same memory is still in use.
    """
    before, _tapes.tape = getattr(_tapes, "tape", None), []
    try:
        yield _tapes.tape
    finally:
        for start in _tapes.tape:
            if isinstance(start, _Launch):
                start.arrays = None
        _tapes.tape = before


def prepare(kernel, blocks, threads: int, *args, shared: int = 0):
    """Return a callable that launches; the arrays must not move before its last call.  shared: bytes per block."""
    compiled, values = _compiled(kernel, args)
    if compiled is None:
        # Configured at each launch: in the simulator kernel[...] is the kernel itself, with the shape asked for last.
        return lambda: kernel[blocks, threads, 0, shared](*args)
    x, y, z = blocks if isinstance(blocks, tuple) else (blocks, 1, 1)
    return _Launch(compiled, (compiled.code, x, y, z, threads, 1, 1, shared, 0), args, values)


def most_blocks(kernel, args, threads: int, shared: int = 0) -> int:
    """See gridcut.device.cuda.cooperative_blocks."""
    compiled, _ = _compiled(kernel, args)
    if compiled is None:
        return cooperative_blocks(kernel, args, threads, shared)
    key = (compiled, threads, shared)
    with _lock:
        if key not in _max_blocks:
            _max_blocks[key] = cooperative_blocks(kernel, args, threads, shared)
        return _max_blocks[key]


def blocks_of(items: int, threads: int) -> int:
    """Number of blocks of `threads` threads with one thread per item."""
    return -(-items // threads)


class _Launch:
    """A launch with its arguments."""

    def __init__(self, compiled: _Compiled, shape: tuple, args, values):
        self._compiled = compiled
        self.arrays = args  # keeps them alive
        self._words = compiled.words(values)
        self._call = (*shape, ctypes.addressof(self._words), *compiled.tail)

    def __call__(self) -> None:
        (error,) = self._compiled.start(*self._call)
        if error:
            raise RuntimeError(f"the launch of {self._compiled.name} failed: {error.name}")


def _compiled(kernel, args) -> tuple[_Compiled | None, list]:
    """The compiled kernel, or None if numba has to launch it; and the values of its arguments."""
    kinds, values = [], []
    if not _flatten(args, kinds, values):
        return None, values
    key = (kernel, current_gpu(), *kinds)
    known = _compiled_kernels.get(key)
    if known is None:
        with _lock:
            known = _compiled_kernels.get(key)
            if known is None:
                known = _compiled_kernels[key] = _Compiled(kernel, args, kinds)
    return known, values


def _formats(kinds) -> str:
    """The format of the packed values; a tuple's class and length, which precede its kinds, have none."""
    return "".join("q" * ARRAY_WORDS if isinstance(kind, np.dtype) else SCALARS.get(kind, "") for kind in kinds)


def _flatten(args, kinds: list, values: list) -> bool:
    """Append the types that a kernel is compiled for, and the values to pack; False if a type is not supported here."""
    for arg in args:
        kind = type(arg)
        if kind in SCALARS:
            kinds.append(kind)
            values.append(arg)
        elif issubclass(kind, tuple):
            kinds += kind, len(arg)
            if not _flatten(arg, kinds, values):
                return False
        elif getattr(kind, "__cuda_ndarray__", False) and arg.strides == (arg.dtype.itemsize,):
            kinds.append(arg.dtype)
            size, itemsize = arg.size, arg.dtype.itemsize
            values += (0, 0, size, itemsize, address_of(arg), size, itemsize)
        else:
            return False
    return True
