"""Distances to the sink in one tile, found by one warp: breadth-first search on bits.

A lane holds one row of the tile as 32 bits, so a level of the search takes a few shifts, shuffles and bit operations
for all 1024 pixels at once:

    row 0   ........ ####....      frontier, 32 bits a lane        a pixel p is reached over arc k, p -> q, if
    row 1   ....#### ........      dx: shift    dy, dz: shuffle    q is in the frontier and r(p, q) > 0
    row 31  ........ ........      & bits of "r > 0" of arc k

Level 1 are the pixels with capacity to the sink; where an arc leaves the tile, the heights around it offer a level of
one more.

Shared memory of a search, int32 words from `base`
  level[row * PITCH + x]   before: the level at which the surroundings reach the pixel, or FAR;  after: its height
  bits[k * 32 + row]       behind it: r > 0 of arc k
"""

import numpy as np

from gridcut.device.cuda import ballot, device_function, lowest_set, shuffle, shuffle_bits, warp_sync

FAR = 1 << 30  # the height of a pixel that cannot reach the sink, as far as is known
PITCH = 33  # words between two rows, so that columns too are free of bank conflicts
LEVELS = 32 * PITCH
FIRST, LAST = np.uint32(1), np.uint32(1 << 31)
NONE, ALL = np.uint32(0), np.uint32(0xFFFFFFFF)


def search_words(arcs: int) -> int:
    """int32 words of shared memory a search needs."""
    return LEVELS + 32 * arcs


@device_function
def side(place, length):
    """-1, 0 or 1: before, in or behind 0 ... length - 1."""
    if place < 0:
        return -1
    if place >= length:
        return 1
    return 0


@device_function
def lowest_in_warp(value, lane):
    """The least of the values of all lanes."""
    value = min(value, shuffle(value, lane ^ 16))
    value = min(value, shuffle(value, lane ^ 8))
    value = min(value, shuffle(value, lane ^ 4))
    value = min(value, shuffle(value, lane ^ 2))
    return min(value, shuffle(value, lane ^ 1))


@device_function
def next_offer(now, left, right, faces, lane, level, base):
    """The lowest level from `now` on that the surroundings offer any pixel."""
    following = np.int32(FAR)
    if left >= now:
        following = left
    if right >= now:
        following = min(following, right)
    for i in range(faces.shape[0]):
        offer = level[np.uint32(base + faces[i] * PITCH + lane)]
        if offer >= now:
            following = min(following, offer)
    return lowest_in_warp(following, lane)


@device_function
def search(lane, sinks, tile, arcs, offsets, faces, level, bits, base):
    """Fill in the levels of a tile; the row of pixels that were reached.

    sinks   this lane's row of pixels with capacity to the sink
    faces   the rows that arcs leave in depth or height
    """
    z0, y0 = lane // tile[1], lane % tile[1]
    mine = np.uint32(base + lane * PITCH)
    masks = np.uint32(base + LEVELS + lane)
    left, right = level[mine], level[np.uint32(mine + 31)]
    seen = NONE
    new = sinks
    now = np.int32(1)
    if ballot(new != NONE) == NONE:
        now = next_offer(now, left, right, faces, lane, level, base)
    while now < FAR:
        if left == now:
            new = np.uint32(new | FIRST)
        if right == now:
            new = np.uint32(new | LAST)
        for i in range(faces.shape[0]):
            found = ballot(level[np.uint32(base + faces[i] * PITCH + lane)] == now)
            if lane == faces[i]:
                new = np.uint32(new | found)
        new = np.uint32(new & ~seen)
        seen = np.uint32(seen | new)
        rest = new
        while rest != NONE:
            level[np.uint32(mine + lowest_set(rest))] = now
            rest = np.uint32(rest & (rest - FIRST))
        reached = NONE
        for k in range(arcs):
            dz, dy, dx = offsets[k, 0], offsets[k, 1], offsets[k, 2]
            frontier = new
            if dz != 0 or dy != 0:
                frontier = shuffle_bits(new, (lane + dz * tile[1] + dy) & 31)
                if side(z0 + dz, tile[0]) != 0 or side(y0 + dy, tile[1]) != 0:
                    frontier = NONE
            if dx > 0:
                frontier = np.uint32(frontier >> FIRST)
            elif dx < 0:
                frontier = np.uint32(frontier << FIRST)
            reached = np.uint32(reached | (frontier & bits[np.uint32(masks + k * 32)]))
        new = np.uint32(reached & ~seen)
        now = np.int32(now + 1)
        if ballot(new != NONE) == NONE:
            # Reached pixels hold a lower level by now, so what is left are offers to others.
            now = next_offer(now, left, right, faces, lane, level, base)
    # Every offer reaches its pixel, so what is left holds FAR.
    warp_sync()
    return seen
