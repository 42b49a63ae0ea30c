"""The kernels of `tiles`, made for one neighbourhood: how to find distances, and how to discharge.

Both are cooperative launches whose blocks stay on the device until all is done.

Arrays, t a tile of n, A arcs
  excess, residual   see layout.py
  height[t * 1024 + row * 32 + lane]    distance to the sink when it was last searched, raised since
  bits[(t * (A + 2) + j) * 32 + row]    one bit a lane; j < A: residual of arc j;  A: capacity to the sink;
                                        A + 1: excess
  reach[t * 32 + row]                   the pixel can reach the sink
  flags[t]                              relabeling: state of a search (below);  discharging: waits in a list
  visited[t]                            the last round in which the tile was discharged
  lists, counts                         the queue of searches (queue.py), then the tiles of each colour that wait
  times                                 nanoseconds: of the last relabeling, of all, of all discharging, of the last
                                        relabeling of the whole grid, and the clock when that was over

Few tiles are at work towards the end, or after a small change.  Then a relabeling is local: heights are searched
again only in tiles near those that were discharged, up to tiles that keep theirs.  Heights that are kept may be out of
date, which costs time and nothing else: whether excess can still reach the sink is decided by a relabeling of the whole
grid, and there is one as soon as the local ones, with what was discharged after them, have taken as long as that takes.

In a slab of a grid (gridcut/tiles/slabs) the first and the last tiles may be ghosts, which belong to other slabs: they
are neither searched nor discharged.  The host decides what comes next there, and a relabeling may go on where heights
of ghosts have changed: the tiles beside them are in the queue then.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numba import float64, int32, int64, types, uint16, uint32

from gridcut.device.cuda import (
    SIMULATED,
    ballot,
    cuda,
    cuda_kernel,
    device_function,
    grid_sync,
    nanoseconds,
    opaque,
    relaxed_load,
    shuffle,
    warp_sync,
)
from gridcut.neighbourhood import neighbourhood
from gridcut.tiles.tile_discharge import (
    FIRST_SLOT,
    PIXELS,
    WIDTH,
    colour_of,
    discharge,
    enqueue,
    load_tile,
    slot_of,
    store_tile,
    tile_at,
)
from gridcut.tiles.tile_queue import FINISHED, HEAD, PENDING, TAIL, pop, push
from gridcut.tiles.tile_relabel import relabel_from_outside
from gridcut.tiles.tile_search import FAR, NONE, search_words

SEARCH_THREADS = 32 if SIMULATED else 256
THREADS = 32 if SIMULATED else 512
# Two blocks of THREADS on a multiprocessor: some registers spill, yet large grids are faster than with one block.
REGISTERS = 64
SEARCH_REGISTERS = 96
# State of a tile while distances are searched; RUNNING + QUEUED: once more; KEPT: not at all.
IDLE, QUEUED, RUNNING, KEPT = 0, 1, 2, 4
PATIENCE = 2.0  # time for local relabelings and what follows them, as a multiple of that of a whole one
NEAR = ((0, 2, 2), (1, 1, 1))  # tiles around one that was discharged, in pictures and in volumes
EASY = 4  # rounds; a grid that takes more of them has excess with a long way to go, and tiles get twice the steps
FEW = 16  # a relabeling may be local if at most one of so many tiles was discharged
# places in `counts`, behind those of the queue and of the lists
LISTS = FIRST_SLOT
STOP, DONE, ROUNDS, SEARCHES, TURNS, VISITS, LOCAL, VISITED = 32, 34, 35, 36, 37, 38, 39, 40
WHOLE = 41  # relabelings of the whole grid
# of a slab: ghosts in front and behind; tiles in the queue since ghosts have changed; tiles the last round discharged
FRONT, BEHIND, AWAKENED, AWAKE = 42, 43, 44, 45
AGAIN = 2  # in the place of LOCAL, 0 or 1: go on
COUNTS = 64
TIMES = 5


@cuda_kernel
def bits_kernel(excess, residual, arcs, tiles, bits):
    """The bits of all tiles from excess and residuals, a warp a tile."""
    lane = cuda.threadIdx.x & 31
    t = (cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) >> 5
    if t >= tiles:
        return
    for row in range(32):
        words = t * (arcs + 2) * 32 + row
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
    ghosts: bool = False  # a slab


@cache
def kernels_for(shape: Shape, per: int):
    """The cooperative kernels for one neighbourhood; per: pixels a thread."""
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
    # The tiles near a tile: one for each lane at most.
    reach_of = NEAR[depth > 1]
    around = np.array(list(np.ndindex(*(2 * r + 1 for r in reach_of))), np.int32) - np.array(reach_of, np.int32)
    diagonal = is_diagonal(shape)
    colours = list_count(shape) // 3
    words = search_words(arcs)
    e_at = rim_words(shape)
    wide, ghosts = shape.wide, shape.ghosts
    if wide:
        e_at //= 2

    @cuda_kernel(max_registers=SEARCH_REGISTERS)
    def relabel_kernel(height, bits, reach, flags, visited, lists, counts, times, tiles, workers):
        """Distances to the sink: tiles once, all or some, then those whose surroundings changed, from a queue."""
        near = cuda.const.array_like(around)
        offset = cuda.const.array_like(offsets)
        leave = cuda.const.array_like(leaving)
        watch = cuda.const.array_like(sides)
        faces = cuda.const.array_like(face_rows)
        level = cuda.shared.array(0, int32)
        masks = level.view(np.uint32)
        if not ghosts and counts[DONE] != 0:
            return
        n = flags.size
        thread, threads = cuda.grid(1), cuda.gridsize(1)
        lane = np.int32(cuda.threadIdx.x & 31)
        warp, warps = thread // 32, threads // 32
        base = (cuda.threadIdx.x // 32) * words
        start = nanoseconds()
        local = counts[LOCAL] != 0
        again = ghosts and counts[LOCAL] == AGAIN
        last = counts[ROUNDS]
        i = n if again else warp
        while i < n:
            found = False
            if local and lane < near.shape[0]:
                iz, iy, ix = place_of(i, tiles)
                first = i - (iz * tiles[1] + iy) * tiles[2] - ix
                q = tile_at(iz, iy, ix, near[lane, 0], near[lane, 1], near[lane, 2], tiles, first)
                found = q >= 0 and visited[np.uint64(q)] == last
            some = ballot(found)
            keep = local and some == NONE
            if ghosts and (i < counts[FRONT] or i >= n - counts[BEHIND]):
                keep = True
            if not keep or (ghosts and not local):
                row = opaque(0)
                while row < 32:
                    height[np.uint64((i * 32 + row) * 32 + lane)] = FAR
                    row = np.int32(row + 1)
            if lane == 0:
                flags[np.uint64(i)] = KEPT if keep else RUNNING
                lists[np.uint64(i)] = -1
                if not keep:
                    cuda.atomic.add(counts, PENDING, np.int32(1))
                if not local:
                    visited[np.uint64(i)] = 0  # of earlier solves
            i += warps
        if thread == 0 and not again:
            counts[HEAD] = 0
            counts[TAIL] = 0
            for j in range(LISTS, LISTS + 3 * colours):
                counts[j] = 0
        grid_sync()
        own = n if again else warp  # the next of the tiles that this warp has to search in any case
        while True:
            t = np.int32(-1)
            if own < n:
                t = np.int32(own)
                own += warps
                if flags[np.uint64(t)] & KEPT != 0:
                    continue
            elif warp >= workers:
                break
            else:
                if lane == 0:
                    t = pop(lists, counts, n)
                t = shuffle(t, 0)
                if t == FINISHED:
                    break
            touched = True
            while touched:
                if lane == 0:
                    cuda.atomic.exch(flags, t, np.int32(RUNNING))
                # No lane may look around before that: what changes after it is seen, or makes the tile run once more.
                warp_sync()
                cuda.threadfence()
                q = relabel_from_outside(
                    t, lane, tiles, tile, arcs, offset, leave, watch, faces, height, bits, reach, level, masks, base
                )
                if q >= 0 and cuda.atomic.or_(flags, q, np.int32(QUEUED)) == IDLE:
                    cuda.atomic.add(counts, PENDING, np.int32(1))
                    push(q, lists, counts, n)
                warp_sync()
                left = np.int32(0)
                if lane == 0:
                    left = cuda.atomic.cas(flags, t, np.int32(RUNNING), np.int32(IDLE))
                    cuda.atomic.add(counts, SEARCHES, np.int32(1))
                touched = shuffle(left, 0) != RUNNING
            if lane == 0:
                cuda.atomic.sub(counts, PENDING, np.int32(1))
        if thread == 0:
            end = nanoseconds()
            if again:
                start -= times[0]
                times[1] -= times[0]
            times[0] = end - start
            times[1] += times[0]
            if not local:
                times[3] = times[0]
                times[4] = end
                counts[WHOLE] += 1

    @cuda_kernel(max_registers=REGISTERS)
    def discharge_kernel(
        excess, residual, height, bits, reach, flags, visited, lists, counts, times, tiles, laps, discharge_ratio, rise
    ):
        """Discharge the tiles with excess, one colour after the other, for as long as relabeling took."""
        offset = cuda.const.array_like(offsets)
        delta = cuda.const.array_like(deltas)
        step_to = cuda.const.array_like(steps_to)
        h = cuda.shared.array(0, int32)
        # Excess and residuals, behind the heights.
        w = h.view(np.int64) if wide else h
        if not ghosts and counts[DONE] != 0:
            return
        n = flags.size
        tid, block, blocks = cuda.threadIdx.x, cuda.blockIdx.x, cuda.gridDim.x
        leader = block == 0 and tid == 0
        thread, threads = cuda.grid(1), cuda.gridsize(1)
        lane = thread & 31
        now = counts[ROUNDS] + 1
        if now > EASY:
            laps = np.int32(2 * laps)
        start = nanoseconds()
        i = thread // 32
        while i < n:
            positive = bits[np.uint64((i * (arcs + 2) + arcs + 1) * 32 + lane)]
            active = ballot(positive & reach[np.uint64(i * 32 + lane)] != NONE)
            if ghosts and (i < counts[FRONT] or i >= n - counts[BEHIND]):
                if lane == 0:
                    flags[np.uint64(i)] = 1  # as if it waited already: it comes into no list
            elif lane == 0:
                flags[np.uint64(i)] = 0
                if active != NONE:
                    iz, iy, ix = place_of(i, tiles)
                    enqueue(i, LISTS + 3 * colour_of(iz, iy, ix, diagonal), flags, lists, counts, n)
            i += threads // 32
        grid_sync()
        turn = 0
        meeting = 0
        working = True
        stop = 0
        while working and stop == 0:
            working = False
            for colour in range(colours):
                slot = LISTS + colour * 3 + turn % 3
                todo = relaxed_load(counts, slot)
                if todo == 0:
                    continue
                working = True
                i = block
                while i < todo:
                    t = np.int32(lists[np.uint64((slot - LISTS) * n + i)])
                    if tid == 0:
                        flags[np.uint64(t)] = 0
                        if visited[np.uint64(t)] != now:
                            visited[np.uint64(t)] = now
                            cuda.atomic.add(counts, VISITED, np.int32(1))
                    iz, iy, ix = place_of(t, tiles)
                    first = t - (iz * tiles[1] + iy) * tiles[2] - ix
                    load_tile(t, first, iz, iy, ix, tiles, tile, rim, arcs, excess, residual, height, h, w, e_at)
                    cuda.syncthreads()
                    active = discharge(tile, rim, arcs, offset, step_to, delta, laps, rise, per, h, w, e_at)
                    store_tile(
                        t, first, iz, iy, ix, tiles, tile, rim, arcs, offset, excess, residual, height, bits,
                        h, w, e_at, diagonal, colour, turn, flags, lists, counts, n,
                    )  # fmt: skip
                    cuda.syncthreads()
                    if active != 0 and tid == 0:
                        enqueue(t, slot_of(colour, colour, turn), flags, lists, counts, n)
                    i += blocks
                if leader:
                    # Two places by turns: nobody may see the decision of the next meeting before this one's.
                    late = turn > 0 and nanoseconds() - start > times[0] * discharge_ratio
                    counts[STOP + (meeting & 1)] = 1 if late else 0
                grid_sync()
                stop = relaxed_load(counts, STOP + (meeting & 1))
                meeting += 1
                if leader:
                    counts[slot] = 0
                    counts[TURNS] += 1
                    counts[VISITS] += todo
            turn += 1
        if leader:
            end = nanoseconds()
            times[2] += end - start
            counts[ROUNDS] = now
            counts[PENDING] = 0
            nothing = turn == 1 and not working
            if ghosts:
                counts[DONE] = 1 if nothing else 0
                counts[AWAKE] = relaxed_load(counts, VISITED)
                counts[LOCAL] = 0
            else:
                if nothing and counts[LOCAL] == 0:
                    counts[DONE] = 1
                few = relaxed_load(counts, VISITED) * FEW <= n
                counts[LOCAL] = 1 if few and rise != 0 and not nothing and end - times[4] < times[3] * PATIENCE else 0
            counts[VISITED] = 0

    return relabel_kernel, discharge_kernel


@device_function
def place_of(t, tiles):
    """Tile coordinates of tile t in its image."""
    ix = t % tiles[2]
    rest = t // tiles[2]
    return np.int32(rest // tiles[1] % tiles[0]), np.int32(rest % tiles[1]), np.int32(ix)


def is_diagonal(shape: Shape) -> bool:
    """Whether some arc is not along an axis."""
    return any(np.count_nonzero(o) > 1 for o in shape.offsets)


def list_count(shape: Shape) -> int:
    """Lists of tiles: three for each colour."""
    return 24 if is_diagonal(shape) else 6


def rim_of(shape: Shape):
    """Planes and rows around a tile that its arcs reach."""
    return tuple(max(abs(o[axis]) for o in shape.offsets) for axis in (0, 1))


def rim_words(shape: Shape) -> int:
    """Words of the heights of a tile and its rim, an even number."""
    rim = rim_of(shape)
    words = (shape.tile[0] + 2 * rim[0]) * (shape.tile[1] + 2 * rim[1]) * WIDTH
    return words + words % 2


def shared_bytes(shape: Shape) -> int:
    """Dynamic shared memory of a block that discharges."""
    return 4 * rim_words(shape) + (8 if shape.wide else 4) * PIXELS * (1 + len(shape.offsets))


def kernels():
    """The kernels for some neighbourhoods, with the argument types they are launched with."""
    counts, tiles = int32[::1], types.UniTuple(int32, 3)
    listed = []
    for connectivity, excess, residual, ghosts in (
        (4, int32, uint16, False),
        (4, int64, int64, False),
        (8, int32, int32, False),
        (6, int32, int32, False),
        (18, int32, uint16, False),
        (26, int32, int32, False),
        (4, int32, uint16, True),
        (26, int32, uint16, True),
    ):
        flat = 2 if connectivity in (4, 8) else 3
        forward = [(0,) * (3 - flat) + offset for offset in neighbourhood(connectivity)]
        offsets = tuple(o for f in forward for o in (f, tuple(-i for i in f)))
        shape = Shape(offsets, (1, 32, 32) if flat == 2 else (4, 8, 32), excess == int64, ghosts)
        relabel, discharges = kernels_for(shape, PIXELS // THREADS)
        common = (counts, uint32[::1], uint32[::1], counts, counts, counts, counts, int64[::1], tiles)
        arrays = (excess[::1], residual[::1])
        what = f"{connectivity} {excess}" + " ghosts" * ghosts
        listed += [
            (f"relabel {what}", relabel, (*common, int32)),
            (f"discharge {what}", discharges, (*arrays, *common, int32, float64, int32)),
            (f"bits {excess} {residual}", bits_kernel, (*arrays, int64, int64, uint32[::1])),
        ]
    return listed
