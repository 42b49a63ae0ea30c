"""Active pixels handed from thread to thread: one ring for each worker, many writers, its owner the only
reader.

Worker i owns the cells i * share ... (i + 1) * share - 1 and alone discharges them.  A cell is posted exactly
when an addition takes its excess from "not positive" to "positive", and again by its owner while some is
left, so it is never in a ring twice and a ring of `share` places cannot overflow.

Arrays
  ring[i * share + ...]   cell + 1;  0: empty
  tail[i * SPACING]       places given out so far, by atomic addition;  head: places read, by the owner alone
"""

import numpy as np

from gridcut.device import atomic_add, atomic_load, atomic_store, kernel

SPACING = 16  # counters of different workers lie in different cache lines


@kernel
def post(ring, tail, share, cell):
    """Put a cell into the ring of its owner."""
    owner = cell // share
    place = atomic_add(tail, owner * SPACING, 1)
    atomic_store(ring, owner * share + place % share, cell + 1)


@kernel
def take(ring, worker, share, head):
    """The cell at `head` of a worker's own ring, whose place was given out already."""
    at = worker * share + head % share
    cell = atomic_load(ring, at)
    while cell == 0:  # the writer is between its two steps
        cell = atomic_load(ring, at)
    atomic_store(ring, at, 0)
    return cell - 1


@kernel
def post_active(excess, height, ceiling, ring, tail, share):
    """Fill the rings with all pixels that have excess and are not cut off; returns how many."""
    ring[:] = 0
    tail[:] = 0
    active = 0
    for p in range(excess.size):
        if excess[p] > 0 and height[p] < ceiling:
            post(ring, tail, share, p)
            active += 1
    return active


def make_rings(size: int, workers: int, number):
    """(ring, tail, share) for this many cells and workers."""
    share = -(-size // workers)
    return np.zeros(share * workers, number), np.zeros(workers * SPACING, np.int64), share
