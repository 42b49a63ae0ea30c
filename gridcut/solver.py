"""`Solver`: a sequence of similar minimum-cut problems, each solved from the flow of the one before."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from gridcut import methods
from gridcut.core.cut import Cut, empty_cut
from gridcut.core.problem import Offset, Problem, as_array, check_edges, check_problem, check_shape
from gridcut.device import DeviceName, resolve
from gridcut.device.arguments import check_callback, one_at_a_time
from gridcut.device.arrays import DeviceArray, to_host


class Solver:
    """Solve a sequence of similar minimum-cut problems, warm-starting each solve from the previous flow.

    Every result is exact.

    Parameters
    ----------
    source, sink, edges, mask, device, method, **parameters
        As in `max_flow`.  The arrays are copied, so later changes of the caller's arrays have no effect.  All
        solves run on the device that is chosen here.

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As `max_flow`.

    See Also
    --------
    max_flow : the minimum cut of one grid.

    Notes
    -----
    Residuals, flow and certificate of a cut are available until the next `update` or `solve`; its value and labels
    remain valid.  A solver pays if edges stay and terminals change, the more so the fewer.  If many edges change, as
    between frames of a video, each solve starts cold and `max_flow` is as fast.

    Memory: that of the method, and one copy of all capacities.

    An interrupt of `update` changes all capacities or none.  After an interrupt of `solve`, or an error that the
    callback raises, the next solve starts from the flow found so far if it is valid, else cold.  Copies and pickles are
    independent: they have the capacities, without the flow.  A solver that another thread is using raises RuntimeError;
    different solvers are independent.

    References
    ----------
    .. [1] Kohli, Torr. "Dynamic graph cuts for efficient inference in Markov random fields." PAMI 29(12), 2007.

    Examples
    --------
    >>> import numpy as np
    >>> solver = Solver(np.array([9, 4, 0]), np.array([0, 3, 9]), {(1,): 2})
    >>> solver.solve().value
    5
    >>> solver.update(edges={(1,): 0})
    >>> solver.solve().value
    3
    """

    _is_running = False  # see one_at_a_time

    def __init__(
        self,
        source: ArrayLike,
        sink: ArrayLike,
        edges: Mapping,
        *,
        mask: ArrayLike | None = None,
        device: DeviceName = "auto",
        method: str = "auto",
        **parameters,
    ):
        problem = check_problem(source, sink, edges, mask)
        self._parameters = parameters
        self._device, self._method = methods.choose(device, method, problem, parameters)
        self._problem = problem.bare()
        self._state = _start(self._device, self._method, problem)

    @one_at_a_time
    def update(
        self,
        *,
        source: ArrayLike | None = None,
        sink: ArrayLike | None = None,
        edges: Mapping | None = None,
        where: tuple | ArrayLike | None = None,
    ) -> None:
        """Change some capacities; the others keep their values.  If an error is raised, no capacity has changed.

        If many edges change, the CPU loads the grid again, and the next solve starts cold: repairing the flow would
        take longer than it saves.

        Parameters
        ----------
        source, sink : array_like, the grid's shape or a scalar, optional
            New capacities.  Pixels whose capacity is unchanged cost one comparison each.
        edges : mapping from offset to array_like, optional
            New capacities of some of the offsets that the solver was created with.
        where : tuple of index arrays or ndarray of bool, optional
            Index of the pixels for which `source` and `sink` hold values, in a form that indexes a numpy array;
            `source` and `sink` are then one-dimensional, or scalars.  This avoids comparing whole arrays.

        Raises
        ------
        TypeError, ValueError
            As `max_flow`; also for an offset that had no edges, for float capacities if all were integers
            before, and for `where` together with `edges`.
        """
        problem = self._problem
        if where is not None and edges is not None:
            raise ValueError("where selects pixels of source and sink only; pass edges in a separate update")
        given: dict[str | Offset, np.ndarray | DeviceArray] = {}
        for name, values in (("source", source), ("sink", sink)):
            if values is not None:
                given[name] = as_array(name, values)
        for offset, array in check_edges({} if edges is None else edges, problem.shape).items():
            if offset not in problem.edges:
                known = ", ".join(map(str, problem.edges)) or "none"
                raise ValueError(f"edges: offset {offset} had no edges when the solver was created; it has {known}")
            given[offset] = array
        index = None if where is None else _raster_index(where, problem.shape)
        for key, array in given.items():
            name = key if isinstance(key, str) else f"edges[{key}]"
            if self._device == "cpu" and isinstance(array, DeviceArray):
                raise TypeError(f"{name} is on the GPU, but this solver is on the CPU; copy it to the host first")
            if array.dtype.kind == "f" and not problem.is_float:
                raise TypeError(f"{name} must hold integers like the capacities so far, got {array.dtype}")
            check_shape(name, array, problem.shape if index is None else index.shape)
        if given:
            self._state.update(given, index)

    @one_at_a_time
    def solve(self, *, callback: Callable[[dict], None] | None = None) -> Cut:
        """Compute the minimum cut for the current capacities.

        Parameters
        ----------
        callback : callable, optional
            As in `max_flow`.

        Returns
        -------
        Cut
            ``stats["warm"]`` reports whether the solve started from the previous flow.
        """
        if callback is not None:
            check_callback(callback)
        return self._state.solve(self._method, self._parameters, callback)

    @one_at_a_time
    def __getstate__(self) -> dict:
        """What copies and pickles hold: everything, with the capacities on the host instead of the state."""
        return {**self.__dict__, "_state": self._state.capacities(), "_is_running": False}

    def __setstate__(self, values: dict) -> None:
        self.__dict__.update(values)
        device = self._device if self._state.empty else resolve(self._device)  # the GPU may be missing here
        self._state = _start(device, self._method, self._state)


class EmptyState:
    """The state of a solver whose grid has no pixels."""

    def __init__(self, device: str, problem: Problem):
        self.device, self.problem = device, problem.bare()

    def capacities(self) -> Problem:
        return self.problem

    def update(self, given: dict, index: np.ndarray | None) -> None:
        """No pixel changes."""

    def solve(self, name: str, parameters: dict, callback) -> Cut:
        return empty_cut(self.problem, self.device, name)


def _start(device: str, method: str, problem: Problem):
    """The state of a solver, on the device where its problem will be solved."""
    if problem.empty:
        return EmptyState(device, problem)
    if device == "cuda":
        from gridcut.solver_states.device_state_cuda import DeviceState

        return DeviceState(problem, methods.works_on_tiles(method))
    from gridcut.solver_states.host_state import HostState

    return HostState(problem)


def _raster_index(where, shape) -> np.ndarray:
    """Raster indices of the pixels that `where` selects, in its order."""
    where = tuple(map(to_host, where)) if isinstance(where, tuple) else to_host(where)
    if isinstance(where, np.ndarray) and where.dtype == np.bool_:
        if where.shape != shape:
            raise ValueError(f"where must have the grid's shape {shape}, got shape {where.shape}")
        return np.flatnonzero(where)
    if not isinstance(where, tuple) or len(where) != len(shape):
        raise TypeError(f"where must be a bool array or a tuple of {len(shape)} index arrays, got {where!r:.60}")
    try:
        return np.ravel_multi_index(where, shape).reshape(-1)
    except (TypeError, ValueError) as error:
        raise type(error)(f"where must be index arrays of one shape within the grid {shape}; {error}") from error
