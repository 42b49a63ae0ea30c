"""`max_flow_batch`: the minimum cuts of many grids of the same shape."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numba
import numpy as np
from numpy.typing import ArrayLike

from gridcut import methods
from gridcut.core.certificate import check_array
from gridcut.core.cut import Cut, LazySolved
from gridcut.core.problem import Problem, as_array, check_edges, check_mapping, check_mask, check_shape, finished
from gridcut.device import CertificateError, DeviceName, thread_count
from gridcut.device.arguments import INT64_MAX, check_callback
from gridcut.device.arrays import on_device, to_host, to_library
from gridcut.device.result import Result
from gridcut.maximum_flow import cut_of


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BatchCut(Result):
    """The minimum cuts of a batch: a sequence whose entry ``batch[i]`` is the `Cut` of item i.

    Attributes
    ----------
    values : ndarray, shape (items,)
        Values of the cuts: int64, or float64 for float capacities; Python integers if one does not fit into int64.
    labels : ndarray of bool, shape (items, *grid)
        As `Cut.labels`; an array of the caller's library on the GPU if the capacities are on the GPU.
    device, method : str
        Device and method that ran.
    stats : dict
        "items", "seconds" per phase, "dtype" and "unit" (the largest of all items).  ``batch[i].stats`` has the
        counters of an item.
    """

    values: np.ndarray
    labels: np.ndarray
    device: str
    method: str
    stats: dict
    _items: list[tuple[dict, LazySolved]] = field(repr=False)  # stats and solved state of each item
    _problem: Problem = field(repr=False)  # without its arrays

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, i: int) -> Cut:
        i = range(len(self))[i]
        value = self.values[i]
        if isinstance(value, np.generic):
            value = value.item()
        stats, solved = self._items[i]
        return Cut(value, self.labels[i], self.device, self.method, stats, solved)

    def check(self) -> None:
        """Certify that all cuts are minimal; raises CertificateError with the index of the item that fails."""
        exact = np.object_ if getattr(self.values, "dtype", None) == np.object_ else np.int64
        check_array("values", self.values, np.float64 if self._problem.is_float else exact, (len(self),))
        labels = to_host(self.labels)
        check_array("labels", labels, np.bool_, (len(self), *self._problem.shape))
        for i in range(len(self)):
            try:
                replace(self[i], labels=labels[i]).check()
            except CertificateError as error:
                raise CertificateError(f"item {i}: {error}") from error
        if self.values.dtype == np.object_ and max(self.values, default=0) <= INT64_MAX:
            raise CertificateError("values must be int64 unless one of them exceeds int64, got dtype object")


def max_flow_batch(
    source: ArrayLike,
    sink: ArrayLike,
    edges: Mapping,
    *,
    mask: ArrayLike | None = None,
    device: DeviceName = "auto",
    method: str = "auto",
    callback: Callable[[dict], None] | None = None,
    **parameters,
) -> BatchCut:
    """Compute the minimum cuts of many grids of the same shape: all together on a GPU, or one per thread on the CPU.

    Parameters
    ----------
    source, sink, edges, mask : as in `max_flow`
        Each array has the grid's shape, if all items share it, or a leading axis with one entry per item.  At
        least one array must have that axis.  The offsets determine the number of axes of the grid.
    device : {"auto", "cpu", "cuda"}
        As in `max_flow`.
    method : str
        As in `max_flow`.  On a GPU, "tiles" solves all items together and other methods solve one item after another.
    callback : callable, optional
        Called periodically with a dict of counters.  An exception raised by the callback stops the solve.
    **parameters
        Parameters of the named method.

    Returns
    -------
    BatchCut
        ``values``, ``labels`` and statistics; ``batch[i]`` is the `Cut` of item i.

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As `max_flow`; the message for an invalid capacity contains the index of its item.

    See Also
    --------
    max_flow : the minimum cut of one grid.

    Notes
    -----
    Float capacities of items that are solved together are rounded to a common unit.

    Examples
    --------
    >>> import numpy as np
    >>> source, sink = np.array([[9, 4, 0], [1, 0, 0]]), np.array([0, 3, 9])
    >>> batch = max_flow_batch(source, sink, {(1,): 2})
    >>> batch.values, batch.labels
    (array([5, 1]), array([[ True,  True, False],
           [False, False, False]]))
    """
    check_callback(callback)
    problem = check_batch(source, sink, edges, mask)
    ran_on, name = methods.choose(device, method, problem, parameters)
    if methods.works_on_tiles(name) and not problem.empty:
        from gridcut.cuda.device_flow import DeviceMethod, batch_on_device

        chosen = DeviceMethod(name, True, methods.METHODS[name].on("cuda").function, parameters)
        labels, values, stats, items = batch_on_device(problem, chosen, callback)
        stats["items"] = problem.items
        return BatchCut(_values(values, problem), labels, ran_on, name, stats, items, problem.bare())
    start = time.perf_counter()
    cuts, labels = _one_by_one(problem, (ran_on, name, parameters), callback)
    stats = {
        "items": problem.items,
        "seconds": {"solve": time.perf_counter() - start},
        "dtype": max((cut.stats["dtype"] for cut in cuts), default="int32"),
        "unit": max((cut.stats["unit"] for cut in cuts), default=1.0 if problem.is_float else 1),
    }
    values = _values([cut.value for cut in cuts], problem)
    items = [(cut.stats, cut._solved) for cut in cuts]
    return BatchCut(values, labels, ran_on, name, stats, items, problem.bare())


def _one_by_one(problem: Problem, chosen, callback):
    """Cuts of all items, and their labels in one array; on the CPU, one item per thread at a time."""
    ran_on, name, parameters = chosen
    items = range(problem.items or 0)
    labels = np.zeros((len(items), *problem.shape), np.bool_)
    threads = thread_count() if ran_on == "cpu" else 1
    workers = max(1, min(threads, len(items)))
    cuts = []

    def solve_item(i: int) -> Cut:
        try:
            cut = cut_of(problem.item(i), ran_on, name, parameters, None, time.perf_counter())
        except ValueError as error:
            raise ValueError(f"item {i}: {error}") from error
        if problem.library:
            return cut
        labels[i] = cut.labels
        return replace(cut, labels=labels[i])

    def finish(found) -> None:
        for cut in found:
            cuts.append(cut)
            if callback is not None:
                callback({"items": len(cuts)})

    if workers == 1:
        finish(map(solve_item, items))
    else:
        # numba keeps a separate number of threads for each calling thread.
        pool = ThreadPoolExecutor(workers, "cutmatch", numba.set_num_threads, (threads // workers,))
        try:
            finish(pool.map(solve_item, items))
        finally:
            pool.shutdown(cancel_futures=True)
    if problem.library:
        labels = _stacked([cut.labels for cut in cuts], problem)
    return cuts, labels


def _stacked(arrays: list, problem: Problem):
    """The labels of single items on a GPU as one array."""
    if not arrays:
        return to_library(np.zeros((0, *problem.shape), bool), problem.library)
    return to_library(np.stack([to_host(a) for a in arrays]), problem.library)


def _values(values: list, problem: Problem) -> np.ndarray:
    if problem.is_float:
        return np.array(values, np.float64)
    return np.array(values, np.int64 if max(values, default=0) <= INT64_MAX else object)


def check_batch(source, sink, edges, mask) -> Problem:
    """Check types and shapes of the arguments of `max_flow_batch`; raises TypeError or ValueError."""
    check_mapping(edges)
    source, sink = as_array("source", source), as_array("sink", sink)
    shapes = {"source": source.shape, "sink": sink.shape}
    shapes |= {f"edges[{key}]": _shape(value) for key, value in edges.items()}
    if mask is not None:
        shapes["mask"] = _shape(mask)
    axes = _axes(edges, shapes)
    if not 1 <= axes <= 3:
        raise ValueError(f"a grid must have 1, 2 or 3 axes; the offsets of edges have {axes}")
    grids = [shape for shape in shapes.values() if len(shape) in (axes, axes + 1)]
    items = next((shape[0] for shape in grids if len(shape) > axes), None)
    if items is None:
        raise ValueError(
            f"one of source, sink, edges and mask must have {axes + 1} axes, the first of them for the items; "
            f"their shapes are {', '.join(map(str, shapes.values()))}; use max_flow for a single grid"
        )
    shape = grids[0][-axes:]
    check_shape("source", source, shape, items)
    check_shape("sink", sink, shape, items)
    checked = check_edges(edges, shape, items)
    mask = None if mask is None else check_mask(mask, shape, items)
    return finished(Problem(shape, source, sink, checked, mask, is_float=False, items=items))


def _axes(edges, shapes: dict) -> int:
    """The number of axes of the grid."""
    for key in edges:
        return len(key) if isinstance(key, tuple | list | np.ndarray) else 1
    return max(map(len, shapes.values())) - 1


def _shape(value) -> tuple[int, ...]:
    if on_device(value):
        return tuple(value.shape)
    try:
        return np.shape(value)
    except ValueError:
        return ()  # ragged lists, which the check of the type rejects
