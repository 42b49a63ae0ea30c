"""One block: send its excess as far towards the sink as its surroundings allow, by augmenting paths.

A block is a range of lines.  The lines around it that its arcs lead to are loaded with it, and their cells stand for
everything beyond: each has the region distance that its own block claims (distance.py).  Excess goes first to deficits
of the block, then to the cells around it in the order of their claims, the nearest to the sink first.  So flow always
goes down in distance, as push-relabel wants it between regions, and along augmenting paths inside, as [1] does:

        claim 2   . . w . . . . . .      lines of the block above
                 ───────▲──────────────
                        │   ──► T        the block: first what reaches its own deficits,
                        ●───┐            then what reaches claims 0, 1, 2, ...
                 ───────────▼──────────
        claim 1   . . . . . w . . .      lines of the block below

Excess that cannot reach the sink is set aside: no path will ever use it.

[1] Shekhovtsov, Hlaváč. "A distributed mincut/maxflow algorithm combining path augmentation and push-relabel." IJCV
2013, algorithm ARD.  Inside: gridcut/papers/trees.
"""

import numpy as np

from gridcut.core.grid import Grid
from gridcut.device import kernel
from gridcut.ibfs.ibfs import Run
from gridcut.ibfs.seams import Seams
from gridcut.ibfs.search import BOTH, SINK
from gridcut.out_of_core.region_distance import INFINITY


@kernel
def set_aside(excess, distance, first, last, aside):
    """Take excess that cannot reach the sink out of the cells first..last; the least distance of the rest."""
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
    """room[i]: all that can still come into cells[i]."""
    arcs = len(step)
    for i in range(cells.size):
        total = np.int64(0)
        for k in range(arcs):
            total += residual[(cells[i] + step[k]) * arcs + (k ^ 1)]
        room[i] = total


class Boundary:
    """The lines loaded around a block: their cells, and the arcs that lead on to lines that are not loaded.

    low, high   how many lines there are before and after the block
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
        """Take the arcs that lead on out of the grid."""
        for out in self._outgoing:
            out[...] = 0

    def restore_outgoing(self) -> None:
        for out, saved in zip(self._outgoing, self._saved, strict=True):
            out[...] = saved

    def claims(self, distance) -> np.ndarray:
        """Cells around the block that can reach the sink, by ascending claim."""
        cells = np.concatenate([begin + np.flatnonzero(distance[begin:end] < INFINITY) for begin, end in self.ranges])
        return cells[np.argsort(distance[cells], kind="stable")]


def solve_inside(grid: Grid, low: int, high: int) -> dict:
    """Maximum flow among the lines of a block alone; the lines around it change too, and are to be thrown away."""
    layout = grid.layout
    lines = [line for line, loaded in ((low, low), (layout.shape[0] - high, high)) if loaded]
    seams = Seams(grid.residual, layout, lines)
    for line in lines:
        seams.cut(line)
    run = Run(grid.excess, grid.residual, layout, None)
    run.solve(SINK)
    for line in lines:
        seams.join(line)
    return run.stats


def discharge(grid: Grid, boundary: Boundary, distance) -> dict:
    """Send excess of the block down; changes the block and the lines around it.  Statistics of the searches.

    distance   of the block's cells, and the claims of those around it
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
    run = Run(excess, residual, layout, None, gathers=False)  # demands must stay around the block
    nearest = np.searchsorted(claims, nearest)  # claims below the least distance: nothing reaches those beyond
    levels = [nearest, *(nearest + 1 + np.flatnonzero(np.diff(claims[nearest:]))), cells.size]
    for i, (begin, end) in enumerate(zip([0, *levels[:-1]], levels, strict=True)):
        part = slice(begin, end)
        incoming_capacity(residual, layout.step, cells[part], room[part])
        excess[cells[part]] = -room[part]
        if i == 0:
            run.solve(BOTH)
        elif end > begin:
            run.resolve(cells[part])
    excess[cells] += room
    for (begin, end), held in zip(boundary.ranges, boundary_excess, strict=True):
        excess[begin:end] += held
    excess[first:last] += aside
    boundary.restore_outgoing()
    return run.stats
