"""Passes over all costs: their magnitude, and the reduced minima of rows and columns.

bits[0]      smallest number with |cost| < 2^bits for all finite costs; NO_BITS: all are 0
low[j]       minimum of scaled cost - high[i] in column j
high[i]      minimum of scaled cost - low[j] in row i
"""

import math
from functools import cache

import numpy as np

from assign.dense.costs_cuda import FORBIDDEN, functions_of
from gridcut.device.cuda import SIMULATED, WARP, cuda, cuda_kernel, relaxed_load, shuffle

THREADS = 32 if SIMULATED else 256
NO_BITS = -2000
STRIP = 64  # rows of which one thread finds the minimum of its column


@cache
def kernels_of(form):
    """largest_kernel, columns_kernel, rows_kernel."""
    cost_at, scaled_cost = functions_of(form)

    @cuda_kernel
    def largest_kernel(data, n, m, bits):
        largest = 0.0
        i = np.int64(cuda.blockIdx.x)
        while i < n:
            j = np.int64(cuda.threadIdx.x)
            while j < m:
                size = abs(np.float64(cost_at(data, n, m, i, j)))
                if size < np.inf:
                    largest = max(largest, size)
                j += cuda.blockDim.x
            i += cuda.gridDim.x
        if largest > 0:
            my_bits = np.int64(math.frexp(largest)[1])
            if my_bits > relaxed_load(bits, 0):
                cuda.atomic.max(bits, 0, my_bits)

    @cuda_kernel
    def columns_kernel(data, n, m, scale, high, low):
        """Blocks along x: columns; along y: strips of rows."""
        j = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
        i = np.int64(cuda.blockIdx.y) * STRIP
        if j >= m:
            return
        end = min(n, i + STRIP)
        minimum = np.int64(FORBIDDEN)
        while i < end:
            q = scaled_cost(cost_at(data, n, m, i, j), scale)
            if q < FORBIDDEN:
                minimum = min(minimum, q - high[i])
            i += 1
        cuda.atomic.min(low, j, minimum)

    @cuda_kernel
    def rows_kernel(data, n, m, scale, low, high):
        """One warp per row."""
        lane = np.int64(cuda.threadIdx.x & 31)
        i = (np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x) // WARP
        if i >= n:
            return
        minimum = np.int64(FORBIDDEN)
        j = lane
        while j < m:
            q = scaled_cost(cost_at(data, n, m, i, j), scale)
            if q < FORBIDDEN:
                minimum = min(minimum, q - low[j])
            j += WARP
        step = 16
        while step > 0:
            minimum = min(minimum, shuffle(minimum, lane ^ step))
            step >>= 1
        high[i] = minimum

    return largest_kernel, columns_kernel, rows_kernel
