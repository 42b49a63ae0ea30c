"""Arrays on a GPU: wrap the caller's arrays without copying them, and allocate memory for our own.

A caller's array is recognised by `__cuda_array_interface__`, which CuPy, PyTorch and numba provide; none of these
libraries is imported for it.  numba.cuda is imported on first use, so any module may import this one.

The life of memory of our own: `allocate` cuts arrays out of one piece that the pool (pool.py) gives, memory.py copies
to and from them, kernels use them, and when the last array of a piece is deleted, the pool gets the piece back.  It is
used again after the next `synchronize`, with which every solve starts.
"""

import math
import sys
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

ALIGNMENT = 256  # bytes; every array in a slab starts at a multiple of it, as the driver's allocations do


@dataclass(frozen=True, slots=True, eq=False)
class DeviceArray:
    """A caller's array on the GPU: element (i, j, ...) is data[start + i * strides[0] + j * strides[1] + ...].

    `data` is a flat window of the array's memory, so that kernels are compiled once for all strides.
    """

    data: Any
    start: int
    strides: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype
    library: str

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def address(self) -> int:
        """Where `data` starts on the GPU."""
        return _memory().address_of(self.data)

    def __getitem__(self, i: int) -> "DeviceArray":
        """Element i along the first axis, without a copy."""
        start = self.start + i * self.strides[0]
        return DeviceArray(self.data, start, self.strides[1:], self.shape[1:], self.dtype, self.library)

    def host(self) -> np.ndarray:
        """A copy on the host; only the memory that this array spans is transferred."""
        if self.size == 0:
            return np.zeros(self.shape, self.dtype)
        synchronize()
        below, above = _span(self.shape, self.strides)
        window = self.data[self.start + below : self.start + above + 1].copy_to_host()
        steps = tuple(s * self.dtype.itemsize for s in self.strides)
        return np.lib.stride_tricks.as_strided(window[-below:], self.shape, steps)


def on_device(value) -> bool:
    """Whether a value is an array on a GPU."""
    try:
        return hasattr(value, "__cuda_array_interface__")
    except Exception:  # PyTorch hides the memory of tensors that require gradients; `wrap_device_array` reports that
        return True


def wrap_device_array(name: str, value) -> DeviceArray:
    """Wrap a caller's array on the GPU without copying it; TypeError if its memory cannot be read."""
    try:
        interface = value.__cuda_array_interface__
        shape = tuple(interface["shape"])
        dtype = np.dtype(interface["typestr"])
        strides = interface.get("strides") or _contiguous(shape, dtype.itemsize)
        address = interface["data"][0]
        if interface.get("mask") is not None or any(s % dtype.itemsize for s in strides):
            raise ValueError("the array is masked or not aligned")
    except Exception as error:
        raise TypeError(f"{name} is an array on a GPU whose memory cannot be read: {error!r}") from error
    strides = tuple(s // dtype.itemsize for s in strides)
    library = _library(value)
    if 0 in shape:
        return DeviceArray(None, 0, strides, shape, dtype, library)
    _check_device(name, address)
    below, above = _span(shape, strides)
    # Omit the owner's stream, on which numba would copy without waiting; every reader synchronises first.
    data = _memory().FlatArray.at(address + below * dtype.itemsize, (above - below + 1,), dtype, value)
    return DeviceArray(data, -below, strides, shape, dtype, library)


def return_as(array, library: str | None):
    """Convert our own array on the GPU to one of the caller's library; None: copy it to the host."""
    if library is None:
        return download(array.reshape((array.size,))).reshape(array.shape)
    return array if library == "numba" else to_library(array, library)


def to_library(array: np.ndarray, library: str | None):
    """An array as one of the caller's library on the GPU, to which a host array is copied; None: unchanged."""
    if library is None:
        return array
    if library == "torch":
        return import_module("torch").as_tensor(array, device="cuda")
    if library == "cupy":
        return import_module("cupy").asarray(array)
    from gridcut.device.cuda import cuda

    return cuda.to_device(array)


def to_host(array) -> np.ndarray:
    """Return a caller's array, on the GPU or on the host, as an array on the host."""
    return wrap_device_array("array", array).host() if on_device(array) else array


def widened(value, dtype: np.dtype):
    """Convert a caller's array to another dtype, in its own library; numba arrays are converted on the host."""
    library = _library(value)
    if library == "torch":
        return value.to(getattr(sys.modules["torch"], dtype.name))
    if library == "cupy":
        return value.astype(dtype)
    return to_library(wrap_device_array("array", value).host().astype(dtype), "numba")


def allocate(*wanted: tuple[int, Any], zero: bool = False) -> list:
    """Allocate one-dimensional arrays, given as (length, dtype), in one piece of memory: allocations are slow."""
    places, total = [], 0
    for length, dtype in wanted:
        dtype = np.dtype(dtype)
        size = max(length, 1) * dtype.itemsize
        places.append((total, size, dtype))
        total += -(-size // ALIGNMENT) * ALIGNMENT
    with refusing(total):
        return _memory().arrays_in_slab(places, total, zero)


@contextmanager
def refusing(wanted: int | None = None):
    """Convert the driver's out-of-memory error into a MemoryError that states a remedy."""
    try:
        yield
    except Exception as error:
        if isinstance(error, MemoryError) or "OUT_OF_MEMORY" not in str(error):
            raise
        what = "this method's own memory" if wanted is None else f"{wanted} more bytes"
        raise MemoryError(
            f"the GPU has no memory for {what}, {_memory().free_bytes()} bytes are free; "
            "solve smaller pieces, or use device='cpu'"
        ) from error


def clear(array) -> None:
    """Fill with zeros."""
    _memory().clear(array)


def upload(array: np.ndarray):
    """A copy on the GPU, flat."""
    (copy,) = upload_all([array])
    return copy


def upload_all(arrays: list[np.ndarray]) -> list:
    """Copies on the GPU, flat; large arrays take less time together than one by one."""
    arrays = [np.ascontiguousarray(array).reshape(-1) for array in arrays]
    copies = [allocate((array.size, array.dtype))[0] for array in arrays]
    copy_in([(array, copy) for array, copy in zip(arrays, copies, strict=True) if array.size])
    return copies


def overwrite(there, array: np.ndarray) -> None:
    """Copy a host array into one of our own on the GPU; both flat, with the same length and dtype."""
    copy_in([(array, there)])


def copy_in(copies: list) -> None:
    """`overwrite` for pairs (host array, array on the GPU); large ones take less time together than one by one."""
    _memory().copy_in(copies)


def download(array, host: np.ndarray | None = None) -> np.ndarray:
    """Copy a flat array of our own to the host: to a new array, or to a contiguous one of the same size."""
    host = np.empty(array.size, array.dtype) if host is None else host
    _memory().copy_out(array, host)
    return host


def free_bytes() -> int:
    """Bytes of free memory on the GPU, including memory kept by the pool."""
    return _memory().free_bytes()


def kept_objects() -> tuple[deque, int]:
    """Objects with memory on the active GPU that are dropped when memory is needed, and how many bytes they may use."""
    pool = _memory().pool()
    return pool.kept, pool.capacity


def release_memory() -> None:
    """Return memory that is kept for the next solve to the driver."""
    _memory().pool().empty()
    _memory().free_kept()


def synchronize() -> None:
    """Wait for all work on the GPU, including that of other libraries."""
    _memory().synchronize()


@cache
def _memory():
    """The module for the memory of a GPU."""
    from gridcut.device import memory

    return memory


def _library(value) -> str:
    """The library of an array: "torch", "cupy", or "numba" for all others."""
    return _library_of(type(value))


@cache
def _library_of(kind: type) -> str:
    modules = [base.__module__.partition(".")[0] for base in kind.__mro__]
    return next((name for name in modules if name in ("torch", "cupy")), "numba")


def _span(shape, strides) -> tuple[int, int]:
    """Smallest and largest offset of an element from the first one."""
    # An axis of length 1 may have any stride, which must not enlarge the span.
    below = above = 0
    for length, stride in zip(shape, strides, strict=True):
        reach = (length - 1) * stride
        below, above = min(below, below + reach), max(above, above + reach)
    return below, above


def _contiguous(shape, itemsize: int) -> tuple[int, ...]:
    strides = ()
    for length in reversed(shape):
        strides = (itemsize, *strides)
        itemsize *= length
    return strides


def _check_device(name: str, address: int) -> None:
    """Raise ValueError if the memory is on another GPU than the one that numba uses."""
    current, device = _memory().current_gpu(), _memory().gpu_of(address)
    if device is not None and device != current:
        raise ValueError(
            f"{name} is on GPU {device}, but numba uses GPU {current}; call numba.cuda.select_device({device}) first"
        )
