"""Region push-relabel on a grid that is stored on disk in blocks, for grids larger than memory.

    load       read each block's capacities, and compute the maximum flow among its own lines (gridcut/ibfs)
    relabel    exact region distances to the sink, from one integer per cell (block_relabel.py)
    sweep      each block with excess that can reach the sink discharges it: inside the block along augmenting paths,
               and across its boundaries to cells of smaller distance (block_discharge.py)
    ...        repeat the last two until, after a relabeling, no excess can reach the sink
    labels     write the labels of each block

Discharging whole regions that keep labels along their boundaries only is due to Delong and Boykov [1].  Augmenting
paths inside the regions, and distances that count boundaries instead of arcs, are due to Shekhovtsov and Hlaváč [2].
Our additions are exact distances between sweeps, computed from bits, and blocks of two strips whose pairing alternates
between sweeps, so that a boundary of one sweep is inside a block in the next:

      sweep 0, 2, ..    [ strip 0 | strip 1 ] [ strip 2 | strip 3 ]
      sweep 1, 3, ..    [ strip 0 ] [ strip 1 | strip 2 ] [ strip 3 ]

From sweep FALLBACK_ROUND on, the pairing is fixed.  Then distances only increase, and with b cells along boundaries
there are at most 2 b^2 + 1 sweeps [2].  In practice few sweeps are needed, because distances are exact.

The state has the layout of gridcut/core/grid.py.  After every block, the state on disk is a legal pseudoflow
(store.py), from which a killed run resumes.  Time: one maximum flow per block and sweep.  Memory: that of one block,
see plan.py.  Disk: the state, plus 1 to 8 bytes per cell.

[1] Delong, Boykov. "A scalable graph-cut algorithm for N-D grids." CVPR 2008.
[2] Shekhovtsov, Hlaváč. "A distributed mincut/maxflow algorithm combining path augmentation and push-relabel." IJCV
2013."""

import math

import numpy as np

from gridcut.core.cut_capacity import Measured, add_up, cut_capacity, measure_cut
from gridcut.core.load import fill, reader
from gridcut.core.solve_exactly import Clock
from gridcut.out_of_core.block_discharge import Boundary, discharge, solve_inside
from gridcut.out_of_core.block_relabel import Relabeling
from gridcut.out_of_core.plan import partition
from gridcut.out_of_core.region_distance import INFINITY, bits_of
from gridcut.out_of_core.sources import Capacities
from gridcut.out_of_core.store import Store

FALLBACK_ROUND = 64  # sweep from which on blocks consist of the same strips, which guarantees termination


class Sweeps:
    """One solve of the problem `capacities` on a store; callback as in `max_flow`.

    clock   the seconds of its phases include those of earlier runs, which the store has kept
    """

    def __init__(self, capacities: Capacities, store: Store, clock: Clock, callback=None):
        self.capacities = capacities
        self.store = store
        self.callback = callback
        self.clock = clock
        kept = store.progress.get("stats", {"seconds": {}})
        for name, spent in kept["seconds"].items():
            clock.seconds[name] = clock.seconds.get(name, 0.0) + spent
        counters = {"sweeps": 0, "discharges": 0, "searches": 0, "augmentations": 0}
        self.stats = counters | kept | {"seconds": clock.seconds}

    def solve(self) -> None:
        """Solve or resume."""
        self._phase("load", self._load)
        while (relabeling := self._phase("relabel", self._relabel)) is not None:
            self._phase("sweep", lambda: self._sweep(relabeling))

    def _phase(self, name: str, run):
        self.phase = name
        found = run()
        self.clock.phase(name)
        return found

    def _report(self, done: int, count: int) -> None:
        if self.callback is not None:
            self.callback({"phase": self.phase, "done": done, "of": count, **self.stats})

    def _count(self, stats: dict) -> None:
        self.stats["augmentations"] += stats["augmentations"]

    def _blocks(self):
        shifted = self.stats["sweeps"] % 2 == 1 and self.stats["sweeps"] < FALLBACK_ROUND
        return partition(self.store.bounds, shifted)

    def _load(self) -> None:
        """Read all capacities, and solve each block separately."""
        store = self.store
        strips = partition(store.bounds, shifted=False)
        for i, (begin, end) in enumerate(strips):
            if i < store.progress.get("loaded", 0):
                continue
            first, last = store.bounds[begin], store.bounds[end]
            low, high = store.with_halo(first, last)
            views = reader(self.capacities.problem(low, high), store.layout_of(low, high))
            grid, _ = fill(views, store.dtype, store.unit)
            del views
            self.capacities.release()
            self._count(solve_inside(grid, first - low, high - last))
            store.write(first, last, grid, bits_of(grid), low)
            store.commit(loaded=i + 1, stats=self.stats)
            self._report(i + 1, len(strips))

    def _relabel(self) -> Relabeling | None:
        """Exact distances for the next sweep; None if no excess can reach the sink."""
        relabeling = Relabeling(self.store, self._blocks())
        relabeling.run()
        self.stats["searches"] += relabeling.searches
        return relabeling if any(relabeling.active) else None

    def _sweep(self, relabeling: Relabeling) -> None:
        """Visit every block once, and discharge it if it has active cells by then."""
        count = len(relabeling.blocks)
        has_work = [active > 0 for active in relabeling.active]
        order = range(count) if self.stats["sweeps"] % 2 == 0 else range(count - 1, -1, -1)
        for n, i in enumerate(order):
            if has_work[i]:
                for neighbour in self._discharge(relabeling, i):
                    has_work[neighbour] = True
            self._report(n + 1, count)
        self.stats["sweeps"] += 1
        self.store.commit(stats=self.stats)

    def _discharge(self, relabeling: Relabeling, i: int) -> list[int]:
        """Discharge a block if it has excess that can reach the sink; returns the neighbours that received excess."""
        store, block = self.store, relabeling.blocks[i]
        found = relabeling.search(i)
        if found.active:
            distance = found.distance
            del found  # frees its bits
            grid = store.read(block.low, block.high)
            boundary = Boundary(grid, block.first - block.low, block.high - block.last)
            self._count(discharge(grid, boundary, distance))
            del distance
            bits = bits_of(grid)
            store.write(block.low, block.high, grid, bits, block.low)
            received = [bool(np.any(grid.excess[begin:end] > 0)) for begin, end in boundary.ranges]
            del grid, boundary
            self.stats["discharges"] += 1
            store.commit(stats=self.stats)
            found = relabeling.search(i, bits)
        else:
            received = [False, False]
        relabeling.claim(i, found)
        return [j for j, has_excess in zip((i - 1, i + 1), received, strict=True) if has_excess]

    def write(self, labels) -> Measured:
        """Write the labels by blocks, which follow from the distances, and measure the cut."""
        self.phase = "labels"
        store, capacities = self.store, self.capacities
        relabeling = Relabeling(store, [(i, i + 1) for i in range(len(store.bounds) - 1)])
        relabeling.run()
        parts = []
        for i, block in enumerate(relabeling.blocks):
            found = relabeling.search(i)
            side = np.ascontiguousarray(found.layout.interior(found.distance) == INFINITY)
            problem = capacities.problem(block.low, block.high)
            if problem.mask is not None:
                side &= problem.mask
            own = slice(block.first - block.low, block.last - block.low)
            labels[block.first : block.last] = side[own].reshape(-1, *capacities.given[1:])
            views = reader(problem, found.layout)
            lines = lines_of(found.layout, own)
            if problem.is_float:
                parts.append(measure_cut(views, side, store.unit, lines))
            else:
                parts.append(Measured(cut_capacity(views, side, False, lines), 0, 0))
            del views, problem
            capacities.release()
            self._report(i + 1, len(relabeling.blocks))
        return Measured(*map(add_up, zip(*parts, strict=True)))


def lines_of(layout, own: slice) -> tuple[int, int]:
    """A range of the first axis as a range of lines along the last axis, as `Reader.bands` counts them."""
    each = math.prod(layout.shape[1:-1])
    return own.start * each, own.stop * each
