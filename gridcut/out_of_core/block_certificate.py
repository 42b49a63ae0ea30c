"""Certificate of a minimum cut, one strip at a time, from the state on disk and the caller's capacities.

Conditions (1) to (4) of gridcut/core/certificate.py concern a pixel and its neighbours only.  They are checked strip by
strip, with the adjacent lines loaded.  Condition (5), that a pixel is on the sink side if and only if it can reach the
sink, needs a certificate of its own.  The cells along the boundaries of the strips claim a distance, and in every strip

  (5a)  each cell on the sink side reaches a deficit of the strip, or a cell of the adjacent lines with a claim
  (5b)  each cell with a claim reaches a deficit of the strip, or a cell of the adjacent lines with a smaller claim

so following decreasing claims ends at a deficit.  No cell of the source side reaches a deficit, by (3)."""

import numpy as np

from gridcut.core.certificate import (
    INFINITY,
    CertificateError,
    Sums,
    certify_flow,
    certify_ties,
    certify_value,
    check_array,
    check_number,
    left_on_sink_side,
    sides,
    sums_of,
)
from gridcut.core.cut_capacity import add_up
from gridcut.core.grid import Grid, make_layout
from gridcut.core.load import reader
from gridcut.core.problem import Problem
from gridcut.out_of_core.block_relabel import Relabeling
from gridcut.out_of_core.sources import Capacities
from gridcut.out_of_core.store import Store
from gridcut.out_of_core.sweeps import lines_of


def certify(value, labels, capacities: Capacities, store: Store) -> None:
    """Check a cut whose state is in a store; raises CertificateError with the first condition that fails."""
    check_array("labels", labels, np.bool_, capacities.given)
    check_number("value", value, capacities.is_float)
    fits = tuple(capacities.shape) == store.shape and make_layout(store.shape, capacities.offsets) == store.layout
    if not fits or capacities.is_float != isinstance(store.unit, float):
        raise CertificateError("the cut belongs to another problem: shape, offsets or dtype differ")
    relabeling = Relabeling(store, [(i, i + 1) for i in range(len(store.bounds) - 1)])
    relabeling.run()
    parts = []
    for i, block in enumerate(relabeling.blocks):
        grid = store.read(block.low, block.high)
        problem = capacities.problem(block.low, block.high)
        side = np.asarray(labels[block.low : block.high]).reshape(problem.shape)
        distance = relabeling.claims_around(i, grid.layout)
        own = slice(block.first - block.low, block.last - block.low)
        parts.append(certify_lines(problem, grid, side, distance, own, block.low))
        begin, end = relabeling.cells(i, grid.layout)
        size = store.halo_width * store.layout.stride[0]
        ends = distance[begin : begin + size], distance[end - size : end]
        for found, claimed in zip(ends, relabeling.claimed(i), strict=True):
            check_claims(found, claimed)
        del grid, problem
        capacities.release()
    certify_sums(value, parts, store.unit)


def certify_lines(problem: Problem, grid: Grid, labels, distance, own: slice, line: int) -> Sums:
    """Check (1) to (3) and (5a) on some lines; returns the sums of these lines for (4).

    problem, grid, labels   of these lines and the adjacent lines; arcs that leave those are ignored
    distance                claims of the adjacent lines, INFINITY: none; those of the lines themselves are computed
    own, line               the lines to check, and the line of the whole grid at which `problem` starts
    """
    layout = grid.layout
    stride = layout.stride[0]
    first, last = layout.head + own.start * stride, layout.head + own.stop * stride
    labels = np.ascontiguousarray(labels)
    side = sides(labels, problem, layout)
    views = reader(problem, layout)
    certify_flow(side, views, grid, first, last, line)
    certify_ties(side, grid, first, last, distance, line)
    lines = lines_of(layout, own)
    left = left_on_sink_side(layout.interior(grid.excess)[own], labels[own])
    return sums_of(views, labels, grid.unit, left, lines)


def check_claims(found: np.ndarray, claimed: np.ndarray | None) -> None:
    """Check (5b): `found`, computed from the neighbours' claims, does not exceed `claimed` (None: no claims)."""
    if claimed is not None and np.any((claimed < INFINITY) & (found > claimed)):
        raise CertificateError("a cell along a boundary claims a smaller distance to the sink than it has")


def certify_sums(value, parts: list[Sums], unit) -> None:
    """Check (4) from the sums of all lines."""
    certify_value(value, Sums(*map(add_up, zip(*parts, strict=True))), unit)
