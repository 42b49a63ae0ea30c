"""Global relabeling of one tile by one warp: the heights around it in, new heights and changed neighbours out.

The search inside the tile is that of tile_search.py; tile_kernels.py repeats it while heights around the tile decrease.
"""

import numpy as np

from gridcut.device.cuda import ballot, cuda, device_function, opaque, relaxed_load, shuffle, warp_sync
from gridcut.tiles.tile_discharge import tile_at, tile_coordinates
from gridcut.tiles.tile_search import ALL, FIRST, LAST, LEVEL_WORDS, NONE, PITCH, UNREACHABLE, search, side


# args: what a step of the relabeling has in its variables
@device_function
def offer_of(row, k, t, lane, iz, iy, ix, first, tiles, tile, offsets, height, masks, base):
    """The level that the lane's pixel of a row is offered over arc k, which leaves the tile in depth or height."""
    z = np.int32(row // tile[1] + offsets[k, 0])
    y = np.int32(row % tile[1] + offsets[k, 1])
    x = np.int32(lane + offsets[k, 2])
    sz, sy, sx = side(z, tile[0]), side(y, tile[1]), side(x, 32)
    q = tile_at(iz, iy, ix, sz, sy, sx, tiles, first)
    cell = np.int32(((z - sz * tile[0]) * tile[1] + y - sy * tile[1]) * 32 + x - sx * 32)
    there = relaxed_load(height, np.int64(q if q >= 0 else t) * 1024 + cell)
    opens = (masks[np.uint32(base + LEVEL_WORDS + k * 32 + row)] >> np.uint32(lane)) & FIRST != NONE
    return np.int32(there + 1 if opens & (q >= 0) else UNREACHABLE)


# args: a step of the relabeling, split off for reading: it takes what that has in its variables
@device_function
def relabel_tile(
    t, lane, tiles, tile, arcs, offsets, leaving, sides, faces, height, bits, reach_bits, level, masks, base
):
    """Set the heights of tile t to distances, given its capacities to the sink and the heights around it.

    Returns in lane j the neighbouring tile across side j if it must be searched again, because a height that its arcs
    see has decreased; -1 otherwise.
    """
    lane = opaque(lane)
    loop = opaque(32)  # an opaque bound keeps loops that are not critical from being unrolled
    depth, rows = tile[0], tile[1]
    iz, iy, ix = tile_coordinates(t, tiles)
    first = np.int32(t - (iz * tiles[1] + iy) * tiles[2] - ix)
    at = np.int64(t) * ((arcs + 2) * 32) + lane
    cell = np.int64(t) * 1024 + lane
    column = np.int64(t) * 1024 + lane * 32
    z0, y0 = lane // rows, lane % rows
    # Loads that do not depend on each other, without branches between them, so that they wait for memory together.
    # Where there is no tile beyond a side, the tile itself is read instead.
    far_left = relaxed_load(height, column - 1024 + 31 if ix > 0 else column)
    far_right = relaxed_load(height, column + 1024 if ix + 1 < tiles[2] else column)
    old_left = relaxed_load(height, column)
    old_right = relaxed_load(height, column + 31)
    old_top = relaxed_load(height, cell + faces[0] * 32)
    old_bottom = relaxed_load(height, cell + faces[-1] * 32)
    sinks = bits[np.uint64(at + arcs * 32)]
    far_left = np.int32(far_left if ix > 0 else UNREACHABLE)
    far_right = np.int32(far_right if ix + 1 < tiles[2] else UNREACHABLE)
    left = np.int32(UNREACHABLE)
    right = np.int32(UNREACHABLE)
    for k in range(arcs):
        mask = bits[np.uint64(at + k * 32)]
        masks[np.uint32(base + LEVEL_WORDS + k * 32 + lane)] = mask
        dz, dy, dx = offsets[k, 0], offsets[k, 1], offsets[k, 2]
        if dx != 0:
            there = shuffle(far_left if dx < 0 else far_right, (lane + dz * rows + dy) & 31)
            opens = mask & (FIRST if dx < 0 else LAST) != NONE
            opens &= side(z0 + dz, depth) == 0
            opens &= side(y0 + dy, rows) == 0
            offer = np.int32(there + 1 if opens else UNREACHABLE)
            if dx < 0:
                left = min(left, offer)
            else:
                right = min(right, offer)
    row = 0
    while row < loop:
        level[np.uint32(base + row * PITCH + lane)] = UNREACHABLE
        row += 1
    warp_sync()
    for i in range(0, leaving.shape[0], 2):
        offer = offer_of(
            leaving[i, 0], leaving[i, 1], t, lane, iz, iy, ix, first, tiles, tile, offsets, height, masks, base
        )
        other = offer_of(
            leaving[i + 1, 0], leaving[i + 1, 1], t, lane, iz, iy, ix, first, tiles, tile, offsets, height, masks, base
        )
        index = np.uint32(base + leaving[i, 0] * PITCH + lane)
        level[index] = min(level[index], offer)
        index = np.uint32(base + leaving[i + 1, 0] * PITCH + lane)
        level[index] = min(level[index], other)
    warp_sync()
    mine = np.uint32(base + lane * PITCH)
    level[mine] = min(level[mine], left)
    level[np.uint32(mine + 31)] = min(level[np.uint32(mine + 31)], right)
    warp_sync()
    reach_bits[np.uint64(t * 32 + lane)] = search(lane, sinks, tile, arcs, offsets, faces, level, masks, base)

    # Lane j checks side j for decreased heights.
    watching = lane < sides.shape[0]
    watched = lane if watching else 0
    sz, sy, sx = sides[watched, 0], sides[watched, 1], sides[watched, 2]
    columns = FIRST if sx < 0 else (LAST if sx > 0 else ALL)
    touched = False
    for i in range(faces.shape[0]):
        row = faces[i]
        old = old_top
        if i > 0:
            old = old_bottom
            if i + 1 < faces.shape[0]:
                old = relaxed_load(height, cell + row * 32)
        changed = ballot(level[np.uint32(base + row * PITCH + lane)] < old)
        z, y = row // rows, row % rows
        at_side = (sz == 0 or z == (0 if sz < 0 else depth - 1)) and (sy == 0 or y == (0 if sy < 0 else rows - 1))
        if at_side and changed & columns != NONE:
            touched = True
    changed_left, changed_right = ballot(level[mine] < old_left), ballot(level[np.uint32(mine + 31)] < old_right)
    if sz == 0 and sy == 0 and ((sx < 0 and changed_left != NONE) or (sx > 0 and changed_right != NONE)):
        touched = True
    row = 0
    while row < loop:
        height[np.uint64(cell + row * 32)] = level[np.uint32(base + row * PITCH + lane)]
        row += 1
    # The lane that sets QUEUED announces the stores of all lanes: they come before the barrier, its fence after it.
    warp_sync()
    cuda.threadfence()
    if touched and watching:
        return tile_at(iz, iy, ix, sz, sy, sx, tiles, first)
    return np.int32(-1)
