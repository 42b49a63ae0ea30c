"""Tiles on several GPUs: each GPU relabels and discharges one slab, all concurrently.

    relabel      each slab independently, as if no path to the sink crossed its boundaries; then boundary heights are
                 sent to the adjacent slabs, which continue the search where that decreases heights, HEIGHT_EXCHANGES
                 times.  The result is exact except for paths that cross boundaries more often
    discharge    all slabs concurrently, with the heights of ghost tiles fixed; flow pushed across a boundary is stored
                 in the ghost tiles
    exchange     the flow in the ghost tiles is sent to the slabs that own them
    ...          repeat until, after a relabeling, no slab has excess that can reach the sink

Discharging regions concurrently, with the heights around each fixed, and exchanging the flow across boundaries
afterwards is due to Shekhovtsov and Hlaváč [1], who follow Delong and Boykov [2].  Two slabs may push against each
other along one edge: each takes from its own direction, so both stay within their capacities.  Heights that are out of
date cost time only.

If few tiles are discharged, relabelings are local (gridcut/tiles/tile_kernels.py), in each slab independently, and
heights are exchanged once.  Only a relabeling of the whole grid that exchanges heights until none changes can end the
solve.

Termination: after FALLBACK_ROUND rounds pixels are not relabeled between two relabelings, and after the first such
round every relabeling is of that kind.  A thread then pushes from p to q only if height[p] > height[q], for exact
distances that stay constant during the round, ghost tiles included.  So the argument of gridcut/tiles/tiles.py applies;
flow in a ghost tile counts as excess of the pixel that receives it.  For the rounds before, no proof is known.

The host reads the counts of all slabs once per round, and once per exchange of heights in a relabeling of the whole
grid.

[1] Shekhovtsov, Hlaváč. "A distributed mincut/maxflow algorithm combining path augmentation and push-relabel."
    IJCV 2013.
[2] Delong, Boykov. "A scalable graph-cut algorithm for N-D grids." CVPR 2008.

No bound on the number of operations is proved.  Memory per GPU as in gridcut/tiles/tiles.py, for its slab and two
planes of tiles.
"""

import itertools
import time

import numpy as np

from gridcut.tiles.slabs.slab_solver import SlabSolver, connect
from gridcut.tiles.tile_rules import LOCAL_RELABEL_RATIO, LOCAL_SHARE
from gridcut.tiles.tile_state import (
    COLOUR_PASSES,
    DISCHARGE_TOTAL,
    DISCHARGES,
    DONE,
    LAST_DISCHARGED_TILES,
    LOCAL,
    RELABEL_MODE,
    RELABEL_TIME,
    RELABEL_TOTAL,
    REQUEUED_TILES,
    SEARCHES,
)
from gridcut.tiles.tiles import FALLBACK_ROUND, check_options

HEIGHT_EXCHANGES = 2  # exchanges of heights in a relabeling that need not be exact


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
                weights = self.relabel_local()
            else:
                weights, exact = self.relabel_whole(None if no_work or push_only else HEIGHT_EXCHANGES)
                whole_end = time.perf_counter()
                whole_seconds = whole_end - start
            for solver, weight in zip(self.solvers, weights, strict=True):
                solver.discharge(self.discharge_ratio * weight, push_only)
            self.exchange_flow()
            counts = [solver.counts() for solver in self.solvers]
            end = time.perf_counter()
            self.rounds += 1
            if self.callback is not None:
                self.callback(self.stats(counts))
            no_work = all(c[DONE] for c, _ in counts)
            if no_work and not local and exact:
                relabel, discharge = (
                    max(int(times[i]) for _, times in counts) / 1e9 for i in (RELABEL_TOTAL, DISCHARGE_TOTAL)
                )
                return self.solvers, self.stats(counts) | {
                    "kernel_seconds": {"relabel": relabel, "discharge": discharge}
                }
            few = sum(int(c[LAST_DISCHARGED_TILES]) for c, _ in counts) * LOCAL_SHARE <= self.tiles
            local = few and not no_work and not push_only and end - whole_end < whole_seconds * LOCAL_RELABEL_RATIO

    def relabel_whole(self, max_exchanges: int | None) -> tuple[list[float], bool]:
        """Relabel the whole grid, with at most `max_exchanges` exchanges of heights (None: until no height changes).

        Returns, per slab, the search time of the slowest slab relative to its own, and whether all heights are exact.
        """
        exact = False
        for solver in self.solvers:
            solver.relabel()
        for _ in itertools.count() if max_exchanges is None else range(max_exchanges):
            self.exchange_heights(requeue=True)
            counts = [solver.counts() for solver in self.solvers]
            again = [m for m, (c, _) in zip(self.solvers, counts, strict=True) if c[REQUEUED_TILES]]
            if not again:
                exact = True
                break
            for solver in again:
                solver.relabel()  # resumes: the last exchange has set the mode to CONTINUED
        if not exact:
            self.exchange_heights(requeue=False)
            counts = [solver.counts() for solver in self.solvers]
        self.whole_relabels += 1
        took = [max(int(times[RELABEL_TIME]), 1) for _, times in counts]
        return [max(took) / one for one in took], exact

    def relabel_local(self) -> list[float]:
        """Relabel only tiles near those that were discharged in the last round."""
        for solver in self.solvers:
            solver.set_count(RELABEL_MODE, LOCAL)
        for solver in self.solvers:
            solver.relabel()
        self.exchange_heights(requeue=False)
        return [1.0] * len(self.solvers)

    def exchange_heights(self, requeue: bool) -> None:
        for solver in self.solvers:
            solver.pack_heights()
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

    def stats(self, counts) -> dict:
        total = np.sum([c for c, _ in counts], axis=0, dtype=np.int64)
        return {
            "rounds": self.rounds,
            "global_relabels": self.whole_relabels,
            "exchanges": self.exchanges,
            "searches": int(total[SEARCHES]),
            "colour_passes": int(total[COLOUR_PASSES]),
            "discharges": int(total[DISCHARGES]),
        }
