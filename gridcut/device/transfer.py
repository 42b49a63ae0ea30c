"""Copies between arrays on the host and our own on a real GPU, large ones through gridcut/device/pool.py."""

import threading
import weakref

import numpy as np
from cuda.bindings import driver

from gridcut.device.arguments import unmarked
from gridcut.device.memory import pool
from gridcut.device.numba_cuda_internals import address_of
from gridcut.device.pool import SLOT, SLOTS, Pool, Slots, check
from gridcut.device.threads import thread_count

PINNED_BYTES = 24 << 20  # of an array; the driver copies less as fast, since threads take time to start
MIN_THREADS = 4  # with fewer the driver is as fast

_lock = threading.Lock()
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
    with _lock:
        if owner not in _slots:
            error, memory = driver.cuMemHostAlloc(SLOTS * SLOT, 0)
            if error:  # no memory that can be pinned
                return None
            _slots[owner] = Slots(int(memory), driver)
        return _slots[owner]
