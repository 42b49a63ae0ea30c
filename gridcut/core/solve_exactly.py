"""The life cycle of a cut: load the capacities, solve, measure the cut, and repeat with a finer unit until it is exact.

All public functions and solvers of gridcut end here, on every device.  They differ in three functions:

    load(bound)                  the capacities as integers, without a flow: a *state*, with attributes `unit` (1 for
                                 integers) and `dtype`.  Floats are rounded to a unit that `choose_unit` chooses for the
                                 bound (gridcut/core/units.py), None at first
    solve(state)                 changes the state until no excess can reach the sink; returns the sink side in any
                                 form that `value` reads, and stats, a dict of counters
    value(state, sink_side)      labels, value of the cut, and its `Measured`, or None if rounding cannot matter

If rounding cost more than MAX_LOSS of the cut, its capacity is the bound of another solve, with a finer unit.
"""

import time
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from gridcut.core.cut_capacity import Measured
from gridcut.core.units import BOUND_MARGIN, MAX_FLOAT, MAX_LOSS


class Clock:
    """Seconds by phase, summed over repetitions; on a GPU, a phase may leave work that the next one waits for.

    start   the perf_counter() from which time is measured; None: now
    """

    def __init__(self, start: float | None = None):
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter() if start is None else start

    def phase(self, name: str) -> None:
        """End a phase."""
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._last
        self._last = now


class Solution(NamedTuple):
    """A cut with a loss by rounding of at most MAX_LOSS, and the state of the solve that found it."""

    state: Any
    labels: Any
    value: Any
    stats: dict


def solve_exactly(
    load: Callable, solve: Callable, value: Callable, clock: Clock, state: Any = None, arcs: str = "edges"
) -> Solution:
    """Run the life cycle of a cut; see the module.

    state   a state to start from, which may hold a flow; None: load one first
    arcs    the argument with the capacities of arcs, for messages

    Raises ValueError if a finer unit is needed and not possible.
    """
    measured: Measured | None = None
    coarser = bound = None
    while True:
        if state is None:
            state = load(bound)
            if measured is not None and state.unit >= coarser:
                raise too_coarse(measured, arcs)
        clock.phase("load")
        sink_side, stats = solve(state)
        clock.phase("solve")
        labels, capacity, measured = value(state, sink_side)
        clock.phase("value")
        if measured is None or is_accurate(measured):
            break
        coarser, bound = state.unit, min(measured.reduced * BOUND_MARGIN, MAX_FLOAT)
        state = sink_side = labels = None  # frees their memory for the next state
    stats = {**stats, "seconds": clock.seconds, "dtype": name_of(state.dtype), "unit": state.unit}
    return Solution(state, labels, capacity, stats)


@cache
def name_of(dtype) -> str:
    """Name of a dtype; NumPy builds it again each time, which takes longer than to check a small grid."""
    return np.dtype(dtype).name


def is_accurate(cut: Measured) -> bool:
    """Whether rounding cost at most MAX_LOSS of a cut of floats."""
    return cut.loss <= MAX_LOSS * cut.reduced


def too_coarse(cut: Measured, arcs: str) -> ValueError:
    """The error for capacities that no unit can represent together."""
    return ValueError(
        f"source, sink and {arcs} differ too much in magnitude: a cut of capacity {cut.reduced:.6g} is known only to "
        f"within {cut.loss:.3g}; scale them to integers, or set negligible capacities to 0"
    )


class Kept:
    """What a cut keeps of a solve, current until its solver modifies the state.

    solver   its `epoch` changes when it modifies the state; None: the state belongs to the cut
    kind     the class of solvers, for the error
    """

    kind = "Solver"

    def __init__(self, solver, is_there: bool):
        self._solver, self._epoch, self._is_there = solver, getattr(solver, "epoch", None), is_there

    @property
    def is_current(self) -> bool:
        """Whether the state is as the solve left it; False in a pickled copy without it."""
        return self._is_there and (self._solver is None or self._solver.epoch == self._epoch)

    def require(self) -> None:
        """RuntimeError unless the state is current."""
        if not self.is_current:
            raise RuntimeError(
                f"this cut is stale: its {self.kind} was updated or solved again; call residual(), flow() and check() "
                "before that"
            )
