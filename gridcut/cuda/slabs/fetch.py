"""The state of some lines of a grid that lies on several GPUs, brought to the host."""

from gridcut.cuda.slabs.machine import Machine
from gridcut.cuda.slabs.split import Part
from gridcut.cuda.tiles.layout import CELLS, to_image
from gridcut.device.arrays import download
from gridcut.grid import Grid

PIECE = 1 << 24  # pixels brought from a GPU at a time


def fetch_grid(machines: list[Machine], first: int, last: int, grid: Grid) -> None:
    """Fill a grid of lines first ... last - 1, along the first axis, with their excesses and residuals."""
    layout = grid.layout
    excess = layout.interior(grid.excess)
    residual = layout.interior(grid.residual.reshape(layout.size, layout.arcs))
    fetch_lines(machines, first, last, excess, residual)


def fetch_lines(machines: list[Machine], first: int, last: int, excess=None, residual=None, height=None) -> None:
    """Write the state of lines first ... last - 1 into arrays of any strides; None: not wanted.

    excess     the shape of the lines
    residual   the same and a last axis for the arcs, in the order of Layout.offsets
    height     1 + arcs to the nearest pixel with capacity left to the sink; gridcut.cuda.tiles.search.FAR: none
    """
    for machine in machines:
        part = machine.slab.part
        begin, end = max(first, part.first), min(last, part.last)
        thick = _thickness(part)
        step = max(1, PIECE // (part.plane * CELLS)) * thick
        for a in range(begin - (begin - part.first) % thick, end, step):
            low, high = max(a, begin), min(a + step, end)
            here = slice(low - first, high - first)
            views = (None if array is None else array[here] for array in (excess, residual, height))
            with machine.gpu.active():
                _fetch_slab(machine, part, low - part.first, high - part.first, *views)


def _thickness(part: Part) -> int:
    """Lines of a plane of tiles; a line of pixels is one plane."""
    return part.last if part.is_line else part.own.tile[part.axis]


def _fetch_slab(machine: Machine, part: Part, first: int, last: int, excess, residual, height) -> None:
    """Lines of one slab, counted from its own first, with all planes of tiles they lie in."""
    own, axis = part.own, part.axis
    thick = _thickness(part)
    low, high = first // thick, -(-last // thick)
    some = own
    if not part.is_line:
        tiles, extent = list(own.tiles), list(own.extent)
        tiles[axis], extent[axis] = high - low, min(high * thick, own.extent[axis]) - low * thick
        some = own._replace(tiles=tuple(tiles), extent=tuple(extent))
    begin, end = low * part.plane * CELLS, low * part.plane * CELLS + some.cells
    ghosts = part.front * CELLS
    state, arcs = machine.slab.own, own.arcs
    lines = slice(first - low * thick, last - low * thick)

    def pixels(array):
        """(tiles, 1024) as lines."""
        shape = machine.slab.own.place.flat.shape
        return to_image(some, array).reshape(-1, *shape[1:])[lines]

    if excess is not None:
        excess[...] = pixels(download(state.excess[begin:end]).reshape(-1, CELLS))
    if height is not None:
        height[...] = pixels(download(machine.memory.height[ghosts + begin : ghosts + end]).reshape(-1, CELLS))
    if residual is not None:
        found = download(state.residual[begin * arcs : end * arcs]).reshape(-1, arcs, CELLS)
        for k in range(arcs):
            residual[..., k] = pixels(found[:, k])
