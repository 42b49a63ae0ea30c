"""Costs on a GPU as `certify` reads them: reduced costs and costs of pairs, computed in place.

assign/core/certificate.py checks the conditions; the interface is that of assign/core/certificate_costs.py.  The host
handles integers that int64 might not hold, and the additional passes that only hard float cases need.  It copies some
rows at a time.
"""

import numpy as np

from assign.core.certificate import MAX_SAFE
from assign.core.certificate_costs import DenseCosts
from gridcut.device.arrays import DeviceArray, allocate, download, synchronize, upload, widened, wrap_device_array
from gridcut.device.cuda import SIMULATED, cuda, cuda_kernel, shuffle
from gridcut.device.cuda_types import int32
from gridcut.device.launch import launch
from gridcut.device.number_limits import INT64_MAX

THREADS = 32 if SIMULATED else 256
MAX_BLOCKS = 1 << 16
KINDS = ("int32", "int64", "float32", "float64")


@cuda_kernel
def reduced_kernel(cost, start, stride, across, sign, price, nan, bound, low, overflow):
    """low[i] = minimum of low[i] and sign * cost - price[j] over j; a NaN counts as `nan`.

    The cost of (i, j) is cost[start + i * stride + j * across].  overflow[0] = 1 if an absolute cost is at lowest
    `bound` (integers only).
    """
    m = price.size
    lane = cuda.threadIdx.x & 31
    i = np.int64(cuda.blockIdx.x)
    while i < low.size:
        lowest = low[i]
        j = np.int64(cuda.threadIdx.x)
        while j < m:
            value = sign * cost[start + i * stride + j * across]
            if value >= bound or value <= -bound:
                cuda.atomic.max(overflow, 0, int32(1))
            left = value - price[j]
            lowest = min(lowest, left) if left == left else nan
            j += cuda.blockDim.x
        step = 16
        while step > 0:
            lowest = min(lowest, shuffle(lowest, lane ^ step))
            step >>= 1
        if lane == 0:
            cuda.atomic.min(low, i, lowest)
        i += cuda.gridDim.x


@cuda_kernel
def pairs_kernel(cost, start, stride, across, row, col, out):
    """out[k] = cost of pair (row[k], col[k])."""
    k = np.int64(cuda.grid(1))
    if k < row.size:
        out[k] = cost[start + row[k] * stride + col[k] * across]


class DeviceCosts(DenseCosts):
    """A matrix on the GPU with any strides."""

    def __init__(self, matrix, sign: int, integer_limit: bool):
        synchronize()  # the caller's library may still be writing to it
        array = wrap_device_array("cost", matrix)
        if len(array.shape) != 2 or array.dtype.kind not in "biuf":
            raise ValueError(f"the costs have shape {array.shape} and dtype {array.dtype}")
        if array.dtype.name not in KINDS:
            kind = np.float32 if array.dtype.kind == "f" else np.int64
            array = wrap_device_array("cost", widened(matrix, np.dtype(kind)))
        self.shape = array.shape
        self.is_integer = array.dtype.kind != "f"
        self.exact = self.is_integer and integer_limit
        self._array, self._sign, self._mask = array, sign, None

    def pairs(self, row, col):
        if not len(row):
            values = np.zeros(0, self._array.dtype)
        else:
            (out,) = allocate((len(row), self._array.dtype))
            launch(pairs_kernel, -(-len(row) // THREADS), THREADS, *self._place(1), upload(row), upload(col), out)
            values = download(out)
        return self._signed_pairs(values)

    def reduced(self, price, axis: int) -> np.ndarray:
        if 0 in self.shape or price.dtype == object or self.exact != self.is_integer:
            return super().reduced(price, axis)
        kind = np.int64 if self.is_integer else np.float64
        largest = INT64_MAX if self.is_integer else np.inf
        nan, bound = (kind(0), kind(MAX_SAFE)) if self.is_integer else (-np.inf, np.inf)
        size = self.shape[1 - axis]
        low, overflow = upload(np.full(size, largest, kind)), upload(np.zeros(1, np.int32))
        numbers = (*self._place(axis), kind(self._sign), upload(price.astype(kind)), nan, bound)
        launch(reduced_kernel, min(size, MAX_BLOCKS), THREADS, *numbers, low, overflow)
        if self.is_integer and download(overflow)[0]:
            return super().reduced(price, axis)
        return download(low)

    def partners(self, part, axis: int) -> np.ndarray:
        return DenseCosts(self._array.host(), None, self._sign, True).partners(part, axis)

    def _place(self, axis: int):
        """Memory, start, and row and column strides, exchanged for axis 0."""
        array = self._array
        strides = array.strides if axis else array.strides[::-1]
        return array.data, np.int64(array.start), *(np.int64(s) for s in strides)

    def _rows(self, part: slice) -> np.ndarray:
        array = self._array
        start = array.start + part.start * array.strides[0]
        shape = (part.stop - part.start, array.shape[1])
        return DeviceArray(array.data, start, array.strides, shape, array.dtype, array.library).host()
