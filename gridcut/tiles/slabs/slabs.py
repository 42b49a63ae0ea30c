"""Tiles on several GPUs: each GPU relabels and discharges one slab, all concurrently.

    relabel      each slab independently, as if no path to the sink crossed its boundaries; then boundary heights are
                 sent to the adjacent slabs, which continue the search where that decreases heights.  This is repeated
                 HEIGHT_EXCHANGES times, and on while FEW_REQUEUED of the boundary tiles are searched again: heights
                 are then exact, except for paths that cross boundaries more often
    discharge    all slabs concurrently, in several pieces, with the heights of ghost tiles fixed during each; flow
                 pushed across a boundary is stored in the ghost tiles
    exchange     after each piece: the flow in the ghost tiles is sent to the slabs that own them, and the heights of
                 the owned tiles back
    ...          repeat until, after a relabeling, no slab has excess that can reach the sink

Discharging regions concurrently, with the heights around each fixed, and exchanging the flow across boundaries
afterwards is due to Shekhovtsov and Hlaváč [1], who follow Delong and Boykov [2].  Two slabs may push against each
other along one edge: each takes from its own direction, so both stay within their capacities.  Heights that are out of
date cost time only.

Why pieces: with one exchange per round, flow over long distances crosses a boundary once per relabeling.  An exchange
takes as long as discharging a few tiles, so a round may have many: MAX_PIECES, which share its time, or one if no flow
crossed a boundary in the last round.  If much flow crosses in the first piece (CROSSED_SHARE), it has at least two,
even if they take longer: until flow that has just crossed is sent on, a relabeling would start from the boundary.

If few tiles are discharged, relabelings are local (gridcut/tiles/tile_kernels.py): each slab searches the tiles near
those that it has discharged, and boundary heights are exchanged as above.  Only a relabeling of the whole grid that
exchanges heights until none changes can end the solve: if its first piece then finds no tile to discharge, no excess
can reach the sink, by the argument of tile_kernels.py with all slabs as one grid.

Termination: after FALLBACK_ROUND rounds pixels are not relabeled between two relabelings, a round has one piece, and
after the first such round every relabeling is of that kind.  A thread then pushes from p to q only if height[p] >
height[q], for exact distances that stay constant during the round, ghost tiles included.  So the argument of
gridcut/tiles/tiles.py applies; flow in a ghost tile counts as excess of the pixel that receives it.  For the rounds
before, no proof is known.

The host reads the counts of all slabs once per piece, and once per exchange of heights in a relabeling.

[1] Shekhovtsov, Hlaváč. "A distributed mincut/maxflow algorithm combining path augmentation and push-relabel."
    IJCV 2013.
[2] Delong, Boykov. "A scalable graph-cut algorithm for N-D grids." CVPR 2008.

No bound on the number of operations is proved.  Memory per GPU as in gridcut/tiles/tiles.py, for its slab and two
planes of tiles.
"""

import itertools
import time
from typing import NamedTuple

import numpy as np

from gridcut.core.cut import Cut, LazySolved, Solved, value_of
from gridcut.core.grid import Grid, Layout, make_layout
from gridcut.core.load import reader
from gridcut.core.problem import Problem
from gridcut.core.solve_exactly import Clock, solve_exactly
from gridcut.cuda.device_flow import labels_and_values
from gridcut.cuda.tile_layout import CELLS, to_image
from gridcut.device.arrays import download
from gridcut.device.peers import open_gpus
from gridcut.tiles.slabs.halo_exchange import SlabSolver, connect
from gridcut.tiles.slabs.slab_load import Slabs, load_slabs, on_all_gpus
from gridcut.tiles.slabs.split import split
from gridcut.tiles.tile_state import (
    COLOUR_PASSES,
    DISCHARGE_TOTAL,
    DISCHARGES,
    DONE,
    LAST_DISCHARGED_TILES,
    LOCAL,
    LOCAL_RELABEL_RATIO,
    LOCAL_SHARE,
    RECEIVED,
    RELABEL_TIME,
    RELABEL_TOTAL,
    REQUEUED_TILES,
    SEARCHES,
    WHOLE_GRID,
)
from gridcut.tiles.tiles import FALLBACK_ROUND, check_options

HEIGHT_EXCHANGES = 2  # in a relabeling that need not be exact
FEW_REQUEUED = 1 / 8  # of the tiles along boundaries: if no more are searched again, one more exchange is cheap
MAX_PIECES = 8  # of the discharging of a round
CROSSED_SHARE = 1 / 4  # pixels that flow reached across boundaries, per tile discharged: with more, at least two pieces


def solve(slabs, *, callback=None, steps_per_pixel=32, discharge_ratio=1.0):
    """Solve in place.  Returns the solvers, which hold the heights and the sink side of each slab, and stats.

    steps_per_pixel, discharge_ratio    as in gridcut.tiles.tiles.solve
    """
    steps_per_pixel, discharge_ratio = check_options(steps_per_pixel, discharge_ratio)
    solvers = [SlabSolver(slab, steps_per_pixel) for slab in slabs]
    connect(solvers)
    return Rounds(solvers, discharge_ratio, callback).run()


class Rounds:
    """The rounds of a solve and their counters; kernel_seconds are those of the slowest slab."""

    def __init__(self, solvers: list[SlabSolver], discharge_ratio: float, callback):
        self.solvers = solvers
        self.tiles = sum(m.slab.part.own.count for m in solvers)
        self.ghost_tiles = sum(m.slab.part.tiles.count for m in solvers) - self.tiles
        self.counts = []
        self.crossed = len(solvers) > 1  # whether flow crossed a boundary in the last round
        self.discharge_ratio = discharge_ratio
        self.callback = callback
        self.rounds = 0
        self.whole_relabels = 0
        self.exchanges = 0

    def run(self):
        local = no_work = exact = False
        whole_seconds = whole_end = 0.0
        while True:
            start = time.perf_counter()
            push_only = self.rounds >= FALLBACK_ROUND
            if local:
                seconds, _ = self.relabel(LOCAL)
            else:
                seconds, exact = self.relabel(WHOLE_GRID, to_end=no_work or push_only)
                whole_end = time.perf_counter()
                whole_seconds = whole_end - start
            no_work, discharged = self.discharge(seconds, push_only)
            end = time.perf_counter()
            self.rounds += 1
            if self.callback is not None:
                self.callback(self.stats())
            if no_work and not local and exact:
                seconds = {"relabel": self.seconds(RELABEL_TOTAL), "discharge": self.seconds(DISCHARGE_TOTAL)}
                return self.solvers, self.stats() | {"kernel_seconds": seconds}
            few = discharged * LOCAL_SHARE <= self.tiles
            local = few and not no_work and not push_only and end - whole_end < whole_seconds * LOCAL_RELABEL_RATIO

    def relabel(self, mode: int, to_end: bool = False) -> tuple[list[float], bool]:
        """Relabel the whole grid, or near tiles discharged in the last round; to_end: until no height changes.

        Returns the seconds of each slab, and whether all heights are exact, given those of tiles that keep theirs.
        """
        few = self.ghost_tiles * FEW_REQUEUED if mode == WHOLE_GRID else 0
        for solver in self.solvers:
            solver.start_round(self.rounds, mode)
        for solver in self.solvers:
            solver.relabel()
        for exchanges in itertools.count(1):
            self.exchange_heights(requeue=True)
            self.read_counts()
            requeued = [int(c[REQUEUED_TILES]) for c, _ in self.counts]
            if not any(requeued):
                break
            for solver, tiles in zip(self.solvers, requeued, strict=True):
                if tiles:
                    solver.relabel()  # resumes: the last exchange has set the mode to CONTINUED
            if not to_end and exchanges >= HEIGHT_EXCHANGES and sum(requeued) > few:
                self.exchange_heights(requeue=False)
                self.read_counts()
                break
        self.whole_relabels += mode == WHOLE_GRID
        return [max(int(times[RELABEL_TIME]), 1) / 1e9 for _, times in self.counts], not any(requeued)

    def discharge(self, seconds: list[float], push_only: bool) -> tuple[bool, int]:
        """Discharge all slabs in pieces, for about as long as the slowest one has relabeled.

        Returns whether no tile had excess that could reach the sink, and the number of tiles discharged.
        """
        pieces = MAX_PIECES if self.crossed and not push_only else 1
        self.crossed = False
        budget = max(seconds) * self.discharge_ratio
        no_work, discharged = True, 0
        end = self.seconds(DISCHARGE_TOTAL) + budget
        for piece in range(pieces):
            before = self.total()
            for solver, own in zip(self.solvers, seconds, strict=True):
                solver.discharge(budget / own / pieces, push_only)
            self.exchange_flow()
            self.exchange_heights(requeue=False)
            self.read_counts()
            total = self.total()
            discharged += int(total[LAST_DISCHARGED_TILES])
            crossed, tiles = (int(total[slot] - before[slot]) for slot in (RECEIVED, DISCHARGES))
            self.crossed |= crossed > 0
            if total[DONE] == len(self.solvers):
                break
            no_work = False
            many = piece == 0 and crossed > tiles * CROSSED_SHARE
            if self.seconds(DISCHARGE_TOTAL) >= end and not many:
                break
        return no_work, discharged

    def seconds(self, slot: int) -> float:
        """The largest time of all slabs in a slot."""
        return max(int(times[slot]) for _, times in self.counts) / 1e9

    def read_counts(self) -> None:
        """Wait for all slabs, and read their counts and times."""
        self.counts = [solver.counts() for solver in self.solvers]

    def exchange_heights(self, requeue: bool) -> None:
        for solver in self.solvers:
            solver.pack_heights(requeue)
        for solver in self.solvers:
            solver.send_heights()
        for solver in self.solvers:
            solver.unpack_heights(requeue)
        self.exchanges += 1

    def exchange_flow(self) -> None:
        for solver in self.solvers:
            solver.pack_flow()
        for solver in self.solvers:
            solver.send_flow()
        for solver in self.solvers:
            solver.unpack_flow()
        self.exchanges += 1

    def total(self):
        """The counts of all slabs, summed."""
        return np.sum([counts for counts, _ in self.counts], axis=0, dtype=np.int64)

    def stats(self) -> dict:
        total = self.total()
        return {
            "rounds": self.rounds,
            "global_relabels": self.whole_relabels,
            "exchanges": self.exchanges,
            "searches": int(total[SEARCHES]),
            "colour_passes": int(total[COLOUR_PASSES]),
            "discharges": int(total[DISCHARGES]),
        }


# max_flow on several GPUs: load and solve slabs, and collect labels and state on the host.


class SlabStates(NamedTuple):
    """The state on all GPUs, copied to the host when residuals, flows or a certificate are requested."""

    problem: Problem
    flat: Layout
    solvers: list[SlabSolver]

    def solved(self) -> Solved:
        return solved_of(*self)


def max_flow_on_devices(problem: Problem, devices: list[int], parameters: dict, callback) -> Cut:
    """Return the cut of a validated, nonempty problem whose arrays are on the host."""
    clock = Clock()
    flat = make_layout(problem.shape, problem.edges)
    parts = split(problem.shape, flat.offsets, len(devices))
    gpus = open_gpus(devices[: len(parts)])

    def load(bound):
        return load_slabs(problem._replace(bound=bound), parts, gpus)

    def run(state: Slabs):
        return solve(state.slabs, callback=callback, **parameters)

    def value(state: Slabs, solvers):
        labels = np.empty(problem.shape, np.bool_)
        values = on_all_gpus(lambda i: download_labels(solvers[i], labels), gpus)
        clock.phase("download")
        if not problem.is_float:
            return (labels, solvers), sum(values), None
        views = reader(problem._replace(bound=state.number_types.bound), flat)
        return (labels, solvers), *value_of(problem, views, labels, state.unit)

    found = solve_exactly(load, run, value, clock)
    labels, solvers = found.labels
    split_into = {"devices": [gpu.device for gpu in gpus], "slabs": [(part.first, part.last) for part in parts]}
    problem = problem._replace(bound=found.state.number_types.bound)
    lazy = LazySolved(SlabStates(problem, flat, solvers))
    return Cut(found.value, labels, "cuda", "tiles", found.stats | split_into, lazy)


def download_labels(solver: SlabSolver, labels: np.ndarray) -> int:
    """Write the labels of the lines that a slab owns; return its part of the value if capacities are integers."""
    part, own = solver.slab.part, solver.slab.own
    first = part.ghosts_before * CELLS // 32
    side = solver.memory.reach_bits[first : first + part.own.cells // 32]
    found, (value,) = labels_and_values(own, side, None)
    download(found, labels[part.first : part.last])
    return value


def solved_of(problem: Problem, flat: Layout, solvers: list[SlabSolver]) -> Solved:
    """Collect the slabs as one grid on the host, with a copy of one slab at a time."""
    number_types = solvers[0].slab.state.number_types
    grid = Grid(
        flat,
        np.zeros(flat.size, number_types.excess),
        np.zeros(flat.size * flat.arcs, number_types.excess),
        number_types.unit,
    )
    excess, residual = flat.interior(grid.excess), flat.interior(grid.residual.reshape(flat.size, flat.arcs))
    for solver in solvers:
        part, own = solver.slab.part, solver.slab.own
        lines, shape = slice(part.first, part.last), (part.last - part.first, *flat.shape[1:])
        with solver.gpu.active():
            excess[lines] = to_image(part.own, download(own.excess).reshape(-1, CELLS)).reshape(shape)
            arcs = download(own.residual).reshape(-1, flat.arcs, CELLS)
        for k in range(flat.arcs):
            residual[lines, ..., k] = to_image(part.own, arcs[:, k]).reshape(shape)
    return Solved(problem, reader(problem, flat), grid, [])
