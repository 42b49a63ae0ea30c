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
    FIRST_SLOT,
    PIXELS,
    WIDTH,
    colour_of,
    discharge,
    enqueue,
    load_tile,
    slot_of,
    store_tile,
)
from gridcut.cuda.tiles.relabel import relabel_from_outside
from gridcut.cuda.tiles.search import FAR, NONE, search_words
from gridcut.device.cuda import (
    SIMULATED,
    ballot,
    cooperative_blocks,
    cuda,
    cuda_kernel,
    device_function,
    grid_sync,
    nanoseconds,
    relaxed_load,
)

THREADS = 32 if SIMULATED else 512
REGISTERS = 64
PASS = 200  # a grid-wide pass costs as much as this many tiles
# places in `counts`
RELABEL, DISCHARGE, STATS = 0, FIRST_SLOT, 27
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
    tile = depth, rows, _ = shape.tile
    arcs = len(offsets)
    rim = rim_of(shape)
    deltas = (offsets @ [(rows + 2 * rim[1]) * WIDTH, WIDTH, 1]).astype(np.int32)
    steps_to = (offsets @ [rows * 32, 32, 1]).astype(np.int32)
    # Arcs that leave the tile in depth or height; sides of the tile that arcs lead over.
    leaving = [
        (row, k)
        for row in range(32)
        for k, (dz, dy, _) in enumerate(shape.offsets)
        if not (0 <= row // rows + dz < depth and 0 <= row % rows + dy < rows)
    ]
    face_rows = np.array(sorted({row for row, _ in leaving}) or [0], np.int32)
    # Constant memory holds no empty arrays; looking over one arc too many does no harm.
    leaving = np.array(leaving or [(0, 0)], np.int32)
    sides = {tuple(int(i) for i in np.sign(o) * keep) for o in shape.offsets for keep in np.ndindex(2, 2, 2)}
    sides = np.array(sorted(sides - {(0, 0, 0)}), np.int32)
    diagonal = is_diagonal(shape)
    colours = 8 if diagonal else 2
    words = search_words(arcs)
    e_at = rim_words(shape)
    wide = shape.wide
    if wide:
        e_at //= 2

    @cuda_kernel(max_registers=REGISTERS)
    def solve_kernel(
        excess, residual, height, bits, flags, lists, counts, times, tiles, laps, balance, outers
    ):
        offset = cuda.const.array_like(offsets)
        delta = cuda.const.array_like(deltas)
        step_to = cuda.const.array_like(steps_to)
        leave = cuda.const.array_like(leaving)
        watch = cuda.const.array_like(sides)
        faces = cuda.const.array_like(face_rows)
        shared = cuda.shared.array(0, int32)
        masks = shared.view(np.uint32)
        h = shared
        # Excess and residuals, behind the heights.
        w = shared.view(np.int64) if wide else shared
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
                height[np.uint64(i)] = FAR
                if i < n:
                    flags[np.uint64(i)] = 0
                i += blocks * threads
            if leader:
                for j in range(DISCHARGE + 3 * colours):
                    counts[j] = 0
            start = nanoseconds()
            grid_sync()
            todo = n
            turn = 0
            spent = 0
            while todo > 0:
                spent += todo + PASS
                if leader:
                    counts[RELABEL + (turn + 2) % 3] = 0
                i = warp
                while i < todo:
                    t = np.int32(i)
                    if turn > 0:
                        t = np.int32(lists[np.uint64((turn & 1) * n + i)])
                        if lane == 0:
                            cuda.atomic.exch(flags, t, np.int32(0))
                        cuda.threadfence()
                    q = relabel_from_outside(
                        t, lane, tiles, tile, arcs, offset, leave, watch, faces, height, bits,
                        shared, masks, base,
                    )  # fmt: skip
                    if q >= 0 and cuda.atomic.exch(flags, q, np.int32(1)) == 0:
                        place = cuda.atomic.add(counts, RELABEL + (turn + 1) % 3, np.int32(1))
                        lists[np.uint64(((turn + 1) & 1) * n + place)] = q
                    i += warps
                if leader:
                    counts[PASSES] += 1
                    counts[SEARCHED] += todo
                grid_sync()
                turn += 1
                todo = relaxed_load(counts, RELABEL + turn % 3)

            middle = nanoseconds()
            # Tiles with excess that can reach the sink.
            i = warp
            while i < n:
                words_of = i * (arcs + 3) * 32 + lane
                positive = bits[np.uint64(words_of + (arcs + 1) * 32)]
                active = ballot(positive & bits[np.uint64(words_of + (arcs + 2) * 32)] != NONE)
                if lane == 0:
                    flags[np.uint64(i)] = 0
                    if active != NONE:
                        ix, iy = i % tiles[2], i // tiles[2] % tiles[1]
                        iz = i // (tiles[2] * tiles[1]) % tiles[0]
                        enqueue(i, DISCHARGE + 3 * colour_of(iz, iy, ix, diagonal), flags, lists, counts, n)
                i += warps
            if leader:
                counts[OUTER] += 1
            grid_sync()
            turn = 0
            working = True
            spent = spent * balance // 16
            while working and (spent > 0 or turn < 2):
                working = False
                for colour in range(colours):
                    slot = DISCHARGE + colour * 3 + turn % 3
                    todo = relaxed_load(counts, slot)
                    if todo == 0:
                        continue
                    working = True
                    spent -= todo + PASS
                    i = block
                    while i < todo:
                        t = np.int32(lists[np.uint64((slot - DISCHARGE) * n + i)])
                        if tid == 0:
                            flags[t] = 0
                        ix, iy = t % tiles[2], t // tiles[2] % tiles[1]
                        iz = t // (tiles[2] * tiles[1]) % tiles[0]
                        first = t - (iz * tiles[1] + iy) * tiles[2] - ix
                        load_tile(t, first, iz, iy, ix, tiles, tile, rim, arcs, excess, residual, height, h, w, e_at)
                        cuda.syncthreads()
                        active = discharge(tile, rim, arcs, offset, step_to, delta, laps, h, w, e_at)
                        store_tile(
                            t, first, iz, iy, ix, tiles, tile, rim, arcs, offset, excess, residual, height, bits,
                            h, w, e_at, diagonal, colour, turn, flags, lists, counts, n,
                        )  # fmt: skip
                        cuda.syncthreads()
                        if active != 0 and tid == 0:
                            enqueue(t, slot_of(colour, colour, turn), flags, lists, counts, n)
                        i += blocks
                    grid_sync()
                    if leader:
                        counts[slot] = 0
                        counts[TURNS] += 1
                        counts[VISITS] += todo
                turn += 1
            if leader:
                end = nanoseconds()
                times[0] += middle - start
                times[1] += end - middle
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


def is_diagonal(shape: Shape) -> bool:
    """Whether some arc is not along an axis."""
    return any(np.count_nonzero(o) > 1 for o in shape.offsets)


def rim_of(shape: Shape):
    """Planes and rows around a tile that its arcs reach."""
    return tuple(max(abs(o[axis]) for o in shape.offsets) for axis in (0, 1))


def rim_words(shape: Shape) -> int:
    """Words of the heights of a tile and its rim, an even number."""
    rim = rim_of(shape)
    words = (shape.tile[0] + 2 * rim[0]) * (shape.tile[1] + 2 * rim[1]) * WIDTH
    return words + words % 2


def solve(excess, residual, layout, *, warm=None, callback=None, laps=4, balance=16, outers=1 << 20, threads=THREADS, blocks=None):
    """Solve in place; the state, and counts of what was done."""
    n = excess.size // PIXELS
    arcs = len(layout.offsets)
    shape = Shape(tuple(layout.offsets), tuple(layout.tile), excess.dtype == np.int64)
    kernel = kernel_for(shape)
    colours = 8 if is_diagonal(shape) else 2
    height = cuda.device_array(n * PIXELS, np.int32)
    bits = cuda.device_array(n * (arcs + 3) * 32, np.uint32)
    flags = cuda.device_array(n, np.int32)
    lists = cuda.device_array(3 * colours * n, np.int32)
    counts = cuda.to_device(np.zeros(64, np.int32))
    times = cuda.to_device(np.zeros(2, np.int64))
    warps = threads // 32
    bits_kernel[(n + warps - 1) // warps, threads](excess, residual, arcs, n, bits)
    tiles = tuple(np.int32(i) for i in layout.tiles)
    numbers = (np.int32(i) for i in (laps, balance, outers))
    args = (excess, residual, height, bits, flags, lists, counts, times, tiles, *numbers)
    shared = shared_bytes(shape, warps)
    if blocks is None:
        blocks = cooperative_blocks(kernel, args, threads, shared)
    kernel[blocks, threads, 0, shared](*args)
    done = counts.copy_to_host()
    stats = {"outer": int(done[OUTER]), "passes": int(done[PASSES]), "searched": int(done[SEARCHED]),
             "turns": int(done[TURNS]), "visits": int(done[VISITS]), "blocks": blocks, "done": int(done[DONE]),
             "us": [int(i)//1000 for i in times.copy_to_host()]}
    return TileState(height, bits, None), stats


def shared_bytes(shape: Shape, warps: int) -> int:
    """Dynamic shared memory of a block."""
    arcs = len(shape.offsets)
    discharge = 4 * rim_words(shape) + (8 if shape.wide else 4) * PIXELS * (1 + arcs)
    return max(discharge, 4 * warps * search_words(arcs))
