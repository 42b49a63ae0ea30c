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
from gridcut.cuda.tile_layout import CELLS, LANES
from gridcut.device import plain_kernel
from gridcut.device.arrays import download
from gridcut.device.threads import run_threads, thread_count
from gridcut.tiles.slabs.halo_exchange import SlabSolver
from gridcut.tiles.slabs.slab_load import part_of
from gridcut.tiles.slabs.split import Part
from gridcut.tiles.tile_search import UNREACHABLE

# Copying the state of some lines of a grid on several GPUs to the host.

FETCH_PIXELS = 1 << 24  # pixels copied from a GPU at a time


@plain_kernel
def untile_kernel(found, tile, tiles, z0, y0, image):
    """Set image[z - z0, y - y0, x, k] from found[t, k, i]: value k of pixel i of tile t."""
    depth, height, width, numbers = image.shape
    for z in range(z0, z0 + depth):
        for y in range(y0, y0 + height):
            first = (z // tile[0] * tiles[1] + y // tile[1]) * tiles[2]
            row = (z % tile[0] * tile[1] + y % tile[1]) * LANES
            for t in range(first, first + tiles[2]):
                x0 = (t - first) * LANES
                for x in range(x0, min(x0 + LANES, width)):
                    for k in range(numbers):
                        image[z - z0, y - y0, x, k] = found[t, k, row + x - x0]


def fetch_grid(solvers: list[SlabSolver], first: int, last: int, grid: Grid) -> None:
    """Fill a grid of lines first to last - 1, along the first axis, with their excesses and residuals."""
    layout = grid.layout
    excess = layout.interior(grid.excess)
    residual = layout.interior(grid.residual.reshape(layout.size, layout.arcs))
    fetch_lines(solvers, first, last, excess, residual)


def fetch_lines(solvers: list[SlabSolver], first: int, last: int, excess=None, residual=None, height=None) -> None:
    """Write the state of lines first to last - 1 into arrays of any strides; an array that is None is skipped.

    excess     the shape of the lines
    residual   the same, and a last axis for the arcs in the order of Layout.offsets
    height     1 + number of arcs to the nearest pixel with capacity left to the sink; UNREACHABLE if there is none
    """
    for solver in solvers:
        part = solver.slab.part
        begin, end = max(first, part.first), min(last, part.last)
        thick = _thickness(part)
        step = max(1, FETCH_PIXELS // (part.plane * CELLS)) * thick
        for a in range(begin - (begin - part.first) % thick, end, step):
            low, high = max(a, begin), min(a + step, end)
            here = slice(low - first, high - first)
            views = (None if array is None else array[here] for array in (excess, residual, height))
            with solver.gpu.active():
                _fetch_slab(solver, part, low - part.first, high - part.first, *views)


def _thickness(part: Part) -> int:
    """Lines per plane of tiles; a grid with one axis is one plane."""
    return part.last if part.is_line else part.own.tile[part.axis]


def _fetch_slab(solver: SlabSolver, part: Part, first: int, last: int, excess, residual, height) -> None:
    """Fetch lines of one slab, relative to its first own line, with all planes of tiles that contain them."""
    own, state, arcs = part.own, solver.slab.own, part.own.arcs
    thick = _thickness(part)
    low, high = first // thick, -(-last // thick)
    begin, end = low * part.plane * CELLS, high * part.plane * CELLS
    ghosts = part.ghosts_before * CELLS
    skipped = 0 if part.is_line else first - low * thick
    start = (skipped, 0) if part.axis == 0 else (0, skipped)

    def write(array, numbers, image):
        image = image[(None,) * (4 - image.ndim)]
        whole = np.empty((1, 1, part.last, numbers), image.dtype) if part.is_line else image
        untile_kernel(download(array).reshape(-1, numbers, CELLS), own.tile, own.tiles, *start, whole)
        if part.is_line:
            image[...] = whole[:, :, first:last]

    if excess is not None:
        write(state.excess[begin:end], 1, excess[..., None])
    if height is not None:
        write(solver.memory.height[ghosts + begin : ghosts + end], 1, height[..., None])
    if residual is not None:
        write(state.residual[begin * arcs : end * arcs], arcs, residual)


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
