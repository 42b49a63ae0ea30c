"""Default max-flow solver on a GPU: push-relabel on tiles of 1024 pixels in shared memory.

plain_tiles.py has the same steps in plain Python; read it first.

    relabel      set heights to exact distances to the sink: one warp searches one tile, and searches it again whenever
                 heights around it have decreased (tile_relabel.py, tile_search.py)
    discharge    discharge the tiles with excess, one colour after the other, with lock-free steps in shared memory
                 (tile_discharge.py), for about as long as the relabeling took
    ...          repeat until, after a relabeling, no pixel with excess can reach the sink

Each of the two is one cooperative launch (tile_kernels.py); on small grids, one launch runs all rounds
(below).  Rounds are enqueued before the host knows whether they are needed, so the GPU never waits for the
host.  Global relabeling is that of Łupińska [1], section 4.2; the step of a pixel is her algorithm 4.5 (Hong's
lock-free push-relabel).  Discharging a region independently while the heights around it are fixed is due to Delong and
Boykov [2].

Why a fallback is needed: every lock-free step keeps all capacities, but it may read a neighbour's height that is out of
date.  A residual arc p -> q with height[p] > height[q] + 1 (a steep arc) may then arise, so heights are no lower bounds
of distances until the next relabeling.  A push along heights that are too large may open an arc that shortens a
distance.  So there is no proof that the rounds before the fallback terminate.

Termination: after FALLBACK_ROUND rounds, `discharge_kernel` runs with may_relabel = 0, and after the first such round
every relabeling covers the whole grid.  In the rounds after that one:
    1  Heights are exact distances d at the start of the discharging, and constant during it.  A thread pushes from p to
       q only if d(p) > d(q); the arc p -> q is residual, so d(q) = d(p) - 1.  The opened arc q -> p leads to a larger
       distance.  So the distances stay valid labels, and no distance falls from one relabeling to the next.
    2  Every round with a listed tile makes at least one push.  The first sweep over the colours always runs to its end,
       so each listed tile is discharged.  The tile has a pixel p with excess and finite d(p) >= 2, hence a residual arc
       p -> q with d(q) = d(p) - 1.  Only the thread that holds p takes from excess[p] and this arc, so it can push.
    3  Such a push of at least 1 unit decreases the sum of excess times distance by at least 1.  The sum is at least
       minus the sum of all deficits, so only finitely many rounds lie between two rounds after which a distance rises.
    4  A distance is at most the number of pixels, or UNREACHABLE for all later rounds, so it rises only finitely often.
A round without a listed tile ends the solve.  No known instance comes near this limit.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011.
[2] Delong, Boykov. "A scalable graph-cut algorithm for N-D grids." CVPR 2008.

No bound on the number of operations is proved.  Memory in addition to excess and residuals: 4.4 bytes per pixel and
1/8 byte per arc.
"""

from collections.abc import Callable
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from gridcut.device.arguments import check_count, check_positive
from gridcut.device.arrays import clear, download
from gridcut.device.cuda import SIMULATED, WARP, cuda, cuda_kernel, grid_sync, multiprocessors
from gridcut.device.cuda_types import int32
from gridcut.device.launch import most_blocks, prepare
from gridcut.tiles.tile_discharge import STEPS_PER_BARRIER, Shape
from gridcut.tiles.tile_kernels import SEARCH_THREADS, THREADS, bits_kernel, kernels_for, make_discharging, make_relabel
from gridcut.tiles.tile_search import search_words
from gridcut.tiles.tile_state import (
    COLOUR_PASSES,
    DISCHARGE_TOTAL,
    DISCHARGES,
    DONE,
    RELABEL_TOTAL,
    ROUNDS,
    SEARCHES,
    WHOLE_GRID_RULES,
    WHOLE_RELABELS,
    Rules,
    TileState,
    counts_and_times,
    make_state,
)

# Several rounds of `tiles` in one cooperative launch, for grids of few tiles: relabel, discharge, and so on.
#
# The steps are those of the two kernels in tile_kernels.py.  On a small grid their launches take longer than a short
# round.  Here a barrier of the grid follows each step instead, the host decides nothing between two rounds, and no
# launch is left over when the solve ends.
#
# There is one block per multiprocessor.  In each block, the first SEARCHERS warps search tiles.  Their numbers count
# through the blocks first, so that few tiles are spread over all multiprocessors.

REGISTERS = 128  # per thread, as there is one block of 512 threads per multiprocessor
SEARCHERS = 1 if SIMULATED else 8
IDLE = np.int32(1 << 30)  # number of a warp that searches no tile


@cache
def rounds_kernel_for(shape: Shape):
    """The kernel for one neighbourhood."""
    relabel, discharge_tiles = make_relabel(shape, WHOLE_GRID_RULES), make_discharging(shape, WHOLE_GRID_RULES)
    is_solved = WHOLE_GRID_RULES.is_solved
    words = search_words(shape.arcs)

    # args: those of discharge_kernel, and the number of rounds
    @cuda_kernel(max_registers=REGISTERS)
    def tile_rounds_kernel(
        excess, residual, height, bits, reach_bits, flags, visited, lists, counts, times, tiles, options, rounds
    ):
        """Rounds until the solve ends, at most `rounds`; options: of discharge_kernel."""
        memory = cuda.shared.array(0, int32)
        mine = np.int32(cuda.threadIdx.x // 32)
        warp, warps = np.int32(mine * cuda.gridDim.x + cuda.blockIdx.x), np.int32(SEARCHERS * cuda.gridDim.x)
        if mine >= SEARCHERS:
            warp = IDLE
        while rounds > 0 and not is_solved(counts):
            relabel(
                height, bits, reach_bits, flags, visited, lists, counts, times, tiles, warps, memory, warp, warps,
                np.int32(mine * words),
            )  # fmt: skip
            grid_sync()
            discharge_tiles(
                excess, residual, height, bits, reach_bits, flags, visited, lists, counts, times, tiles, options, memory
            )
            grid_sync()
            rounds = np.int32(rounds - 1)

    return tile_rounds_kernel


# After this many rounds pixels are not relabeled between two relabelings, so that the solve terminates.  The host
# checks this when it reads the counts: after every 1, 8 or 40 rounds here, all of which divide 1000.
FALLBACK_ROUND = 1000
ROUNDS_PER_LAUNCH = 40  # of a small grid
LAUNCHES_AHEAD = 8  # rounds enqueued before the host reads the counts; a round that is not needed returns immediately
MAX_STEPS_PER_PIXEL = 2**16  # a launch checks its time only after a pass over a tile
MAX_DISCHARGE_RATIO = 1000
SMALL_GRID_TILES = 1024  # up to this many tiles, one launch runs all rounds; fewer blocks, for faster barriers
MAX_WORKERS = 1056  # warps that pop tiles from the queue; more of them slow each other down


class Prepared(NamedTuple):
    """Arrays and launches of a solve, for the next one on the same excess and residuals.

    options    what the launches depend on
    fill       sets the bits of the tiles
    run        enqueues some rounds
    """

    state: TileState
    options: tuple
    rounds: "Rounds"
    fill: Callable
    run: Callable

    @property
    def reach_bits(self):
        """The sink side."""
        return self.state.reach_bits


class Rounds:
    """The launches of rounds on given arrays."""

    def __init__(self, excess, residual, layout, state: TileState, steps_per_pixel=32, rules: Rules = WHOLE_GRID_RULES):
        self._shape, self._rules, self._n = shape_of(layout, excess.dtype), rules, layout.count
        self.is_small = self._n <= SMALL_GRID_TILES
        self._common = (*state[:-1], tuple(np.int32(i) for i in layout.tiles))
        self._arrays = excess, residual, *self._common
        self._barriers = np.int32(-(-steps_per_pixel // STEPS_PER_BARRIER))
        self._words = 4 * search_words(layout.arcs)

    @cached_property
    def relabel(self):
        """A launch of relabel_kernel; may be repeated."""
        kernel, _ = kernels_for(self._shape, self._rules)
        threads = search_threads(self._n)
        warps = threads // WARP
        shared = warps * self._words
        blocks = min(most_blocks(kernel, (*self._common, np.int32(0)), threads, shared), -(-self._n // warps))
        workers = np.int32(min(blocks * warps, MAX_WORKERS))
        return prepare(kernel, blocks, threads, *self._common, workers, shared=shared)

    def prepare_discharge(self, discharge_ratio=1.0, may_relabel=True):
        """Prepare a launch of discharge_kernel; discharge_ratio as in `solve`, may_relabel: pixels may be relabeled."""
        _, kernel = kernels_for(self._shape, self._rules)
        return self._prepare(kernel, self._shape.shared_bytes, self._options(discharge_ratio, may_relabel))

    def prepare_rounds(self, count: int, discharge_ratio=1.0, may_relabel=True):
        """Return a callable that enqueues `count` rounds."""
        if self.is_small:
            kernel = rounds_kernel_for(self._shape)
            options = self._options(discharge_ratio, may_relabel), np.int32(count)
            return self._prepare(kernel, max(self._shape.shared_bytes, SEARCHERS * self._words), *options)
        relabel, discharge = self.relabel, self.prepare_discharge(discharge_ratio, may_relabel)

        def enqueue():
            for _ in range(count):
                relabel()
                discharge()

        return enqueue

    def _prepare(self, kernel, shared: int, *options):
        blocks = min(self._n, most_blocks(kernel, (*self._arrays, *options), THREADS, shared))
        if self.is_small:
            blocks = min(blocks, multiprocessors())
        return prepare(kernel, blocks, THREADS, *self._arrays, *options, shared=shared)

    def _options(self, discharge_ratio, may_relabel) -> tuple:
        return self._barriers, np.float64(discharge_ratio), np.int32(may_relabel)


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
    warm : Prepared, optional
        What the last solve on these arrays has returned; its memory and launches are reused.
    callback : callable, optional
        Called with a dict of counters after each round.  An exception raised by it stops the solve.
    steps_per_pixel : int
        Steps of a pixel each time its tile is discharged, in the first EASY_ROUNDS rounds; twice as many later.
    discharge_ratio : float
        Time spent on discharging, as a multiple of the time spent on relabeling.

    Returns
    -------
    warm : Prepared
        ``warm.reach_bits`` is the sink side.
    stats : dict
        Counters, and the "kernel_seconds" of both kernels.
    """
    steps_per_pixel, discharge_ratio = check_options(steps_per_pixel, discharge_ratio)
    count = LAUNCHES_AHEAD if layout.count > SMALL_GRID_TILES else ROUNDS_PER_LAUNCH
    options = steps_per_pixel, discharge_ratio, 1 if callback is not None else count
    if warm is None or warm.options != options:
        shape = shape_of(layout, excess.dtype)
        state = make_state(layout.count, layout.arcs, shape.lists) if warm is None else warm.state
        rounds = Rounds(excess, residual, layout, state, steps_per_pixel)
        run = rounds.prepare_rounds(options[-1], discharge_ratio, may_relabel=FALLBACK_ROUND > 0)
        warm = Prepared(state, options, rounds, prepare_bits(excess, residual, layout, state), run)
    state, run = warm.state, warm.run
    clear(state.tally)
    warm.fill()
    while True:
        run()
        done, times = counts_and_times(download(state.tally))
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
            run = warm.rounds.prepare_rounds(options[-1], discharge_ratio, may_relabel=False)
    relabeling, discharging = (int(times[i]) / 1e9 for i in (RELABEL_TOTAL, DISCHARGE_TOTAL))
    return warm, {**stats, "kernel_seconds": {"relabel": relabeling, "discharge": discharging}}


def check_options(steps_per_pixel, discharge_ratio) -> tuple[int, float]:
    """Return both parameters of `solve`, checked; an error also for values with which a launch would hardly end.

    A block looks at the clock between two passes only, and pixels cut off from the sink climb until the clock ends.
    """
    steps_per_pixel = check_count("steps_per_pixel", steps_per_pixel, 1, MAX_STEPS_PER_PIXEL)
    discharge_ratio = check_positive("discharge_ratio", discharge_ratio)
    if discharge_ratio > MAX_DISCHARGE_RATIO:
        raise ValueError(f"discharge_ratio must be at most {MAX_DISCHARGE_RATIO}, got {discharge_ratio:g}")
    return steps_per_pixel, discharge_ratio


def prepare_bits(excess, residual, layout, state: TileState) -> Callable:
    """A launch that sets `state.bits` from excess and residuals."""
    threads = search_threads(layout.count)
    blocks = -(-layout.count * (layout.arcs + 1) // (threads // WARP))
    return prepare(bits_kernel, blocks, threads, excess, residual, layout.arcs, layout.count, state.bits)
