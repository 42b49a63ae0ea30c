"""solve_batch: many small assignment problems in one call, on all CPU cores or on a GPU."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assign.core.batch_certificate import GivenBatch
from assign.core.infeasible import InfeasibleError
from assign.core.problem import (
    DTYPES,
    as_array,
    as_floats,
    check_limit,
    check_sides,
    extremes,
    largest_limit,
    supported,
)
from assign.solving import solve
from gridcut.device import DeviceName, resolve, thread_count
from gridcut.device.arguments import INT64_MAX, check_count, check_switch
from gridcut.device.arrays import DeviceArray, on_device, return_as, to_host, to_library, upload, wrap_device_array
from gridcut.device.result import Result

# Costs on the host from which device="auto" uses a GPU.  Timed on an H200, transfers included: at least as fast as 16
# threads from this number on, and faster than one thread from a tenth of it.
GPU_MIN_COSTS = 1_000_000


@dataclass(frozen=True, eq=False, repr=False)
class BatchAssignment(Result):
    """The optimal assignments of a batch, with dual prices that certify them.

    Attributes
    ----------
    col_of_row : ndarray of int32, shape (B, n)
        Column of each row; -1 if the row is unmatched, outside the problem's true size, or in an infeasible problem.
    row_price, col_price : ndarray, shapes (B, n) and (B, m), int64 or float64
        Prices of each problem, as in `assign.Assignment`; 0 outside the true size.
    feasible : ndarray of bool, shape (B,)
        False if the forbidden pairs leave no assignment; other problems are not affected.
    device : str
        The device that was used.
    stats : dict
        Counters of the solver.

    Notes
    -----
    If the costs were on a GPU, all arrays are GPU arrays of the same library.  The result keeps references to the
    arguments; `pickle` and `copy.deepcopy` copy them too, to the host.
    """

    col_of_row: np.ndarray
    row_price: np.ndarray
    col_price: np.ndarray
    feasible: np.ndarray
    device: str
    stats: dict
    _given: GivenBatch = field(repr=False)
    _library: str | None = field(repr=False)

    def __len__(self) -> int:
        return len(self.feasible)

    @cached_property
    def cost(self):
        """Sum of the caller's costs over the pairs of each problem, shape (B,), int64 or float64; 0 if infeasible."""
        return to_library(self._given.totals(to_host(self.col_of_row)), self._library)

    def check(self) -> None:
        """Certify that every assignment is optimal, or its problem infeasible, from the fields and the caller's costs.

        Raises
        ------
        CertificateError
            If an item is inconsistent with the costs; the message names the item.

        Notes
        -----
        The check is exact for integers; see `assign.core.certificate` for floats.  It reads the costs again, so costs
        that were modified since the solve are certified as they are now, or rejected.  Costs on a GPU are copied to
        the host.
        """
        self._given.certify(self)

    def _portable(self):
        kind, values = super()._portable()
        return kind, [*values[:-1], None]


def solve_batch(
    costs: Any,
    *,
    rows: ArrayLike | None = None,
    cols: ArrayLike | None = None,
    maximize: bool = False,
    max_cost: ArrayLike | None = None,
    device: DeviceName = "auto",
    threads: int | None = None,
) -> BatchAssignment:
    """Solve many linear assignment problems exactly in one call.

    Parameters
    ----------
    costs : array_like (B, n, m), or a sequence of B matrices of any sizes
        Costs as in `assign.solve`.  Float costs of +inf forbid a pair (-inf if `maximize`).
    rows, cols : array_like of int (B,), optional
        True number of rows and columns of each problem.  Costs outside the true size are never read.
    maximize : bool
        If True, maximise the total costs instead.
    max_cost : number, or array_like (B,) or (B, n), optional
        Cost of leaving a row unmatched, as in `assign.solve`: for all rows, per problem, or per row.
    device : {"auto", "cpu", "cuda"}
        "auto" uses a GPU for large batches if one is available; "cpu" and "cuda" select that device or raise.
    threads : int, optional
        Number of CPU threads; numba's number of threads by default.

    Returns
    -------
    BatchAssignment
        Infeasible problems are marked in ``feasible`` and do not raise.

    Raises
    ------
    TypeError, ValueError
        As in `assign.solve`.
    RuntimeError
        If the requested device is not available.
    MemoryError
        If the batch does not fit into GPU memory.

    See Also
    --------
    solve : one problem, with a choice of methods.

    Notes
    -----
    On the CPU, one thread solves each problem; on a GPU, one thread block.  O(n^2 m) per problem.  Arrays on a GPU
    are read in place, and the results stay on the GPU; for int32 costs without `max_cost`, the call returns without
    waiting for them.

    On a GPU, matrices of more than 2048 rows or columns (1536 with `max_cost`), and matrices whose costs differ too
    much in magnitude for the block's integers, are solved one after the other, each by `solve` on that GPU.
    device="auto" solves large matrices from the host on the CPU.

    References
    ----------
    .. [1] Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems."
       Computing 38, 1987.

    Examples
    --------
    >>> solve_batch([[[4, 1], [2, 0]], [[1, 2], [1, 5]]]).col_of_row
    array([[1, 0],
           [1, 0]], dtype=int32)
    """
    maximize = check_switch("maximize", maximize)
    threads = None if threads is None else min(check_count("threads", threads), thread_count())
    given = GivenBatch(costs, rows, cols, max_cost, maximize)
    if on_device(costs):
        return _on_device(given, device)
    costs, rows, cols = _stacked(costs, rows, cols)
    items, n, m = costs.shape
    rows, cols = _sizes("rows", rows, items, n), _sizes("cols", cols, items, m)
    limit = _limits(max_cost, items, n)
    real = np.result_type(costs.dtype, np.int64 if limit is None else limit.dtype)
    if real.kind == "f" and costs.dtype.kind == "i":
        as_floats(_inside(costs, rows, cols))
        costs = costs.astype(np.float64)
    _check_values(costs, rows, cols, limit, maximize)
    ran_on = resolve(device)
    if device == "auto" and (costs.size < GPU_MIN_COSTS or (ran_on == "cuda" and _is_too_large(n, m, limit))):
        ran_on = "cpu"
    work = np.negative(costs, dtype=_negative_kind(costs)) if maximize else np.ascontiguousarray(costs)
    limit = (
        None
        if limit is None
        else (-limit if maximize else limit).astype(np.int64 if work.dtype.kind == "i" else np.float64)
    )
    if ran_on == "cpu":
        from assign.batch import batch

        col_of_row, u, v, status, stats = batch.solve(work, rows=rows, cols=cols, limit=limit, threads=threads)
    else:
        found, stats = _on_gpu(work, rows, cols, limit)
        col_of_row, u, v, status = map(to_host, found)
    if maximize:
        u, v = -u, -v
    return BatchAssignment(col_of_row, u, v, status == 0, ran_on, stats, given, None)


def _on_device(given: GivenBatch, device) -> BatchAssignment:
    """Solve costs on a GPU, without checking their values: that would wait for the GPU."""
    costs, rows, cols, max_cost, maximize = given.costs, given.rows, given.cols, given.max_cost, given.maximize
    if resolve("cuda" if device == "auto" else device) == "cpu":
        raise TypeError("costs are on the GPU, but device='cpu' was requested; copy them to the host first")
    if maximize:
        raise ValueError("maximize=True requires costs on the host; negate costs that are on the GPU")
    array = wrap_device_array("costs", costs)
    if len(array.shape) != 3 or array.dtype not in DTYPES:
        names = ", ".join(t.name for t in DTYPES)
        raise ValueError(f"costs must be (B, n, m) of {names}; got shape {array.shape}, dtype {array.dtype}")
    items, n, m = array.shape
    rows, cols = (_sizes(name, a, items, s) for name, a, s in (("rows", rows, n), ("cols", cols, m)))
    limit = _limits(max_cost, items, n)
    if limit is not None and array.dtype.kind == "i":
        if limit.dtype.kind == "f":
            raise ValueError("max_cost must be integers for integer costs on the GPU; pass float costs instead")
        _check_integers(array.shape, largest_limit(limit))
    elif limit is not None:
        limit = limit.astype(np.float64)
    (*found, status), stats = _on_gpu(array, rows, cols, limit)
    library = array.library
    col_of_row, u, v = (return_as(a, library) for a in found)
    feasible = (
        return_as(status, library) == 0 if library in ("cupy", "torch") else to_library(to_host(status) == 0, library)
    )
    return BatchAssignment(col_of_row, u, v, feasible, "cuda", stats, given, library)


def _is_too_large(n: int, m: int, limit) -> bool:
    """Whether a GPU would solve the matrices one after the other."""
    from assign.batch import batch_cuda

    return batch_cuda.is_too_large(n, m, limit is not None)


def _on_gpu(costs, rows, cols, limit):
    """col_of_row, u, v and status on the GPU, and counters."""
    from assign.batch import batch_cuda

    *found, stats = batch_cuda.solve(costs, rows=rows, cols=cols, limit=limit)
    left = batch_cuda.left_over(found[-1], costs, limit is not None)
    if left.size:
        shapes = [a.shape for a in found]
        found = [to_host(a) for a in found]
        _solve_alone(left, costs, rows, cols, limit, found)
        found = [upload(a).reshape(shape) for a, shape in zip(found, shapes, strict=True)]
    stats["alone"] = len(left)
    return found, stats


def _solve_alone(items, costs, rows, cols, limit, found) -> None:
    """Solve some items one by one on the GPU, and write them to `found`: col_of_row, u, v and status on the host."""
    col_of_row, u, v, status = found
    for k in items:
        n = costs.shape[1] if rows is None else rows[k]
        m = costs.shape[2] if cols is None else cols[k]
        cost = costs[k].host() if isinstance(costs, DeviceArray) else costs[k]
        own_limit = None if limit is None else limit[k, :n]
        col_of_row[k], u[k], v[k], status[k] = -1, 0, 0, 0
        try:
            one = solve(cost[:n, :m], max_cost=own_limit, method="auction", device="cuda")
        except InfeasibleError:
            status[k] = 1
            continue
        u[k, :n], v[k, :m] = one.row_price, one.col_price
        col_of_row[k, one.row] = one.col


def _stacked(costs, rows, cols):
    """Stack matrices into one array; also their true sizes if they differ."""
    if not isinstance(costs, np.ndarray) and isinstance(costs, Sequence):
        matrices = [as_array(f"costs[{k}]", c) for k, c in enumerate(costs)]
        if not matrices:
            return np.zeros((0, 0, 0)), rows, cols
        if len({c.shape for c in matrices}) > 1 and all(c.ndim == 2 for c in matrices):
            if rows is not None or cols is not None:
                raise ValueError(
                    "rows and cols follow from matrices of different sizes; omit them, or pass one array of costs"
                )
            rows = np.array([c.shape[0] for c in matrices])
            cols = np.array([c.shape[1] for c in matrices])
            stacked = np.zeros((len(matrices), rows.max(), cols.max()), np.result_type(*matrices))
            for slot, c in zip(stacked, matrices, strict=True):
                slot[: c.shape[0], : c.shape[1]] = c
            costs = stacked
        else:
            costs = matrices
    try:
        array = as_array("costs", costs)
    except TypeError as error:
        if "masked" in str(error):
            raise
        raise TypeError("costs must be an array (B, n, m), or a sequence of matrices") from error
    if array.ndim != 3:
        raise ValueError(f"costs must have 3 axes, (B, n, m), got shape {array.shape}")
    check_sides("each of costs", array.shape[1:])
    return supported("costs", array), rows, cols


def _sizes(name: str, sizes, items: int, side: int) -> np.ndarray | None:
    if sizes is None:
        return None
    sizes = as_array(name, to_host(sizes))
    if sizes.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, got dtype {sizes.dtype}")
    if sizes.shape != (items,) or (items and not (sizes.min() >= 0 and sizes.max() <= side)):
        raise ValueError(f"{name} must be {items} integers in 0 ... {side}, one per matrix; got {sizes!r:.60}")
    return sizes.astype(np.int32)


def _limits(max_cost, items: int, n: int) -> np.ndarray | None:
    if max_cost is None:
        return None
    array = as_array("max_cost", to_host(max_cost))
    if array.shape not in ((), (items,), (items, n)):
        raise ValueError(f"max_cost must be a number, or one per matrix or row; got shape {array.shape}")
    array = array[:, None] if array.ndim == 1 else array
    limit = check_limit(np.broadcast_to(array, (items, n)).reshape(-1), items * n)
    return None if limit is None else limit.reshape(items, n)


def _check_values(costs, rows, cols, limit, maximize: bool) -> None:
    """Raise ValueError for NaN, wrong infinities and large integers inside the true sizes, and large limits."""
    inside = costs[:0] if costs.dtype == np.int32 else _inside(costs, rows, cols)  # all int32 values are valid
    low, high = extremes(inside, maximize, False)
    largest = max(abs(low), abs(high), largest_limit(limit), 2**31 if costs.dtype == np.int32 else 0)
    if costs.dtype.kind == "i":
        _check_integers(costs.shape, largest)


def _inside(costs, rows, cols) -> np.ndarray:
    """The costs inside the true sizes."""
    if rows is None and cols is None:
        return costs
    _, n, m = costs.shape
    inside = np.ones(costs.shape, bool)
    if rows is not None:
        inside &= (np.arange(n) < rows[:, None])[:, :, None]
    if cols is not None:
        inside &= (np.arange(m) < cols[:, None])[:, None, :]
    return costs[inside]


def _check_integers(shape, largest: int | float) -> None:
    """Raise ValueError if sums of these integers along a path might leave int64."""
    bound = INT64_MAX // (4 * (sum(shape[1:]) + 1))
    if largest > bound:
        raise ValueError(
            f"costs and max_cost must be at most {bound} in absolute value, so that prices fit int64; got {largest}"
        )


def _negative_kind(costs) -> np.dtype:
    if costs.dtype == np.int32 and costs.size and costs.min() == -(2**31):
        return np.dtype(np.int64)
    return costs.dtype
