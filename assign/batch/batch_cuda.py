"""Many small assignment problems in one call on a GPU.

Returns columns of the rows, prices and a status for every problem as GPU arrays, without waiting for the kernels.  One
block solves each problem, with everything except the costs in registers and shared memory
(assign/batch/batch_team_cuda.py).  Integers are searched in int32 first; problems whose cost range is too wide for
int32 are left to a second launch, in int64, which returns immediately for problems that are already solved.

Problems that are too large, or whose cost range is too wide, keep the status WIDE: `left_over` lists them, and
assign/batch_solving.py solves them one by one.

Arrays as in assign/batch/batch.py; the results are on the GPU.  The method is that of [1].

[1] Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems."
    Computing 38, 1987.
"""

import numpy as np

from assign.batch import batch_team_cuda as batch_team
from gridcut.device.arrays import DeviceArray, allocate, download, on_device, to_host, upload, wrap_device_array
from gridcut.device.launch import prepare


def solve(costs, *, rows=None, cols=None, limit=None):
    """Columns of the rows (items, n) int32, prices u (items, n) and v (items, m), status (items,) uint8, and counters.

    costs        (items, n, m) int32, int64, float32 or float64, in C order; on the GPU, or on the host to be uploaded
    rows, cols   likewise, (items,) int32;  limit: one per row, (items, n) int64 or float64
    """
    items, n, m = costs.shape
    shapes = ((items, n), (items, n), (items, m), (items,))
    if items * n * m == 0:
        return (*empty_results(shapes, limit, np.dtype(str(costs.dtype).removeprefix("torch."))), {"launches": 0})
    costs, _, dtype = flat("costs", costs)
    integers = dtype.kind == "i"
    real = np.int64 if integers else np.float64
    col_of_row, u, v, status = allocate((items * n, np.int32), (items * n, real), (items * m, real), (items, np.uint8))
    results = (col_of_row, u, v, status)
    ragged = rows is not None or cols is not None
    if ragged:
        sizes = [np.full(items, max_columns, np.int32) if a is None else a for a, max_columns in ((rows, n), (cols, m))]
        (rows, *_), (cols, *_) = flat("rows", sizes[0]), flat("cols", sizes[1])
    else:
        rows = cols = col_of_row
    limited = limit is not None
    limit = flat("limit", limit)[0] if limited else u
    arguments = (costs, rows, cols, limit, *results, n, m, int(ragged))
    launches = 0
    if not is_too_large(n, m, limited):
        for number in ("int32", "int64") if integers else ("int64",):
            kind = batch_team.kind_for(dtype.name, number, n, m, limited)
            threads = batch_team.threads_of(kind, max(n, m))
            before, words = batch_team.words_of(kind, n, m)
            kernel = batch_team.kernel_for(kind)
            prepare(kernel, items, threads, *arguments, launches, before, shared=4 * words)()
            launches += 1
    return (*(a.reshape(s) for a, s in zip(results, shapes, strict=True)), {"launches": launches})


def is_too_large(n: int, m: int, limited: bool) -> bool:
    """Whether the columns do not fit into shared memory."""
    return max(n, m) > (batch_team.MAX_LIMITED_COLUMNS if limited else batch_team.MAX_COLUMNS)


def left_over(status, costs, limited: bool) -> np.ndarray:
    """The items that `solve` has not solved; waits for the kernels unless it is known that there are none."""
    items, n, m = costs.shape
    if items * n * m == 0:
        return np.zeros(0, np.int64)
    if is_too_large(n, m, limited):
        return np.arange(items)
    if costs.dtype == np.int32 and not limited:
        return np.zeros(0, np.int64)  # differences of int32 always fit the int64 of the second launch; limits may not
    return np.flatnonzero(download(status) == batch_team.WIDE)


def empty_results(shapes, limit, dtype):
    """Results on the host for a batch without costs."""
    real = np.int64 if dtype.kind == "i" else np.float64
    dtypes = (np.int32, real, real, np.uint8)
    col_of_row, u, v, status = (np.zeros(s, t) for s, t in zip(shapes, dtypes, strict=True))
    col_of_row -= 1
    if limit is not None and u.size:
        u[:] = to_host(limit)
    return col_of_row, u, v, status


def flat(name: str, array):
    """A flat numba array on the GPU, the shape and the dtype of an array."""
    if not isinstance(array, DeviceArray):
        if not on_device(array):
            array = np.asarray(array)
            return upload(array), array.shape, array.dtype
        array = wrap_device_array(name, array)
    expected = 1
    for extent, stride in zip(array.shape[::-1], array.strides[::-1], strict=True):
        if extent != 1 and stride != expected:
            raise ValueError(f"{name} must be in C order on the GPU")
        expected *= extent
    return array.data, array.shape, array.dtype
