"""`max_flow`: the minimum cut of one grid, from arrays to labels."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from numpy.typing import ArrayLike

from gridcut import methods
from gridcut.core.cut import Cut, LazySolved, Solved, empty_cut, labels_and_value
from gridcut.core.load import LoadedGrid, load
from gridcut.core.problem import Problem, check_problem
from gridcut.core.solve_exactly import Clock, solve_exactly
from gridcut.device import DeviceName, resolve
from gridcut.device.arguments import check_callback
from gridcut.ibfs.small_grid import solve_small_grid


def max_flow(
    source: ArrayLike,
    sink: ArrayLike,
    edges: Mapping,
    *,
    mask: ArrayLike | None = None,
    device: DeviceName = "auto",
    devices: Sequence[int] | Literal["all"] | None = None,
    method: str = "auto",
    callback: Callable[[dict], None] | None = None,
    **parameters,
) -> Cut:
    """Compute the minimum cut and maximum flow between a source and a sink over a grid of pixels or voxels.

    ::

                         edges[(-1, 0)][y, x]
                                  ▲
        edges[(0, -1)][y, x] ◄ (y, x) ► edges[(0, 1)][y, x]       source[y, x] ─► (y, x) ─► sink[y, x]
                                  ▼
                         edges[(1, 0)][y, x]

    Parameters
    ----------
    source, sink : array_like, the same shape with 1, 2 or 3 axes (one of them may be a scalar)
        Capacity from the source to each pixel, and from each pixel to the sink.  In an energy, `source` is
        the cost of labelling a pixel False (sink side) and `sink` the cost of True; ``inf`` forbids a label.
    edges : mapping from offset to array_like
        Capacity from pixel p to p + offset, of the grid's shape or a scalar, such as
        ``{(0, 1): right, (1, 0): down}``.  An offset whose opposite is absent is undirected: the opposite arc has the
        same capacity.  Any offsets may be combined.  Entries that point out of the grid are ignored.
    mask : array_like of bool, the grid's shape, optional
        Pixels that take part.  The capacities of all other pixels and of arcs incident to them are ignored.
    device : {"auto", "cpu", "cuda"}
        "auto" uses a GPU if one is available; "cpu" and "cuda" select that device or raise RuntimeError.
    devices : list of int or "all", optional
        Indices of the GPUs that share one grid, such as ``[0, 1]``; an index may repeat.  Each GPU holds a slab along
        the first axis, in whole tiles of 32 rows or 4 planes, loaded from host arrays (including ``np.memmap``).
        Surplus GPUs are not used.  Requires arcs to direct neighbours, and "cuda" or "auto" for `device`.
        Value and labels equal those of a single GPU.
    method : str
        "auto", the fastest method for the device and the grid, or one of `gridcut.methods.METHODS`.
    callback : callable, optional
        Called periodically with a dict of counters.  An exception raised by the callback stops the solve.
    **parameters
        Parameters of the named method, e.g. ``order="highest"`` of "push_relabel": see docs/algorithms/max-flow.md.

    Returns
    -------
    Cut
        ``value``, ``labels`` (True: source side), statistics, and methods for residuals, flow and certificate.

    Raises
    ------
    TypeError
        If an argument has the wrong type, or the method does not accept a parameter.
    ValueError
        If shapes do not match, if a capacity is negative or NaN, or if integer capacities incident to a pixel sum to
        2^63 or more.  If infinite capacities lead from the source to the sink (every cut is infinite), or if float
        capacities differ too much in magnitude to be represented together.
    RuntimeError
        If the requested device is not available, or one of `devices` fails.
    MemoryError
        If the GPU, or one of `devices`, has too little memory.

    See Also
    --------
    max_flow_batch : the minimum cuts of many grids of the same shape.
    Solver : repeated solves after changes of some capacities.

    Notes
    -----
    Capacities are bool, uint8, uint16, int32, int64, float32 or float64; int8, int16, uint32 and float16 are
    converted to a wider type.  Integers are exact.  If one array is of floats, all capacities are rounded down to
    multiples of a power of two, ``stats["unit"]``, which is about 2^-60 of the largest sum of capacities incident to a
    pixel; the value is within one part in 10^9 of the minimum.  Float capacities may be infinite, since a minimum cut
    contains no such capacity (otherwise ValueError is raised).  Infinite and huge capacities are clamped to a bound
    that no minimum cut can exceed either, so they do not reduce the precision of the others.

    Arrays on a GPU (CuPy, PyTorch, numba: ``__cuda_array_interface__``) are read in place, and labels are returned as
    an array of the same library.  They cannot be combined with arrays on the host, except scalars.

    Time and memory are those of the method.  Every method needs 4 (1 + number of arcs) bytes per pixel for the grid,
    i.e. 20 bytes with 4 neighbours, and twice that for floats or if the capacities incident to a pixel can sum to 2^31.

    References
    ----------
    .. [1] Greig, Porteous, Seheult. "Exact maximum a posteriori estimation for binary images." JRSS B 1989.

    The file of each method cites the source of its algorithm.

    Examples
    --------
    >>> import numpy as np
    >>> cut = max_flow(np.array([9, 4, 0]), np.array([0, 3, 9]), {(1,): 2})
    >>> cut.value, cut.labels
    (5, array([ True,  True, False]))
    """
    start = time.perf_counter()
    if mask is devices is callback is None and not parameters and is_default(device, method):
        cut = solve_small_grid(source, sink, edges, start)
        if cut is not None:
            return cut
    check_callback(callback)
    if devices is not None:
        from gridcut.device_list import check_devices, choose_devices

        numbers = check_devices(devices, device, method)
        problem = check_problem(source, sink, edges, mask)
        numbers = choose_devices(numbers, device, method, problem, parameters)
        if problem.empty:
            return empty_cut(problem, "cuda", "tiles")
        from gridcut.tiles.slabs.slabs import max_flow_on_devices

        return max_flow_on_devices(problem, numbers, parameters, callback)
    problem = check_problem(source, sink, edges, mask)
    return cut_of(problem, *methods.choose(device, method, problem, parameters), parameters, callback, start)


def is_default(device, method) -> bool:
    """Whether a small grid may take the fast path (small_grid.py) as far as these arguments are concerned."""
    is_known = type(device) is type(method) is str and method in ("auto", "ibfs") and device in ("auto", "cpu")
    return is_known and resolve(device) == "cpu"


def cut_of(problem: Problem, device: str, name: str, parameters: dict, callback, start: float) -> Cut:
    """The cut of a checked problem by the method `name`; `start`: the perf_counter() from which time is measured."""
    if problem.empty:
        return empty_cut(problem, device, name)
    if device == "cuda":
        from gridcut.cuda.device_flow import DeviceMethod, max_flow_on_device

        method = DeviceMethod(name, methods.works_on_tiles(name), methods.METHODS[name].on("cuda").function, parameters)
        return max_flow_on_device(problem, method, callback)
    solver = methods.METHODS[name].on("cpu").function

    def load_grid(bound):
        return load(problem._replace(bound=bound))

    def solve(state: LoadedGrid):
        return solver(state.grid, callback=callback, **parameters)

    def value(state: LoadedGrid, sink_side):
        return labels_and_value(problem, state.views, state.grid, sink_side)

    found = solve_exactly(load_grid, solve, value, Clock(start))
    grid, views = found.state
    solved = Solved(problem._replace(bound=views.bound), views, grid, [])
    return Cut(found.value, found.labels, device, name, found.stats, LazySolved(solved))
