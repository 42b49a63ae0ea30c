"""Pushing and relabeling in one tile by one block, in shared memory.

The tile's excess and residuals and the heights of the tile and of one pixel around it are loaded; all pixels take
lock-free steps (Łupińska, algorithm 4.5) until nothing moves or the steps are used up; then everything is written
back.  Tiles that touch have different colours and only one colour is at work at a time, so the heights around a tile
stand still, and an arc over its border belongs to this block alone: what went out over it is added to the neighbour
when the tile is written back.

Shared memory: h, heights with a rim of one pixel; e, excess; r, residuals, arc after arc.
"""

import numpy as np

from gridcut.cuda.tiles.relabel import FAR, LEFT, NONE, side, tile_at
from gridcut.device.cuda import ballot, cuda, device_function

PIXELS = 1024


@device_function
def enqueue(t, slot, queued, lists, counts, n):
    """Put a tile into a list of its colour unless it waits already."""
    if cuda.atomic.exch(queued, t, np.int32(1)) == 0:
        place = cuda.atomic.add(counts, slot, np.int32(1))
        lists[slot * n + place] = t


@device_function
def slot_of(colour, working, turn):
    """The list in which a tile waits that was activated while colour `working` had its turn.

    Each colour has three lists, used in rotation: one is being read, one filled, one has just been emptied.
    """
    return colour * 3 + (turn if colour > working else turn + 1) % 3


@device_function
def colour_of(iz, iy, ix, diagonal):
    """Tiles of one colour do not touch: two colours for arcs along the axes, one for each parity otherwise."""
    if diagonal:
        return (iz & 1) * 4 + (iy & 1) * 2 + (ix & 1)
    return (iz + iy + ix) & 1


@device_function
def load_tile(t, first, iz, iy, ix, tiles, tile, rim, arcs, excess, residual, height, h, e, r):
    """Bring a tile and the heights around it into shared memory."""
    threads = cuda.blockDim.x
    i = cuda.threadIdx.x
    while i < PIXELS:
        e[i] = excess[t * PIXELS + i]
        for k in range(arcs):
            r[k * PIXELS + i] = residual[(t * arcs + k) * PIXELS + i]
        i += threads
    width, rows, depth = 34, tile[1] + 2 * rim[1], tile[0] + 2 * rim[0]
    i = cuda.threadIdx.x
    while i < depth * rows * width:
        x = i % width - 1
        y = i // width % rows - rim[1]
        z = i // (width * rows) - rim[0]
        sz, sy, sx = side(z, tile[0]), side(y, tile[1]), side(x, 32)
        q = tile_at(iz, iy, ix, sz, sy, sx, tiles, first)
        h[i] = FAR
        if q >= 0:
            h[i] = height[(q * 32 + (z - sz * tile[0]) * tile[1] + y - sy * tile[1]) * 32 + x - sx * 32]
        i += threads


@device_function
def push_and_relabel(tile, rim, arcs, offsets, deltas, steps, h, e, r):
    """Lock-free steps for all pixels of the tile; whether the last one moved anything."""
    threads = cuda.blockDim.x
    plane, width = (tile[1] + 2 * rim[1]) * 34, 34
    step = 0
    busy = 1
    while step < steps and busy != 0:
        moved = 0
        p = cuda.threadIdx.x
        while p < PIXELS:
            left = e[p]
            if left > 0:
                row, x = p >> 5, p & 31
                y, z = row % tile[1], row // tile[1]
                at = (z + rim[0]) * plane + (y + rim[1]) * width + x + 1
                here = h[at]
                if here < FAR:
                    moved = 1
                    lowest = np.int32(FAR)
                    arc = 0
                    for k in range(arcs):
                        if r[k * PIXELS + p] > 0:
                            there = h[at + deltas[k]]
                            if there < lowest:
                                lowest = there
                                arc = k
                    if here > lowest:
                        amount = min(left, r[arc * PIXELS + p])
                        cuda.atomic.sub(e, p, amount)
                        cuda.atomic.sub(r, arc * PIXELS + p, amount)
                        dz, dy, dx = offsets[arc, 0], offsets[arc, 1], offsets[arc, 2]
                        if side(z + dz, tile[0]) == 0 and side(y + dy, tile[1]) == 0 and side(x + dx, 32) == 0:
                            q = p + (dz * tile[1] + dy) * 32 + dx
                            cuda.atomic.add(e, q, amount)
                            cuda.atomic.add(r, (arc ^ 1) * PIXELS + q, amount)
                    else:
                        h[at] = min(lowest + 1, FAR)
            p += threads
        busy = cuda.syncthreads_or(moved)
        step += 1
    return busy


@device_function
def give(q, k, row, x, amount, arcs, excess, residual, bits):
    """Add what came over the border to pixel (row, x) of tile q, and to its residual of arc k; whether it has excess."""
    bit = np.uint32(LEFT << np.uint32(x))
    words = q * (arcs + 3) * 32 + row
    before = cuda.atomic.add(excess, (q * 32 + row) * 32 + x, amount)
    cell = ((q * arcs + k) * 32 + row) * 32 + x
    there = residual[cell]
    residual[cell] = there + amount
    if there == 0:
        cuda.atomic.or_(bits, words + k * 32, bit)
    if before < 0 and before + amount >= 0:
        cuda.atomic.and_(bits, words + arcs * 32, ~bit)
    if before <= 0 and before + amount > 0:
        cuda.atomic.or_(bits, words + (arcs + 1) * 32, bit)
    return before + amount > 0


@device_function
def store_tile(
    t, first, iz, iy, ix, tiles, tile, rim, arcs, offsets, excess, residual, height, bits, h, e, r,
    diagonal, working, turn, queued, lists, counts, n,
):  # fmt: skip
    """Write a tile back, its bits too, hand over what crossed the border; whether excess is left to move."""
    threads = cuda.blockDim.x
    plane, width = (tile[1] + 2 * rim[1]) * 34, 34
    active = 0
    p = cuda.threadIdx.x
    while p < PIXELS:
        row, x = p >> 5, p & 31
        y, z = row % tile[1], row // tile[1]
        here = h[(z + rim[0]) * plane + (y + rim[1]) * width + x + 1]
        left = e[p]
        if left > 0 and here < FAR:
            active = 1
        words = t * (arcs + 3) * 32 + row
        excess[t * PIXELS + p] = left
        height[t * PIXELS + p] = here
        for k in range(arcs):
            now = r[k * PIXELS + p]
            cell = (t * arcs + k) * PIXELS + p
            before = residual[cell]
            if now != before:
                residual[cell] = now
                dz, dy, dx = offsets[k, 0], offsets[k, 1], offsets[k, 2]
                sz, sy, sx = side(z + dz, tile[0]), side(y + dy, tile[1]), side(x + dx, 32)
                if (sz != 0 or sy != 0 or sx != 0) and now < before:
                    # The residual of an arc that leads out of the image is 0, so there is a tile.
                    q = tile_at(iz, iy, ix, sz, sy, sx, tiles, first)
                    q_row = (z + dz - sz * tile[0]) * tile[1] + y + dy - sy * tile[1]
                    q_x = x + dx - sx * 32
                    if give(q, k ^ 1, q_row, q_x, before - now, arcs, excess, residual, bits):
                        colour = colour_of(iz + sz, iy + sy, ix + sx, diagonal)
                        enqueue(q, slot_of(colour, working, turn), queued, lists, counts, n)
            some = ballot(now > 0)
            if x == 0:
                bits[words + k * 32] = some
        negative, positive = ballot(left < 0), ballot(left > 0)
        if x == 0:
            bits[words + arcs * 32] = negative
            bits[words + (arcs + 1) * 32] = positive
        p += threads
    return cuda.syncthreads_or(active)
