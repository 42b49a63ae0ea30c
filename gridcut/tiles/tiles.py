"""Default max-flow solver on a GPU: push-relabel on tiles of 1024 pixels in shared memory.

    relabel      set heights to exact distances to the sink: one warp searches one tile, and searches it again whenever
                 heights around it have decreased (tile_relabel.py, tile_search.py)
    discharge    discharge the tiles with excess, one colour after the other, with lock-free steps in shared memory
                 (tile_discharge.py), for about as long as the relabeling took
    ...          repeat until, after a relabeling, no pixel with excess can reach the sink

Each of the two is one cooperative launch (tile_kernels.py).  Rounds are enqueued before the host knows whether they are
needed, so the GPU never waits for the host.  Global and gap relabeling are those of Łupińska [1], section 4.2; the step
of a pixel is her algorithm 4.5 (Hong's lock-free push-relabel).  Discharging a region independently while the heights
around it are fixed is due to Delong and Boykov [2].

Termination: from round FALLBACK_ROUND on, `discharge_kernel` runs with may_relabel = 0, and after the first such round
every relabeling covers the whole grid.  Between two relabelings heights are then constant and exact distances, and a
thread pushes from p to q only if height[p] > height[q].  Each push therefore decreases the sum of excess times height
by at least 1, and the arc q -> p that it opens shortens no distance.  So distances never decrease from one relabeling
to the next, each can increase only finitely often, and the algorithm terminates.  No known instance comes near this
limit.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011.
[2] Delong, Boykov. "A scalable graph-cut algorithm for N-D grids." CVPR 2008.

O(n^2 m) operations; memory in addition to excess and residuals: 4.4 bytes per pixel and 1/8 byte per arc.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device.arguments import check_count, check_positive
from gridcut.device.arrays import allocate, clear, download
from gridcut.device.cuda import SIMULATED, WARP, multiprocessors
from gridcut.device.launch import launch, most_blocks, prepare
from gridcut.papers.global_relabel_cuda import MAX_STEPS
from gridcut.tiles.tile_discharge import STEPS_PER_BARRIER
from gridcut.tiles.tile_kernels import (
    COLOUR_PASSES,
    COUNTS,
    DISCHARGE_TOTAL,
    DISCHARGES,
    DONE,
    PIXELS,
    RELABEL_TOTAL,
    ROUNDS,
    SEARCH_THREADS,
    SEARCHES,
    THREADS,
    TIMES,
    WHOLE_RELABELS,
    Shape,
    bits_kernel,
    kernels_for,
    list_count,
    shared_bytes,
)
from gridcut.tiles.tile_search import search_words

FALLBACK_ROUND = 1000  # from this round on pixels are not relabeled between two relabelings, which terminates
LAUNCHES_AHEAD = 8  # rounds enqueued before the host reads the counts; a round that is not needed returns immediately
LAUNCHES_AHEAD_IF_SMALL = 4
SMALL_GRID_TILES = 1024  # up to this many tiles, fewer blocks are faster: their barriers take less time
MAX_WORKERS = 1056  # warps that pop tiles from the queue; more of them slow each other down


class TileState(NamedTuple):
    """Arrays of a solve, reused by the next: see tile_kernels.py.  tally: counts and times as one array."""

    height: object
    bits: object
    reach_bits: object
    flags: object
    visited: object
    lists: object
    counts: object
    times: object
    tally: object


class Rounds(NamedTuple):
    """The launches of a round; each may be repeated."""

    relabel: object
    discharge: object
    push_only: object  # `discharge` without relabels, from round FALLBACK_ROUND on


def prepare_rounds(excess, residual, layout, state: TileState, steps_per_pixel=32, discharge_ratio=1.0) -> Rounds:
    """Prepare the launches for these arrays; steps_per_pixel and discharge_ratio as in `solve`."""
    shape = shape_of(layout, excess.dtype)
    n = layout.count
    relabel, discharge = kernels_for(shape, PIXELS // THREADS)
    tiles = tuple(np.int32(i) for i in layout.tiles)
    common = (*state[:-1], tiles)
    threads = search_threads(n)
    warps = threads // WARP
    search_shared = 4 * warps * search_words(layout.arcs)
    most = most_blocks(relabel, (*common, np.int32(0)), threads, search_shared)
    search_blocks = min(most, -(-n // warps))
    workers = np.int32(min(search_blocks * warps, MAX_WORKERS))
    search = prepare(relabel, search_blocks, threads, *common, workers, shared=search_shared)
    options = (np.int32(-(-steps_per_pixel // STEPS_PER_BARRIER)), np.float64(discharge_ratio))
    shared = shared_bytes(shape)
    arrays = (excess, residual, *common, *options)
    blocks = min(n, most_blocks(discharge, (*arrays, np.int32(1)), THREADS, shared))
    if n <= SMALL_GRID_TILES:
        blocks = min(blocks, multiprocessors())
    discharge_rounds, push_only = (
        prepare(discharge, blocks, THREADS, *arrays, np.int32(may_relabel), shared=shared) for may_relabel in (1, 0)
    )
    return Rounds(search, discharge_rounds, push_only)


def shape_of(layout, dtype) -> Shape:
    """The `Shape` of the kernels for a layout and excesses of this dtype."""
    return Shape(tuple(layout.offsets), tuple(layout.tile), dtype == np.int64)


def search_threads(n: int) -> int:
    """Threads per block of relabel_kernel and bits_kernel, for n tiles."""
    return SEARCH_THREADS // 4 if n <= SMALL_GRID_TILES and not SIMULATED else SEARCH_THREADS


def solve(excess, residual, layout, *, warm=None, callback=None, steps_per_pixel=32, discharge_ratio=1.0):
    """Solve in place.

    Parameters
    ----------
    excess, residual : device arrays
        In the tiled layout of `layout`; modified in place.
    layout : TileLayout
    warm : TileState, optional
        The state returned by the last solve on these arrays; its memory is reused.
    callback : callable, optional
        Called with a dict of counters after each round.  An exception raised by it stops the solve.
    steps_per_pixel : int
        Steps of a pixel each time its tile is discharged, in the first EASY_ROUNDS rounds; twice as many later.
    discharge_ratio : float
        Time spent on discharging, as a multiple of the time spent on relabeling.

    Returns
    -------
    state : TileState
        ``state.reach_bits`` is the sink side.
    stats : dict
        Counters, and the "kernel_seconds" of both kernels.
    """
    steps_per_pixel = check_count("steps_per_pixel", steps_per_pixel, 1, MAX_STEPS)
    discharge_ratio = check_positive("discharge_ratio", discharge_ratio)
    n, arcs = layout.count, layout.arcs
    state = make_state(n, arcs, list_count(shape_of(layout, excess.dtype))) if warm is None else warm
    clear(state.tally)
    threads = search_threads(n)
    launch(bits_kernel, -(-n // (threads // WARP)), threads, excess, residual, arcs, n, state.bits)
    rounds = prepare_rounds(excess, residual, layout, state, steps_per_pixel, discharge_ratio)
    discharge_rounds = rounds.discharge
    launches = 1 if callback is not None else LAUNCHES_AHEAD_IF_SMALL if n <= SMALL_GRID_TILES else LAUNCHES_AHEAD
    while True:
        for _ in range(launches):
            rounds.relabel()
            discharge_rounds()
        tally = download(state.tally)
        done, times = tally[: COUNTS // 2].view(np.int32), tally[COUNTS // 2 :]
        stats = {
            "rounds": int(done[ROUNDS]),
            "global_relabels": int(done[WHOLE_RELABELS]),
            "searches": int(done[SEARCHES]),
            "colour_passes": int(done[COLOUR_PASSES]),
            "discharges": int(done[DISCHARGES]),
        }
        if callback is not None:
            callback(dict(stats))
        if done[DONE]:
            break
        if done[ROUNDS] >= FALLBACK_ROUND:
            discharge_rounds = rounds.push_only
    relabeling, discharging = (int(times[i]) / 1e9 for i in (RELABEL_TOTAL, DISCHARGE_TOTAL))
    return state, {**stats, "kernel_seconds": {"relabel": relabeling, "discharge": discharging}}


def make_state(n: int, arcs: int, lists: int) -> TileState:
    """Allocate the arrays for n tiles in one piece of memory."""
    *arrays, tally = allocate(
        (n * PIXELS, np.int32),
        (n * (arcs + 2) * WARP, np.uint32),
        (n * WARP, np.uint32),
        (n, np.int32),
        (n, np.int32),
        (n * lists, np.int32),
        (COUNTS // 2 + TIMES, np.int64),
    )
    return TileState(*arrays, tally[: COUNTS // 2].view(np.int32), tally[COUNTS // 2 :], tally)
