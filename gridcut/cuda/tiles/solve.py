"""Tiles: push-relabel on a GPU, 1024 pixels at a time, in a single launch.  The default on CUDA.

    relabel      all tiles: exact distances to the sink (relabel.py), tile after tile until no surroundings change
    discharge    tiles with excess, one colour after the other: lock-free steps in shared memory (discharge.py)
    ...          `rounds` times; then again from relabel, until no pixel with excess can reach the sink

The whole loop runs in one cooperative kernel, whose blocks meet at grid barriers; lists hold the tiles that have work.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from numba import int32

from gridcut.cuda.tiles.discharge import (
    PIXELS,
    colour_of,
    enqueue,
    load_tile,
    push_and_relabel,
    slot_of,
    store_tile,
)
from gridcut.cuda.tiles.relabel import FAR, LEVELS, NONE, relabel_tile, scratch_words
from gridcut.device.cuda import (
    SIMULATED,
    ballot,
    cooperative_blocks,
    cuda,
    cuda_kernel,
    device_function,
    grid_sync,
    relaxed_load,
)

THREADS = 32 if SIMULATED else 256
# places in `counts`
RELABEL, DISCHARGE, STATS = 0, 3, 27
DONE, OUTER, PASSES, SEARCHED, TURNS, VISITS = range(STATS, STATS + 6)


@cuda_kernel
def bits_kernel(excess, residual, arcs, tiles, bits):
    """The bits of all tiles from excess and residuals, a warp a tile."""
    lane = cuda.threadIdx.x & 31
    t = (cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) >> 5
    if t >= tiles:
        return
    for row in range(32):
        words = t * (arcs + 3) * 32 + row
        e = excess[(t * 32 + row) * 32 + lane]
        negative, positive = ballot(e < 0), ballot(e > 0)
        if lane == 0:
            bits[words + arcs * 32] = negative
            bits[words + (arcs + 1) * 32] = positive
        for k in range(arcs):
            some = ballot(residual[((t * arcs + k) * 32 + row) * 32 + lane] > 0)
            if lane == 0:
                bits[words + k * 32] = some


class Shape(NamedTuple):
    """What the kernel is compiled for."""

    offsets: tuple
    tile: tuple
    wide: bool  # int64


@cache
def kernel_for(shape: Shape):
    """The cooperative kernel for one neighbourhood."""
    offsets = np.array(shape.offsets, np.int32)
    depth, rows = shape.tile[:2]
    arcs = len(offsets)
    rim = (int(np.abs(offsets[:, 0]).max()), int(np.abs(offsets[:, 1]).max()))
    plane = (rows + 2 * rim[1]) * 34
    deltas = (offsets @ [plane, 34, 1]).astype(np.int32)
    leaving = [
        (row, k)
        for row in range(32)
        for k, (dz, dy, _) in enumerate(shape.offsets)
        if not (0 <= row // rows + dz < depth and 0 <= row % rows + dy < rows)
    ]
    # Constant memory holds no empty arrays; looking at one row too many does no harm.
    faces = np.array(leaving or [(0, 0)], np.int32)
    crossings = sorted({
        tuple(np.sign(o) * keep)
        for o in shape.offsets
        for keep in np.ndindex(2, 2, 2)
    } - {(0, 0, 0)})  # fmt: skip
    sides = np.array([s for s in crossings if depth > 1 or rim[0] or s[0] == 0], np.int32)
    diagonal = any(np.count_nonzero(o) > 1 for o in shape.offsets)
    colours = 8 if diagonal else 2
    rim_size = (depth + 2 * rim[0]) * plane
    rim_size += rim_size % 2
    wide = shape.wide
    tile = shape.tile
    words = scratch_words(arcs)

    @cuda_kernel
    def solve_kernel(excess, residual, height, bits, flags, lists, counts, tiles, steps, rounds, outers):
        offset = cuda.const.array_like(offsets)
        delta = cuda.const.array_like(deltas)
        face = cuda.const.array_like(faces)
        watch = cuda.const.array_like(sides)
        shared = cuda.shared.array(0, int32)
        masks = shared.view(np.uint32)
        h = shared
        if wide:
            e = shared.view(np.int64)[rim_size // 2 :]
        else:
            e = shared[rim_size:]
        r = e[PIXELS:]
        n = height.size // PIXELS
        tid, threads = cuda.threadIdx.x, cuda.blockDim.x
        block, blocks = cuda.blockIdx.x, cuda.gridDim.x
        lane = np.int32(tid & 31)
        warps = blocks * (threads // 32)
        warp = block * (threads // 32) + tid // 32
        base = (tid // 32) * words
        leader = block == 0 and tid == 0

        for outer in range(outers):
            # Distances: all tiles once, then those whose surroundings changed.
            i = block * threads + tid
            while i < height.size:
                height[i] = FAR
                if i < n:
                    flags[i] = 0
                i += blocks * threads
            if leader:
                for j in range(DISCHARGE + 3 * colours):
                    counts[j] = 0
            grid_sync()
            todo = n
            turn = 0
            while todo > 0:
                if leader:
                    counts[RELABEL + (turn + 2) % 3] = 0
                i = warp
                while i < todo:
                    t = i
                    if turn > 0:
                        t = lists[(turn & 1) * n + i]
                        if lane == 0:
                            cuda.atomic.exch(flags, t, np.int32(0))
                        cuda.threadfence()
                    q = relabel_tile(
                        t, lane, tiles, tile, arcs, offset, face, watch, height, bits,
                        shared, masks, base, base + LEVELS,
                    )  # fmt: skip
                    if q >= 0 and cuda.atomic.exch(flags, q, np.int32(1)) == 0:
                        place = cuda.atomic.add(counts, RELABEL + (turn + 1) % 3, np.int32(1))
                        lists[((turn + 1) & 1) * n + place] = q
                    i += warps
                if leader:
                    counts[PASSES] += 1
                    counts[SEARCHED] += todo
                grid_sync()
                turn += 1
                todo = relaxed_load(counts, RELABEL + turn % 3)

            # Tiles with excess that can reach the sink.
            i = warp
            while i < n:
                words_of = i * (arcs + 3) * 32 + lane
                active = ballot(bits[words_of + (arcs + 1) * 32] & bits[words_of + (arcs + 2) * 32] != NONE)
                if lane == 0:
                    flags[i] = 0
                    if active != NONE:
                        ix, iy = i % tiles[2], i // tiles[2] % tiles[1]
                        iz = i // (tiles[2] * tiles[1]) % tiles[0]
                        enqueue(i, 3 * colour_of(iz, iy, ix, diagonal), flags, lists, counts[DISCHARGE:], n)
                i += warps
            if leader:
                counts[OUTER] += 1
            grid_sync()
            turn = 0
            working = True
            while working and turn < rounds:
                working = False
                for colour in range(colours):
                    slot = colour * 3 + turn % 3
                    todo = relaxed_load(counts, DISCHARGE + slot)
                    if todo == 0:
                        continue
                    working = True
                    i = block
                    while i < todo:
                        t = lists[slot * n + i]
                        if tid == 0:
                            flags[t] = 0
                        ix, iy = t % tiles[2], t // tiles[2] % tiles[1]
                        iz = t // (tiles[2] * tiles[1]) % tiles[0]
                        first = t - (iz * tiles[1] + iy) * tiles[2] - ix
                        load_tile(t, first, iz, iy, ix, tiles, tile, rim, arcs, excess, residual, height, h, e, r)
                        cuda.syncthreads()
                        push_and_relabel(tile, rim, arcs, offset, delta, steps, h, e, r)
                        active = store_tile(
                            t, first, iz, iy, ix, tiles, tile, rim, arcs, offset, excess, residual, height, bits,
                            h, e, r, diagonal, colour, turn, flags, lists, counts[DISCHARGE:], n,
                        )  # fmt: skip
                        if active and tid == 0:
                            enqueue(t, slot_of(colour, colour, turn), flags, lists, counts[DISCHARGE:], n)
                        i += blocks
                    grid_sync()
                    if leader:
                        counts[DISCHARGE + slot] = 0
                        counts[TURNS] += 1
                        counts[VISITS] += todo
                turn += 1
            if turn == 1 and not working:
                if leader:
                    counts[DONE] = 1
                return

    return solve_kernel


class TileState(NamedTuple):
    """What a solve leaves on the card; see `bits_kernel` and relabel.py for the bits."""

    height: object
    bits: object
    reach_bits: object


def solve(excess, residual, layout, *, warm=None, callback=None, steps=32, rounds=16, threads=THREADS, blocks=None):
    """Solve in place; the state, and counts of what was done."""
    n = excess.size // PIXELS
    arcs = len(layout.offsets)
    shape = Shape(tuple(layout.offsets), tuple(layout.tile), excess.dtype == np.int64)
    kernel = kernel_for(shape)
    diagonal = any(np.count_nonzero(o) > 1 for o in layout.offsets)
    colours = 8 if diagonal else 2
    height = cuda.device_array(n * PIXELS, np.int32)
    bits = cuda.device_array(n * (arcs + 3) * 32, np.uint32)
    flags = cuda.device_array(n, np.int32)
    lists = cuda.device_array(3 * colours * n, np.int32)
    counts = cuda.to_device(np.zeros(64, np.int32))
    warps = threads // 32
    bits_kernel[(n + warps - 1) // warps, threads](excess, residual, arcs, n, bits)
    tiles = tuple(np.int32(i) for i in layout.tiles)
    args = (excess, residual, height, bits, flags, lists, counts, tiles, np.int32(steps), np.int32(rounds), np.int32(1 << 20))
    shared = shared_bytes(shape, arcs, warps)
    if blocks is None:
        blocks = cooperative_blocks(kernel, args, threads, shared)
    kernel[blocks, threads, 0, shared](*args)
    done = counts.copy_to_host()
    stats = {"outer": int(done[OUTER]), "passes": int(done[PASSES]), "searched": int(done[SEARCHED]),
             "turns": int(done[TURNS]), "visits": int(done[VISITS]), "blocks": blocks, "done": int(done[DONE])}
    return TileState(height, bits, None), stats


def shared_bytes(shape, arcs, warps):
    wide = 8 if shape.wide else 4
    rim = [max(abs(o[a]) for o in shape.offsets) for a in (0, 1)]
    rim_size = (shape.tile[0] + 2 * rim[0]) * (shape.tile[1] + 2 * rim[1]) * 34
    rim_size += rim_size % 2
    return max(4 * rim_size + wide * PIXELS * (1 + arcs), 4 * warps * scratch_words(arcs))
