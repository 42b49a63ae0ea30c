"""Solver: many cuts of almost the same problem, each starting from the flow of the one before."""

import numpy as np

from gridcut import methods
from gridcut.core.cut import Cut
from gridcut.core.problem import Problem, as_array, check_edges, check_problem, check_shape
from gridcut.device import DeviceName
from gridcut.device.arguments import check_callback, plain_array
from gridcut.device.arrays import DeviceArray, to_host
from gridcut.maximum_flow import empty_cut


class Solver:
    """Solve, change some capacities, solve again: warm starts from the last flow, exact each time.

    Parameters
    ----------
    source, sink, edges, mask, device, method, **parameters
        As in `max_flow`.  The arrays are copied: later changes to the caller's own do not matter.  All
        solves run on the device chosen here.

    Notes
    -----
    A cut returned by `solve` can be asked for residuals, flows and its certificate until the next `update`;
    its value and labels are its own.  Memory: that of the method and one copy of all capacities.  Not for use
    by two threads at once; different solvers are independent.

    References
    ----------
    Kohli, Torr. "Dynamic graph cuts for efficient inference in Markov random fields." PAMI 29(12), 2007.

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

    def __init__(
        self,
        source,
        sink,
        edges,
        *,
        mask=None,
        device: DeviceName = "auto",
        method: str = "auto",
        **parameters,
    ):
        problem = check_problem(source, sink, edges, mask)
        self._method = method
        self._parameters = parameters
        self._device, name = methods.choose(device, method, problem, parameters)
        self._problem = problem._replace(source=None, sink=None, mask=None, edges=dict.fromkeys(problem.edges))
        self._state = None if problem.empty else _start(self._device, name, problem)

    def update(self, *, source=None, sink=None, edges=None, where=None) -> None:
        """Change capacities; what is not named stays.  All or nothing: on an error no capacity has changed.

        Parameters
        ----------
        source, sink : array_like, the grid's shape or a scalar, optional
            New capacities; only pixels that differ from the last ones cost more than a comparison.
        edges : mapping from offset to array_like, optional
            New capacities of some of the offsets the solver was made with.
        where : tuple of index arrays or ndarray of bool, optional
            The pixels that `source` and `sink` hold values for, in the form numpy takes as an index; then
            those are one-dimensional, or scalars.  Spares the comparison of whole arrays.

        Raises
        ------
        TypeError, ValueError
            As `max_flow`; also for an offset without edges so far, for float capacities where all were
            integers, and for `where` together with `edges`.
        """
        problem = self._problem
        if where is not None and edges is not None:
            raise ValueError("where chooses pixels of source and sink; pass edges in an update of their own")
        given = {}
        for name, values in (("source", source), ("sink", sink)):
            if values is not None:
                given[name] = as_array(name, values)
        for offset, array in check_edges({} if edges is None else edges, problem.shape).items():
            if offset not in problem.edges:
                known = ", ".join(map(str, problem.edges)) or "none"
                raise ValueError(f"edges: offset {offset} had no edges when the solver was made; it has {known}")
            given[offset] = array
        index = None if where is None else _raster_index(where, problem.shape)
        for key, array in given.items():
            name = key if isinstance(key, str) else f"edges[{key}]"
            if self._device == "cpu" and isinstance(array, DeviceArray):
                raise TypeError(f"{name} lies on the GPU, but this solver is on the CPU; copy it to the host first")
            if array.dtype.kind == "f" and not problem.is_float:
                raise TypeError(f"{name} must hold integers like the capacities so far, got {array.dtype}")
            check_shape(name, array, problem.shape if index is None else index.shape)
        if self._state is not None and given:
            self._state.update(given, index)

    def solve(self, *, method: str | None = None, callback=None, **parameters) -> Cut:
        """The minimum cut for the capacities as they are now.

        method, parameters: for this solve only, instead of those the solver was made with.
        """
        check_callback(callback)
        name = self._method if method is None else method
        if method is None:
            parameters = {**self._parameters, **parameters}
        _, name = methods.choose(self._device, name, self._problem, parameters)
        if self._state is None:
            return empty_cut(self._problem, self._device, name)
        return self._state.solve(name, parameters, callback)


def _start(device: str, method: str, problem: Problem):
    """The state of a solver, where its problem will be solved."""
    if device == "cuda":
        from gridcut.cuda.device_state import DeviceState

        return DeviceState(problem, methods.works_on_tiles(method))
    from gridcut.core.host_state import HostState

    return HostState(problem)


def _raster_index(where, shape) -> np.ndarray:
    """Numbers of the pixels that `where` chooses, in its order."""
    where = tuple(map(to_host, where)) if isinstance(where, tuple) else to_host(where)
    if isinstance(where, np.ndarray) and where.dtype == np.bool_:
        if where.shape != shape:
            raise ValueError(f"where must have the grid's shape {shape}, got shape {where.shape}")
        return np.flatnonzero(where)
    if not isinstance(where, tuple) or len(where) != len(shape):
        raise TypeError(f"where must be a bool array or a tuple of {len(shape)} index arrays, got {where!r:.60}")
    for axis, (index, length) in enumerate(zip(where, shape, strict=True)):
        index = plain_array("where", index)
        if index.dtype.kind not in "iu":
            raise TypeError(f"where must hold integers, got {index.dtype} for axis {axis}")
        if index.size and not (index.min() >= 0 and index.max() < length):
            raise ValueError(f"where must lie between 0 and {length - 1} on axis {axis}")
    try:
        return np.ravel_multi_index(where, shape).reshape(-1)
    except ValueError as error:
        raise ValueError("where: its index arrays must have one shape") from error
