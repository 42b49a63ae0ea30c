"""Certificate of a cut whose state is on several GPUs, computed some lines at a time by all threads.

Conditions (1) to (4) of gridcut/core/certificate.py concern a pixel and its neighbours only.  They are checked strip by
strip, with the adjacent lines loaded.  Condition (5), that a pixel is on the sink side if and only if it can reach the
sink, needs a certificate of its own.  The cells along the boundaries of the strips claim a distance, the solver's
height, and in every strip

  (5a)  each cell on the sink side reaches a deficit of the strip, or a cell of the adjacent lines with a claim
  (5b)  each cell with a claim reaches a deficit of the strip, or a cell of the adjacent lines with a smaller claim

so following decreasing claims ends at a deficit.  No cell of the source side reaches a deficit, by (3).
"""

import itertools
import math

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
from gridcut.device.threads import run_threads, thread_count
from gridcut.tiles.slabs.fetch import fetch_grid, fetch_lines
from gridcut.tiles.slabs.slab_load import part_of
from gridcut.tiles.slabs.slab_solver import SlabSolver
from gridcut.tiles.tile_search import UNREACHABLE

STRIP_RESIDUALS = 1 << 26  # approximate number of residuals in the lines that a thread checks at a time


def certify(value, labels: np.ndarray, problem: Problem, solvers: list[SlabSolver]) -> None:
    """Check a cut of an image or a volume; raise CertificateError with the first condition that fails."""
    check_array("labels", labels, np.bool_, problem.shape)
    check_number("value", value, problem.is_float)
    slab = solvers[0].slab
    arcs, thick = slab.part.own.arcs, slab.part.own.tile[slab.part.axis]
    lines = problem.shape[0]
    step = max(1, STRIP_RESIDUALS // (arcs * math.prod(problem.shape[1:]) * thick)) * thick
    strips = [(first, min(first + step, lines)) for first in range(0, lines, step)]
    parts = [None] * len(strips)
    waiting = itertools.count()

    def work(_):
        while (i := next(waiting)) < len(strips):
            parts[i] = certify_strip(labels, problem, solvers, *strips[i])

    run_threads(work, min(thread_count(), len(strips)))
    certify_value(value, Sums(*map(add_up, zip(*parts, strict=True))), slab.state.number_types.unit)


def certify_strip(labels: np.ndarray, problem: Problem, solvers: list[SlabSolver], first: int, last: int) -> Sums:
    """Check (1) to (3) and (5) on lines first to last - 1; returns the sums of these lines for (4)."""
    number_types = solvers[0].slab.state.number_types
    low, high = max(first - 1, 0), min(last + 1, problem.shape[0])
    own = slice(first - low, last - low)
    part = part_of(problem, low, high)
    layout = make_layout(part.shape, problem.edges)
    excess, residual = (
        np.zeros(layout.size, number_types.excess),
        np.zeros(layout.size * layout.arcs, number_types.excess),
    )
    grid = Grid(layout, excess, residual, number_types.unit)
    fetch_grid(solvers, low, high, grid)
    claims = np.empty(part.shape, np.int32)
    fetch_lines(solvers, low, high, height=claims)
    claims[claims >= UNREACHABLE] = INFINITY
    distance = np.full(layout.size, INFINITY, np.int32)
    found = layout.interior(distance)
    found[: own.start], found[own.stop :] = claims[: own.start], claims[own.stop :]
    stride = layout.stride[0]
    cells = layout.head + own.start * stride, layout.head + own.stop * stride
    near = np.ascontiguousarray(labels[low:high])
    side = sides(near, part, layout)
    views = reader(part, layout)
    certify_flow(side, views, grid, *cells, low)
    certify_ties(side, grid, *cells, distance, low)
    for line in {own.start, own.stop - 1}:
        if np.any((claims[line] < INFINITY) & (found[line] > claims[line])):  # (5b)
            raise CertificateError("a cell along a boundary claims a smaller distance to the sink than it has")
    each = math.prod(layout.shape[1:-1])  # lines along the last axis, which `Reader.bands` counts
    left = left_on_sink_side(layout.interior(excess)[own], near[own])
    return sums_of(views, near, number_types.unit, left, (own.start * each, own.stop * each))
