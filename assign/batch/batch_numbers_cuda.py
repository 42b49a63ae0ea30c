"""The integers that the batch kernels search with, and the status of a problem.

    integer costs   cost - low
    float costs     (cost - low) * 2^e in int64, rounded, with 2^e such that the range of costs has about 49 bits: less
                    than 2^-47 of the range is lost, and the certificate allows 2^-48 * (n + m) of the largest cost

low is the minimum cost.  A problem is WIDE if its range of costs is too large for the integers of the kernel.  A float
problem may also turn out to be WIDE when it is solved, if the rounding was too coarse for the costs paid: a cost of
1e15 that stands for "forbidden" would round all costs below 1 away.  Every row pays at least the minimum cost, so a
cost that exceeds this minimum by more than the total excess paid cannot matter.
"""

import numpy as np

from gridcut.device.cuda import device_function
from gridcut.device.cuda_warp import bits_of, float_of

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


@device_function
def scale_of(low, high, room):
    """2^e for costs from low to high, whose range gets `room` - 1 to `room` bits, as two factors.

    2^e or the range itself may overflow float64.
    """
    half = 0.5 * high - 0.5 * np.float64(low)
    exponent = np.int64(room - 2 - exponent_of(half)) if half > 0 else np.int64(0)
    return power_of_two(exponent >> 1), power_of_two(exponent - (exponent >> 1))


@device_function
def scaled(cost, first_scale, low_scaled, scale):
    """(cost - low) * 2^e; low_scaled = first_scale * low."""
    return (first_scale * np.float64(cost) - low_scaled) * scale


@device_function
def is_too_coarse(low, high, paid, n, m):
    """Whether the range from low to high was too wide for rounding, if `paid` is the largest cost paid."""
    excess = paid - low
    matters = max(abs(paid), abs(low)) + n * excess
    return excess > 0 and high - low > 0.5 * (n + m) * matters
