"""Tiles: push-relabel on a GPU, 1024 pixels at a time; the default on CUDA.

    relabel      exact distances to the sink: a warp searches a tile, again whenever its surroundings have changed
                 (relabel.py, search.py)
    discharge    tiles with excess, one colour after the other: lock-free steps in shared memory (discharge.py), for
                 about as long as relabeling took
    ...          until after a relabeling no pixel with excess can reach the sink

Each of the two is one cooperative launch (kernels.py), and rounds are launched ahead of knowing whether they are
needed: the host never waits while there is work.  Global and gap relabeling are those of Łupińska [1], section 4.2;
the step of a pixel is her algorithm 4.5 (Hong's lock-free push-relabel); that a region may be discharged for itself
while the heights around it stand still is due to Delong and Boykov [2].

From round MANY on pixels no longer rise between two relabelings.  Then flow only goes down along exact distances and
distances only grow, which ends for certain; no instance has been seen to come near it.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011.
[2] Delong, Boykov. "A scalable graph-cut algorithm for N-D grids." CVPR 2008.

O(n^2 m) operations; memory beyond excess and residuals: 4.4 bytes a pixel + 1/8 byte an arc.
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

FALLBACK_ROUND = 1000
LAUNCHES_AHEAD = 8  # rounds launched before the host looks whether they are still needed: one that is not does nothing
LAUNCHES_AHEAD_IF_SMALL = 4
SMALL_GRID_TILES = 1024  # tiles; so few are spread thinly over the device, where barriers of fewer blocks are faster
MAX_WORKERS = 1056  # warps that wait for tiles to search; more of them are in each other's way


class TileState(NamedTuple):
    """Memory of a solve, to be used again by the next: see kernels.py.  tally: counts and times in one piece."""

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
    """The two launches of a round, to be made as often as one likes."""

    relabel: object
    discharge: object
    push_only: object  # the same without rising: discharging from round MANY on


def prepare_rounds(excess, residual, layout, state: TileState, steps_per_pixel=32, discharge_ratio=1.0) -> Rounds:
    """Launches for these arrays; steps and balance as in `solve`."""
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
    """What the kernels for a layout and excesses of this type are compiled for."""
    return Shape(tuple(layout.offsets), tuple(layout.tile), dtype == np.int64)


def search_threads(n: int) -> int:
    """Threads of a block that searches, or makes bits, for n tiles."""
    return SEARCH_THREADS // 4 if n <= SMALL_GRID_TILES and not SIMULATED else SEARCH_THREADS


def solve(excess, residual, layout, *, warm=None, callback=None, steps_per_pixel=32, discharge_ratio=1.0):
    """Solve in place; the state, and counts of what was done.

    warm      the TileState of the last solve on these arrays
    steps     steps of a pixel each time its tile is discharged, in the first rounds; twice as many later
    balance   time spent on discharging, as a multiple of that spent on relabeling
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
    """Memory for n tiles, in one piece."""
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
