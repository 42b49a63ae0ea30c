"""Copies between arrays on the host and our own on a real GPU, large ones through gridcut/device/pinned.py."""

import threading
import weakref
from contextlib import contextmanager

import numpy as np
from cuda.bindings import driver

from gridcut.device.arguments import unmarked
from gridcut.device.memory import pool
from gridcut.device.numba_cuda_internals import address_of
from gridcut.device.pinned import SLOT, SLOTS, Slots, check
from gridcut.device.pool import Pool
from gridcut.device.threads import thread_count

PINNED_BYTES = 8 << 20  # the driver copies less about as fast, since threads wake slowly
MIN_THREADS = 4  # with fewer the driver is as fast

_lock = threading.Lock()
_slots: weakref.WeakKeyDictionary[Pool, Slots] = weakref.WeakKeyDictionary()


def copy_in(copies) -> None:
    """Copy contiguous host arrays to the GPU, given as pairs (host array, array on the GPU)."""
    with _slots_for(sum(host.nbytes for host, _ in copies)) as slots:
        for host, there in copies:
            if slots is None:
                check(driver.cuMemcpyHtoD(address_of(there), host.ctypes.data, host.nbytes))
            else:
                slots.send(unmarked(host).reshape(-1).view(np.uint8), address_of(there))


def copy_out(array, host: np.ndarray) -> None:
    """Copy an array on the GPU to a contiguous host array of the same size."""
    with _slots_for(host.nbytes) as slots:
        if slots is None:
            check(driver.cuMemcpyDtoH(host.ctypes.data, address_of(array), host.nbytes))
        else:
            slots.receive(host.reshape(-1).view(np.uint8), address_of(array))


@contextmanager
def _slots_for(size: int):
    """The slots of the active GPU for copies of `size` bytes, for this thread alone; None: then the driver copies."""
    slots = _pinned() if size >= PINNED_BYTES and thread_count() >= MIN_THREADS else None
    if slots is None:
        yield None
        return
    with slots.lock:
        try:
            yield slots
        except BaseException:
            driver.cuCtxSynchronize()  # an interrupt may have come between a transfer and its event
            raise


def _pinned() -> Slots | None:
    owner = pool()
    with _lock:
        if owner not in _slots:
            error, memory = driver.cuMemHostAlloc(SLOTS * SLOT, 0)
            if error:  # no memory that can be pinned
                return None
            _slots[owner] = Slots(int(memory), driver)
        return _slots[owner]
