"""`Cut`, the result of a solve: value, labels, residuals, flow, and a certificate of optimality."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from gridcut.core import push_relabel_steps
from gridcut.core.cut_capacity import (
    Measured,
    capacity_to_sink,
    cut_capacity,
    finite,
    measure_cut,
    unused_capacity,
)
from gridcut.core.grid import Grid, make_layout
from gridcut.core.load import NOTHING, Reader, fill, load_terminals_kernel, plane, reader
from gridcut.core.problem import Offset, Problem, check_offset, check_problem
from gridcut.core.solve_exactly import Kept
from gridcut.core.units import MAX_LOSS, scale_of
from gridcut.device import CertificateError, plain_kernel
from gridcut.device.arrays import to_host, to_library
from gridcut.device.result import GridResult

__all__ = ["CertificateError", "Cut"]


class Solved(NamedTuple):
    """The problem of a cut and the solver's final state, on the host.

    views and grid are None for a grid without pixels.
    """

    problem: Problem
    views: Reader | None
    grid: Grid | None
    completed: list  # empty, or the grid of the completed flow


class LazySolved(Kept):
    """The `Solved` of a cut, created on first use: a state on a GPU is copied to the host only then.

    A pickled copy holds the `Solved` itself, or nothing if the solver has modified the state since.

    source    a `Solved`, or an object with `solved()`, which creates one, and `given()`, which reads the problem again
    library   library of the caller's arrays on a GPU, and of the arrays returned; None: arrays on the host
    """

    def __init__(self, source, solver=None, library: str | None = None):
        super().__init__(solver, source is not None)
        self._source = source
        self._given = getattr(source, "given", None) if solver is None and library is not None else None
        self.library = library

    def __call__(self) -> Solved:
        self.require()
        if not isinstance(self._source, Solved):
            self._source = self._source.solved()  # drops the reference to the memory on the GPU
        return self._source

    def again(self) -> Solved:
        """The `Solved` for the current contents of the caller's arrays; those on a GPU are copied to the host again."""
        solved = self()
        if self._given is None or solved.grid is None:
            return solved
        problem = self._given()
        return solved._replace(problem=problem, views=reader(problem, solved.grid.layout))

    def __reduce__(self):
        if not self.is_current:
            return LazySolved, (None,)
        problem, _, grid, _ = self()
        return _restored, (problem, grid)


def _restored(problem: Problem, grid: Grid | None) -> LazySolved:
    """Recreate a pickled `LazySolved`."""
    views = None if grid is None else reader(problem, grid.layout)
    return LazySolved(Solved(problem, views, grid, []))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cut(GridResult):
    """A minimum cut and its maximum flow.

    Attributes
    ----------
    value : int or float
        Capacity of the cut, which equals the value of the maximum flow; of floats, summed from the caller's capacities.
    labels : ndarray of bool, the grid's shape
        True on the source side.  A pixel is on the sink side if and only if it can still reach the sink in
        the final residual graph; that set is the same for every maximum flow.  False outside the mask.
        An array of the caller's library on the GPU if the capacities are on the GPU, as are residuals and flows.
    device, method : str
        Device and method that ran.
    stats : dict
        Counters of the solver (pushes, relabels, ...), "seconds" per phase, "dtype" of the residuals, and "unit":
        1 for integers, or the power of two to whose multiples floats were rounded down.

    Notes
    -----
    `residual`, `flow` and `check` read the capacities again.  The arrays passed to `max_flow` are kept by
    reference, not copied, so the results are valid only as long as those arrays are unchanged.

    Copies made by `pickle` and `copy.deepcopy` hold the capacities, the solver's state and the labels on the host.
    A stale cut, whose `Solver` was updated or solved again, is copied without them: `residual`, `flow` and `check` of
    the copy raise RuntimeError, as those of the cut itself.
    """

    value: int | float
    labels: np.ndarray
    device: str
    method: str
    stats: dict
    _solved: LazySolved = field(repr=False)

    def residual(self, offset: Offset) -> np.ndarray:
        """Residual capacity p -> p + offset under the flow of `flow`, in the grid's shape.

        Raises ValueError if neither the offset nor its opposite has edges.
        """
        return self._give(self._arc(offset))

    def flow(self, offset: Offset) -> np.ndarray:
        """Net flow p -> p + offset of a maximum flow, in the grid's shape; negative for flow p + offset -> p.

        The first call completes the solver's state to a flow (excess that no pixel can have got returns to the source,
        and what a pixel passes on to the sink without having got it is supplied), and certifies it as `check` does.
        Raises ValueError if neither the offset nor its opposite has edges.
        """
        residual = self._arc(offset)
        solved = self._solved()
        if solved.grid is None or solved.views is None:
            return self._give(residual)
        original, _ = fill(solved.views, solved.grid.excess.dtype, solved.grid.unit)
        return self._give(arc_of(original, self._known(offset)) - residual)

    def check(self) -> None:
        """Certify that the cut is minimal and the labels are right, from the caller's capacities.

        Raises CertificateError unless the residuals fit the capacities, the excesses equal what the flow leaves, no
        residual arc leads from the source side to the sink side, every pixel of the sink side reaches the sink, and
        the value is the capacity of the cut.
        """
        from gridcut.core.certificate import certify  # with kernels that a solve does not need

        problem, views, grid, _ = self._solved.again()
        certify(self.value, to_host(self.labels), problem, views, grid)

    def _check_for(self, source, sink, edges) -> None:
        """As `check`, for capacities on the host that were computed again from the caller's arguments."""
        from gridcut.core.certificate import certify

        solved = self._solved()
        problem = check_problem(source, sink, edges, None)._replace(bound=solved.problem.bound)
        views, grid = None, solved.grid
        if (problem.shape, problem.is_float) != (solved.problem.shape, solved.problem.is_float):
            raise CertificateError("the cut belongs to another problem")
        if grid is not None:
            if make_layout(problem.shape, problem.edges) != grid.layout:
                raise CertificateError("the cut belongs to another problem")
            views = reader(problem, grid.layout)
        certify(self.value, to_host(self.labels), problem, views, grid)

    def _known(self, offset) -> Offset:
        """The offset, if it or its opposite has edges; else ValueError."""
        problem = self._solved().problem
        edges, offset = problem.edges, check_offset(offset, len(problem.shape))
        if offset not in edges and tuple(-i for i in offset) not in edges:
            raise ValueError(
                f"offset {offset} has no edges; the offsets of edges are {', '.join(map(str, edges)) or 'none'}"
            )
        return offset

    def _give(self, array: np.ndarray):
        return to_library(array, self._solved.library)

    def _arc(self, offset) -> np.ndarray:
        offset = self._known(offset)
        solved = self._solved()
        if solved.grid is None:
            return np.zeros(solved.problem.shape, np.int64)
        return arc_of(self._completed(solved), offset)

    def _completed(self, solved: Solved) -> Grid:
        """The grid of the completed and certified flow, made once; of a grid with pixels."""
        from gridcut.core.certificate import certify, certify_balance

        assert solved.views is not None
        assert solved.grid is not None
        if not solved.completed:
            grid = complete(solved.views, solved.grid)
            certify(self.value, to_host(self.labels), solved.problem, solved.views, grid)
            certify_balance(solved.problem, solved.views, grid)
            solved.completed.append(grid)
        return solved.completed[0]


def arc_of(grid: Grid, offset: Offset) -> np.ndarray:
    """A copy of the residuals of one arc, in the caller's unit and the grid's shape."""
    layout = grid.layout
    if offset not in layout.offsets:  # longer than the grid
        values = np.zeros(layout.shape, grid.residual.dtype)
    else:
        by_pixel = grid.residual.reshape(layout.size, layout.arcs)
        values = layout.interior(by_pixel)[..., layout.arc(offset)]
    return values * grid.unit if isinstance(grid.unit, float) else values.copy()


# From a solved grid to the cut that a caller sees


def value_of(problem: Problem, views: Reader, labels: np.ndarray, unit) -> tuple[int | float, Measured | None]:
    """The capacity of the cut, from the caller's arrays, and the loss by rounding, None if it need not be checked."""
    if not problem.is_float:
        return cut_capacity(views, labels, False), None
    if views.bound is None:
        value = cut_capacity(views, labels, True)
        if labels.size * (1 + views.layout.arcs) * unit <= MAX_LOSS * value < math.inf:
            return value, None  # the loss is less than one unit per capacity, so it need not be summed
    return finite(measure_cut(views, labels, unit), "edges")


def labels_and_value(problem: Problem, views: Reader, grid: Grid, sink_side, to_sink: int | None = None) -> tuple:
    """The labels of a solved grid, and the results of `value_of`; to_sink: `capacity_to_sink`, if it is known.

    Of integers, the value is the total capacity to the sink minus its unused part: condition (4) of certificate.py.
    """
    labels = labels_of(problem, grid, sink_side)
    if problem.is_float:
        return labels, *value_of(problem, views, labels, grid.unit)
    if to_sink is None:
        to_sink = capacity_to_sink(views, 1)
    return labels, to_sink - unused_capacity(grid, sink_side), None


def labels_of(problem: Problem, grid: Grid, sink_side) -> np.ndarray:
    """The labels of a solved grid: True on the source side, in the grid's shape."""
    labels = np.empty(problem.shape, bool)
    np.logical_not(grid.layout.interior(sink_side), out=labels)
    if problem.mask is not None:
        labels &= problem.mask
    return labels


def empty_cut(problem: Problem, device, method) -> Cut:
    """The cut of a grid without pixels."""
    seconds = {"load": 0.0, "solve": 0.0, "value": 0.0}
    stats = {"seconds": seconds, "dtype": "int32", "unit": 1.0 if problem.is_float else 1}
    labels = to_library(np.zeros(problem.shape, bool), problem.library)
    nothing = np.zeros((), np.int32)
    kept = problem._replace(source=nothing, sink=nothing, edges=dict.fromkeys(problem.edges, nothing), mask=None)
    lazy = LazySolved(Solved(kept._replace(library=None), None, None, []), library=problem.library)
    return Cut(0.0 if problem.is_float else 0, labels, device, method, stats, lazy)


# Completion of a solver's final pseudoflow to a flow, if it is none.
#
# A pixel on the source side may hold more excess than it received from the source, which must return.  A pixel on the
# sink side may lack more than its capacity to the sink.  Both are flow problems of the same kind on the residual
# graph:
#
#   source side   e - s > 0 must return along residual arcs, to pixels where it is < 0
#   sink side     -(e + t) > 0 must be supplied against residual arcs, from pixels where it is < 0
#
# No residual arc connects the two sides, so one solve serves both, with the arcs of the sink side reversed.


@plain_kernel
def detach_kernel(sink_side, excess, residual, source, minus_sink, step, out_excess, out_residual):
    """Build the problem above from a solver's state; out_residual must be zero."""
    arcs = len(step)
    for p in range(excess.size):
        out_excess[p] = minus_sink[p] - excess[p] if sink_side[p] else excess[p] - source[p]
        for k in range(arcs):
            r = residual[p * arcs + k]
            if r != 0 and sink_side[p] == sink_side[p + step[k]]:
                if sink_side[p]:
                    out_residual[(p + step[k]) * arcs + (k ^ 1)] = r
                else:
                    out_residual[p * arcs + k] = r


@plain_kernel
def attach_kernel(sink_side, residual, solved, source, minus_sink, step, excess):
    """Turn the solution of that problem, `excess` and `solved`, into a state in place."""
    arcs = len(step)
    for p in range(excess.size):
        excess[p] = minus_sink[p] - excess[p] if sink_side[p] else excess[p] + source[p]
        for k in range(0, arcs, 2):
            q = p + step[k]
            if q < 0 or q >= excess.size:
                continue
            there, back = p * arcs + k, q * arcs + k + 1
            if sink_side[p] != sink_side[q]:
                solved[there] = residual[there]
                solved[back] = residual[back]
            elif sink_side[p]:
                solved[there], solved[back] = solved[back], solved[there]


def complete(views: Reader, grid: Grid) -> Grid:
    """A grid with the residuals of a flow, which is `grid` if that holds one; it is not changed.  Memory: three grids.

    Raises CertificateError if the state does not belong to the capacities.
    """
    layout = grid.layout
    if views.bound is None:
        nothing = plane(NOTHING, layout.shape)
        source = _terminals(views._replace(sink=nothing), grid)
        minus_sink = _terminals(views._replace(source=nothing), grid)
    else:  # the common part of a pixel's two terminal capacities flows straight through it
        start, _ = fill(views, grid.excess.dtype, grid.unit)
        source, minus_sink = np.maximum(start.excess, 0), np.minimum(start.excess, 0)
        del start
    if ((grid.excess <= source) & (grid.excess >= minus_sink)).all():
        return grid
    sink_side = _sink_side(grid)
    excess = np.empty_like(grid.excess)
    residual = np.zeros_like(grid.residual)
    detach_kernel(sink_side, grid.excess, grid.residual, source, minus_sink, layout.step, excess, residual)
    push_relabel_steps.solve(excess, residual, layout.step)
    if np.any(excess > 0):
        raise CertificateError(
            "the preflow cannot be completed to a flow; were the capacities changed after the solve?"
        )
    attach_kernel(sink_side, grid.residual, residual, source, minus_sink, layout.step, excess)
    return grid._replace(excess=excess, residual=residual)


def _terminals(views: Reader, grid: Grid) -> np.ndarray:
    """source - sink of these views in units, padded."""
    layout = grid.layout
    scale = scale_of(grid.unit, None)
    out = np.zeros_like(grid.excess)
    lines = layout.extent[0] * layout.extent[1]
    where = (layout.extent, layout.stride3, layout.head, 0, lines)
    load_terminals_kernel(views.source, views.sink, views.mask, scale, *where, out)
    return out


def _sink_side(grid: Grid) -> np.ndarray:
    """Pixels that can reach the sink: one search, since no excess can be pushed in a solved grid."""
    sink_side, _ = push_relabel_steps.solve(grid.excess, grid.residual, grid.step)
    return sink_side
