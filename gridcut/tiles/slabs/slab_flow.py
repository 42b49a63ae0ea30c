"""max_flow on several GPUs: load and solve slabs, and collect labels and state on the host."""

from dataclasses import dataclass, field, fields
from typing import NamedTuple

import numpy as np

from gridcut.core.cut import Cut, LazySolved, Solved, value_of
from gridcut.core.grid import Grid, Layout, make_layout
from gridcut.core.load import reader
from gridcut.core.problem import Problem
from gridcut.core.solve_exactly import Clock, solve_exactly
from gridcut.cuda.device_flow import labels_and_values
from gridcut.cuda.tile_layout import CELLS
from gridcut.device.arrays import download
from gridcut.device.peers import open_gpus
from gridcut.tiles.slabs.fetch import fetch_grid
from gridcut.tiles.slabs.slab_certificate import certify
from gridcut.tiles.slabs.slab_load import Slabs, load_slabs, on_all_gpus
from gridcut.tiles.slabs.slab_solver import SlabSolver
from gridcut.tiles.slabs.slabs import solve
from gridcut.tiles.slabs.split import split


class SlabStates(NamedTuple):
    """The state on all GPUs, copied to the host when residuals or flows are requested."""

    problem: Problem
    flat: Layout
    solvers: list[SlabSolver]

    def solved(self) -> Solved:
        return solved_of(*self)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SlabCut(Cut):
    """A minimum cut whose state is on several GPUs; pickled and deep copies are ordinary cuts on the host."""

    _problem: Problem | None = field(repr=False, default=None)
    _solvers: list[SlabSolver] | None = field(repr=False, default=None)

    def check(self) -> None:
        """As `Cut.check`, but some lines at a time, so that the host never holds the whole state."""
        if self.labels.ndim == 1:
            Cut.check(self)
        else:
            certify(self.value, self.labels, self._problem, self._solvers)

    def _portable(self):
        return Cut, [getattr(self, f.name) for f in fields(Cut)]


def max_flow_on_devices(problem: Problem, devices: list[int], parameters: dict, callback) -> Cut:
    """Return the cut of a validated, nonempty problem whose arrays are on the host."""
    clock = Clock()
    flat = make_layout(problem.shape, problem.edges)
    parts = split(problem.shape, flat.offsets, len(devices))
    gpus = open_gpus(devices[: len(parts)])

    def load(bound):
        return load_slabs(problem._replace(bound=bound), parts, gpus)

    def run(state: Slabs):
        return solve(state.slabs, callback=callback, **parameters)

    def value(state: Slabs, solvers):
        labels = np.empty(problem.shape, np.bool_)
        values = on_all_gpus(lambda i: download_labels(solvers[i], labels), gpus)
        clock.phase("download")
        if not problem.is_float:
            return (labels, solvers), sum(values), None
        views = reader(problem._replace(bound=state.number_types.bound), flat)
        return (labels, solvers), *value_of(problem, views, labels, state.unit)

    found = solve_exactly(load, run, value, clock)
    labels, solvers = found.labels
    split_into = {"devices": [gpu.device for gpu in gpus], "slabs": [(part.first, part.last) for part in parts]}
    problem = problem._replace(bound=found.state.number_types.bound)
    lazy = LazySolved(SlabStates(problem, flat, solvers))
    return SlabCut(found.value, labels, "cuda", "tiles", found.stats | split_into, lazy, problem, solvers)


def download_labels(solver: SlabSolver, labels: np.ndarray) -> int:
    """Write the labels of the lines that a slab owns; return its part of the value if capacities are integers."""
    part, own = solver.slab.part, solver.slab.own
    first = part.ghosts_before * CELLS // 32
    side = solver.memory.reach_bits[first : first + part.own.cells // 32]
    found, (value,) = labels_and_values(own, side, None)
    download(found, labels[part.first : part.last])
    return value


def solved_of(problem: Problem, flat: Layout, solvers: list[SlabSolver]) -> Solved:
    """Collect the slabs as one grid on the host, from which residuals and flows are computed."""
    number_types = solvers[0].slab.state.number_types
    grid = Grid(
        flat,
        np.zeros(flat.size, number_types.excess),
        np.zeros(flat.size * flat.arcs, number_types.excess),
        number_types.unit,
    )
    fetch_grid(solvers, 0, problem.shape[0], grid)
    return Solved(problem, reader(problem, flat), grid, [])
