"""Copies of large arrays in pieces through pinned memory, by all threads; independent of GPUs.

From memory that is not pinned, a driver copies with one thread: 8 to 15 GB/s on hosts whose bus carries 50.  Here each
thread fills its own pinned slots and starts their transfers itself, in a kernel without Python's global lock, while
the GPU reads other slots::

    thread 0    array -> slot 0    array -> slot 1    array -> slot 0    ...
    GPU                            slot 0 -> GPU      slot 1 -> GPU      ...

Integers of 4 or 8 bytes that fit into fewer are sent narrow: most capacities are below 2^8 or 2^16, and half or a
quarter of the bytes take half or a quarter of the time on the bus.  The GPU widens them (gridcut/device/transfer.py).
"""

from typing import NamedTuple

import numpy as np
from numba import prange

from gridcut.device.compile import inlined_kernel, parallel_kernel
from gridcut.device.foreign_calls import bytes_at, call_function
from gridcut.device.intrinsics import atomic_add

SLOT = 1 << 20  # bytes
SLOTS = 2  # of each thread
MOST_THREADS = 12  # more do not read the host's memory faster
LEAST_PIECE = 1 << 16  # bytes; a smaller transfer costs the driver more than it moves
SAMPLED = 64  # elements that show whether an array may be sent narrow; each costs a read of memory

HOST, THERE, COUNT, FROM, TO, FIRST, PIECE = range(7)  # columns of a table of copies


class Calls(NamedTuple):
    """Addresses of C functions that take integers of 64 bits, and return 0 or the number of an error.

    enter(context)                          called by each thread before, and leave(0) after its other calls
    start(target, source, bytes, stream)    start a transfer
    record(event, stream)                   let an event happen when the stream's transfers so far are done
    wait(event)                             wait for it; at once for one that was never recorded
    """

    enter: int
    leave: int
    start: int
    record: int
    wait: int


class Ring(NamedTuple):
    """Pinned slots of all threads, and the events after which each may be filled again; one ring per GPU.

    memory     address of MOST_THREADS * SLOTS * SLOT bytes
    events     one handle per slot
    context    argument of Calls.enter
    """

    memory: int
    events: np.ndarray
    context: int


def narrower(array: np.ndarray) -> np.dtype:
    """The dtype to send an integer array in, judged by a sample; its own dtype if none is narrower."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 4 or array.size == 0:
        return array.dtype
    sample = array[:: -(-array.size // SAMPLED)]
    if sample.min() < 0:
        return array.dtype
    return next((np.dtype(t) for t in (np.uint8, np.uint16) if sample.max() <= np.iinfo(t).max), array.dtype)


def send(copies: list[tuple[np.ndarray, int, np.dtype]], ring: Ring, calls: Calls, threads: int) -> list[bool]:
    """Start to copy arrays to the GPU; returns once they have been read, before all have arrived.

    copies    flat arrays, addresses on the GPU, and dtypes to send them in: their own or one of `narrower`

    Returns for each array whether it did not fit into its narrow dtype; what has been sent of it is then useless.
    """
    table, pieces = _table(copies, threads)
    failed = np.zeros(len(copies), np.int64)
    _check(fill_slots(threads, pieces, table, np.zeros(1, np.int64), *ring, calls, failed))
    return [bool(f) for f in failed]


def receive(array: np.ndarray, address: int, ring: Ring, calls: Calls, threads: int) -> None:
    """Copy from an address on the GPU to a flat array on the host."""
    table, pieces = _table([(array, address, array.dtype)], threads)
    _check(empty_slots(threads, pieces, table, np.zeros(1, np.int64), *ring, calls))


def _table(copies, threads: int) -> tuple[np.ndarray, int]:
    """One row per array, and the number of pieces of all."""
    sent = sum(array.size * dtype.itemsize for array, _, dtype in copies)
    piece = min(SLOT, max(LEAST_PIECE, -(-sent // (threads * SLOTS * 8)) * 8))
    rows, first = [], 0
    for array, address, dtype in copies:
        plain = dtype == array.dtype
        count, size, to = (array.nbytes, 1, 1) if plain else (array.size, array.itemsize, dtype.itemsize)
        rows.append((array.ctypes.data, address, count, size, to, first, piece // to))
        first += -(-count // (piece // to))
    return np.array(rows, np.int64).reshape(-1, PIECE + 1), first


def _check(errors: np.ndarray) -> None:
    for error in errors[errors != 0][:1]:
        raise RuntimeError(f"a transfer failed: the GPU's driver reports error {error}")


@inlined_kernel
def _copy(source, target):
    # Unsigned: an index that may be negative would be tested in every iteration, at a twentieth of the speed.
    for i in range(np.uint64(target.size)):
        target[i] = source[i]


@inlined_kernel
def _narrow_4(source, target, most):
    """Copy uint32 to a narrower dtype; whether all values fit."""
    seen = np.uint32(0)
    for i in range(np.uint64(target.size)):
        value = source[i]
        seen = np.uint32(seen | value)
        target[i] = value
    return seen <= most


@inlined_kernel
def _narrow_8(source, target, most):
    """The same from uint64."""
    seen = np.uint64(0)
    for i in range(np.uint64(target.size)):
        value = source[i]
        seen |= value
        target[i] = value
    return seen <= most


@inlined_kernel
def _fill(source, target, size, to):
    """Copy bytes, narrowing them from elements of `size` bytes to `to`; whether they fit."""
    if size == 1:
        _copy(source, target)
        return True
    if size == 4:
        if to == 1:
            return _narrow_4(source.view(np.uint32), target, 0xFF)
        return _narrow_4(source.view(np.uint32), target.view(np.uint16), 0xFFFF)
    if to == 1:
        return _narrow_8(source.view(np.uint64), target, 0xFF)
    return _narrow_8(source.view(np.uint64), target.view(np.uint16), 0xFFFF)


@inlined_kernel
def _row_of(table, piece):
    """The array of a piece, its first element there, and its number of elements."""
    row = 0
    while row + 1 < table.shape[0] and table[row + 1, FIRST] <= piece:
        row += 1
    first = (piece - table[row, FIRST]) * table[row, PIECE]
    return row, first, min(table[row, PIECE], table[row, COUNT] - first)


@parallel_kernel
def fill_slots(threads, pieces, table, taken, memory, events, context, calls, failed):
    """The threads of `send`; returns the first error of each."""
    errors = np.zeros(threads, np.int64)
    for thread in prange(threads):
        error = call_function(calls.enter, (context,))
        turn = 0
        piece = atomic_add(taken, 0, 1)
        while piece < pieces and error == 0:
            row, first, count = _row_of(table, piece)
            slot = thread * SLOTS + turn % SLOTS
            turn += 1
            error = call_function(calls.wait, (events[slot],))
            size, to = table[row, FROM], table[row, TO]
            here = memory + slot * SLOT
            source = bytes_at(table[row, HOST] + first * size, count * size)
            if failed[row] == 0 and not _fill(source, bytes_at(here, count * to), size, to):
                failed[row] = 1
            if error == 0:
                error = call_function(calls.start, (table[row, THERE] + first * to, here, count * to, 0))
            if error == 0:
                error = call_function(calls.record, (events[slot], 0))
            piece = atomic_add(taken, 0, 1)
        call_function(calls.leave, (0,))
        errors[thread] = error
    return errors


@parallel_kernel
def empty_slots(threads, pieces, table, taken, memory, events, context, calls):
    """The threads of `receive`; returns the first error of each."""
    errors = np.zeros(threads, np.int64)
    held = np.zeros((threads, SLOTS), np.int64)  # the pieces in each slot
    for thread in prange(threads):
        error = call_function(calls.enter, (context,))
        started = finished = 0
        more = True
        while error == 0 and (more or finished < started):
            if more and started - finished < SLOTS:
                piece = atomic_add(taken, 0, 1)
                more = piece < pieces
                if more:
                    row, first, count = _row_of(table, piece)
                    held[thread, started % SLOTS] = piece
                    slot = thread * SLOTS + started % SLOTS
                    started += 1
                    error = call_function(calls.start, (memory + slot * SLOT, table[row, THERE] + first, count, 0))
                    if error == 0:
                        error = call_function(calls.record, (events[slot], 0))
            else:
                row, first, count = _row_of(table, held[thread, finished % SLOTS])
                slot = thread * SLOTS + finished % SLOTS
                finished += 1
                error = call_function(calls.wait, (events[slot],))
                if error == 0:
                    _copy(bytes_at(memory + slot * SLOT, count), bytes_at(table[row, HOST] + first, count))
        call_function(calls.leave, (0,))
        errors[thread] = error
    return errors
