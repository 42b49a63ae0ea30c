"""Tiles on several GPUs: a slab each, which relabel and discharge at the same time.

    relabel      every slab for itself, as if nothing behind its borders led to the sink; then heights along the
                 borders go to the neighbours, who search on where that is nearer, ENOUGH times: distances, but for
                 flow that has to cross borders again and again
    discharge    all slabs at once, ghosts standing still; what is pushed over a border stays with the ghosts
    exchange     what the ghosts hold goes to the slabs that own them
    ...          until after a relabeling no slab has excess that can reach the sink

That regions may be discharged at the same time, each with the heights around it fixed, and hand over afterwards what
crosses their borders, is due to Shekhovtsov and Hlaváč [1], who follow Delong and Boykov [2].  Neighbours that push
against each other along one edge do no harm: each takes from its own direction, so both stay within their
capacities, and heights that are out of date cost time only.  From round MANY on nothing rises between two
relabelings, so that flow goes down along exact distances there too, which ends for certain.

Where few tiles are at work, relabelings are local (gridcut/tiles/tile_kernels.py), each slab for itself, and heights
are exchanged once.  Only a relabeling of the whole grid in which heights are exchanged until nothing changes says that
all is done, and from round MANY on there is no other.

The host launches, and looks at the counts of all slabs once in a round and once for every exchange of heights in a
relabeling of the whole grid.

[1] Shekhovtsov, Hlaváč. "A distributed mincut/maxflow algorithm combining path augmentation and push-relabel."
    IJCV 2013.
[2] Delong, Boykov. "A scalable graph-cut algorithm for N-D grids." CVPR 2008.

O(n^2 m) operations; memory as gridcut/tiles/tiles.py on each GPU for its slab and two planes of tiles.
"""

import itertools
import time

import numpy as np

from gridcut.device.arguments import check_count, check_positive
from gridcut.papers.global_relabel_cuda import MAX_STEPS
from gridcut.tiles.slabs.slab_solver import SlabSolver, connect
from gridcut.tiles.tile_kernels import (
    COLOUR_PASSES,
    DISCHARGE_TOTAL,
    DISCHARGES,
    DONE,
    LAST_DISCHARGED_TILES,
    LOCAL,
    LOCAL_RELABEL_RATIO,
    LOCAL_SHARE,
    RELABEL_MODE,
    RELABEL_TIME,
    RELABEL_TOTAL,
    REQUEUED_TILES,
    SEARCHES,
)
from gridcut.tiles.tiles import FALLBACK_ROUND

HEIGHT_EXCHANGES = 2  # exchanges of heights in a relabeling that does not have to be exact


def solve(slabs, *, callback=None, steps_per_pixel=32, discharge_ratio=1.0):
    """Solve in place; the machines, which hold heights and the sink side of every slab, and counts of what was done.

    steps, balance    as those of gridcut.tiles.tiles
    """
    steps_per_pixel = check_count("steps_per_pixel", steps_per_pixel, 1, MAX_STEPS)
    discharge_ratio = check_positive("discharge_ratio", discharge_ratio)
    solvers = [SlabSolver(slab, steps_per_pixel) for slab in slabs]
    connect(solvers)
    return Rounds(solvers, discharge_ratio, callback).run()


class Rounds:
    """The rounds of a solve, and what they have counted; kernel_seconds are those of the slowest slab."""

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
        """Distances, exact unless heights were exchanged `most` times before nothing changed; whether they are.

        The first result: by how much longer the slowest slab was searched than each.
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
                solver.relabel()  # goes on, as the last exchange has told it
        if not exact:
            self.exchange_heights(requeue=False)
            counts = [solver.counts() for solver in self.solvers]
        self.whole_relabels += 1
        took = [max(int(times[RELABEL_TIME]), 1) for _, times in counts]
        return [max(took) / one for one in took], exact

    def relabel_local(self) -> list[float]:
        """Distances in tiles near those that were discharged last."""
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
