"""A queue of tiles that all warps pop from and push to.

    lists[position % n]   the tile at a position; -1: not written yet
    counts[HEAD]          positions reserved by `pop`: a warp reserves one and waits until its tile is written
    counts[TAIL]          positions reserved by `push`
    counts[PENDING]       tiles that are queued or being searched; 0: no tile will be pushed any more

A tile is in the queue at most once, so n positions suffice.  If a position still holds an earlier tile, `push` waits
until a warp has taken that tile.  There may be more warps than positions (10 for n = 9), so two warps may wait at the
same position; either takes the next tile there.

Why every wait ends: HEAD and TAIL both advance cyclically over the positions.
  TAIL <= HEAD   At each position, at least as many pops as pushes are reserved.  So a warp waits for each queued tile
                 and takes it, and every wait of a push ends.  Other warps wait until a tile is pushed or PENDING is 0.
  TAIL > HEAD    At each position, at least as many pushes as pops are reserved.  So each waiting warp gets a tile.
                 Suppose that all reserved pops have taken their tiles, and that a push still waits.  As many tiles as
                 there are pushes from HEAD to TAIL - 1 are then queued.  They are at most n - 1, as the tile that the
                 pushing warp has just searched is not among them.  So no two of these pushes have the same position:
                 no earlier tile is at the position of the push that waits, a contradiction.
When a warp has searched its tile, it reserves a position again, so every queued tile is taken.

The lanes of a warp may wait in `push` at different positions, and lane 0 waits in `pop` while the others wait for it.
That every waiting lane and warp makes progress requires independent thread scheduling: compute capability 7.0 or later.
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
