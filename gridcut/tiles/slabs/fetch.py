"""Copying the state of some lines of a grid on several GPUs to the host."""

import numpy as np

from gridcut.core.grid import Grid
from gridcut.cuda.tile_layout import CELLS, LANES
from gridcut.device import kernel
from gridcut.device.arrays import download
from gridcut.tiles.slabs.slab_solver import SlabSolver
from gridcut.tiles.slabs.split import Part

FETCH_PIXELS = 1 << 24  # pixels copied from a GPU at a time


@kernel
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
