"""Loading slabs: each GPU gets its part of the caller's host arrays directly."""

from typing import NamedTuple

import numba
import numpy as np

from gridcut.core.grid import make_layout
from gridcut.core.problem import Problem
from gridcut.cuda.device_load import (
    CapacityArrays,
    NumberTypes,
    State,
    StateLayout,
    bad_capacity_of,
    choose_number_types,
)
from gridcut.cuda.pixel_kernels import (
    DEPTH,
    MASK,
    ROW_ENTRIES,
    ROWS_START,
    SINK,
    SOURCE,
    TILES_Z,
    grid_for,
    terminals_kernel,
)
from gridcut.cuda.tile_layout import CELLS, TileLayout, make_tile_layout
from gridcut.device.arrays import clear, download, synchronize, upload
from gridcut.device.cuda import SIMULATED
from gridcut.device.launch import launch
from gridcut.device.peers import Gpu
from gridcut.device.threads import run_threads, thread_count

# Division of a grid into slabs along its first axis; needs no GPU.
#
# ::
#
#       lines (rows of an image, planes of a volume)       slab 0        slab 1        slab 2
#       0 ............ tiles of plane 0                    owned
#       32 ........... tiles of plane 1                    owned         ghosts
#       64 ........... tiles of plane 2                    ghosts        owned         ghosts
#       96 ........... tiles of plane 3                                  ghosts        owned
#
# A slab owns whole planes of tiles.  On each side where the grid continues it also holds one plane of *ghost tiles*,
# the halo of the slab, which belong to the adjacent slab.  The tiles of a plane are contiguous in a TileLayout, so
# the tiles that a slab owns are one contiguous part of its arrays.  Arcs cross at most one line, so only one line of
# a plane of ghost tiles matters, the *face*: the line next to the boundary.  In each tile the pixels of a face are
# contiguous.

BEFORE, AFTER = -1, 1  # sides of a slab


class Part(NamedTuple):
    """A slab: it owns lines first to last - 1 of the grid; all its tiles cover lines start to stop - 1.

    tiles    the layout of all its tiles
    own      the layout of the tiles that it owns
    """

    first: int
    last: int
    start: int
    stop: int
    tiles: TileLayout
    own: TileLayout

    @property
    def axis(self) -> int:
        """The grid's first axis: 0, 1 or 2 for z, y or x."""
        return first_axis(self.tiles)

    @property
    def is_line(self) -> bool:
        """Whether the grid has one axis; such a grid is never divided."""
        return self.last != self.own.extent[self.axis] + self.first

    @property
    def plane(self) -> int:
        """Tiles per plane."""
        return self.tiles.count // self.tiles.tiles[self.axis]

    @property
    def ghosts_before(self) -> int:
        """Ghost tiles before the tiles it owns."""
        return self.plane if self.start < self.first else 0

    @property
    def ghosts_after(self) -> int:
        return self.tiles.count - self.ghosts_before - self.own.count

    def faces(self) -> list["Face"]:
        """The faces on the sides where the grid continues."""
        found = []
        if self.ghosts_before:
            found.append(self._face(BEFORE, self.ghosts_before, 0))
        if self.ghosts_after:
            found.append(
                self._face(AFTER, self.ghosts_before + self.own.count - self.plane, self.ghosts_before + self.own.count)
            )
        return found

    def _face(self, side: int, own: int, ghosts: int) -> "Face":
        pixels = CELLS // self.tiles.tile[self.axis]
        last_offset, first_offset = CELLS - pixels, 0
        across = []
        for k, offset in enumerate(self.tiles.offsets):
            if offset[self.axis] == side:
                dy, dx = (0, offset[2]) if self.axis == 1 else offset[1:]
                across.append((k, dy, dx))
        rows = self.tiles.tiles[1] if self.axis == 0 else 1
        at = (first_offset, last_offset) if side == BEFORE else (last_offset, first_offset)
        return Face(side, own, ghosts, *at, pixels, self.plane * pixels, (rows, self.tiles.tiles[2]), tuple(across))


class Face(NamedTuple):
    """The face between a slab and an adjacent one.

    Pixel j of the face is pixel offset + j % pixels of tile j // pixels of the plane.

    own, ghosts              the first tiles of the planes on this side of the boundary and on the other side
    own_offset, ghost_offset index of the face's first pixel in each tile of these planes
    pixels, cells            pixels of the face per tile, and in total
    tiles                    rows and columns of tiles
    across                   (k, dy, dx) of each arc across the boundary, from this side: index, offset along the face
    """

    side: int
    own: int
    ghosts: int
    own_offset: int
    ghost_offset: int
    pixels: int
    cells: int
    tiles: tuple[int, int]
    across: tuple[tuple[int, int, int], ...]


def first_axis(tiles: TileLayout) -> int:
    """Axis along which a grid is divided: z for volumes, y for images.  A grid with one axis is an image of one row."""
    return 0 if tiles.tile[0] > 1 else 1


def split(shape: tuple[int, ...], offsets, count: int) -> list[Part]:
    """Divide a grid into `count` slabs, but at most one per plane of tiles; offsets as in Layout."""
    whole = make_tile_layout(1, shape, offsets)
    axis = first_axis(whole)
    planes, thick, lines = whole.tiles[axis], whole.tile[axis], whole.extent[axis]
    count = min(count, planes)
    if count == 1:
        lines = shape[0]
        return [Part(0, lines, 0, lines, whole, whole)]
    parts = []
    for i in range(count):
        a, b = planes * i // count, planes * (i + 1) // count
        first, last = a * thick, min(b * thick, lines)
        start, stop = max(a - 1, 0) * thick, min((b + 1) * thick, lines)
        tiles, own = (make_tile_layout(1, (n, *shape[1:]), offsets) for n in (stop - start, last - first))
        parts.append(Part(first, last, start, stop, tiles, own))
    return parts


class Slab(NamedTuple):
    """A part of a problem on a GPU.

    state    all tiles of the slab; ghost tiles hold zeros
    own      only the tiles that the slab owns, in the same memory
    """

    gpu: Gpu
    part: Part
    state: State
    own: State


class Slabs(NamedTuple):
    """The slabs of a problem, and the dtypes and the unit that they share."""

    slabs: list[Slab]
    number_types: NumberTypes

    @property
    def unit(self) -> float | int:
        return self.number_types.unit

    @property
    def dtype(self) -> type:
        return self.number_types.excess


def on_all_gpus(work, gpus: list[Gpu]) -> list:
    """Run work(i) on the i-th GPU, for all GPUs concurrently; in the simulator one after the other."""
    threads = thread_count()
    share = max(1, threads // len(set(gpus)))

    def one(i):
        numba.set_num_threads(share)
        try:
            with gpus[i].active():
                return work(i)
        finally:
            numba.set_num_threads(threads)

    if SIMULATED:
        return [one(i) for i in range(len(gpus))]
    return run_threads(one, len(gpus))


def load_slabs(problem: Problem, parts: list[Part], gpus: list[Gpu]) -> Slabs:
    """Load all slabs of a validated, nonempty problem."""
    capacities = on_all_gpus(lambda i: upload_capacities(problem, parts[i]), gpus)
    try:
        bounds = on_all_gpus(lambda i: capacities[i].bounds(), gpus)
    except ValueError as error:
        raise bad_capacity_of(problem) from error  # reports the position in the whole grid
    number_types = choose_number_types(problem, [max(column) for column in zip(*bounds, strict=True)], True)
    slabs = on_all_gpus(lambda i: Slab(gpus[i], parts[i], *fill(capacities[i], parts[i], number_types)), gpus)
    return Slabs(slabs, number_types)


def upload_capacities(problem: Problem, part: Part) -> CapacityArrays:
    """Upload the arrays of a slab, including ghost tiles, to the GPU that is active in this thread."""
    synchronize()
    flat = make_layout((part.stop - part.start, *problem.shape[1:]), problem.edges)
    capacities = CapacityArrays(part_of(problem, part.start, part.stop), StateLayout(flat, part.tiles, 1))
    capacities.upload()
    return capacities


def part_of(problem: Problem, first: int, last: int) -> Problem:
    """Lines first to last - 1 of a problem on the host, without copies."""
    cut = problem.changed(lambda a: a[first:last] if a.ndim else a)
    return cut._replace(shape=(last - first, *problem.shape[1:]))


def fill(capacities: CapacityArrays, part: Part, number_types: NumberTypes) -> tuple[State, State]:
    """Load a slab: its state, and the state of the tiles that it owns."""
    state = capacities.fill(number_types)
    own = own_state(state, capacities, part)
    ghosts_before, ghosts_after = part.ghosts_before * CELLS, part.ghosts_after * CELLS
    # Ghost tiles were loaded like the others.  From now on they hold flow pushed to them, at first none.
    for array, each in ((state.excess, 1), (state.residual, part.tiles.arcs)):
        if ghosts_before:
            clear(array[: ghosts_before * each])
        if ghosts_after:
            clear(array[array.size - ghosts_after * each :])
    if (ghosts_before or ghosts_after) and not isinstance(number_types.unit, float):
        # Sum the capacities to the sink again without ghost tiles: the value of integer problems depends on the sum.
        clear(state.sums)
        scale = np.float64(number_types.scale)
        grid = grid_for(own.layout.runs, 1, 1)
        terminals = capacities.data(SOURCE), capacities.data(SINK), capacities.mask
        launch(terminals_kernel, *grid, *terminals, own.form, scale, own.excess, own.to_sink)
    synchronize()
    return state, own


def own_state(state: State, capacities: CapacityArrays, part: Part) -> State:
    """The tiles that a slab owns as a separate state in the same memory.

    Its form addresses terminals and the mask from the slab's first own line on; it must not be used for arcs.
    """
    if part.ghosts_before == part.ghosts_after == 0:
        return state
    form = download(capacities.form)
    skipped = part.first - part.start
    form[DEPTH + part.axis] = part.last - part.first
    form[TILES_Z + part.axis] = part.own.tiles[part.axis]
    for row in (MASK, SOURCE, SINK):
        plane = form[ROWS_START + ROW_ENTRIES * row :]
        plane[0] += skipped * plane[2 + part.axis]
    first, count = part.ghosts_before * CELLS, part.own.cells
    flat = make_layout((part.last - part.first, *state.layout.flat.shape[1:]), state.layout.flat.offsets)
    arcs = part.own.arcs
    return state._replace(
        layout=StateLayout(flat, part.own, 1),
        form=upload(form),
        excess=state.excess[first : first + count],
        residual=state.residual[first * arcs : (first + count) * arcs],
    )
