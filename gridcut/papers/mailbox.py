"""Queues of active pixels between threads: one ring per worker, with many writers and its owner as the only reader.

Worker i owns the cells i * share ... (i + 1) * share - 1, and only worker i discharges them.  A cell is posted by the
thread whose atomic addition changes its excess from not positive to positive, and again by its owner while excess
is left.  So it is never in a ring twice, and a ring of `share` slots cannot overflow.

Arrays
  ring[i * share + ...]   cell + 1;  0: empty
  tail[i * SPACING]       slots reserved so far, by atomic addition;  head: slots read, by the owner only
"""

import numpy as np

from gridcut.device import atomic_add, atomic_load, atomic_store, kernel

SPACING = 16  # entries, so that counters of different workers are in different cache lines


@kernel
def post(ring, tail, share, cell):
    """Append a cell to the ring of its owner."""
    owner = cell // share
    slot = atomic_add(tail, owner * SPACING, 1)
    atomic_store(ring, owner * share + slot % share, cell + 1)


@kernel
def take(ring, worker, share, head):
    """The cell at slot `head` of the worker's ring; the slot must have been reserved."""
    at = worker * share + head % share
    cell = atomic_load(ring, at)
    while cell == 0:  # the writer has reserved the slot and not stored the cell yet
        cell = atomic_load(ring, at)
    atomic_store(ring, at, 0)
    return cell - 1


@kernel
def post_active(excess, height, ceiling, ring, tail, share):
    """Post all pixels with excess that are connected to the sink; returns their number."""
    ring[:] = 0
    tail[:] = 0
    active = 0
    for p in range(excess.size):
        if excess[p] > 0 and height[p] < ceiling:
            post(ring, tail, share, p)
            active += 1
    return active


def make_rings(size: int, workers: int, number):
    """(ring, tail, share) for `size` cells."""
    share = -(-size // workers)
    return np.zeros(share * workers, number), np.zeros(workers * SPACING, np.int64), share
