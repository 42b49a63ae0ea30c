"""The pixels that a move changes: those that the remaining excess could still reach.

In the terms of gridcut/multilabel/moves.py, these pixels reach a deficit that cannot be satisfied.  They are the
smallest set among all minimum cuts, so that ties keep a pixel's label.  One warp floods one tile, one row of 32 pixels
per lane, as 32 bits.

    sets[t * 32 + row]    the pixels reached so far"""

import numpy as np

from gridcut.device.cuda import ballot, device_function, relaxed_load, shuffle_bits
from gridcut.tiles.tile_discharge import tile_at, tile_coordinates
from gridcut.tiles.tile_search import FIRST, NONE, side


@device_function
def shifted(word, dx):
    """A row of pixels, shifted one step along an arc."""
    if dx > 0:
        return np.uint32(word << FIRST)
    if dx < 0:
        return np.uint32(word >> FIRST)
    return word


@device_function
def reached_from_outside(t, lane, tiles, tile, arcs, offset, bits, sets):
    """The pixels of this lane's row that open arcs connect to reached pixels of other tiles."""
    iz, iy, ix = tile_coordinates(t, tiles)
    first = t - (iz * tiles[1] + iy) * tiles[2] - ix
    reached = NONE
    for k in range(arcs):
        dz, dy, dx = offset[k, 0], offset[k, 1], offset[k, 2]
        z, y = lane // tile[1] - dz, lane % tile[1] - dy
        sz, sy = side(z, tile[0]), side(y, tile[1])
        row = (z - sz * tile[0]) * tile[1] + y - sy * tile[1]
        if sz != 0 or sy != 0:
            q = tile_at(iz, iy, ix, sz, sy, 0, tiles, first)
            if q >= 0:
                neighbours = np.uint32(relaxed_load(sets, q * 32 + row))
                neighbours = np.uint32(neighbours & bits[np.uint64((q * (arcs + 2) + k) * 32 + row)])
                reached = np.uint32(reached | shifted(neighbours, dx))
        if dx != 0:
            q = tile_at(iz, iy, ix, sz, sy, -dx, tiles, first)
            if q >= 0:
                neighbours = np.uint32(relaxed_load(sets, q * 32 + row))
                neighbours = np.uint32(neighbours & bits[np.uint64((q * (arcs + 2) + k) * 32 + row)])
                over = np.uint32(neighbours >> np.uint32(31)) if dx > 0 else np.uint32(neighbours << np.uint32(31))
                reached = np.uint32(reached | over)
    return reached


@device_function
def flood(t, lane, start, tiles, tile, arcs, offset, bits, sets):
    """Flood tile t from all its reached pixels (start), or only from those reached from other tiles.

    Returns whether the tile has new pixels.
    """
    at = t * 32 + lane
    before = np.uint32(relaxed_load(sets, at))
    new = reached_from_outside(t, lane, tiles, tile, arcs, offset, bits, sets)
    new = np.uint32(new | before) if start else np.uint32(new & ~before)
    inside = np.uint32(before | new)
    while ballot(new != NONE) != NONE:
        reached = NONE
        for k in range(arcs):
            dz, dy, dx = offset[k, 0], offset[k, 1], offset[k, 2]
            leaving = np.uint32(new & bits[np.uint64((t * (arcs + 2) + k) * 32 + lane)])
            z, y = lane // tile[1] - dz, lane % tile[1] - dy
            is_inside = side(z, tile[0]) == 0 and side(y, tile[1]) == 0
            leaving = shuffle_bits(leaving, (lane - dz * tile[1] - dy) & 31)
            if is_inside:
                reached = np.uint32(reached | shifted(leaving, dx))
        new = np.uint32(reached & ~inside)
        inside = np.uint32(inside | new)
    if inside != before:
        sets[at] = inside
    return ballot(inside != before) != NONE
