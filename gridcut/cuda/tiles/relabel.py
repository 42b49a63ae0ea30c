"""Distances to the sink in one tile, found by one warp: breadth-first search on bits.

A lane holds one row of the tile as 32 bits, so a level of the search takes a few shifts, shuffles and bit operations
for all 1024 pixels at once:

    row 0   ........ ####....      frontier, 32 bits a lane        a pixel p is reached over arc k, p -> q, if
    row 1   ....#### ........      dx: shift    dy, dz: shuffle    q is in the frontier and r(p, q) > 0
    row 31  ........ ........      & bits of "r > 0" of arc k

Level 1 are the pixels with capacity to the sink; where an arc leaves the tile, the heights around it offer a level of
one more.  When this has been repeated until the surroundings of no tile change, heights are distances to the sink.

Scratch of a warp, int32: level[row * PITCH + x], at first what the surroundings offer that pixel; then the bits of
the arcs, arc after arc, 32 rows each.
"""

import numpy as np

from gridcut.device.cuda import ballot, cuda, device_function, lowest_set, relaxed_load, shuffle, shuffle_bits, warp_sync

FAR = 1 << 30  # the height of a pixel that cannot reach the sink, as far as is known
PITCH = 33  # words between two rows of the scratch, so that columns too are free of bank conflicts
LEVELS = 32 * PITCH
LEFT, RIGHT = np.uint32(1), np.uint32(1 << 31)
NONE = np.uint32(0)


def scratch_words(arcs: int) -> int:
    """int32 words of shared memory a warp needs."""
    return LEVELS + 32 * arcs


@device_function
def tile_at(iz, iy, ix, sz, sy, sx, tiles, first):
    """Number of the tile at these steps from tile (iz, iy, ix) of the image that starts at `first`; -1 outside."""
    z, y, x = iz + sz, iy + sy, ix + sx
    if z < 0 or z >= tiles[0] or y < 0 or y >= tiles[1] or x < 0 or x >= tiles[2]:
        return -1
    return first + (z * tiles[1] + y) * tiles[2] + x


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
    width = 16
    while width > 0:
        value = min(value, shuffle(value, lane ^ width))
        width >>= 1
    return value


@device_function
def relabel_tile(t, lane, tiles, tile, arcs, offsets, faces, sides, height, bits, level, masks, base, mask_base):
    """Set the heights of tile t from its sinks and the heights around it; the bits of `sides` that changed.

    level and masks are two views of one scratch, which starts at `base`, its part for the arcs at `mask_base`.
    """
    depth, rows = tile[0], tile[1]
    ix = t % tiles[2]
    iy = t // tiles[2] % tiles[1]
    iz = t // (tiles[2] * tiles[1]) % tiles[0]
    first = t - (iz * tiles[1] + iy) * tiles[2] - ix
    at = t * (arcs + 3) * 32 + lane
    z0, y0 = lane // rows, lane % rows
    new = bits[at + arcs * 32]
    left = np.int32(FAR)
    right = np.int32(FAR)
    for row in range(32):
        level[base + row * PITCH + lane] = FAR
    for k in range(arcs):
        mask = bits[at + k * 32]
        masks[mask_base + k * 32 + lane] = mask
        dz, dy, dx = offsets[k, 0], offsets[k, 1], offsets[k, 2]
        if dx != 0 and side(z0 + dz, depth) == 0 and side(y0 + dy, rows) == 0:
            near = lane + dz * rows + dy
            if dx < 0 and ix > 0 and mask & LEFT != NONE:
                left = min(left, np.int32(relaxed_load(height, ((t - 1) * 32 + near) * 32 + 31) + 1))
            elif dx > 0 and ix + 1 < tiles[2] and mask & RIGHT != NONE:
                right = min(right, np.int32(relaxed_load(height, ((t + 1) * 32 + near) * 32) + 1))
    warp_sync()
    pending = NONE
    for i in range(faces.shape[0]):
        row, k = faces[i, 0], faces[i, 1]
        offer = np.int32(FAR)
        if (masks[mask_base + k * 32 + row] >> np.uint32(lane)) & LEFT != NONE:
            z, y, x = row // rows + offsets[k, 0], row % rows + offsets[k, 1], lane + offsets[k, 2]
            sz, sy, sx = side(z, depth), side(y, rows), side(x, 32)
            q = tile_at(iz, iy, ix, sz, sy, sx, tiles, first)
            if q >= 0:
                cell = (q * 32 + (z - sz * depth) * rows + y - sy * rows) * 32 + x - sx * 32
                offer = np.int32(relaxed_load(height, cell) + 1)
        if ballot(offer < FAR) != NONE:
            pending = np.uint32(pending | (LEFT << np.uint32(row)))
            level[base + row * PITCH + lane] = min(level[base + row * PITCH + lane], offer)
    warp_sync()

    seen = NONE
    now = np.int32(1)
    while True:
        if left == now:
            new = np.uint32(new | LEFT)
        if right == now:
            new = np.uint32(new | RIGHT)
        waiting = pending
        while waiting != NONE:
            row = lowest_set(waiting)
            waiting = np.uint32(waiting & (waiting - LEFT))
            found = ballot(level[base + row * PITCH + lane] == now)
            if lane == row:
                new = np.uint32(new | found)
        new = np.uint32(new & ~seen)
        if ballot(new != NONE) == NONE:
            # No pixel at this level: on to the next one that is offered.
            following = np.int32(FAR)
            if left > now:
                following = left
            if right > now:
                following = min(following, right)
            waiting = pending
            while waiting != NONE:
                row = lowest_set(waiting)
                waiting = np.uint32(waiting & (waiting - LEFT))
                offer = level[base + row * PITCH + lane]
                if offer > now:
                    following = min(following, offer)
            now = lowest_in_warp(following, lane)
            if now >= FAR:
                break
            continue
        seen = np.uint32(seen | new)
        rest = new
        while rest != NONE:
            level[base + lane * PITCH + lowest_set(rest)] = now
            rest = np.uint32(rest & (rest - LEFT))
        warp_sync()
        reached = NONE
        for k in range(arcs):
            dz, dy, dx = offsets[k, 0], offsets[k, 1], offsets[k, 2]
            frontier = shuffle_bits(new, (lane + dz * rows + dy) & 31)
            if side(z0 + dz, depth) != 0 or side(y0 + dy, rows) != 0:
                frontier = NONE
            if dx > 0:
                frontier = np.uint32(frontier >> LEFT)
            elif dx < 0:
                frontier = np.uint32(frontier << LEFT)
            reached = np.uint32(reached | (frontier & masks[mask_base + k * 32 + lane]))
        new = np.uint32(reached & ~seen)
        now = np.int32(now + 1)

    bits[at + (arcs + 2) * 32] = seen
    # Lane j watches side j: a neighbour has to look again if a pixel that it can see has changed.
    watching = lane < sides.shape[0]
    watched = lane if watching else 0
    sz, sy, sx = sides[watched, 0], sides[watched, 1], sides[watched, 2]
    columns = LEFT if sx < 0 else (RIGHT if sx > 0 else np.uint32(0xFFFFFFFF))
    touched = False
    for row in range(32):
        value = level[base + row * PITCH + lane]
        if (shuffle_bits(seen, row) >> np.uint32(lane)) & LEFT == NONE:
            value = np.int32(FAR)
        cell = (t * 32 + row) * 32 + lane
        changed = value < height[cell]
        if changed:
            height[cell] = value
        z, y = row // rows, row % rows
        at_side = (sz == 0 or z == (0 if sz < 0 else depth - 1)) and (sy == 0 or y == (0 if sy < 0 else rows - 1))
        if (ballot(changed) & columns) != NONE and at_side:
            touched = True
    cuda.threadfence()
    if touched and watching:
        return tile_at(iz, iy, ix, sz, sy, sx, tiles, first)
    return -1
