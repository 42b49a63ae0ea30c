"""Copies of large arrays through pinned memory; independent of GPUs.

From memory that is not pinned, a driver copies with one thread: 6 to 15 GB/s on hosts whose bus carries 50.  So large
arrays pass through pinned slots, which a few threads fill while the GPU reads others::

    thread 0    array -> slot 0    array -> slot 3    ...
    thread 1    array -> slot 1    array -> slot 2    ...
    GPU                            slot 0, slot 1 -> GPU    ...
"""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import numpy as np

from gridcut.device.threads import thread_count

SLOT = 4 << 20  # bytes; with 1 MB the threads wait for Python's global lock: 10 instead of 32 GB/s
MOST_THREADS = 8  # 12 copy no faster
SLOTS = 2 * MOST_THREADS


def check(result):
    """Return the value of a driver call; RuntimeError if it failed."""
    error, *value = result
    if error:
        raise RuntimeError(f"the GPU reports {error.name}")
    return value[0] if value else None


class Slots:
    """The pinned slots of one GPU, kept until the process ends.

    memory    address of SLOTS * SLOT bytes
    driver    the module of CUDA's driver
    """

    def __init__(self, memory: int, driver):
        flags = driver.CUevent_flags.CU_EVENT_DISABLE_TIMING
        slots = np.ctypeslib.as_array(((ctypes.c_uint8 * SLOT) * SLOTS).from_address(memory))
        self._free: SimpleQueue = SimpleQueue()
        for slot in slots:
            self._free.put((slot, check(driver.cuEventCreate(flags))))
        self._driver = driver
        self._context = check(driver.cuCtxGetCurrent())

    def send(self, host: np.ndarray, address: int) -> None:
        """Start to copy bytes to the GPU; returns once they have been read, before all have arrived."""

        def send_piece(part, first, slot, done):
            np.copyto(slot, part)
            self._start(self._driver.cuMemcpyHtoDAsync, address + first, slot.ctypes.data, part.size, done)

        self._by_threads(send_piece, host)

    def receive(self, host: np.ndarray, address: int) -> None:
        """Copy bytes from the GPU."""

        def receive_piece(part, first, slot, done):
            self._start(self._driver.cuMemcpyDtoHAsync, slot.ctypes.data, address + first, part.size, done)
            check(self._driver.cuEventSynchronize(done))
            np.copyto(part, slot)

        self._by_threads(receive_piece, host)

    def _by_threads(self, copy_piece, host: np.ndarray) -> None:
        def task(first):
            check(self._driver.cuCtxSetCurrent(self._context))
            part = host[first : first + SLOT]
            slot, done = self._free.get()
            try:
                check(self._driver.cuEventSynchronize(done))  # of its last transfer
                copy_piece(part, first, slot[: part.size], done)
            finally:
                self._free.put((slot, done))

        with ThreadPoolExecutor(min(MOST_THREADS, thread_count())) as threads:
            for _ in threads.map(task, range(0, host.size, SLOT)):
                pass

    def _start(self, copy, target: int, source: int, size: int, done) -> None:
        check(copy(target, source, size, 0))
        check(self._driver.cuEventRecord(done, 0))
