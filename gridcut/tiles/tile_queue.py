"""A queue of tiles that all warps pop from and push to.

    lists[position % n]   the tile at a position; -1: not written yet
    counts[HEAD]          positions reserved by `pop`: a warp reserves one and waits until its tile is written
    counts[TAIL]          positions reserved by `push`
    counts[PENDING]       tiles that are queued or being searched; 0: no tile will be pushed any more

A tile is in the queue at most once, so n positions suffice.  If a position still holds an earlier tile, `push` waits
until the warp that reserved that tile has taken it.
"""

import numpy as np

from gridcut.device.cuda import cuda, device_function, relaxed_load
from gridcut.tiles.tile_state import HEAD, PENDING, TAIL

FINISHED = -2
SLEEP_NANOSECONDS = 200  # between two loads of a position


@device_function
def push(t, lists, counts, n):
    """Append tile t; the caller has already incremented counts[PENDING] for it."""
    position = np.uint64(cuda.atomic.add(counts, TAIL, np.int32(1)) % n)
    while cuda.atomic.cas(lists, position, np.int32(-1), np.int32(t)) != -1:
        cuda.nanosleep(np.uint32(SLEEP_NANOSECONDS))


@device_function
def pop(lists, counts, n):
    """Remove and return the next tile; FINISHED once counts[PENDING] is 0."""
    position = np.uint64(cuda.atomic.add(counts, HEAD, np.int32(1)) % n)
    while relaxed_load(counts, PENDING) > 0:
        i = 0
        while i < 8:
            if relaxed_load(lists, position) >= 0:
                t = cuda.atomic.exch(lists, position, np.int32(-1))
                if t >= 0:
                    return np.int32(t)
            cuda.nanosleep(np.uint32(SLEEP_NANOSECONDS))
            i += 1
    return np.int32(FINISHED)
