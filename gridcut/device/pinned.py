"""Copies of large arrays through pinned memory; independent of GPUs.

From memory that is not pinned, a driver copies with one thread: 8 to 15 GB/s on hosts whose bus carries 50.  So large
arrays pass through pinned slots, which a kernel on all threads fills while the GPU reads the slot before::

    host    array -> slot 0    array -> slot 1    array -> slot 0    ...
    GPU                        slot 0 -> GPU      slot 1 -> GPU      ...
"""

import ctypes
import threading
from collections import deque
from itertools import cycle

import numpy as np
from numba import prange

from gridcut.device.compile import parallel_kernel

SLOT, SLOTS = 4 << 20, 4  # bytes, and their number


def check(result):
    """Return the value of a driver call; RuntimeError if it failed."""
    error, *value = result
    if error:
        raise RuntimeError(f"the GPU reports {error.name}")
    return value[0] if value else None


class Slots:
    """The pinned slots of one GPU, kept until the process ends, and the lock of the thread that uses them.

    memory    address of SLOTS * SLOT bytes
    driver    the module of CUDA's driver
    """

    def __init__(self, memory: int, driver):
        flags = driver.CUevent_flags.CU_EVENT_DISABLE_TIMING
        slots = np.frombuffer((ctypes.c_uint8 * (SLOTS * SLOT)).from_address(memory), np.uint8).reshape(SLOTS, SLOT)
        self._turns = cycle([(slot, check(driver.cuEventCreate(flags))) for slot in slots])
        self._driver = driver
        self.lock = threading.Lock()

    def send(self, host: np.ndarray, address: int) -> None:
        """Start to copy bytes to the GPU; returns once they have been read, before all have arrived."""
        for first in range(0, host.size, SLOT):
            part = host[first : first + SLOT]
            slot, done = next(self._turns)
            self._wait(done)
            copy_bytes(part, slot)
            self._start(self._driver.cuMemcpyHtoDAsync, address + first, slot.ctypes.data, part.size, done)

    def receive(self, host: np.ndarray, address: int) -> None:
        """Copy bytes from the GPU."""
        started: deque = deque()
        for first in range(0, host.size, SLOT):
            if len(started) == SLOTS:
                self._finish(*started.popleft())
            part = host[first : first + SLOT]
            slot, done = next(self._turns)
            self._wait(done)
            self._start(self._driver.cuMemcpyDtoHAsync, slot.ctypes.data, address + first, part.size, done)
            started.append((part, slot, done))
        for arriving in started:
            self._finish(*arriving)

    def _start(self, copy, target: int, source: int, size: int, done) -> None:
        check(copy(target, source, size, 0))
        check(self._driver.cuEventRecord(done, 0))

    def _finish(self, part, slot, done) -> None:
        self._wait(done)
        copy_bytes(slot[: part.size], part)

    def _wait(self, done) -> None:
        """Wait until the last transfer with a slot has ended; at once if there was none."""
        check(self._driver.cuEventSynchronize(done))


@parallel_kernel
def copy_bytes(source, target):
    """Copy all bytes of `source` to the start of `target`, by all threads."""
    for i in prange(source.size):
        target[i] = source[i]
