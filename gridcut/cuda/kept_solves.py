"""Solves that are kept for the next problem of the same form: arrays on the GPU, and packed launches.

To allocate memory, describe a problem to the kernels and pack their arguments takes longer on the host than many small
grids on the GPU.  The next problem whose arrays have the same shapes and dtypes, and the same addresses if they are on
the GPU, is loaded and solved by the same launches.  A solve is kept after its cut, which may read the state, is gone.
"""

import threading
import weakref
from contextlib import suppress

from gridcut.core.problem import Problem
from gridcut.cuda.device_load import CapacityArrays, NumberTypes, State, StateLayout, by_arc
from gridcut.device.arrays import DeviceArray, clear, kept_objects
from gridcut.device.launch import recording

MOST_SOLVES = 4  # per GPU
BYTES_PER_NUMBER = 6  # of the excess, each arc and both terminals: about what the state and copies of host arrays take

_lock = threading.Lock()


class Solve:
    """A problem on the GPU: its bounds, its state, and what the solver may reuse."""

    def __init__(self, problem: Problem, layout: StateLayout, key: tuple | None):
        self._key, self._user = key, None
        self._state: State | None = None
        self._load = []
        self.warm = None
        self.capacities: CapacityArrays | None = CapacityArrays(problem, layout)
        self.capacities.upload()
        self._rows = self.capacities.given_rows()
        with recording() as self._find:
            self.capacities.find_largest(self._rows)

    def bounds(self) -> list:
        """Largest capacity of the source, of the sink and of each arc."""
        return by_arc(self.capacities.found_largest(self._rows), self.capacities.layout.flat.arcs)

    def again(self, problem: Problem) -> "Solve":
        """Start over with another problem."""
        self.capacities.replace(problem)
        self.capacities.clear_largest()
        for start in self._find:
            start()
        return self

    def load(self, number_types: NumberTypes) -> State:
        """The state of the problem, without a flow."""
        if self._state is None or self._state.number_types != number_types:
            self.warm = self._state = None  # frees their memory
            with recording() as self._load:
                self._state = self.capacities.fill(number_types)
            if self._key is None and type(number_types.unit) is int:
                self.capacities = None  # frees copies of host arrays; those of floats are needed again
        else:
            clear(self._state.sums)
            for start in self._load:
                start()
        return self._state

    def keep(self, user) -> None:
        """Keep the arrays for another problem, once `user` no longer exists."""
        if self._key is not None and self.capacities.keeps_copies:
            self.capacities.forget()
            self._user = weakref.ref(user)
            kept, _ = kept_objects()
            with _lock:
                kept.append(self)
                while len(kept) > MOST_SOLVES:
                    kept.popleft()


def begin(problem: Problem, layout: StateLayout) -> Solve:
    """A solve of this problem, a kept one if possible."""
    key = _key_of(problem, layout)
    if key is not None:
        kept, _ = kept_objects()
        with _lock:
            found = next((solve for solve in [*kept] if solve._key == key and solve._user() is None), None)
            with suppress(ValueError):  # dropped in the meantime
                kept.remove(found)
        if found is not None:
            return found.again(problem)
    return Solve(problem, layout, key)


def _key_of(problem: Problem, layout: StateLayout) -> tuple | None:
    """What problems that use the same launches have in common; None: the solve is not kept."""
    if layout.tiles is None or problem.is_float or problem.mask is not None:
        return None
    _, capacity = kept_objects()
    if layout.cells * BYTES_PER_NUMBER * (3 + layout.flat.arcs) * MOST_SOLVES > capacity:
        return None
    numbers: dict[int, int] = {}  # of arrays on the host: one that is passed twice is copied once
    arrays = tuple(_form_of(array, numbers) for _, array in problem.arrays())
    return problem.items, problem.shape, tuple(problem.edges), arrays


def _form_of(array, numbers: dict[int, int]) -> tuple:
    if isinstance(array, DeviceArray):
        return array.address, array.start, array.strides, array.dtype
    if array.ndim == 0:
        return array.dtype, array.item()
    return array.dtype, array.shape, numbers.setdefault(id(array), len(numbers))
