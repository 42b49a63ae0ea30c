"""Copies between arrays on the host and our own on a real GPU, large ones through gridcut/device/staging.py."""

import threading
import weakref
from functools import cache

import numpy as np
from cuda.bindings import driver

from gridcut.device import staging
from gridcut.device.cuda import cuda, cuda_kernel
from gridcut.device.launch import blocks_of, launch
from gridcut.device.memory import arrays_in_slab, check, pool
from gridcut.device.numba_cuda_internals import address_of
from gridcut.device.pool import Pool
from gridcut.device.threads import thread_count

STAGED_BYTES = 8 << 20  # the driver copies less about as fast, since threads wake slowly
MIN_THREADS = 4  # with fewer the driver is as fast
NARROWED_BYTES = 32 << 20  # of an array; the kernel that widens less takes longer than the bytes saved
THREADS, MOST_BLOCKS = 256, 1056
DRIVER_VERSION = 12000  # its functions are looked up as they were in this version

_lock = threading.Lock()
_rings: weakref.WeakKeyDictionary[Pool, "OwnedRing"] = weakref.WeakKeyDictionary()


class OwnedRing:
    """The pinned slots of one GPU, kept until the process ends, and the lock of the thread that uses them."""

    def __init__(self, memory: int):
        count = staging.MOST_THREADS * staging.SLOTS
        flags = driver.CUevent_flags.CU_EVENT_DISABLE_TIMING
        self._events = [check(driver.cuEventCreate(flags)) for _ in range(count)]
        context = int(check(driver.cuCtxGetCurrent()))
        self.slots = staging.Ring(memory, np.array([int(event) for event in self._events], np.int64), context)
        self.lock = threading.Lock()


def copy_in(copies) -> None:
    """Copy contiguous host arrays to the GPU, given as pairs (host array, array on the GPU)."""
    ring = _ring(sum(host.nbytes for host, _ in copies))
    if ring is None:
        for host, there in copies:
            check(driver.cuMemcpyHtoD(address_of(there), host.ctypes.data, host.nbytes))
        return
    sent = [_to_send(host, there) for host, there in copies]
    with ring.lock:
        failed = _send(copies, sent, ring)
        again = [copy for copy, failure in zip(copies, failed, strict=True) if failure]
        if again:
            _send(again, [there for _, there in again], ring)
    for (_, there), narrow, failure in zip(copies, sent, failed, strict=True):
        if narrow is not there and not failure:
            launch(widen_kernel, min(blocks_of(there.size, THREADS), MOST_BLOCKS), THREADS, narrow, there)


def copy_out(array, host: np.ndarray) -> None:
    """Copy an array on the GPU to a contiguous host array of the same size."""
    ring = _ring(host.nbytes)
    if ring is None:
        check(driver.cuMemcpyDtoH(host.ctypes.data, address_of(array), host.nbytes))
        return
    with ring.lock:
        staging.receive(host.reshape(-1), address_of(array), ring.slots, _calls(), _threads())


@cuda_kernel
def widen_kernel(narrow, wide):
    """Copy integers to a wider dtype."""
    i = cuda.grid(1)
    while i < wide.size:
        wide[i] = narrow[i]
        i += cuda.gridsize(1)


def _to_send(host: np.ndarray, there):
    """The array on the GPU that the host array is sent to: `there`, or a narrow one to be widened."""
    narrow = staging.narrower(host) if host.nbytes >= NARROWED_BYTES else host.dtype
    if narrow == host.dtype:
        return there
    size = host.size * narrow.itemsize
    try:
        return arrays_in_slab([(0, size, narrow)], size)[0]
    except Exception as error:
        if "OUT_OF_MEMORY" not in str(error):
            raise
        return there


def _send(copies, sent, ring: OwnedRing) -> list[bool]:
    jobs = [(host, address_of(to), to.dtype) for (host, _), to in zip(copies, sent, strict=True)]
    return staging.send(jobs, ring.slots, _calls(), _threads())


def _threads() -> int:
    return min(thread_count(), staging.MOST_THREADS)


def _ring(size: int) -> OwnedRing | None:
    """The ring of the active GPU for copies of `size` bytes, or None: then the driver copies."""
    if size < STAGED_BYTES or thread_count() < MIN_THREADS:
        return None
    owner = pool()
    with _lock:
        if owner not in _rings:
            error, memory = driver.cuMemHostAlloc(staging.MOST_THREADS * staging.SLOTS * staging.SLOT, 0)
            if error:  # no memory that can be pinned
                return None
            _rings[owner] = OwnedRing(int(memory))
        return _rings[owner]


@cache
def _calls() -> staging.Calls:
    """The driver's functions."""
    names = ("cuCtxPushCurrent", "cuCtxPopCurrent", "cuMemcpyAsync", "cuEventRecord", "cuEventSynchronize")
    flags = int(driver.CUdriverProcAddress_flags.CU_GET_PROC_ADDRESS_LEGACY_STREAM)
    found = [driver.cuGetProcAddress(name.encode(), DRIVER_VERSION, flags) for name in names]
    for error, *_ in found:
        check((error,))
    return staging.Calls(*(int(address) for _, address, _ in found))
