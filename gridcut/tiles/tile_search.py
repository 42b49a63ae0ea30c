"""Distances to the sink in one tile, computed by one warp: breadth-first search on bits.

Each lane holds one row of the tile as 32 bits, so one level of the search takes a few shifts, shuffles and bit
operations for all 1024 pixels:

    row 0   ........ ####....      frontier, 32 bits per lane      a pixel p is reached over arc k, p -> q, if
    row 1   ....#### ........      dx: shift    dy, dz: shuffle    q is in the frontier and r(p, q) > 0
    row 31  ........ ........      & bits of "r > 0" of arc k

Level 1 is the set of pixels with capacity to the sink.  A pixel whose arc leaves the tile is offered one more than the
height at the arc's other end.

Shared memory of a search, int32 words from `base`
  level[row * PITCH + x]   before: the level offered to the pixel from outside, or UNREACHABLE;  after: its height
  bits[k * 32 + row]       after the levels: r > 0 of arc k
"""

import numpy as np

from gridcut.device.cuda import ballot, count_trailing_zeros, device_function, opaque, shuffle, shuffle_bits, warp_sync

UNREACHABLE = 1 << 30  # height of a pixel from which the search has found no path to the sink
PITCH = 33  # words per row; 33, so that reading a column causes no bank conflicts
LEVEL_WORDS = 32 * PITCH
FIRST, LAST = np.uint32(1), np.uint32(1 << 31)
NONE, ALL = np.uint32(0), np.uint32(0xFFFFFFFF)


def search_words(arcs: int) -> int:
    """int32 words of shared memory per search."""
    return LEVEL_WORDS + 32 * arcs


@device_function
def side(position, length):
    """-1, 0 or 1: position is below, in or above the range 0 to length - 1."""
    if position < 0:
        return -1
    if position >= length:
        return 1
    return 0


@device_function
def warp_min(value, lane):
    """The minimum over all lanes."""
    value = min(value, shuffle(value, lane ^ 16))
    value = min(value, shuffle(value, lane ^ 8))
    value = min(value, shuffle(value, lane ^ 4))
    value = min(value, shuffle(value, lane ^ 2))
    return min(value, shuffle(value, lane ^ 1))


@device_function
def next_offer(now, seen, left, right, top, bottom, faces, lane, level, base):
    """The lowest level above `now` that is offered from outside to a pixel not reached yet."""
    # Read the rows in all lanes, outside any condition: a shuffle requires every lane of the warp.
    above = (shuffle_bits(seen, faces[0]) >> np.uint32(lane)) & FIRST
    below = (shuffle_bits(seen, faces[-1]) >> np.uint32(lane)) & FIRST
    following = np.int32(UNREACHABLE)
    if left > now and seen & FIRST == NONE:
        following = left
    if right > now and seen & LAST == NONE:
        following = min(following, right)
    if top > now and above == NONE:
        following = min(following, top)
    if bottom > now and below == NONE:
        following = min(following, bottom)
    for i in range(1, faces.shape[0] - 1):
        offer = level[np.uint32(base + faces[i] * PITCH + lane)]  # a pixel that is reached holds at most `now`
        if offer > now:
            following = min(following, offer)
    return warp_min(following, lane)


@device_function
def search(lane, sinks, tile, arcs, offsets, faces, level, bits, base):
    """Fill in the levels of a tile; returns this lane's row of reached pixels as bits.

    sinks   this lane's row of pixels with capacity to the sink
    faces   the rows that arcs leave in depth or height

    Each level depends on the previous one, so a search takes the number of levels times the latency of one loop
    iteration: every instruction in the loop counts.
    """
    z0, y0 = lane // tile[1], lane % tile[1]
    mine = opaque(base + lane * PITCH)
    masks = opaque(base + LEVEL_WORDS + lane)
    for k in range(arcs):
        if side(z0 + offsets[k, 0], tile[0]) != 0 or side(y0 + offsets[k, 1], tile[1]) != 0:
            bits[np.uint32(masks + k * 32)] = NONE
    left, right = level[np.uint32(mine)], level[np.uint32(mine + 31)]
    top = level[np.uint32(base + faces[0] * PITCH + lane)]
    bottom = level[np.uint32(base + faces[-1] * PITCH + lane)]
    seen = NONE
    new = sinks
    now = np.int32(1)
    while now < UNREACHABLE:
        if left == now:
            new = np.uint32(new | FIRST)
        if right == now:
            new = np.uint32(new | LAST)
        above, below = ballot(top == now), ballot(bottom == now)
        if lane == faces[0]:
            new = np.uint32(new | above)
        if lane == faces[-1]:
            new = np.uint32(new | below)
        for i in range(1, faces.shape[0] - 1):
            found = ballot(level[np.uint32(base + faces[i] * PITCH + lane)] == now)
            if lane == faces[i]:
                new = np.uint32(new | found)
        new = np.uint32(new & ~seen)
        if ballot(new != NONE) == NONE:
            now = next_offer(now, seen, left, right, top, bottom, faces, lane, level, base)
            continue
        seen = np.uint32(seen | new)
        reached = NONE
        for k in range(arcs):
            dz, dy, dx = offsets[k, 0], offsets[k, 1], offsets[k, 2]
            frontier = new
            if dz != 0 or dy != 0:
                frontier = shuffle_bits(new, (lane + dz * tile[1] + dy) & 31)
            if dx > 0:
                frontier = np.uint32(frontier >> FIRST)
            elif dx < 0:
                frontier = np.uint32(frontier << FIRST)
            reached = np.uint32(reached | (frontier & bits[np.uint32(masks + k * 32)]))
        # Store the levels while the shuffles are in flight.
        while new != NONE:
            level[np.uint32(mine + count_trailing_zeros(new))] = now
            new = np.uint32(new & (new - FIRST))
        new = reached
        now = np.int32(now + 1)
    # Every offered pixel is reached at its level or earlier, so pixels not reached still hold UNREACHABLE.
    warp_sync()
    return seen
