"""A pool of memory that is reused by the next solve; independent of GPUs.

Allocating and freeing memory through a driver takes about as long as loading a small image.  So unused memory is kept,
and freed when an allocation fails.  The pool keeps at most `capacity` bytes in pieces that may be reused, and as many
in pieces that have been put back since.

Other libraries may still be reading labels that their owner has deleted, on an unknown stream.  So pieces that have
been put back are reused only after a synchronisation of the whole GPU, with which every solve starts: `returned` is
called before it, `reuse` after it.
"""

import ctypes
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import numpy as np

from gridcut.device.threads import thread_count

MAX_PIECES = 64
MIN_PIECE_BYTES = 4096


class Pool:
    """Pieces of memory by size: `allocate(size)` gets a piece from the driver, `free(piece)` returns it.

    A piece must not free itself when it is finalised: the garbage collector finalises a whole cycle together, the piece
    and the object that is about to put it back.
    """

    def __init__(self, allocate, free, capacity: int):
        self._allocate = allocate
        self._free_memory = free
        self.capacity = capacity
        self.kept = deque()  # objects with memory of the pool that may be dropped at any time
        self._lock = threading.Lock()
        self._available = []  # (size, piece), oldest first
        # The garbage collector puts pieces back at any time, also while this thread holds the lock.  So `_returned`
        # needs no lock: appending to a deque and popping from it are atomic.
        self._returned = deque()

    def take(self, size: int):
        """Return (size, piece); the piece has at least the requested size."""
        rounded = size_class(size)
        with self._lock:
            for i in reversed(range(len(self._available))):
                if self._available[i][0] == rounded:
                    return self._available.pop(i)
        if rounded > self.capacity:
            rounded = size  # such a piece is never kept
        try:
            return rounded, self._allocate(rounded)
        except Exception as error:
            if "OUT_OF_MEMORY" not in str(error):
                raise
        self.empty()
        return size, self._allocate(size)

    def put_back(self, size: int, piece) -> None:
        """Keep a piece, or free it if the pool would exceed its capacity."""
        if size + _bytes(self._returned) <= self.capacity and size == size_class(size):
            self._returned.append((size, piece))
        else:
            self._free_memory(piece)

    def returned(self) -> list:
        """Remove and return the pieces put back since the last call; the caller must pass them to `reuse`."""
        found = []
        while self._returned:
            try:
                found.append(self._returned.popleft())
            except IndexError:  # another thread has taken it
                break
        return found

    def reuse(self, found: list) -> None:
        """Make pieces from `returned` available again; free the oldest ones if there are too many."""
        with self._lock:
            self._available += found
            while len(self._available) > MAX_PIECES or _bytes(self._available) > self.capacity:
                self._free_memory(self._available.pop(0)[1])

    def held(self) -> int:
        """Bytes in the pool."""
        return _bytes(self._available) + _bytes(self._returned)

    def empty(self) -> None:
        """Free all pieces."""
        self.kept.clear()
        with self._lock:
            free, self._available = self._available, []
        for _, piece in free + self.returned():
            self._free_memory(piece)


def _bytes(pieces) -> int:
    return sum(size for size, _ in list(pieces))


def size_class(size: int) -> int:
    """Round a size up to one of few classes, by at most a 32nd of it or MIN_PIECE_BYTES."""
    step = max(MIN_PIECE_BYTES, 1 << max(size.bit_length() - 6, 0))
    return -(-size // step) * step


# Copies of large arrays through pinned memory; independent of GPUs.
#
# From memory that is not pinned, a driver copies with one thread: 6 to 15 GB/s on hosts whose bus carries 50.  So
# large arrays pass through pinned slots, which a few threads fill while the GPU reads others::
#
#     thread 0    array -> slot 0    array -> slot 3    ...
#     thread 1    array -> slot 1    array -> slot 2    ...
#     GPU                            slot 0, slot 1 -> GPU    ...

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
