"""Distances to the sink in one tile, computed by one warp: breadth-first search on bits.

Each lane holds one row of the tile as 32 bits, so one level of the search takes a few shifts, shuffles and bit
operations for all 1024 pixels:

    row 0   ........ ####....      frontier, 32 bits per lane      a pixel p is reached over arc k, p -> q, if
    row 1   ....#### ........      dx: shift    dy, dz: shuffle    q is in the frontier and r(p, q) > 0
    row 31  ........ ........      & bits of "r > 0" of arc k

Level 1 is the set of pixels with capacity to the sink.  A pixel whose arc leaves the tile is offered one more than the
height at the arc's other end.

The levels of the reached pixels are not stored as they are found, which would take a loop over the bits of each row.
Two levels that reach pixels are a *turn*, numbered from 1; one of them may be empty.  One word per row tells which
pixels belong to the second level of their turn, and words b0 to b10 are the bits of the turns: all reached pixels are
toggled in word j whenever bit j of the turn changes, and at the end if it is set, so a pixel is toggled an odd number
of times if its own turn has that bit.  At last turns are translated to levels.

Shared memory of a search, int32 words from `base`
  level[row * PITCH + x]   before: the level offered to the pixel from outside, or UNREACHABLE;  after: its height
  bits[k * 32 + row]       after the levels: r > 0 of arc k
  level[table + turn]      after the bits: the first level of a turn;  of turn 0: UNREACHABLE
"""

import numpy as np

from gridcut.device.cuda import ballot, device_function, opaque, shuffle, shuffle_bits, warp_sync

UNREACHABLE = 1 << 30  # height of a pixel from which the search has found no path to the sink
PITCH = 33  # words per row; 33, so that reading a column causes no bank conflicts
LEVEL_WORDS = 32 * PITCH
TURNS = 1024 + 1  # a turn finds at least one of the 1024 pixels; turn 0 stands for pixels that are not reached
FIRST, LAST = np.uint32(1), np.uint32(1 << 31)
NONE, ALL = np.uint32(0), np.uint32(0xFFFFFFFF)


def search_words(arcs: int) -> int:
    """int32 words of shared memory per search."""
    return LEVEL_WORDS + 32 * arcs + TURNS


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
        reached = (shuffle_bits(seen, faces[i]) >> np.uint32(lane)) & FIRST
        offer = level[np.uint32(base + faces[i] * PITCH + lane)]
        if offer > now and reached == NONE:
            following = min(following, offer)
    return warp_min(following, lane)


@device_function
def with_offers(new, now, left, right, top, bottom, faces, lane, level, base):
    """The lane's row of a frontier, and the pixels that are offered level `now` from outside."""
    above, below = ballot(top == now), ballot(bottom == now)
    new = np.uint32(new | (FIRST if left == now else NONE))
    new = np.uint32(new | (LAST if right == now else NONE))
    new = np.uint32(new | (above if lane == faces[0] else NONE))
    new = np.uint32(new | (below if lane == faces[-1] else NONE))
    for i in range(1, faces.shape[0] - 1):
        found = ballot(level[np.uint32(base + faces[i] * PITCH + lane)] == now)
        new = np.uint32(new | (found if lane == faces[i] else NONE))
    return new


@device_function
def step(new, lane, tile, arcs, offsets, bits, masks):
    """The lane's row of the pixels from which an arc leads to the frontier `new`."""
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
    return reached


@device_function
def search(lane, sinks, tile, arcs, offsets, faces, level, bits, base):
    """Fill in the levels of a tile; returns this lane's row of reached pixels as bits.

    sinks   this lane's row of pixels with capacity to the sink
    faces   the rows that arcs leave in depth or height

    Each level depends on the previous one, so a search takes the number of levels times the latency of half a loop
    iteration: every instruction in the loop counts.
    """
    z0, y0 = lane // tile[1], lane % tile[1]
    mine = opaque(base + lane * PITCH)
    masks = opaque(base + LEVEL_WORDS + lane)
    table = opaque(base + LEVEL_WORDS + 32 * arcs)
    for k in range(arcs):
        if side(z0 + offsets[k, 0], tile[0]) != 0 or side(y0 + offsets[k, 1], tile[1]) != 0:
            bits[np.uint32(masks + k * 32)] = NONE
    left, right = level[np.uint32(mine)], level[np.uint32(mine + 31)]
    top = level[np.uint32(base + faces[0] * PITCH + lane)]
    bottom = level[np.uint32(base + faces[-1] * PITCH + lane)]
    seen = NONE
    new = sinks
    now = np.int32(1)
    turn = np.int32(0)
    b0 = b1 = b2 = b3 = b4 = b5 = b6 = b7 = b8 = b9 = b10 = NONE
    second = NONE
    while now < UNREACHABLE:
        new = np.uint32(with_offers(new, now, left, right, top, bottom, faces, lane, level, base) & ~seen)
        both = np.uint32(seen | new)
        later = step(new, lane, tile, arcs, offsets, bits, masks)
        offered = np.int32(now + 1)
        later = np.uint32(with_offers(later, offered, left, right, top, bottom, faces, lane, level, base) & ~both)
        if ballot(new | later != NONE) == NONE:
            now = next_offer(offered, seen, left, right, top, bottom, faces, lane, level, base)
            continue
        second = np.uint32(second | later)
        turn = np.int32(turn + 1)
        level[np.uint32(table + turn)] = now
        b0 = np.uint32(b0 ^ seen)
        if turn & 1 == 0:
            b1 = np.uint32(b1 ^ seen)
            if turn & 3 == 0:
                b2 = np.uint32(b2 ^ seen)
                if turn & 7 == 0:
                    b3 = np.uint32(b3 ^ seen)
                    b4 = np.uint32(b4 ^ (seen if turn & 15 == 0 else NONE))
                    b5 = np.uint32(b5 ^ (seen if turn & 31 == 0 else NONE))
                    b6 = np.uint32(b6 ^ (seen if turn & 63 == 0 else NONE))
                    b7 = np.uint32(b7 ^ (seen if turn & 127 == 0 else NONE))
                    b8 = np.uint32(b8 ^ (seen if turn & 255 == 0 else NONE))
                    b9 = np.uint32(b9 ^ (seen if turn & 511 == 0 else NONE))
                    b10 = np.uint32(b10 ^ (seen if turn & 1023 == 0 else NONE))
        seen = np.uint32(both | later)
        new = step(later, lane, tile, arcs, offsets, bits, masks)
        now = np.int32(now + 2)
    b0 = np.uint32(b0 ^ (seen if turn & 1 != 0 else NONE))
    b1 = np.uint32(b1 ^ (seen if turn & 2 != 0 else NONE))
    b2 = np.uint32(b2 ^ (seen if turn & 4 != 0 else NONE))
    b3 = np.uint32(b3 ^ (seen if turn & 8 != 0 else NONE))
    b4 = np.uint32(b4 ^ (seen if turn & 16 != 0 else NONE))
    b5 = np.uint32(b5 ^ (seen if turn & 32 != 0 else NONE))
    b6 = np.uint32(b6 ^ (seen if turn & 64 != 0 else NONE))
    b7 = np.uint32(b7 ^ (seen if turn & 128 != 0 else NONE))
    b8 = np.uint32(b8 ^ (seen if turn & 256 != 0 else NONE))
    b9 = np.uint32(b9 ^ (seen if turn & 512 != 0 else NONE))
    b10 = np.uint32(b10 ^ (seen if turn & 1024 != 0 else NONE))
    level[np.uint32(table)] = UNREACHABLE
    warp_sync()
    # Four pixels at a time, x, x + 8, x + 16 and x + 24: the low 8 bits of their turns are the bytes of `turns`.
    x = opaque(0)
    while x < 8:
        turns = every_eighth(b0, x)
        turns = np.uint32(turns | (every_eighth(b1, x) << np.uint32(1)))
        turns = np.uint32(turns | (every_eighth(b2, x) << np.uint32(2)))
        turns = np.uint32(turns | (every_eighth(b3, x) << np.uint32(3)))
        turns = np.uint32(turns | (every_eighth(b4, x) << np.uint32(4)))
        turns = np.uint32(turns | (every_eighth(b5, x) << np.uint32(5)))
        turns = np.uint32(turns | (every_eighth(b6, x) << np.uint32(6)))
        turns = np.uint32(turns | (every_eighth(b7, x) << np.uint32(7)))
        high = NONE
        if turn > 255:
            high = every_eighth(b8, x)
            high = np.uint32(high | (every_eighth(b9, x) << np.uint32(1)))
            high = np.uint32(high | (every_eighth(b10, x) << np.uint32(2)))
        for j in range(4):
            low = (turns >> np.uint32(8 * j)) & np.uint32(255)
            index = np.uint32(low | (((high >> np.uint32(8 * j)) & np.uint32(255)) << np.uint32(8)))
            odd = np.int32((second >> np.uint32(x + 8 * j)) & FIRST)
            level[np.uint32(mine + x + 8 * j)] = np.int32(level[np.uint32(table + index)] + odd)
        x = np.int32(x + 1)
    warp_sync()
    return seen


@device_function
def every_eighth(bits, x):
    """Bits x, x + 8, x + 16 and x + 24, as the lowest bits of four bytes."""
    return np.uint32((bits >> np.uint32(x)) & np.uint32(0x01010101))
