"""From the state a solver leaves to a true flow.

A solver may leave more excess on the source side than came from the source (it got stuck and must go back),
and lack more on the sink side than the sink takes.  Both are flow problems on the residual graph of the same
kind:

  source side   e - s:  > 0 must go back to pixels that still have source capacity to give back (< 0)
  sink side     e + t:  < 0 must be filled from pixels that send the sink something (> 0)

No arc joins the two sides, so one solve serves both.
"""

import numpy as np

from gridcut.cpu import push_relabel
from gridcut.device import kernel
from gridcut.grid import Grid
from gridcut.load import NOTHING, Reader, load_terminals_kernel, plane


@kernel
def side_kernel(height_one, excess, source, minus_sink, out):
    """out = e + t on the sink side, e - s on the source side."""
    for p in range(excess.size):
        out[p] = excess[p] - minus_sink[p] if height_one[p] else excess[p] - source[p]


@kernel
def separate_kernel(sink_side, residual, step):
    """No arc from the sink side to the source side; the other way there is none already."""
    arcs = len(step)
    for p in range(sink_side.size):
        if sink_side[p]:
            for k in range(arcs):
                if residual[p * arcs + k] > 0 and not sink_side[p + step[k]]:
                    residual[p * arcs + k] = 0


@kernel
def merge_kernel(sink_side, residual, before, step):
    """Put back what separate_kernel took away."""
    arcs = len(step)
    for p in range(sink_side.size):
        if sink_side[p]:
            for k in range(arcs):
                if before[p * arcs + k] > 0 and not sink_side[p + step[k]]:
                    residual[p * arcs + k] = before[p * arcs + k]


def complete(views: Reader, grid: Grid) -> Grid:
    """A grid with the residuals of a true flow; `grid` is left as it is.  Memory of three grids."""
    layout = grid.layout
    nothing = plane(NOTHING, layout.shape)
    source = _terminals(views._replace(sink=nothing), grid)
    minus_sink = _terminals(views._replace(source=nothing), grid)
    sink_side = _sink_side(grid)
    excess = np.empty_like(grid.excess)
    side_kernel(sink_side, grid.excess, source, minus_sink, excess)
    residual = grid.residual.copy()
    separate_kernel(sink_side, residual, layout.step)
    push_relabel.solve(excess, residual, layout.step)
    merge_kernel(sink_side, residual, grid.residual, layout.step)
    assert not np.any(np.where(sink_side, excess < 0, excess > 0)), "the preflow cannot be completed"
    return grid._replace(excess=excess, residual=residual)


def _terminals(views: Reader, grid: Grid) -> np.ndarray:
    """source - sink of these views in units, padded."""
    layout = grid.layout
    scale = 1.0 / grid.unit if isinstance(grid.unit, float) else None
    out = np.zeros_like(grid.excess)
    lines = layout.extent[0] * layout.extent[1]
    where = (layout.extent, layout.stride3, layout.head, 0, lines)
    load_terminals_kernel(views.source, views.sink, views.mask, scale, *where, out)
    return out


def _sink_side(grid: Grid) -> np.ndarray:
    """Pixels that can reach the sink: one search, since a solver left nothing to push."""
    sink_side, _ = push_relabel.solve(grid.excess, grid.residual, grid.step)
    return sink_side
