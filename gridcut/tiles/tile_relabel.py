"""Global relabeling of one tile by one warp: the heights around it in, new heights and changed neighbours out.

The search inside the tile is that of tile_search.py; tile_kernels.py repeats it while heights around the tile decrease.
"""

import numpy as np

from gridcut.device.cuda import ballot, cuda, device_function, opaque, relaxed_load, warp_sync
from gridcut.tiles.tile_discharge import tile_at
from gridcut.tiles.tile_search import ALL, FIRST, LAST, LEVEL_WORDS, NONE, PITCH, UNREACHABLE, search, side


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
    ix = t % tiles[2]
    iy = t // tiles[2] % tiles[1]
    iz = t // (tiles[2] * tiles[1]) % tiles[0]
    first = t - (iz * tiles[1] + iy) * tiles[2] - ix
    at = t * (arcs + 2) * 32 + lane
    cell = t * 1024 + lane
    z0, y0 = lane // rows, lane % rows
    left = np.int32(UNREACHABLE)
    right = np.int32(UNREACHABLE)
    for k in range(arcs):
        mask = bits[np.uint64(at + k * 32)]
        masks[np.uint32(base + LEVEL_WORDS + k * 32 + lane)] = mask
        dz, dy, dx = offsets[k, 0], offsets[k, 1], offsets[k, 2]
        if dx != 0 and side(z0 + dz, depth) == 0 and side(y0 + dy, rows) == 0:
            near = (lane + dz * rows + dy) * 32
            if dx < 0 and ix > 0 and mask & FIRST != NONE:
                left = min(left, np.int32(relaxed_load(height, (t - 1) * 1024 + near + 31) + 1))
            elif dx > 0 and ix + 1 < tiles[2] and mask & LAST != NONE:
                right = min(right, np.int32(relaxed_load(height, (t + 1) * 1024 + near) + 1))
    old_left = relaxed_load(height, t * 1024 + lane * 32)
    old_right = relaxed_load(height, t * 1024 + lane * 32 + 31)
    row = 0
    while row < loop:
        level[np.uint32(base + row * PITCH + lane)] = UNREACHABLE
        row += 1
    warp_sync()
    for i in range(leaving.shape[0]):
        row, k = leaving[i, 0], leaving[i, 1]
        if (masks[np.uint32(base + LEVEL_WORDS + k * 32 + row)] >> np.uint32(lane)) & FIRST != NONE:
            z, y, x = row // rows + offsets[k, 0], row % rows + offsets[k, 1], lane + offsets[k, 2]
            sz, sy, sx = side(z, depth), side(y, rows), side(x, 32)
            q = tile_at(iz, iy, ix, sz, sy, sx, tiles, first)
            if q >= 0:
                there = relaxed_load(height, q * 1024 + ((z - sz * depth) * rows + y - sy * rows) * 32 + x - sx * 32)
                index = np.uint32(base + row * PITCH + lane)
                level[index] = min(level[index], np.int32(there + 1))
    warp_sync()
    mine = np.uint32(base + lane * PITCH)
    level[mine] = min(level[mine], left)
    level[np.uint32(mine + 31)] = min(level[np.uint32(mine + 31)], right)
    warp_sync()
    sinks = bits[np.uint64(at + arcs * 32)]
    reach_bits[np.uint64(t * 32 + lane)] = search(lane, sinks, tile, arcs, offsets, faces, level, masks, base)

    # Lane j checks side j for decreased heights.
    watching = lane < sides.shape[0]
    watched = lane if watching else 0
    sz, sy, sx = sides[watched, 0], sides[watched, 1], sides[watched, 2]
    columns = FIRST if sx < 0 else (LAST if sx > 0 else ALL)
    touched = False
    for i in range(faces.shape[0]):
        row = faces[i]
        changed = ballot(level[np.uint32(base + row * PITCH + lane)] < relaxed_load(height, cell + row * 32))
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
    return -1
