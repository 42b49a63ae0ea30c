"""Memory of a real GPU: arrays in memory that is reused by the next solve, synchronisation.

Arrays are numba device arrays whose rarely used attributes are computed on demand.  The driver is called without
numba's checks, which take longer than most of these calls.
"""

import math
import sys
import threading
import weakref
from functools import partial

import numpy as np
from cuda.bindings import driver

from gridcut.device.arguments import unmarked
from gridcut.device.cuda import cuda
from gridcut.device.numba_cuda_internals import OwnedArray, address_of, free_kept, pools_memory
from gridcut.device.pool import SLOT, SLOTS, Pool, Slots, check
from gridcut.device.threads import thread_count

KEPT_SHARE = 1 / 16  # capacity of the Pool, as a share of the GPU's memory

_lock = threading.Lock()
_pools: dict = {}  # handle of a context: (weak reference to the context as numba knows it, its Pool)


class Slab:
    """A piece of memory that holds arrays; put back into its pool when the last of them is deleted."""

    __slots__ = ("_piece", "_pool", "address", "size")

    def __init__(self, pool: Pool, size: int):
        self.size, self._piece = pool.take(size)
        self._pool = pool
        self.address = self._piece if type(self._piece) is int else address_of(self._piece)

    def __del__(self):
        if hasattr(self, "_pool"):  # not if an interrupt has ended __init__
            self._pool.put_back(self.size, self._piece)


class FlatArray(OwnedArray):
    """A one-dimensional device array of numba whose views and slices are made quickly."""

    def view(self, dtype):
        dtype = np.dtype(dtype)
        if not self._is_flat() or self.size * self.dtype.itemsize % dtype.itemsize:
            return super().view(dtype)
        return FlatArray.at(self.address, (self.size * self.dtype.itemsize // dtype.itemsize,), dtype, self.owner)

    def __getitem__(self, item):
        if isinstance(item, slice) and item.step is None and self._is_flat():
            start, stop, _ = item.indices(self.size)
            if start < stop:
                address = self.address + start * self.dtype.itemsize
                return FlatArray.at(address, (stop - start,), self.dtype, self.owner)
        return super().__getitem__(item)

    def reshape(self, *shape, **options):
        if len(shape) == 1 and isinstance(shape[0], tuple) and math.prod(shape[0]) == self.size and self._is_flat():
            return FlatArray.at(self.address, shape[0], self.dtype, self.owner)
        return super().reshape(*shape, **options)

    def _is_flat(self) -> bool:
        """Whether the array is contiguous; arrays that numba derives from it may not be."""
        return self.strides == (self.dtype.itemsize,)


def pool() -> Pool:
    """The pool of the GPU that is active in this thread."""
    error, handle = driver.cuCtxGetCurrent()  # ten times faster than numba's look-up of its context
    known = None if error else _pools.get(int(handle))
    if known is not None and known[0]() is not None:
        return known[1]
    context = cuda.current_context()
    with _lock:
        for handle in [handle for handle, (ref, _) in _pools.items() if ref() is None]:
            del _pools[handle]
        handle = int(check(driver.cuCtxGetCurrent()))
        if handle not in _pools:
            if pools_memory(context):
                made = Pool(_allocate_elsewhere, lambda piece: None, 0)
            else:
                made = Pool(_allocate, partial(_free, handle), int(context.get_memory_info().total * KEPT_SHARE))
            _pools[handle] = weakref.ref(context), made
        return _pools[handle][1]


def _allocate(size: int) -> int:
    """Address of new memory; if there is none, what numba keeps is freed first."""
    error, address = driver.cuMemAlloc(size)
    if error == driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
        free_kept()
        error, address = driver.cuMemAlloc(size)
    return int(check((error, address)))


def _allocate_elsewhere(size: int):
    """New memory of the library that manages it."""
    return cuda.device_array(size, np.uint8)


def _free(context: int, address: int) -> None:
    # At the end of the process memory is freed anyway, and the context may no longer exist.
    if driver is None or sys.is_finalizing():
        return
    # Another GPU may be active in this thread, or none.
    (error,) = driver.cuCtxPushCurrent(context)
    if not error:  # else the context no longer exists, nor does its memory
        driver.cuMemFree(address)
        driver.cuCtxPopCurrent()


def arrays_in_slab(places, total: int, zero: bool = False) -> list[FlatArray]:
    """Arrays in new memory of `total` bytes; places: (first byte, bytes, dtype) of each array."""
    slab = Slab(pool(), total)
    if zero:
        check(driver.cuMemsetD8Async(slab.address, 0, total, 0))
    at, start = FlatArray.at, slab.address
    return [at(start + first, (size // dtype.itemsize,), dtype, slab) for first, size, dtype in places]


def synchronize() -> None:
    """Wait for all work on the GPU; pieces put back before may be reused from now on."""
    kept = pool()
    found = kept.returned()
    check(driver.cuCtxSynchronize())
    kept.reuse(found)


def clear(array) -> None:
    check(driver.cuMemsetD8Async(address_of(array), 0, array.size * array.dtype.itemsize, 0))


def free_bytes() -> int:
    """Bytes of free memory on the GPU, including memory kept by the pool."""
    return int(cuda.current_context().get_memory_info().free) + pool().held()


def current_gpu() -> int:
    """Index of the GPU that is active in this thread."""
    error, device = driver.cuCtxGetDevice()
    return cuda.current_context().device.id if error else int(device)


def gpu_of(address: int) -> int | None:
    """Index of the GPU that owns an address; None if the driver does not know."""
    error, device = driver.cuPointerGetAttribute(
        driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address
    )
    return None if error else int(device)


# Copies between arrays on the host and our own on a real GPU, large ones through gridcut/device/pool.py.

PINNED_BYTES = 24 << 20  # of an array; the driver copies less as fast, since threads take time to start
MIN_THREADS = 4  # with fewer the driver is as fast

_slots_lock = threading.Lock()
_slots: weakref.WeakKeyDictionary[Pool, Slots] = weakref.WeakKeyDictionary()


def copy_in(copies) -> None:
    """Copy contiguous host arrays to the GPU, given as pairs (host array, array on the GPU)."""
    for host, there in copies:
        slots = _slots_for(host.nbytes)
        if slots is None:
            check(driver.cuMemcpyHtoD(address_of(there), host.ctypes.data, host.nbytes))
        else:
            slots.send(unmarked(host).reshape(-1).view(np.uint8), address_of(there))


def copy_out(array, host: np.ndarray) -> None:
    """Copy an array on the GPU to a contiguous host array of the same size."""
    slots = _slots_for(host.nbytes)
    if slots is None:
        check(driver.cuMemcpyDtoH(host.ctypes.data, address_of(array), host.nbytes))
    else:
        slots.receive(host.reshape(-1).view(np.uint8), address_of(array))


def _slots_for(size: int) -> Slots | None:
    """The slots of the active GPU for a copy of `size` bytes; None: then the driver copies."""
    if size < PINNED_BYTES or thread_count() < MIN_THREADS:
        return None
    owner = pool()
    with _slots_lock:
        if owner not in _slots:
            error, memory = driver.cuMemHostAlloc(SLOTS * SLOT, 0)
            if error:  # no memory that can be pinned
                return None
            _slots[owner] = Slots(int(memory), driver)
        return _slots[owner]
