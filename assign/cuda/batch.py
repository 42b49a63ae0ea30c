"""Many small assignment problems at once on a GPU.

Returns columns of rows, prices and a status for every problem, on the GPU, without waiting for them.  Small problems
are solved by a warp each (assign/cuda/batch_warp.py), larger ones by a block with everything but the costs in registers
and shared memory (assign/cuda/batch_team.py), and the largest by a block that works in global memory
(assign/cuda/batch_block.py).  The first two search integer costs in int32 first; the problems whose costs are too wide
for that are left to a second launch, which ends at once where nothing is left.

Arrays as in assign/cpu/batch.py, those of the results on the GPU.

All three are the shortest augmenting paths of [1].

[1] Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems."
    Computing 38, 1987.
"""

import numpy as np

from assign.cuda import batch_block, batch_team, batch_warp
from gridcut.device.arrays import DeviceArray, allocate, borrow, on_device, to_host, upload
from gridcut.device.cuda import WARP
from gridcut.device.launch import launch, prepare

# The longer side up to which a warp solves a problem, and up to which a block does with its search in registers.  That
# second kernel is right in the simulator, but has not been timed on a GPU: until it has, none are left to it.
WARP_MOST, TEAM_MOST = 512, 512


def solve(costs, *, rows=None, cols=None, limit=None):
    """Columns of the rows (items, n) int32, prices u (items, n) and v (items, m), status (items,) uint8, and what ran.

    costs     (items, n, m) int32, int64, float32 or float64, in C order; on the GPU, or on the host and copied there
    rows, cols, limit   likewise, (items,) int32, and one limit for each row, (items, n) int64 or float64
    """
    items, n, m = costs.shape
    shapes = ((items, n), (items, n), (items, m), (items,))
    if items * n * m == 0:
        return (*nothing(shapes, limit, np.dtype(str(costs.dtype).removeprefix("torch."))), {"launches": 0})
    costs, _, dtype = flat("costs", costs)
    integers = dtype.kind == "i"
    real = np.int64 if integers else np.float64
    col_of_row, u, v, status = allocate((items * n, np.int32), (items * n, real), (items * m, real), (items, np.uint8))
    results = (col_of_row, u, v, status)
    ragged = rows is not None or cols is not None
    if ragged:
        sizes = [np.full(items, most, np.int32) if a is None else a for a, most in ((rows, n), (cols, m))]
        (rows, *_), (cols, *_) = flat("rows", sizes[0]), flat("cols", sizes[1])
    else:
        rows = cols = col_of_row
    limited = limit is not None
    limit = flat("limit", limit)[0] if limited else u
    arguments = (costs, rows, cols, limit, *results, items, n, m, int(ragged))
    long_side = max(n, m)
    if long_side > TEAM_MOST:
        real = np.dtype(real)
        size = items * long_side
        scratch = allocate((2 * size, real), (size, np.int64), (3 * size, np.int32))
        kernel = batch_block.kernel_for(dtype.name, real.name, limited)
        launch(kernel, items, batch_block.THREADS, *arguments[:8], n, m, int(ragged), *scratch)
        return (*(a.reshape(s) for a, s in zip(results, shapes, strict=True)), {"launches": 1})
    launches = 0
    for number in ("int32", "int64") if integers else ("float64",):
        if long_side > WARP_MOST:
            team = batch_team.kind_for(dtype.name, number, long_side, limited)
            kernel, blocks, threads = batch_team.kernel_for(team), items, batch_team.threads_of(team, long_side)
            more, shared = (launches,), batch_team.bytes_of(team, n, m)
        else:
            staged = n * m * dtype.itemsize <= batch_warp.STAGED
            kind = batch_warp.Kind(dtype.name, number, -(-long_side // WARP), staged, limited)
            before, words = batch_warp.words_of(kind, n, m)
            warps = batch_warp.warps_of(kind)
            kernel, blocks, threads = batch_warp.kernel_for(kind), -(-items // warps), WARP * warps
            more, shared = (launches, before, words), 4 * warps * words
        prepare(kernel, blocks, threads, *arguments, *more, shared=shared)()
        launches += 1
    return (*(a.reshape(s) for a, s in zip(results, shapes, strict=True)), {"launches": launches})


def nothing(shapes, limit, dtype):
    """Results where there are no costs, on the host."""
    real = np.int64 if dtype.kind == "i" else np.float64
    dtypes = (np.int32, real, real, np.uint8)
    col_of_row, u, v, status = (np.zeros(s, t) for s, t in zip(shapes, dtypes, strict=True))
    col_of_row -= 1
    if limit is not None and u.size:
        u[:] = to_host(limit)
    return col_of_row, u, v, status


def flat(name: str, array):
    """An array on the GPU as a flat one of numba's, its shape and dtype."""
    if not isinstance(array, DeviceArray):
        if not on_device(array):
            array = np.asarray(array)
            return upload(array), array.shape, array.dtype
        array = borrow(name, array)
    expected = 1
    for extent, stride in zip(array.shape[::-1], array.strides[::-1], strict=True):
        if extent != 1 and stride != expected:
            raise ValueError(f"{name} must be in C order on the GPU")
        expected *= extent
    return array.data, array.shape, array.dtype
