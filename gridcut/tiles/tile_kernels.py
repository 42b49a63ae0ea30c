"""The two kernels of `tiles`, compiled for one neighbourhood: global relabeling and discharging.

Both are cooperative launches: all blocks are resident on the GPU until the kernel ends, so they can synchronise.  A
round of `gridcut/tiles/tiles.py` is one launch of each.

relabel_kernel   sets heights to distances to the sink.  First each warp searches its own tiles, then tiles from a queue
                 (tile_queue.py, tile_relabel.py, tile_search.py).
    1  Set the heights of all pixels to UNREACHABLE.
    2  Search a tile: compute its heights from its capacities to the sink and from the heights around it.
    3  If heights on its boundary have decreased, append the neighbouring tiles that see them to the queue.
    4  Repeat 2 and 3 until the queue is empty.

discharge_kernel   push-relabel in the tiles with excess that can reach the sink (tile_discharge.py).
    1  Append each of these tiles to the list of its colour.  Adjacent tiles have different colours.
    2  For each colour: one block per listed tile loads the tile into shared memory, pushes and relabels, and stores it.
       A tile that still has active pixels, or that receives flow from a neighbour, is appended to a list again.
    3  Repeat 2 until all lists are empty or, after the first time, discharging has taken `discharge_ratio` times as
       long as the relabeling.

Local relabeling: towards the end of a solve, or after a small change, few tiles are discharged.  Then heights are
searched only within LOCAL_RADIUS tiles of those, and all other tiles keep their heights.  Kept heights may be out of
date, which costs time only: only a relabeling of the whole grid decides whether excess can still reach the sink.  It
follows when local rounds have taken LOCAL_RELABEL_RATIO times as long as the last relabeling of the whole grid.

Why relabel_kernel misses no update and ends: heights only decrease during a search.  The warp that lowers heights of
tile t stores them, executes a memory fence, and only then sets QUEUED in flags[q] of a neighbour q (atomic or).  The
warp that searches q sets flags[q] to RUNNING (atomic exchange) before it reads heights.  If the exchange came later, it
reads the new heights.  If it came earlier, its compare-and-swap of flags[q] from RUNNING to IDLE fails, and it searches
q again.  counts[PENDING] is incremented before a tile is pushed and decremented after its last search, so it reaches 0
only when no tile is queued or being searched; then `pop` returns FINISHED in every waiting warp.

Arrays, t a tile of n, A arcs
  excess, residual   see tile_layout.py
  height[t * 1024 + row * 32 + lane]    distance to the sink at the last search, increased by relabels since
  bits[(t * (A + 2) + j) * 32 + row]    one bit per lane; j < A: residual of arc j > 0;  A: excess < 0 (capacity to the
                                        sink);  A + 1: excess > 0
  reach_bits[t * 32 + row]              one bit per lane: the pixel can reach the sink
  flags[t]                              relabeling: IDLE, QUEUED, RUNNING, KEPT;  discharging: 1 while in a list
  visited[t]                            the last round in which the tile was discharged
  lists                                 relabeling: the queue of searches (tile_queue.py);  discharging: list i, from
                                        lists[i * n] on

Slots of `counts` (int32).  R: relabel_kernel, D: discharge_kernel, E: kernels of halo_exchange.py, H: host.
Each solve starts from zeros; gridcut/multilabel/next_move_cuda.py does the same between the cuts of a descent.
  slot                   meaning                                                             written    read
  HEAD, TAIL, PENDING    the queue of searches: see tile_queue.py                            R D E      R
  LIST_LENGTHS + i       length of list i = 3 * colour + sweep % 3                           R D        D
  STOP, STOP + 1         1: the time is over; two slots for odd and even colour passes       D          D
  DONE                   1: no excess can reach the sink; outside slabs, launches return     D          R D H
  ROUNDS                 completed rounds                                                    D          R D H
  SEARCHES               tiles searched                                                      R          H
  COLOUR_PASSES          colours discharged                                                  D          H
  DISCHARGES             tiles discharged, with repetitions                                  D          H
  RELABEL_MODE           the next relabeling: WHOLE_GRID, LOCAL or CONTINUED                 D E H      R D
  DISCHARGED_TILES       distinct tiles discharged in this round                             D          D
  WHOLE_RELABELS         relabelings of the whole grid                                       R          H
 of slabs only:
  GHOSTS_BEFORE, _AFTER  ghost tiles at the start and at the end of the slab                 H          R D
  REQUEUED_TILES         tiles queued because heights of ghosts have decreased               E          H
  LAST_DISCHARGED_TILES  DISCHARGED_TILES of the last completed round                        D          H
Slots of `times` (int64, nanoseconds)
  RELABEL_TIME           duration of the last relabeling                                     R          R D H
  RELABEL_TOTAL          sum of all relabelings                                              R          H
  DISCHARGE_TOTAL        sum of all discharging                                              D          H
  WHOLE_RELABEL_TIME     duration of the last relabeling of the whole grid                   R          D
  WHOLE_RELABEL_END      clock at its end                                                    R          D

In a slab of a grid (gridcut/tiles/slabs) the first and the last tiles may be *ghost tiles*, copies of tiles that belong
to the neighbouring slabs.  They are neither searched nor discharged.  There the host decides what the next relabeling
is.  In mode CONTINUED it resumes after heights of ghosts have changed: the adjacent tiles are in the queue already.
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
from gridcut.tiles.tile_relabel import relabel_tile
from gridcut.tiles.tile_search import NONE, UNREACHABLE, search_words

SEARCH_THREADS = 32 if SIMULATED else 256
THREADS = 32 if SIMULATED else 512
# At most 64 registers per thread let two blocks of THREADS share a multiprocessor: some registers spill, but large
# grids are faster than with one block.
REGISTERS = 64
SEARCH_REGISTERS = 96
# flags[] of a tile while distances are searched.  RUNNING + QUEUED: search again.  KEPT: do not search.
IDLE, QUEUED, RUNNING, KEPT = 0, 1, 2, 4
LOCAL_RELABEL_RATIO = 2.0  # time for rounds with local relabelings, as a multiple of one relabeling of the whole grid
LOCAL_RADIUS = ((0, 2, 2), (1, 1, 1))  # tiles (z, y, x) around a discharged tile, in images and in volumes
EASY_ROUNDS = 4  # after these, excess has far to travel: steps_per_pixel is doubled
LOCAL_SHARE = 16  # a relabeling may be local if at most one tile in LOCAL_SHARE was discharged
# Slots of `counts`, after those of the queue: see above.
LIST_LENGTHS = FIRST_SLOT
STOP, DONE, ROUNDS, SEARCHES, COLOUR_PASSES, DISCHARGES, RELABEL_MODE, DISCHARGED_TILES = 32, 34, 35, 36, 37, 38, 39, 40
WHOLE_RELABELS, GHOSTS_BEFORE, GHOSTS_AFTER, REQUEUED_TILES, LAST_DISCHARGED_TILES = 41, 42, 43, 44, 45
COUNTS = 64  # slots
WHOLE_GRID, LOCAL, CONTINUED = 0, 1, 2  # values of counts[RELABEL_MODE]
# Slots of `times`.
RELABEL_TIME, RELABEL_TOTAL, DISCHARGE_TOTAL, WHOLE_RELABEL_TIME, WHOLE_RELABEL_END = 0, 1, 2, 3, 4
TIMES = 5  # slots


@cuda_kernel
def bits_kernel(excess, residual, arcs, tiles, bits):
    """Set `bits` of all tiles from excess and residuals; one warp per tile."""
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
    """The constants that the kernels are compiled for."""

    offsets: tuple
    tile: tuple
    wide: bool  # excess and residuals are int64
    ghosts: bool = False  # the grid is a slab with ghost tiles


@cache
def kernels_for(shape: Shape, per: int):
    """Return (relabel_kernel, discharge_kernel) for one neighbourhood; per: pixels per thread."""
    offsets = np.array(shape.offsets, np.int32)
    tile = depth, rows, _ = shape.tile
    arcs = len(offsets)
    halo = halo_of(shape)
    deltas = (offsets @ [(rows + 2 * halo[1]) * WIDTH, WIDTH, 1]).astype(np.int32)
    steps_to = (offsets @ [rows * 32, 32, 1]).astype(np.int32)
    # Arcs (row, k) that leave the tile in depth or height; below, the sides of the tile that arcs cross.
    leaving = [
        (row, k)
        for row in range(32)
        for k, (dz, dy, _) in enumerate(shape.offsets)
        if not (0 <= row // rows + dz < depth and 0 <= row % rows + dy < rows)
    ]
    face_rows = np.array(sorted({row for row, _ in leaving}) or [0], np.int32)
    # Constant memory cannot hold empty arrays; reading one arc too many is safe.
    leaving = np.array(leaving or [(0, 0)], np.int32)
    sides = {tuple(int(i) for i in np.sign(o) * keep) for o in shape.offsets for keep in np.ndindex(2, 2, 2)}
    sides = np.array(sorted(sides - {(0, 0, 0)}), np.int32)
    # Offsets of the tiles within LOCAL_RADIUS, at most one per lane.
    radius = LOCAL_RADIUS[depth > 1]
    around = np.array(list(np.ndindex(*(2 * r + 1 for r in radius))), np.int32) - np.array(radius, np.int32)
    diagonal = is_diagonal(shape)
    colours = list_count(shape) // 3
    words = search_words(arcs)
    e_at = height_words(shape)
    wide, ghosts = shape.wide, shape.ghosts
    if wide:
        e_at //= 2

    @cuda_kernel(max_registers=SEARCH_REGISTERS)
    def relabel_kernel(height, bits, reach_bits, flags, visited, lists, counts, times, tiles, workers):
        """Set heights to distances to the sink: search all tiles or some, then those around which heights changed."""
        nearby = cuda.const.array_like(around)
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
        local = counts[RELABEL_MODE] != WHOLE_GRID
        continued = ghosts and counts[RELABEL_MODE] == CONTINUED
        last = counts[ROUNDS]
        i = n if continued else warp
        while i < n:
            found = False
            if local and lane < nearby.shape[0]:
                iz, iy, ix = tile_coordinates(i, tiles)
                first = i - (iz * tiles[1] + iy) * tiles[2] - ix
                q = tile_at(iz, iy, ix, nearby[lane, 0], nearby[lane, 1], nearby[lane, 2], tiles, first)
                found = q >= 0 and visited[np.uint64(q)] == last
            some = ballot(found)
            keep = local and some == NONE
            if ghosts and (i < counts[GHOSTS_BEFORE] or i >= n - counts[GHOSTS_AFTER]):
                keep = True
            if not keep or (ghosts and not local):
                row = opaque(0)
                while row < 32:
                    height[np.uint64((i * 32 + row) * 32 + lane)] = UNREACHABLE
                    row = np.int32(row + 1)
            if lane == 0:
                flags[np.uint64(i)] = KEPT if keep else RUNNING
                lists[np.uint64(i)] = -1
                if not keep:
                    cuda.atomic.add(counts, PENDING, np.int32(1))
                if not local:
                    visited[np.uint64(i)] = 0  # may hold rounds of an earlier solve
            i += warps
        if thread == 0 and not continued:
            counts[HEAD] = 0
            counts[TAIL] = 0
            for j in range(LIST_LENGTHS, LIST_LENGTHS + 3 * colours):
                counts[j] = 0
        grid_sync()
        next_own = n if continued else warp  # the next of this warp's own tiles
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
                if lane == 0:
                    cuda.atomic.exch(flags, t, np.int32(RUNNING))
                # No lane may read heights before flags[t] is RUNNING: later changes are then either read by this
                # search, or set QUEUED in flags[t] and cause another one.
                warp_sync()
                cuda.threadfence()
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
        if thread == 0:
            end = nanoseconds()
            if continued:
                start -= times[RELABEL_TIME]
                times[RELABEL_TOTAL] -= times[RELABEL_TIME]
            times[RELABEL_TIME] = end - start
            times[RELABEL_TOTAL] += times[RELABEL_TIME]
            if not local:
                times[WHOLE_RELABEL_TIME] = times[RELABEL_TIME]
                times[WHOLE_RELABEL_END] = end
                counts[WHOLE_RELABELS] += 1

    @cuda_kernel(max_registers=REGISTERS)
    def discharge_kernel(
        excess, residual, height, bits, reach_bits, flags, visited, lists, counts, times, tiles, max_barriers,
        discharge_ratio, may_relabel,
    ):  # fmt: skip
        """Discharge tiles with excess, one colour at a time, for discharge_ratio times as long as relabeling took."""
        offset = cuda.const.array_like(offsets)
        delta = cuda.const.array_like(deltas)
        step_to = cuda.const.array_like(steps_to)
        h = cuda.shared.array(0, int32)
        # Excess and residuals are stored after the heights.
        w = h.view(np.int64) if wide else h
        if not ghosts and counts[DONE] != 0:
            return
        n = flags.size
        tid, block, blocks = cuda.threadIdx.x, cuda.blockIdx.x, cuda.gridDim.x
        leader = block == 0 and tid == 0
        thread, threads = cuda.grid(1), cuda.gridsize(1)
        lane = thread & 31
        now = counts[ROUNDS] + 1
        if now > EASY_ROUNDS:
            max_barriers = np.int32(2 * max_barriers)
        start = nanoseconds()
        i = thread // 32
        while i < n:
            positive = bits[np.uint64((i * (arcs + 2) + arcs + 1) * 32 + lane)]
            active = ballot(positive & reach_bits[np.uint64(i * 32 + lane)] != NONE)
            if ghosts and (i < counts[GHOSTS_BEFORE] or i >= n - counts[GHOSTS_AFTER]):
                if lane == 0:
                    flags[np.uint64(i)] = 1  # as if it were in a list already, so it is never enqueued
            elif lane == 0:
                flags[np.uint64(i)] = 0
                if active != NONE:
                    iz, iy, ix = tile_coordinates(i, tiles)
                    enqueue(i, LIST_LENGTHS + 3 * colour_of(iz, iy, ix, diagonal), flags, lists, counts, n)
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
                    active = discharge(
                        tile, halo, arcs, offset, step_to, delta, max_barriers, may_relabel, per, h, w, e_at
                    )
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
            counts[PENDING] = 0
            no_work = sweep == 1 and not working
            if ghosts:
                counts[DONE] = 1 if no_work else 0
                counts[LAST_DISCHARGED_TILES] = relaxed_load(counts, DISCHARGED_TILES)
                counts[RELABEL_MODE] = WHOLE_GRID
            else:
                if no_work and counts[RELABEL_MODE] == WHOLE_GRID:
                    counts[DONE] = 1
                few = relaxed_load(counts, DISCHARGED_TILES) * LOCAL_SHARE <= n
                counts[RELABEL_MODE] = (
                    LOCAL
                    if few
                    and may_relabel != 0
                    and not no_work
                    and end - times[WHOLE_RELABEL_END] < times[WHOLE_RELABEL_TIME] * LOCAL_RELABEL_RATIO
                    else WHOLE_GRID
                )
            counts[DISCHARGED_TILES] = 0

    return relabel_kernel, discharge_kernel


@device_function
def tile_coordinates(t, tiles):
    """Coordinates (z, y, x) of tile t in its image."""
    ix = t % tiles[2]
    rest = t // tiles[2]
    return np.int32(rest // tiles[1] % tiles[0]), np.int32(rest % tiles[1]), np.int32(ix)


def is_diagonal(shape: Shape) -> bool:
    """Whether an arc is not parallel to an axis."""
    return any(np.count_nonzero(o) > 1 for o in shape.offsets)


def list_count(shape: Shape) -> int:
    """Number of lists of tiles: three per colour."""
    return 24 if is_diagonal(shape) else 6


def halo_of(shape: Shape):
    """Width of the halo of a tile along z and y, in pixels."""
    return tuple(max(abs(o[axis]) for o in shape.offsets) for axis in (0, 1))


def height_words(shape: Shape) -> int:
    """int32 words for the heights of a tile and its halo, an even number."""
    halo = halo_of(shape)
    words = (shape.tile[0] + 2 * halo[0]) * (shape.tile[1] + 2 * halo[1]) * WIDTH
    return words + words % 2


def shared_bytes(shape: Shape) -> int:
    """Bytes of dynamic shared memory per block of discharge_kernel."""
    return 4 * height_words(shape) + (8 if shape.wide else 4) * PIXELS * (1 + len(shape.offsets))


def kernels():
    """List (name, kernel, argument types) for some neighbourhoods, for the compile tests."""
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
