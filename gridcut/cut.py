"""The result of a solve: value, labels, residuals, flows, and the certificate that proves them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from gridcut.certificate import CertificateError, certify
from gridcut.completion import complete
from gridcut.device.arrays import give, to_host
from gridcut.grid import Grid
from gridcut.load import Reader, fill
from gridcut.problem import Offset, Problem, check_offset

__all__ = ["CertificateError", "Cut"]


class Solved(NamedTuple):
    """What a cut was made from, on the host: the caller's arrays and the solver's final state."""

    problem: Problem
    views: Reader
    grid: Grid
    completed: list  # the grid of the completed flow once asked for


class Later:
    """The `Solved` of a cut, made when it is first asked for: a state on a GPU is fetched only then.

    is_current   False once a solver has gone on with the state
    library      whose arrays the caller passed on a GPU, and gets back; None: arrays on the host
    """

    def __init__(self, make: Callable[[], Solved], is_current=lambda: True, library: str | None = None):
        self._make = make
        self._made = None
        self._is_current = is_current
        self.library = library

    def __call__(self) -> Solved:
        if not self._is_current():
            raise RuntimeError("the solver has been updated since; ask its cuts for residuals and proofs before")
        if self._made is None:
            self._made = self._make()
            self._make = None  # lets go of the memory on the GPU
        return self._made


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
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
    """

    value: int | float
    labels: np.ndarray
    device: str
    method: str
    stats: dict
    _solved: Later | None = field(repr=False)  # None: a grid without pixels

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
        if self._solved is None:
            return residual
        solved = self._solved()
        original, _ = fill(solved.views, solved.grid.excess.dtype, solved.grid.unit)
        return self._give(arc_of(original, self._known(offset)) - residual)

    def check(self) -> None:
        """Prove the cut minimal and the labels right, from the capacities passed in; raises CertificateError.

        The residuals keep every capacity, the excesses are what the flow leaves, nothing can pass from the
        source side to the sink side any more, every pixel of the sink side reaches the sink, and the value is
        the cut's.
        """
        if self._solved is None:
            return
        problem, views, grid, _ = self._solved()
        certify(self.value, to_host(self.labels), problem, views, grid)

    def _known(self, offset) -> Offset:
        if self._solved is None:
            return check_offset(offset, self.labels.ndim)
        return known_offset(offset, self.labels.ndim, self._solved().problem.edges)

    def _give(self, array: np.ndarray):
        return array if self._solved is None else give(array, self._solved.library)

    def _arc(self, offset, grid_of) -> np.ndarray:
        offset = self._known(offset)
        if self._solved is None:
            return np.zeros(self.labels.shape, np.int64)
        return arc_of(grid_of(self._solved()), offset)


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
