"""The result of a solve: value, labels, residuals, flows, and the certificate that proves them."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from gridcut.core.certificate import CertificateError, certify
from gridcut.core.completion import complete
from gridcut.core.grid import Grid, make_layout
from gridcut.core.load import Reader, fill, reader
from gridcut.core.problem import Offset, Problem, check_offset, check_problem
from gridcut.device.arrays import to_host, to_library
from gridcut.device.result import Result

__all__ = ["CertificateError", "Cut"]


class Solved(NamedTuple):
    """What a cut was made from, on the host: the caller's arrays and the solver's final state.

    A grid without pixels has neither views nor a state.
    """

    problem: Problem
    views: Reader | None
    grid: Grid | None
    completed: list  # the grid of the completed flow once asked for


class LazySolved:
    """The `Solved` of a cut, made when it is first asked for: a state on a GPU is fetched only then.

    A pickled copy holds the `Solved` itself, or nothing if the solver had gone on with the state.

    source    a `Solved`, or an object whose `solved()` makes one, and whose `given()` is the problem as it is then
    solver    its `epoch` changes when it goes on with the state; None: the state is the cut's own
    library   whose arrays the caller passed on a GPU, and gets back; None: arrays on the host
    """

    def __init__(self, source, solver=None, library: str | None = None):
        self._source = source
        self._given = getattr(source, "given", None) if solver is None and library is not None else None
        self._solver = solver
        self._epoch = None if solver is None else solver.epoch
        self.library = library

    @property
    def is_current(self) -> bool:
        return self._source is not None and (self._solver is None or self._solver.epoch == self._epoch)

    def __call__(self) -> Solved:
        if not self.is_current:
            raise RuntimeError(
                "the solver has been updated since: call residual(), flow() and check() of a cut before the next "
                "update() or solve() of its solver"
            )
        if not isinstance(self._source, Solved):
            self._source = self._source.solved()  # lets go of the memory on the GPU
        return self._source

    def again(self) -> Solved:
        """The same with the caller's arrays as they are now: those on a GPU are copied to the host again."""
        solved = self()
        if self._given is None:
            return solved
        problem = self._given()
        return solved._replace(problem=problem, views=reader(problem, solved.grid.layout))

    def __reduce__(self):
        if not self.is_current:
            return LazySolved, (None,)
        problem, _, grid, _ = self()
        return _restored, (problem, grid)


def _restored(problem: Problem, grid: Grid | None) -> LazySolved:
    """A pickled `LazySolved`."""
    views = None if grid is None else reader(problem, grid.layout)
    return LazySolved(Solved(problem, views, grid, []))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cut(Result):
    """A minimum cut, and the maximum flow it belongs to.

    Attributes
    ----------
    value : int or float
        Capacity of the cut, which is the value of the maximum flow; summed from the capacities passed in.
    labels : ndarray of bool, the grid's shape
        An array of the caller's library on the GPU if the capacities lay there; so are residuals and flows.
        True on the source side.  A pixel is on the sink side if and only if it can still reach the sink in
        the final residual graph; that set is the same for every maximum flow.  False outside the mask.
    device, method : str
        What ran.
    stats : dict
        Counts of the solver (pushes, relabels, ...), "seconds" by phase, "dtype" of the residuals and "unit":
        1 for integers; floats were rounded down to multiples of this power of two.

    Notes
    -----
    `residual`, `flow` and `check` read the capacities again: arrays passed to the solver are kept by
    reference, not copied, so they answer for the problem solved only as long as those arrays are left
    unchanged.

    Copies made by `pickle` and `copy.deepcopy` hold the capacities, the solver's state and the labels on the host.
    The cut of a `Solver` that has been updated since is copied without them: `residual`, `flow` and `check` of the
    copy raise RuntimeError, as those of the cut itself.
    """

    value: int | float
    labels: np.ndarray
    device: str
    method: str
    stats: dict
    _solved: LazySolved = field(repr=False)

    def residual(self, offset: Offset) -> np.ndarray:
        """Residual capacity p -> p + offset under the flow that gave the cut, the grid's shape.

        That flow is a preflow: excess that cannot reach the sink may have been left where it got stuck.
        Raises ValueError for an offset that has no edges, nor its opposite.
        """
        return self._give(self._arc(offset, lambda solved: solved.grid))

    def flow(self, offset: Offset) -> np.ndarray:
        """Net flow p -> p + offset of a maximum flow, the grid's shape; negative where it runs the other way.

        The first call completes the preflow to a flow: what got stuck goes back to the source.
        Raises ValueError for an offset that has no edges, nor its opposite.
        """
        residual = self._arc(offset, completed_grid)
        solved = self._solved()
        if solved.grid is None:
            return self._give(residual)
        original, _ = fill(solved.views, solved.grid.excess.dtype, solved.grid.unit)
        return self._give(arc_of(original, self._known(offset)) - residual)

    def check(self) -> None:
        """Prove the cut minimal and the labels right, from the capacities passed in; raises CertificateError.

        The residuals keep every capacity, the excesses are what the flow leaves, nothing can pass from the
        source side to the sink side any more, every pixel of the sink side reaches the sink, and the value is
        the cut's.
        """
        problem, views, grid, _ = self._solved.again()
        certify(self.value, to_host(self.labels), problem, views, grid)

    def _check_for(self, source, sink, edges) -> None:
        """As `check`, but for capacities on the host that are made again from what the caller passed."""
        solved = self._solved()
        problem = check_problem(source, sink, edges, None)._replace(bound=solved.problem.bound)
        views, grid = None, solved.grid
        if (problem.shape, problem.is_float) != (solved.problem.shape, solved.problem.is_float):
            raise CertificateError("the cut is of another problem")
        if grid is not None:
            if make_layout(problem.shape, problem.edges) != grid.layout:
                raise CertificateError("the cut is of another problem")
            views = reader(problem, grid.layout)
        certify(self.value, to_host(self.labels), problem, views, grid)

    def _known(self, offset) -> Offset:
        problem = self._solved().problem
        return known_offset(offset, len(problem.shape), problem.edges)

    def _give(self, array: np.ndarray):
        return to_library(array, self._solved.library)

    def _arc(self, offset, grid_of) -> np.ndarray:
        offset = self._known(offset)
        solved = self._solved()
        if solved.grid is None:
            return np.zeros(solved.problem.shape, np.int64)
        return arc_of(grid_of(solved), offset)


def known_offset(offset, ndim: int, edges) -> Offset:
    """An offset that has edges, or whose opposite has; else ValueError."""
    offset = check_offset(offset, ndim)
    if offset not in edges and tuple(-i for i in offset) not in edges:
        raise ValueError(f"offset {offset} has no edges; there are {', '.join(map(str, edges)) or 'none'}")
    return offset


def completed_grid(solved: Solved) -> Grid:
    """The grid of a true flow, made once."""
    if not solved.completed:
        solved.completed.append(complete(solved.views, solved.grid))
    return solved.completed[0]


def arc_of(grid: Grid, offset: Offset) -> np.ndarray:
    """A copy of one arc's residuals in the caller's measure, the grid's shape."""
    layout = grid.layout
    if offset not in layout.offsets:  # longer than the grid
        values = np.zeros(layout.shape, grid.residual.dtype)
    else:
        by_pixel = grid.residual.reshape(layout.size, layout.arcs)
        values = layout.interior(by_pixel)[..., layout.arc(offset)]
    return values * grid.unit if isinstance(grid.unit, float) else values.copy()
