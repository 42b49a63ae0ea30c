"""A queue of tiles that all warps take from and add to.

    lists[place % n]   the tile at a place, -1: not there yet
    counts[HEAD]       places taken: a warp takes one and waits until its tile comes;  counts[TAIL]: places filled
    counts[PENDING]    tiles that wait or are at work; 0: there will be no more

A tile waits once at most, so n places are enough; one that is still in use is waited for.
"""

import numpy as np

from gridcut.device.cuda import cuda, device_function, relaxed_load

HEAD, TAIL, PENDING = 0, 1, 2  # places in `counts`
FINISHED = -2
SLEEP_NANOSECONDS = 200  # nanoseconds between two looks


@device_function
def push(t, lists, counts, n):
    """Add a tile, which PENDING counts already."""
    position = np.uint64(cuda.atomic.add(counts, TAIL, np.int32(1)) % n)
    while cuda.atomic.cas(lists, position, np.int32(-1), np.int32(t)) != -1:
        cuda.nanosleep(np.uint32(SLEEP_NANOSECONDS))


@device_function
def pop(lists, counts, n):
    """The next tile; FINISHED if there will be none."""
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
