"""Numbers of a batch on a GPU: reduced costs and lengths of paths, of three kinds.

The bits of a length order as unsigned integers; its sign bit is set once its column is scanned (assign/cuda/warp.py).
What the kinds are is told in assign/cuda/batch_warp.py.
"""

import numpy as np

from assign.cuda.warp import bits_of, float_of
from gridcut.device.cuda import device_function

SOLVED, INFEASIBLE, WIDE = 0, 1, 2  # status of a problem
INFINITE = 0x7FF0000000000000
MATCHED = 1 << 30  # in a rank, which is a column's number besides: the column is matched

# Kernels call nothing that is made with them: the key under which their machine code is kept would never be the same.


@device_function
def reduced_packed(x, w, h, bits):
    """A packed cost without the prices of column and row."""
    return np.int32((np.int32(x) << bits) - w - h)


@device_function
def reduced_integer(x, w, h):
    """The same, not packed."""
    return np.int64(np.int64(x) - w - h)


@device_function
def reduced_float(x, w, h):
    """The same of a float, as bits."""
    # Rounding may leave less than nothing, whose sign bit would say that the column is scanned.
    t = bits_of(np.float64(x) - w - h)
    return t if t >= 0 else np.int64(0)


@device_function
def whole_packed(d, bits):
    """A length without its column, and without the sign that says it was scanned."""
    return np.int32((d & 0x7FFFFFFF) >> bits << bits)


@device_function
def whole_integer(d):
    """The same, not packed."""
    return np.int64(d & 0x7FFFFFFFFFFFFFFF)


@device_function
def whole_float(d):
    """The same of the bits of a float."""
    return float_of(d & 0x7FFFFFFFFFFFFFFF)


@device_function
def limit_packed(x, floor, ceiling, low, bits):
    """A limit as the search knows it."""
    return np.int32((min(max(np.int64(x), floor), ceiling) - low) << bits)
