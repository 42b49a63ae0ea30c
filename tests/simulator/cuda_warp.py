"""The names of gridcut/device/cuda_warp.py for numba's simulator."""

import numpy as np

from tests.simulator.blocks import exchange


def warp_min(number):
    return min(exchange(np.int32(number)), key=_unsigned)


def warp_min_long(number):
    return min(exchange(np.int64(number)), key=_unsigned)


def bits_of(number):
    return np.float64(number).view(np.int64)


def float_of(bits):
    return np.int64(bits).view(np.float64)


def _unsigned(number):
    return int(number) & (2 ** (8 * number.itemsize) - 1)
