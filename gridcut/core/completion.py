"""Completion of a solver's final pseudoflow to a flow, if it is none.

A pixel on the source side may hold more excess than it received from the source, which must return.  A pixel on the
sink side may lack more than its capacity to the sink.  Both are flow problems of the same kind on the residual graph:

  source side   e - s > 0 must return along residual arcs, to pixels where it is < 0
  sink side     -(e + t) > 0 must be supplied against residual arcs, from pixels where it is < 0

No residual arc connects the two sides, so one solve serves both, with the arcs of the sink side reversed.
"""

import numpy as np

from gridcut.core import push_relabel_steps
from gridcut.core.grid import Grid
from gridcut.core.load import NOTHING, Reader, fill, load_terminals_kernel, plane
from gridcut.core.units import scale_of
from gridcut.device import CertificateError, plain_kernel


@plain_kernel
def detach_kernel(sink_side, excess, residual, source, minus_sink, step, out_excess, out_residual):
    """Build the problem above from a solver's state; out_residual must be zero."""
    arcs = len(step)
    for p in range(excess.size):
        out_excess[p] = minus_sink[p] - excess[p] if sink_side[p] else excess[p] - source[p]
        for k in range(arcs):
            r = residual[p * arcs + k]
            if r != 0 and sink_side[p] == sink_side[p + step[k]]:
                if sink_side[p]:
                    out_residual[(p + step[k]) * arcs + (k ^ 1)] = r
                else:
                    out_residual[p * arcs + k] = r


@plain_kernel
def attach_kernel(sink_side, residual, solved, source, minus_sink, step, excess):
    """Turn the solution of that problem, `excess` and `solved`, into a state in place."""
    arcs = len(step)
    for p in range(excess.size):
        excess[p] = minus_sink[p] - excess[p] if sink_side[p] else excess[p] + source[p]
        for k in range(0, arcs, 2):
            q = p + step[k]
            if q < 0 or q >= excess.size:
                continue
            there, back = p * arcs + k, q * arcs + k + 1
            if sink_side[p] != sink_side[q]:
                solved[there] = residual[there]
                solved[back] = residual[back]
            elif sink_side[p]:
                solved[there], solved[back] = solved[back], solved[there]


def complete(views: Reader, grid: Grid) -> Grid:
    """A grid with the residuals of a flow, which is `grid` if that holds one; it is not changed.  Memory: three grids.

    Raises CertificateError if the state does not belong to the capacities.
    """
    layout = grid.layout
    if views.bound is None:
        nothing = plane(NOTHING, layout.shape)
        source = _terminals(views._replace(sink=nothing), grid)
        minus_sink = _terminals(views._replace(source=nothing), grid)
    else:  # the common part of a pixel's two terminal capacities flows straight through it
        start, _ = fill(views, grid.excess.dtype, grid.unit)
        source, minus_sink = np.maximum(start.excess, 0), np.minimum(start.excess, 0)
        del start
    if ((grid.excess <= source) & (grid.excess >= minus_sink)).all():
        return grid
    sink_side = _sink_side(grid)
    excess = np.empty_like(grid.excess)
    residual = np.zeros_like(grid.residual)
    detach_kernel(sink_side, grid.excess, grid.residual, source, minus_sink, layout.step, excess, residual)
    push_relabel_steps.solve(excess, residual, layout.step)
    if np.any(excess > 0):
        raise CertificateError(
            "the preflow cannot be completed to a flow; were the capacities changed after the solve?"
        )
    attach_kernel(sink_side, grid.residual, residual, source, minus_sink, layout.step, excess)
    return grid._replace(excess=excess, residual=residual)


def _terminals(views: Reader, grid: Grid) -> np.ndarray:
    """source - sink of these views in units, padded."""
    layout = grid.layout
    scale = scale_of(grid.unit, None)
    out = np.zeros_like(grid.excess)
    lines = layout.extent[0] * layout.extent[1]
    where = (layout.extent, layout.stride3, layout.head, 0, lines)
    load_terminals_kernel(views.source, views.sink, views.mask, scale, *where, out)
    return out


def _sink_side(grid: Grid) -> np.ndarray:
    """Pixels that can reach the sink: one search, since no excess can be pushed in a solved grid."""
    sink_side, _ = push_relabel_steps.solve(grid.excess, grid.residual, grid.step)
    return sink_side
