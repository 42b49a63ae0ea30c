"""Shared by the batch kernels: the status of a problem, and the conversion of float costs to integers."""

import numpy as np

from assign.core.warp_cuda import bits_of, float_of
from gridcut.device.cuda import device_function

SOLVED, INFEASIBLE, WIDE = 0, 1, 2  # status of a problem;  WIDE: its cost range is too wide for the kernel

# Kernels call only module-level functions: with closures, the cache key of their machine code would never repeat.


@device_function
def fixed(x):
    """A float below 2^50, rounded to an integer, plus the integer of fixed(0.0)."""
    return bits_of(np.float64(x) + 6755399441055744.0)  # 1.5 * 2^52, whose unit in the last place is 1


@device_function
def exponent_of(x):
    """e with 2^e <= x < 2^(e + 1) for a positive float; -1023 for a subnormal one."""
    return np.int64((bits_of(np.float64(x)) >> 52) - 1023)


@device_function
def power_of_two(exponent):
    """2^exponent as a float64."""
    return float_of(np.int64((exponent + 1023) << 52))
