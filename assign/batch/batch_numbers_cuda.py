"""What the kernels for batches have in common: how a problem ended, and float costs as whole numbers."""

import numpy as np

from assign.core.warp_cuda import bits_of, float_of
from gridcut.device.cuda import device_function

SOLVED, INFEASIBLE, WIDE = 0, 1, 2  # status of a problem;  WIDE: its costs are too far apart for the kernel

# Kernels call nothing that is made with them: the key under which their machine code is kept would never be the same.


@device_function
def fixed(x):
    """A float below 2^50, rounded to a whole number, as bits: those of 0.0 more than the number."""
    return bits_of(np.float64(x) + 6755399441055744.0)  # 1.5 * 2^52, whose last bit is worth 1


@device_function
def exponent_of(x):
    """e with 2^e <= x < 2^(e + 1), of a positive float; -1023 of a subnormal one."""
    return np.int64((bits_of(np.float64(x)) >> 52) - 1023)


@device_function
def power_of_two(exponent):
    """2^exponent, as a float."""
    return float_of(np.int64((exponent + 1023) << 52))
