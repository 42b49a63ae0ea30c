"""Copies of large arrays in pieces through pinned memory; independent of GPUs.

From memory that is not pinned, a driver copies with one thread: 10 to 15 GB/s on hosts whose bus carries 46.  Here all
threads fill one pinned buffer while the GPU reads the others::

    threads    array -> buffer 0    array -> buffer 1    array -> buffer 2    ...
    GPU                             buffer 0 -> GPU      buffer 1 -> GPU      ...

Python threads that each copy pieces of their own were no faster than the driver, since every call of the driver waits
for Python's global lock.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numba import prange

from gridcut.device.compile import parallel_kernel

PIECE = 1 << 22  # bytes
BUFFERS = 4
PINNED_BYTES = BUFFERS * PIECE
RUN = 1 << 16  # bytes that a thread copies at a time


@parallel_kernel
def copy_bytes(source, target):
    """Copy an array of bytes to another one of the same length."""
    for run in prange((source.size + RUN - 1) // RUN):
        first = np.uint64(run * RUN)
        last = np.uint64(min((run + 1) * RUN, source.size))
        # Unsigned: an index that may be negative would be tested in every iteration, at a twentieth of the speed.
        for i in range(first, last):
            target[i] = source[i]


def copy_in(copies: Iterable[tuple[np.ndarray, int]], pinned: np.ndarray, start: Callable) -> None:
    """Copy arrays on the host to the GPU.

    copies                   flat arrays of bytes, and addresses on the GPU
    pinned                   PINNED_BYTES bytes
    start(address, buffer)   starts to copy a buffer to an address; returns an object with a method `wait`
    """
    started: deque[Any] = deque()
    for buffer, piece, address in _pieces(copies, pinned):
        if len(started) == BUFFERS:
            started.popleft().wait()
        copy_bytes(piece, buffer)
        started.append(start(address, buffer))
    for transfer in started:
        transfer.wait()


def copy_out(copies: Iterable[tuple[np.ndarray, int]], pinned: np.ndarray, start: Callable) -> None:
    """Copy from the GPU to arrays on the host, which are overwritten; as `copy_in`, with start(buffer, address)."""
    started: deque[tuple[Any, np.ndarray, np.ndarray]] = deque()

    def finish():
        transfer, buffer, piece = started.popleft()
        transfer.wait()
        copy_bytes(buffer, piece)

    for buffer, piece, address in _pieces(copies, pinned):
        if len(started) == BUFFERS:
            finish()
        started.append((start(buffer, address), buffer, piece))
    while started:
        finish()


def _pieces(copies, pinned) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
    """The pieces of all arrays: the buffer of each, in turn, the piece, and its address on the GPU."""
    buffers = pinned.reshape(BUFFERS, PIECE)
    count = 0
    for array, address in copies:
        for first in range(0, array.size, PIECE):
            piece = array[first : first + PIECE]
            yield buffers[count % BUFFERS, : piece.size], piece, address + first
            count += 1
