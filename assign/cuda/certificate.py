"""What the proof of an assignment needs of costs on a GPU: slacks, in one pass over the matrix.

The conditions are those of assign/certificate.py, which judges what is found here.  Only that nothing overflows is
taken for granted: integers are int64 throughout.
"""

import numpy as np
from numba import float32, float64, int32, int64

from gridcut.device.arrays import DeviceArray, allocate, borrow, download, upload
from gridcut.device.cuda import SIMULATED, cuda, cuda_kernel, shuffle
from gridcut.device.launch import launch

THREADS = 32 if SIMULATED else 256


@cuda_kernel
def slack_kernel(cost, u, v, col_of, low, gap):
    """low[i]: least cost - u - v of row i, `low` before where nothing is less;  gap[i]: of its pair, if it has one."""
    m = v.size
    lane = cuda.threadIdx.x & 31
    i = np.int64(cuda.blockIdx.x)
    while i < u.size:
        own = u[i]
        least = low[i]
        j = np.int64(cuda.threadIdx.x)
        while j < m:
            least = min(least, cost[i * m + j] - own - v[j])
            j += cuda.blockDim.x
        step = 16
        while step > 0:
            least = min(least, shuffle(least, lane ^ step))
            step >>= 1
        if lane == 0:
            cuda.atomic.min(low, i, least)
        if cuda.threadIdx.x == 0 and col_of[i] >= 0:
            gap[i] = cost[i * m + col_of[i]] - own - v[col_of[i]]
        i += cuda.gridDim.x


def least_slack(cost, u, v, col_of):
    """Per row the least of cost - u - v, and that of its pair (0: it has none); all arguments on the GPU, C-contiguous.

    u, v: int64 for integer costs, float64 for others;  col_of: int32
    """
    n, _ = cost.shape
    arrays = [a if isinstance(a, DeviceArray) else borrow("array", a) for a in (cost, u, v, col_of)]
    flat = [a.data[a.start : a.start + a.size] for a in arrays]
    kind = np.int64 if arrays[1].dtype.kind == "i" else np.float64
    (gap,) = allocate((n, kind), zero=True)
    low = upload(np.full(n, np.inf if kind == np.float64 else np.iinfo(np.int64).max, kind))
    launch(slack_kernel, min(n, 1 << 16), THREADS, *flat, low, gap)
    return download(low), download(gap)


def kernels():
    """The kernel for some dtypes, with the argument types it is launched with."""
    kinds = ((int32, int64), (int64, int64), (float32, float64), (float64, float64))
    return [
        (f"slack {cost}", slack_kernel, (cost[::1], kind[::1], kind[::1], int32[::1], kind[::1], kind[::1]))
        for cost, kind in kinds
    ]
