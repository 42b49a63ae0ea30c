"""max_flow: the minimum cut of a grid, from arrays to labels."""

import math
import time
from collections.abc import Mapping

import numpy as np

from gridcut import methods
from gridcut.core.cut import Cut, LazySolved, Solved
from gridcut.core.cut_capacity import cut_capacity, measure_cut
from gridcut.core.device_list import check_devices, choose_devices
from gridcut.core.float_refinement import check_finite, next_bound
from gridcut.core.grid import Grid
from gridcut.core.load import Reader, largest_capacities, load
from gridcut.core.problem import Problem, check_problem
from gridcut.core.units import LOSS
from gridcut.device import DeviceName
from gridcut.device.arguments import check_callback
from gridcut.device.arrays import to_library


def max_flow(
    source,
    sink,
    edges,
    *,
    mask=None,
    device: DeviceName = "auto",
    devices=None,
    method: str = "auto",
    callback=None,
    **parameters,
) -> Cut:
    """Minimum cut and maximum flow between a source and a sink over a grid of pixels or voxels.

    ::

                         edges[(-1, 0)][y, x]
                                  ▲
        edges[(0, -1)][y, x] ◄ (y, x) ► edges[(0, 1)][y, x]       source[y, x] ─► (y, x) ─► sink[y, x]
                                  ▼
                         edges[(1, 0)][y, x]

    Parameters
    ----------
    source, sink : array_like, one shape with 1, 2 or 3 axes (one of them may be a scalar)
        Capacity from the source to each pixel, and from each pixel to the sink.  In an energy: `source` is
        the cost of labelling a pixel False (sink side), `sink` the cost of True; ``inf`` forbids it.
    edges : mapping from offset to array_like
        Capacity from pixel p to p + offset, of the grid's shape or a scalar, such as
        ``{(0, 1): right, (1, 0): down}``.  An offset whose opposite is absent is undirected: the same
        capacity back.  Any offsets may be mixed.  Entries that point out of the grid are ignored.
    mask : ndarray of bool, the grid's shape, optional
        Pixels that take part; all capacities of the others and of arcs that touch them are ignored.
    device : {"auto", "cpu", "cuda"}
        An explicit device is obeyed or refused; "auto" takes a GPU when there is one.
    devices : list of int, optional
        Numbers of GPUs that share one grid, such as ``[0, 1]``: each takes a slab along the first axis (whole
        tiles of 32 rows or 4 planes; those too many are left out), loaded from arrays on the host, ``np.memmap``
        too.  A number may repeat.  For arcs to direct neighbours, and with "cuda" or "auto" for `device`.
        Value and labels are those of one GPU.
    method : str
        "auto", the fastest there is, or one of `gridcut.methods.METHODS`.
        "out_of_core" is for grids larger than memory: it keeps its state on disk and reads the capacities some lines of the
        first axis at a time, from memory-mapped files or whatever else has ``shape``, ``dtype`` and slices (zarr,
        h5py).  "auto" takes it for the latter, where one of its parameters is given, and on a CPU for memory-mapped
        arrays of grids that would not fit.
    callback : callable, optional
        Called now and then with a dict of counts; may raise to stop.
    **parameters
        Of the named method, e.g. ``order="highest"`` for "push_relabel".  Of "out_of_core": ``memory``, bytes or words such
        as "4 GB", what a solve may take, by default half of what is free; ``folder``, where the state is kept and from
        where a run that was killed goes on, by default a temporary one; ``labels``, a bool array to be written by
        lines, by default a file in the folder.

    Returns
    -------
    Cut
        ``value``, ``labels`` (True: source side) and more.

    Raises
    ------
    TypeError
        An argument of the wrong kind, or a parameter the method does not take.
    ValueError
        Wrong shapes; negative capacities or NaN; integers round a pixel adding up to 2^63 or more.  Infinite
        capacities all the way from the source to the sink (every cut is infinite), or floats that cannot be
        represented together.
    RuntimeError
        A device that cannot be had.
    MemoryError
        The GPU is too small; with `devices`, one of them.

    Notes
    -----
    Capacities are bool, uint8, uint16, int32, int64, float32 or float64 (int8, int16, uint32 and float16 are
    widened). Integers are exact.  If one array holds floats, all capacities are rounded down to multiples of
    one power of two, reported as ``stats["unit"]``, about 2^-60 of the largest sum round a pixel; the value is
    within one part in 10^9 of the minimum.  Floats may be infinite: no minimum cut has such a capacity, or
    ValueError is raised.  Infinite and huge ones are clamped to what no minimum cut can have either, so they
    take no precision from others.

    Arrays on a GPU (CuPy, PyTorch, numba: ``__cuda_array_interface__``) are read where they lie, and labels come
    back as an array of their library.  They must not be mixed with arrays on the host; scalars may.

    Time and memory are those of the method.  Every method takes 4 (1 + number of arcs) bytes a pixel for the
    grid, twice that for floats and where capacities round a pixel can reach 2^31; 20 bytes for 4 neighbours.

    References
    ----------
    Greig, Porteous, Seheult. "Exact maximum a posteriori estimation for binary images." JRSS B 1989.
    Each method's file names the source of its algorithm.

    Examples
    --------
    >>> import numpy as np
    >>> cut = max_flow(np.array([9, 4, 0]), np.array([0, 3, 9]), {(1,): 2})
    >>> cut.value, cut.labels
    (5, array([ True,  True, False]))
    """
    start = time.perf_counter()
    check_callback(callback)
    if devices is not None:
        devices = check_devices(devices, device, method)
    else:
        arrays = (source, sink, mask, *(edges.values() if isinstance(edges, Mapping) else ()))
        if methods.is_out_of_core(device, method, arrays, parameters):
            return methods.max_flow_out_of_core(source, sink, edges, mask, callback, **parameters)
    problem = check_problem(source, sink, edges, mask)
    if devices is not None:
        choose_devices(devices, device, method, problem, parameters)
        if problem.empty:
            return empty_cut(problem, "cuda", "tiles")
        from gridcut.tiles.slabs.slab_flow import max_flow_on_devices

        return max_flow_on_devices(problem, devices, parameters, callback)
    return cut_of(problem, *methods.choose(device, method, problem, parameters), parameters, callback, start)


def cut_of(problem: Problem, device: str, name: str, parameters: dict, callback, start: float) -> Cut:
    """The cut of a checked problem by a chosen method; `start`: since when its time counts."""
    if problem.empty:
        return empty_cut(problem, device, name)
    if device == "cuda":
        from gridcut.cuda.device_flow import max_flow_on_device

        return max_flow_on_device(problem, name, parameters, callback)
    seconds = dict.fromkeys(("load", "solve", "value"), 0.0)
    while True:
        grid, views = load(problem)
        problem = problem._replace(bound=views.bound)
        loaded = time.perf_counter()
        sink_side, stats = methods.METHODS[name].cpu(grid, callback, **parameters)
        solved = time.perf_counter()
        labels = labels_of(problem, grid, sink_side)
        value, bound = value_of(problem, views, labels, grid.unit)
        done = time.perf_counter()
        for phase, spent in zip(seconds, (loaded - start, solved - loaded, done - solved), strict=True):
            seconds[phase] += spent
        if bound is None:
            break
        problem, start = problem._replace(bound=bound), done
    stats = {**stats, "seconds": seconds, "dtype": grid.excess.dtype.name, "unit": grid.unit}
    return Cut(value, labels, device, name, stats, LazySolved(Solved(problem, views, grid, [])))


def value_of(problem: Problem, views: Reader, labels: np.ndarray, unit) -> tuple[int | float, float | None]:
    """The capacity of the cut, from the caller's arrays, and the bound for another solve if rounding lost too much."""
    if not problem.is_float:
        return cut_capacity(views, labels, False), None
    if problem.bound is None:
        value = cut_capacity(views, labels, True)
        if labels.size * (1 + views.layout.arcs) * unit <= LOSS * value < math.inf:
            return value, None  # the loss, less than a unit for every capacity, need not be summed
    cut = measure_cut(views, labels, unit)
    check_finite(cut.value, lambda: problem, lambda: labels)
    return cut.value, next_bound(cut, unit, lambda: largest_capacities(problem, views))


def labels_of(problem: Problem, grid: Grid, sink_side) -> np.ndarray:
    """True on the source side, in the grid's shape."""
    labels = np.empty(problem.shape, bool)
    np.equal(grid.layout.interior(sink_side), 0, out=labels)
    if problem.mask is not None:
        labels &= problem.mask
    return labels


def empty_cut(problem: Problem, device, method) -> Cut:
    """A grid without pixels: nothing to cut."""
    seconds = {"load": 0.0, "solve": 0.0, "value": 0.0}
    stats = {"seconds": seconds, "dtype": "int32", "unit": 1.0 if problem.is_float else 1}
    labels = to_library(np.zeros(problem.shape, bool), problem.library)
    nothing = np.zeros((), np.int32)
    kept = problem._replace(source=nothing, sink=nothing, edges=dict.fromkeys(problem.edges, nothing), mask=None)
    lazy = LazySolved(Solved(kept._replace(library=None), None, None, []), library=problem.library)
    return Cut(0.0 if problem.is_float else 0, labels, device, method, stats, lazy)
