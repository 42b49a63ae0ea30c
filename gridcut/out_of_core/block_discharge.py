"""Discharge of one block: send its excess towards the sink, as far as the claims of its neighbours allow.

A block is a range of lines.  The halo, the adjacent lines that its arcs lead to, is loaded with it; each halo cell
represents everything beyond it by the region distance that its own block claims (region_distance.py).  Excess goes to
deficits of the block first, then to halo cells in the order of their claims, smallest first.  Flow between regions thus
always goes down in distance, as in push-relabel; inside a block it follows augmenting paths, as in [1]:

        claim 2   . . w . . . . . .      lines of the block above
                 ───────▲──────────────
                        │   ──► T        the block: first the excess that reaches its own deficits,
                        ●───┐            then the excess that reaches claims 0, 1, 2, ...
                 ───────────▼──────────
        claim 1   . . . . . w . . .      lines of the block below

Excess that cannot reach the sink is set aside, because no later path can use it.

[1] Shekhovtsov, Hlaváč. "A distributed mincut/maxflow algorithm combining path augmentation and push-relabel." IJCV
2013, algorithm ARD.  Augmenting paths by gridcut/ibfs."""

import numpy as np

from gridcut.core.grid import Grid
from gridcut.device import kernel
from gridcut.ibfs.ibfs import Run
from gridcut.ibfs.seams import Seams
from gridcut.ibfs.search import UNTIL_BOTH, UNTIL_SINK
from gridcut.out_of_core.region_distance import INFINITY


@kernel
def set_aside(excess, distance, first, last, aside):
    """Move excess that cannot reach the sink from cells first..last to `aside`; returns the smallest other distance."""
    nearest = np.int64(INFINITY)
    for p in range(first, last):
        aside[p - first] = 0
        if excess[p] > 0:
            if distance[p] == INFINITY:
                aside[p - first] = excess[p]
                excess[p] = 0
            else:
                nearest = min(nearest, np.int64(distance[p]))
    return nearest


@kernel
def incoming_capacity(residual, step, cells, room):
    """room[i]: sum of the residual capacities into cells[i]."""
    arcs = len(step)
    for i in range(cells.size):
        total = np.int64(0)
        for k in range(arcs):
            total += residual[(cells[i] + step[k]) * arcs + (k ^ 1)]
        room[i] = total


class Boundary:
    """The halo of a block: its cells, and the arcs from them to lines that are not loaded.

    low, high   number of halo lines before and after the block
    """

    def __init__(self, grid: Grid, low: int, high: int):
        self.grid = grid
        layout = grid.layout
        stride, lines = layout.stride[0], layout.shape[0]
        self.first = layout.head + low * stride
        self.last = layout.head + (lines - high) * stride
        self.ranges = (layout.head, self.first), (self.last, layout.head + lines * stride)
        by_line = grid.residual[layout.head * layout.arcs :][: lines * stride * layout.arcs]
        by_line = by_line.reshape(lines, stride, layout.arcs)
        self._outgoing = []
        for k, offset in enumerate(layout.offsets):
            if offset[0] < 0 and low:
                self._outgoing.append(by_line[: -offset[0], :, k])
            if offset[0] > 0 and high:
                self._outgoing.append(by_line[lines - offset[0] :, :, k])
        self._saved = [out.copy() for out in self._outgoing]

    def remove_outgoing(self) -> None:
        """Set the residual capacities of arcs to lines that are not loaded to 0."""
        for out in self._outgoing:
            out[...] = 0

    def restore_outgoing(self) -> None:
        """Restore the capacities that `remove_outgoing` has set to 0."""
        for out, saved in zip(self._outgoing, self._saved, strict=True):
            out[...] = saved

    def claims(self, distance) -> np.ndarray:
        """Halo cells that can reach the sink, by ascending claim."""
        cells = np.concatenate([begin + np.flatnonzero(distance[begin:end] < INFINITY) for begin, end in self.ranges])
        return cells[np.argsort(distance[cells], kind="stable")]


def solve_inside(grid: Grid, low: int, high: int) -> dict:
    """Maximum flow within a block, ignoring its halo, whose state becomes invalid; returns statistics."""
    layout = grid.layout
    lines = [line for line, loaded in ((low, low), (layout.shape[0] - high, high)) if loaded]
    seams = Seams(grid.residual, layout, lines)
    seams.cut()
    run = Run(grid.excess, grid.residual, layout, None)
    run.solve(UNTIL_SINK)
    seams.restore()
    return run.stats


def discharge(grid: Grid, boundary: Boundary, distance) -> dict:
    """Send the excess of a block to its deficits and its halo; changes both, and returns statistics of the searches.

    distance   distances of the block's cells, and claims of the halo cells
    """
    excess, residual, layout = grid.excess, grid.residual, grid.layout
    first, last = boundary.first, boundary.last
    aside = np.empty(last - first, excess.dtype)
    nearest = set_aside(excess, distance, first, last, aside)
    cells = boundary.claims(distance)
    claims = distance[cells]
    boundary.remove_outgoing()
    boundary_excess = [excess[begin:end].copy() for begin, end in boundary.ranges]
    for begin, end in boundary.ranges:
        excess[begin:end] = 0
    room = np.empty(cells.size, excess.dtype)
    run = Run(excess, residual, layout, None, aggregates=False)  # demands must stay in the halo
    # Claims below the smallest distance form one level: excess reaches only the largest of them.
    nearest = np.searchsorted(claims, nearest)
    levels = [nearest, *(nearest + 1 + np.flatnonzero(np.diff(claims[nearest:]))), cells.size]
    for i, (begin, end) in enumerate(zip([0, *levels[:-1]], levels, strict=True)):
        part = slice(begin, end)
        incoming_capacity(residual, layout.step, cells[part], room[part])
        excess[cells[part]] = -room[part]
        if i == 0:
            run.solve(UNTIL_BOTH)
        elif end > begin:
            run.resolve(cells[part])
    excess[cells] += room
    for (begin, end), held in zip(boundary.ranges, boundary_excess, strict=True):
        excess[begin:end] += held
    excess[first:last] += aside
    boundary.restore_outgoing()
    return run.stats
