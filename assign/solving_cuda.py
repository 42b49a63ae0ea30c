"""`assign.solve` on a GPU: from host or GPU costs to a result in host arrays or GPU arrays of the caller's library.

A GPU matrix is copied only if it is not in C order, has more rows than columns, or is to be maximised.
"""

import time
from dataclasses import replace

import numpy as np

from assign.assignment import Assignment, pack
from assign.core.given import Given
from assign.core.infeasible import InfeasibleError
from assign.core.problem import Dense, Problem, largest_limit
from assign.core.start import fitted
from gridcut.device.arguments import INT64_MAX
from gridcut.device.arrays import DeviceArray, allocate, download, refusing, synchronize, to_library, upload
from gridcut.device.cuda import SIMULATED, cuda, cuda_kernel
from gridcut.device.cuda_types import float64, int64
from gridcut.device.launch import launch

BLOCKS, THREADS = (1, 32) if SIMULATED else (1024, 256)
NAN, INFINITE, LOW, HIGH = range(4)  # positions in `found` of the bounds kernels


@cuda_kernel
def copy_kernel(data, start, row_stride, col_stride, n, m, factor, out):
    """out[i * m + j] = factor times the cost at row i, column j."""
    t = np.int64(cuda.grid(1))
    while t < n * m:
        out[t] = factor * data[start + t // m * row_stride + t % m * col_stride]
        t += cuda.gridsize(1)


@cuda_kernel
def bounds_kernel(data, found):
    """found[LOW], found[HIGH] = minimum and maximum of 0 and the integers."""
    t = np.int64(cuda.grid(1))
    low, high = np.int64(0), np.int64(0)
    while t < data.size:
        low = min(low, np.int64(data[t]))
        high = max(high, np.int64(data[t]))
        t += cuda.gridsize(1)
    cuda.atomic.min(found, LOW, low)
    cuda.atomic.max(found, HIGH, high)


@cuda_kernel
def float_bounds_kernel(data, found, largest):
    """found[NAN], found[INFINITE] = number of NaN and of -inf; largest[0] = the largest finite absolute value."""
    t = np.int64(cuda.grid(1))
    high = 0.0
    while t < data.size:
        value = float64(data[t])
        if value != value:
            cuda.atomic.add(found, NAN, int64(1))
        elif value == -np.inf:
            cuda.atomic.add(found, INFINITE, int64(1))
        elif value < np.inf:
            high = max(high, abs(value))
        t += cuda.gridsize(1)
    cuda.atomic.max(largest, 0, high)


@cuda_kernel
def pair_kernel(data, m, col_of_row, out):
    """out[i] = cost of the pair of row i, 0 if unmatched."""
    i = np.int64(cuda.grid(1))
    if i < out.size:
        j = col_of_row[i]
        out[i] = data[i * m + j] if j >= 0 else data.dtype.type(0)


def solve_on_device(
    problem: Problem, given: Given, name: str, solve, parameters: dict, callback, start, begin
) -> Assignment:
    """Solve a validated problem that has at least one row and one column."""
    synchronize()  # the caller's library may still be writing its arrays
    with refusing():
        cost = _ordered(problem)
        negate = problem.negated and problem.library is not None  # host costs are already negated
        if negate and cost.dtype == np.int32:
            _reject_minimum(cost)
        if negate:
            cost = _copied(cost, cost.shape, cost.strides, -1)
        largest = _largest(cost, problem.negated)
        limited = problem.limit is not None
        problem = problem._replace(
            costs=Dense(cost), largest=max(largest, largest_limit(problem.limit)), largest_cost=largest
        )
        start = fitted(start, cost.shape, largest, limited)
        ready = time.perf_counter()
        try:
            col, u, v, stats = solve(problem.costs, problem.limit, start, callback, **parameters)
        except InfeasibleError as error:
            raise (error.transposed() if problem.transposed else error) from None
        (paid,) = allocate((cost.shape[0], cost.dtype))
        launch(pair_kernel, -(-cost.shape[0] // THREADS), THREADS, cost.data, np.int64(cost.shape[1]), col, paid)
        paid, col, u, v = (download(a) for a in (paid, col, u, v))
    solved = time.perf_counter()
    stats = {**stats, "seconds": {"load": ready - begin, "solve": solved - ready}}
    sign = -1 if problem.negated else 1
    total = sign * (float(paid.sum(dtype=np.float64)) if paid.dtype.kind == "f" else int(paid.sum(dtype=np.int64)))
    found = pack(problem, given, col, u, v, "cuda", name, stats, cost=total)
    return with_library_arrays(found, problem.library)


def _ordered(problem: Problem) -> DeviceArray:
    """Costs in C order on the GPU, with no more rows than columns."""
    cost = problem.costs.cost
    if not isinstance(cost, DeviceArray):
        n, m = cost.shape
        return DeviceArray(upload(cost), 0, (m, 1), (n, m), cost.dtype, "numba")
    strides = cost.strides[::-1] if problem.transposed else cost.strides
    n, m = cost.shape[::-1] if problem.transposed else cost.shape
    if strides == (m, 1) or n * m == 1:
        data = cost.data[cost.start : cost.start + n * m]
        return DeviceArray(data, 0, (m, 1), (n, m), cost.dtype, cost.library)
    return _copied(cost, (n, m), strides, 1)


def _copied(cost: DeviceArray, shape, strides, factor: int) -> DeviceArray:
    """A C-ordered copy, times a factor; exchanged shape and strides transpose it."""
    n, m = shape
    (data,) = allocate((n * m, cost.dtype))
    sizes = (np.int64(cost.start), *(np.int64(s) for s in strides), np.int64(n), np.int64(m))
    launch(copy_kernel, BLOCKS, THREADS, cost.data, *sizes, cost.dtype.type(factor), data)
    return DeviceArray(data, 0, (m, 1), (n, m), cost.dtype, "numba")


def _extremes(cost: DeviceArray) -> list[int]:
    """Minimum and maximum of integer costs and 0."""
    found = upload(np.zeros(4, np.int64))
    launch(bounds_kernel, BLOCKS, THREADS, cost.data, found)
    return download(found)[LOW:].tolist()


def _reject_minimum(cost: DeviceArray) -> None:
    if _extremes(cost)[0] == -(2**31):
        raise ValueError("cost holds -2^31, which int32 cannot negate; pass int64 costs to maximise")


def _largest(cost: DeviceArray, negated: bool) -> int | float:
    """The largest finite absolute cost; raises ValueError for costs that no problem may hold."""
    if cost.dtype.kind == "i":
        low, high = _extremes(cost)
        largest = max(-low, high)
        if (sum(cost.shape) + 1) * largest * 4 > INT64_MAX:
            bound = INT64_MAX // (4 * (sum(cost.shape) + 1))
            raise ValueError(
                f"cost must be at most {bound} in absolute value here, so that prices fit int64; got {largest}"
            )
        return largest
    found, largest = upload(np.zeros(4, np.int64)), upload(np.zeros(1, np.float64))
    launch(float_bounds_kernel, BLOCKS, THREADS, cost.data, found, largest)
    counts = download(found)
    if counts[NAN]:
        raise ValueError("cost must not hold NaN; forbid a pair with " + ("-inf" if negated else "+inf"))
    if counts[INFINITE]:
        raise ValueError(
            f"cost must not hold {'+inf when it is maximised' if negated else '-inf when it is minimised'}"
        )
    return float(download(largest)[0])


def with_library_arrays(found: Assignment, library: str | None) -> Assignment:
    """The same result with GPU arrays of the caller's library."""
    if library is None:
        return found
    names = ("row", "col", "row_price", "col_price")
    return replace(found, **{name: to_library(getattr(found, name), library) for name in names})
