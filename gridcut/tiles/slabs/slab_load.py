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
from gridcut.cuda.tile_layout import CELLS
from gridcut.device.arrays import clear, download, synchronize, upload
from gridcut.device.cuda import SIMULATED
from gridcut.device.launch import launch
from gridcut.device.peers import Gpu
from gridcut.device.threads import run_threads, thread_count
from gridcut.tiles.slabs.split import Part


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
