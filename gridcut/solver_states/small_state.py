"""The fast path of a `Solver` on the CPU: few changes of terminals of a small grid of integers.

With 40 changed pixels of 4096, Python and the passing of arguments take most of the time.  Here an update is one
compiled call, and so is a warm solve with the method "ibfs" (gridcut/ibfs/small_changes.py).  Both end with None or
False, and nothing but time is lost, if the new values or the last solve are not ordinary; the general path of
host_state.py, on the same state, then reports the error or solves the problem.
"""

import time

import numpy as np

from gridcut.core.cut import Cut, LazySolved, Solved
from gridcut.core.cut_capacity import capacity_to_sink
from gridcut.core.grid import make_layout
from gridcut.core.load import largest_capacities
from gridcut.core.problem import Problem
from gridcut.ibfs.ibfs import MAX_CHANGED_SHARE, MAX_RESOLVE_REPAIR, STRIP_CELLS, unsigned_steps
from gridcut.ibfs.small_changes import LISTS, change_terminals, resume_and_read
from gridcut.solver_states.host_state import HostState, LastSolve

INT32 = np.dtype(np.int32)


def is_small(problem: Problem) -> bool:
    """Whether changes of a problem may take the fast path: integers, no mask, few cells."""
    is_plain = not problem.is_float and problem.mask is None
    return is_plain and make_layout(problem.shape, problem.edges).size <= STRIP_CELLS


class SmallState:
    """A HostState of a problem that `is_small`, with the fast path."""

    is_small = True

    def __init__(self, problem: Problem):
        self.general = HostState(problem)
        layout = self.general.grid.layout
        self._shape = layout.shape
        self._geometry = np.array([*layout.extent, *layout.stride3, layout.head], np.int64)
        self._steps = unsigned_steps(layout.step)[1]
        self.budget = int(MAX_RESOLVE_REPAIR * layout.size)
        self._max_touched = int(MAX_CHANGED_SHARE * layout.size)

    def capacities(self) -> Problem:
        return self.general.capacities()

    def update(self, given: dict, index: np.ndarray | None) -> None:
        self.general.update(given, index)

    def solve(self, name: str, parameters: dict, callback) -> Cut:
        cut = self.solve_fast() if name == "ibfs" and callback is None else None
        return self.general.solve(name, parameters, callback) if cut is None else cut

    def change_terminals(self, source, sink, edges, where) -> bool:
        """Update terminals of listed pixels; False, and no change, for other arguments than ordinary ones."""
        state = self.general
        if edges is not None or type(where) is not tuple or state.grid.excess.dtype != INT32:
            return False
        for axis in where:
            if type(axis) is not np.ndarray or axis.dtype.kind not in "iu":
                return False
        try:
            pixels = np.ravel_multi_index(where, self._shape)
        except (TypeError, ValueError):
            return False
        if pixels.ndim != 1 or pixels.size == 0 or source is sink is None:
            return False
        problem = state.problem
        if source is None:
            source = np.empty(0, problem.source.dtype)
        elif not is_ordinary(source, problem.source, pixels):
            return False
        if sink is None:
            sink = np.empty(0, problem.sink.dtype)
        elif not is_ordinary(sink, problem.sink, pixels):
            return False
        if state.largest is None:
            state.largest = largest_capacities(problem, state.views)
        cells = np.empty(pixels.size, np.int32)
        # Unknown until the change is complete: if it is interrupted, the next solve starts from the flow alone.
        last, state.last = state.last, None
        to_sink, state.to_sink = state.to_sink, None
        state.epoch += 1
        count, more = change_terminals(
            pixels, source, sink, problem.source.reshape(-1), problem.sink.reshape(-1), *state.largest[:2],
            self._geometry, state.grid.excess, cells,
        )  # fmt: skip
        if count < 0:
            state.epoch -= 1
        else:
            if to_sink is not None:
                to_sink += more
            if last is not None:
                last.cells.append(cells[:count])
        state.last, state.to_sink = last, to_sink
        return count >= 0

    def solve_fast(self) -> Cut | None:
        """The cut by "ibfs", after changes of few cells since a solve by "ibfs"; None if there is none, or too many."""
        start = time.perf_counter()
        state = self.general
        last, grid = state.last, state.grid
        if last is None or last.method != "ibfs" or not last.is_listed or last.memory is None:
            return None
        forest, deepest, work = last.memory
        if work is None or grid.excess.dtype != INT32:
            return None
        cells = last.touched()
        if cells.size > self._max_touched:
            return None
        state.epoch += 1
        state.last, state.is_whole = None, False
        labels = np.empty(self._shape, bool)
        deepest, augmentations, repaired, more, left = resume_and_read(
            cells, last.arcs_changed, self.budget, deepest, self._geometry, self._steps, grid.excess, grid.residual,
            *forest, *work[LISTS:], labels.reshape(-1),
        )  # fmt: skip
        if more > self.budget:
            state.last, state.is_whole = LastSolve("ibfs", None), True  # a valid flow, but incomplete forests
            return None
        last.memory, last.cells, last.arcs_changed = (forest, deepest, work), [], False
        state.last, state.is_whole = last, True
        solved = time.perf_counter()
        if state.to_sink is None:
            state.to_sink = capacity_to_sink(state.views, 1)
        stats = {
            "augmentations": augmentations,
            "repaired": repaired + more,
            "strips": 0,
            "searched": 0,
            "threads": 1,
            "warm": True,
            "seconds": {"load": 0.0, "solve": solved - start, "value": time.perf_counter() - solved},
            "dtype": "int32",
            "unit": 1,
        }
        lazy = LazySolved(Solved(state.problem, state.views, grid, []), state)
        return Cut(state.to_sink + left, labels, "cpu", "ibfs", stats, lazy)


def is_ordinary(values, old: np.ndarray, pixels: np.ndarray) -> bool:
    """Whether new values are an array of the same type as the old ones, with one value per pixel."""
    is_array = type(values) is np.ndarray and values.dtype == old.dtype and values.shape == pixels.shape
    return is_array and values.flags.carray
