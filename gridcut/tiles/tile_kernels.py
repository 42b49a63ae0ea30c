"""The two kernels of `tiles`, compiled for one neighbourhood: global relabeling and discharging.

plain_tiles.py has the same steps in plain Python, for one thread; docs/algorithms/gpu.md leads from there to these
kernels.  tile_state.py has the tables of the arrays and of the slots of `counts` and `times`.  Both kernels are
cooperative launches: all blocks are resident on the GPU until the kernel ends, so they can synchronise.  A round of
`gridcut/tiles/tiles.py` is one launch of each.

relabel_kernel   sets heights to distances to the sink.  First each warp searches its own tiles, then tiles from a queue
                 (tile_state.py, tile_relabel.py, tile_search.py).
    1  Set the heights of all pixels to UNREACHABLE; in a local relabeling, only those of the tiles to be searched.
    2  Search a tile: compute its heights from its capacities to the sink and from the heights around it.
    3  If heights on its boundary have decreased, append the neighbouring tiles whose arcs lead there to the queue.
    4  Repeat 2 and 3 until the queue is empty.

discharge_kernel   push-relabel in the tiles with excess that can reach the sink (tile_discharge.py).
    1  Append each of these tiles to the list of its colour.  Tiles joined by an arc have different colours.
    2  For each colour: one block per listed tile loads the tile into shared memory, pushes and relabels, and stores it.
       A tile that still has active pixels, or that receives flow from a neighbour, is appended to a list again.
    3  Repeat 2 until all lists are empty or, after at least one sweep over all colours, discharging has taken
       `discharge_ratio` times as long as the relabeling.  The proof of termination in tiles.py needs the first sweep.
       tile_discharge.py lists the races of this kernel.

Local relabeling: towards the end of a solve, or after a small change, few tiles are discharged.  Then heights are
searched only within LOCAL_RADIUS tiles of those, and all other tiles keep their heights.  Kept heights may be out of
date, which costs time only: only a relabeling of the whole grid decides whether excess can still reach the sink.  It
follows when local rounds have taken LOCAL_RELABEL_RATIO times as long as the last relabeling of the whole grid.

Why relabel_kernel misses no update: heights only decrease during a relabeling (see below).  The warp that lowers
heights of tile t stores them, executes a memory fence, and only then sets QUEUED in flags[q] of a neighbour q (atomic
or).  The warp that searches q sets flags[q] to RUNNING (atomic exchange) before it reads heights.  If the exchange came
later, it reads the new heights.  If it came earlier, its compare-and-swap of flags[q] from RUNNING to IDLE fails, and
it searches q again.  All lanes of a warp store and read heights, but a single lane executes each atomic operation.  So
a barrier of the warp separates the stores from the fence and the atomic or, and another barrier separates the exchange
and its fence from the reads.

A tile that its own warp has not searched yet is RUNNING from the start: the atomic or then does not return IDLE, so no
other warp pushes the tile, whose search is due anyway.  For the same reason a KEPT tile is never pushed.

Why relabel_kernel ends: only one warp at a time searches a tile, and the result is a monotone function of the heights
around it.  If these have only decreased since the last search of the tile, so have its own; by induction over time no
search raises a height.  Heights are positive integers, so they decrease finitely often, and finitely many tiles are
pushed.  counts[PENDING] counts the tiles to be searched.  It is incremented before a tile is pushed, and decremented
when the last search of the tile, with all pushes that follow from it, is over.  So it is 0 only when no tile is queued
or being searched and none will be pushed; then `pop` returns FINISHED in every waiting warp.

At that point no search would change a height: height[p] <= height[q] + 1 for every residual arc p -> q of a searched
tile.  After a relabeling of the whole grid every finite height is also the length of a path to the sink, since a search
stores 1, or 1 plus a height that was stored before.  So the heights are the exact distances.

A slab of a grid on several GPUs runs the same kernels with other `Rules`: gridcut/tiles/slabs/halo_exchange.py.
"""

from functools import cache

import numpy as np

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
from gridcut.device.cuda_types import int32
from gridcut.tiles.tile_discharge import (
    Shape,
    colour_of,
    discharge,
    enqueue,
    load_tile,
    slot_of,
    store_tile,
    tile_at,
    tile_coordinates,
)
from gridcut.tiles.tile_relabel import relabel_tile
from gridcut.tiles.tile_search import NONE, UNREACHABLE, search_words
from gridcut.tiles.tile_state import (
    COLOUR_PASSES,
    DISCHARGE_TOTAL,
    DISCHARGED_TILES,
    DISCHARGES,
    FINISHED,
    HEAD,
    IDLE,
    KEPT,
    LIST_LENGTHS,
    PENDING,
    QUEUED,
    RELABEL_MODE,
    RELABEL_TIME,
    RELABEL_TOTAL,
    ROUNDS,
    RUNNING,
    SEARCHES,
    STOP,
    TAIL,
    WHOLE_GRID,
    WHOLE_GRID_RULES,
    WHOLE_RELABEL_END,
    WHOLE_RELABEL_TIME,
    WHOLE_RELABELS,
    Rules,
    pop,
    push,
)

SEARCH_THREADS = 32 if SIMULATED else 256
THREADS = 32 if SIMULATED else 512
# At most 64 registers per thread let two blocks of THREADS share a multiprocessor: some registers spill, but large
# grids are faster than with one block.
REGISTERS = 64
SEARCH_REGISTERS = 96
LOCAL_RADIUS = ((0, 2, 2), (1, 1, 1))  # tiles (z, y, x) around a discharged tile, in images and in volumes
EASY_ROUNDS = 4  # after these, excess has far to travel: steps_per_pixel is doubled


@cuda_kernel
def bits_kernel(excess, residual, arcs, tiles, bits):
    """Set `bits` of all tiles from excess and residuals; one warp for each arc of a tile, and one for its excess."""
    lane = cuda.threadIdx.x & 31
    warp = cuda.grid(1) >> 5
    t = warp // (arcs + 1)
    k = warp - t * (arcs + 1)
    if t >= tiles:
        return
    words = t * (arcs + 2) * 32 + lane
    mine = other = NONE
    # No store in these loops, so that all loads of a warp wait for memory together.
    if k < arcs:
        for row in range(32):
            some = ballot(residual[((t * arcs + k) * 32 + row) * 32 + lane] > 0)
            mine = some if lane == row else mine
    else:
        for row in range(32):
            e = excess[(t * 32 + row) * 32 + lane]
            negative, positive = ballot(e < 0), ballot(e > 0)
            mine = negative if lane == row else mine
            other = positive if lane == row else other
        bits[words + (arcs + 1) * 32] = other
    bits[words + k * 32] = mine


@cache
def kernels_for(shape: Shape, rules: Rules = WHOLE_GRID_RULES):
    """Return (relabel_kernel, discharge_kernel) for one neighbourhood."""
    return make_relabel_kernel(shape, rules), make_discharge_kernel(shape, rules)


def make_relabel(shape: Shape, rules: Rules):
    _, resumes, is_ghost, _ = rules
    offsets, leaving, sides, face_rows = shape.offset_array, shape.leaving, shape.sides, shape.face_rows
    tile, arcs, colours = shape.tile, shape.arcs, shape.colours
    # Offsets of the tiles within LOCAL_RADIUS, at most one per lane.
    radius = LOCAL_RADIUS[tile[0] > 1]
    around = np.array(list(np.ndindex(*(2 * r + 1 for r in radius))), np.int32) - np.array(radius, np.int32)

    # args: those of the kernel, and where its warps work
    @device_function
    def relabel(
        height, bits, reach_bits, flags, visited, lists, counts, times, tiles, workers, level, warp, warps, base
    ):
        """Set heights to distances to the sink: search all tiles or some, then those around which heights changed.

        warp, warps: number of this warp among those that search; base: its part of `level`, in shared memory.
        """
        nearby = cuda.const.array_like(around)
        offset = cuda.const.array_like(offsets)
        leave = cuda.const.array_like(leaving)
        watch = cuda.const.array_like(sides)
        faces = cuda.const.array_like(face_rows)
        masks = level.view(np.uint32)
        n = flags.size
        lane = np.int32(cuda.threadIdx.x & 31)
        start = nanoseconds()
        local = counts[RELABEL_MODE] != WHOLE_GRID
        resumed = resumes(counts)
        last_round = counts[ROUNDS]
        i = n if resumed else warp
        while i < n:
            keep = local and not is_discharged_nearby(i, lane, last_round, nearby, visited, tiles)
            ghost = is_ghost(i, n, counts)
            start_search(i, lane, keep or ghost, keep and not ghost, local, height, flags, visited, lists, counts)
            i += warps
        if warp == 0 and lane == 0 and not resumed:
            counts[HEAD] = 0
            counts[TAIL] = 0
            for j in range(LIST_LENGTHS, LIST_LENGTHS + 3 * colours):
                counts[j] = 0
        grid_sync()
        next_own = n if resumed else warp  # the next of this warp's own tiles
        while True:
            t = np.int32(-1)
            if next_own < n:
                t = np.int32(next_own)
                next_own += warps
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
            search_again = True
            while search_again:
                # No lane may read heights before flags[t] is RUNNING: later changes are then either read by this
                # search, or set QUEUED in flags[t] and cause another one.
                if lane == 0:
                    cuda.atomic.exch(flags, t, np.int32(RUNNING))
                    cuda.threadfence()
                warp_sync()
                q = relabel_tile(
                    t, lane, tiles, tile, arcs, offset, leave, watch, faces, height, bits, reach_bits, level, masks,
                    base,
                )  # fmt: skip
                if q >= 0 and cuda.atomic.or_(flags, q, np.int32(QUEUED)) == IDLE:
                    cuda.atomic.add(counts, PENDING, np.int32(1))
                    push(q, lists, counts, n)
                warp_sync()
                state = np.int32(0)
                if lane == 0:
                    state = cuda.atomic.cas(flags, t, np.int32(RUNNING), np.int32(IDLE))
                    cuda.atomic.add(counts, SEARCHES, np.int32(1))
                search_again = shuffle(state, 0) != RUNNING
            if lane == 0:
                cuda.atomic.sub(counts, PENDING, np.int32(1))
        if warp == 0 and lane == 0:
            record_relabeling(start, resumed, local, counts, times)

    return relabel


def make_relabel_kernel(shape: Shape, rules: Rules):
    relabel, is_solved, words = make_relabel(shape, rules), rules.is_solved, search_words(shape.arcs)

    @cuda_kernel(max_registers=SEARCH_REGISTERS)
    def relabel_kernel(height, bits, reach_bits, flags, visited, lists, counts, times, tiles, workers):
        """A relabeling by all warps."""
        level = cuda.shared.array(0, int32)
        if is_solved(counts):
            return
        warp, warps = cuda.grid(1) // 32, cuda.gridsize(1) // 32
        base = (cuda.threadIdx.x // 32) * words
        relabel(
            height, bits, reach_bits, flags, visited, lists, counts, times, tiles, workers, level, warp, warps, base
        )

    return relabel_kernel


@device_function
def is_discharged_nearby(t, lane, last_round, nearby, visited, tiles):
    """Whether a tile within LOCAL_RADIUS of tile t was discharged in the last round."""
    found = False
    if lane < nearby.shape[0]:
        iz, iy, ix = tile_coordinates(t, tiles)
        first = t - (iz * tiles[1] + iy) * tiles[2] - ix
        q = tile_at(iz, iy, ix, nearby[lane, 0], nearby[lane, 1], nearby[lane, 2], tiles, first)
        found = q >= 0 and visited[np.uint64(q)] == last_round
    return ballot(found) != NONE


@device_function
def start_search(t, lane, keep, keep_heights, local, height, flags, visited, lists, counts):
    """Prepare tile t; keep: it is not searched, keep_heights: nor are its heights reset."""
    if not keep_heights:
        row = opaque(0)
        while row < 32:
            height[np.uint64((t * 32 + row) * 32 + lane)] = UNREACHABLE
            row = np.int32(row + 1)
    if lane == 0:
        flags[np.uint64(t)] = KEPT if keep else RUNNING
        lists[np.uint64(t)] = -1
        if not keep:
            cuda.atomic.add(counts, PENDING, np.int32(1))
        if not local:
            visited[np.uint64(t)] = 0  # may hold rounds of an earlier solve


@device_function
def record_relabeling(start, resumed, local, counts, times):
    """Add a relabeling to the counters; start: its clock at the start."""
    end = nanoseconds()
    if resumed:
        start -= times[RELABEL_TIME]
        times[RELABEL_TOTAL] -= times[RELABEL_TIME]
    times[RELABEL_TIME] = end - start
    times[RELABEL_TOTAL] += times[RELABEL_TIME]
    if not local:
        times[WHOLE_RELABEL_TIME] = times[RELABEL_TIME]
        times[WHOLE_RELABEL_END] = end
        counts[WHOLE_RELABELS] += 1


def make_discharging(shape: Shape, rules: Rules):
    _, _, is_ghost, end_round = rules
    offsets, deltas, steps_to = shape.offset_array, shape.height_steps, shape.pixel_steps
    tile, arcs, halo, diagonal, colours = shape.tile, shape.arcs, shape.halo, shape.is_diagonal, shape.colours
    wide, e_at, list_at = shape.wide, shape.excess_start, shape.list_start

    # args: those of the kernel, and its shared memory
    @device_function
    def discharge_tiles(
        excess, residual, height, bits, reach_bits, flags, visited, lists, counts, times, tiles, options, h
    ):
        """Discharge tiles with excess, one colour at a time, for discharge_ratio times as long as relabeling took.

        options: max_barriers of `discharge`, discharge_ratio, and may_relabel of `discharge`.
        """
        offset = cuda.const.array_like(offsets)
        delta = cuda.const.array_like(deltas)
        step_to = cuda.const.array_like(steps_to)
        # Excess and residuals are stored after the heights.
        w = h.view(np.int64) if wide else h
        max_barriers, discharge_ratio, may_relabel = options
        n = flags.size
        tid, block, blocks = cuda.threadIdx.x, cuda.blockIdx.x, cuda.gridDim.x
        leader = block == 0 and tid == 0
        thread, threads = cuda.grid(1), cuda.gridsize(1)
        now = counts[ROUNDS] + 1
        if now > EASY_ROUNDS:
            max_barriers = np.int32(2 * max_barriers)
        start = nanoseconds()
        i = thread // 32
        while i < n:
            is_copy = is_ghost(i, n, counts)
            list_active_tile(i, is_copy, arcs, diagonal, bits, reach_bits, flags, lists, counts, tiles)
            i += threads // 32
        grid_sync()
        sweep = 0
        pass_number = 0
        working = True
        stop = 0
        while working and stop == 0:
            working = False
            for colour in range(colours):
                slot = LIST_LENGTHS + colour * 3 + sweep % 3
                waiting = relaxed_load(counts, slot)
                if waiting == 0:
                    continue
                working = True
                i = block
                while i < waiting:
                    t = np.int32(lists[np.uint64((slot - LIST_LENGTHS) * n + i)])
                    if tid == 0:
                        flags[np.uint64(t)] = 0
                        if visited[np.uint64(t)] != now:
                            visited[np.uint64(t)] = now
                            cuda.atomic.add(counts, DISCHARGED_TILES, np.int32(1))
                    iz, iy, ix = tile_coordinates(t, tiles)
                    first = t - (iz * tiles[1] + iy) * tiles[2] - ix
                    load_tile(t, first, iz, iy, ix, tiles, tile, halo, arcs, excess, residual, height, h, w, e_at)
                    cuda.syncthreads()
                    active = discharge(tile, halo, arcs, step_to, delta, max_barriers, may_relabel, h, w, e_at, list_at)
                    store_tile(
                        t, first, iz, iy, ix, tiles, tile, halo, arcs, offset, excess, residual, height, bits,
                        h, w, e_at, diagonal, colour, sweep, flags, lists, counts, n,
                    )  # fmt: skip
                    cuda.syncthreads()
                    if active != 0 and tid == 0:
                        enqueue(t, slot_of(colour, colour, sweep), flags, lists, counts, n)
                    i += blocks
                if leader:
                    # Two alternating slots, so that no block reads the decision of the next pass instead of this
                    # one's: this slot is written again only after another barrier.
                    timed_out = sweep > 0 and nanoseconds() - start > times[RELABEL_TIME] * discharge_ratio
                    counts[STOP + (pass_number & 1)] = 1 if timed_out else 0
                grid_sync()
                stop = relaxed_load(counts, STOP + (pass_number & 1))
                pass_number += 1
                if leader:
                    counts[slot] = 0
                    counts[COLOUR_PASSES] += 1
                    counts[DISCHARGES] += waiting
            sweep += 1
        if leader:
            end = nanoseconds()
            times[DISCHARGE_TOTAL] += end - start
            counts[ROUNDS] = now
            # relabel_kernel leaves 0 here: every search has ended.  The next relabeling counts from 0 in any case.
            counts[PENDING] = 0
            no_tile_was_listed = sweep == 1 and not working  # the first sweep found all lists empty
            end_round(counts, times, n, no_tile_was_listed, may_relabel, end)
            counts[DISCHARGED_TILES] = 0

    return discharge_tiles


def make_discharge_kernel(shape: Shape, rules: Rules):
    discharge_tiles, is_solved = make_discharging(shape, rules), rules.is_solved

    @cuda_kernel(max_registers=REGISTERS)
    def discharge_kernel(
        excess, residual, height, bits, reach_bits, flags, visited, lists, counts, times, tiles, options
    ):
        """Discharge tiles, one per block at a time."""
        h = cuda.shared.array(0, int32)
        if is_solved(counts):
            return
        discharge_tiles(
            excess, residual, height, bits, reach_bits, flags, visited, lists, counts, times, tiles, options, h
        )

    return discharge_kernel


@device_function
def list_active_tile(t, is_copy, arcs, diagonal, bits, reach_bits, flags, lists, counts, tiles):
    """Append tile t to the list of its colour if it has excess that can reach the sink; one warp."""
    lane = cuda.grid(1) & 31
    positive = bits[np.uint64((t * (arcs + 2) + arcs + 1) * 32 + lane)]
    active = ballot(positive & reach_bits[np.uint64(t * 32 + lane)] != NONE)
    if lane == 0:
        # A ghost tile counts as if it were in a list already, so it is never enqueued.
        flags[np.uint64(t)] = 1 if is_copy else 0
        if active != NONE and not is_copy:
            iz, iy, ix = tile_coordinates(t, tiles)
            enqueue(t, LIST_LENGTHS + 3 * colour_of(iz, iy, ix, diagonal), flags, lists, counts, flags.size)
