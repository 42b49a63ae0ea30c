"""The names of gridcut/device/cuda.py for numba's simulator; in grids of one block of 32 threads."""

import time

import numpy as np
from numba import config

from tests.simulator.blocks import Cuda, exchange

cuda = Cuda()
config.CUDA_LOW_OCCUPANCY_WARNINGS = 0

SIMULATED = True
WARP = 32
DEFAULT_SHARED = 48 * 1024

OPTIONS = {"device", "debug", "inline", "fastmath", "opt", "cache"}  # that the simulator takes


def cuda_kernel(function=None, **options):
    if function is None:
        return lambda f: cuda_kernel(f, **options)
    return cuda.jit(**{name: value for name, value in options.items() if name in OPTIONS})(function)


def device_function(function):
    return function


def cooperative_blocks(kernel, args, threads, shared=0):
    return 1


def multiprocessors():
    return 1


def grid_sync():
    """Barrier of the whole grid."""
    cuda.syncthreads()


def ballot(predicate):
    """The lanes whose predicate is true, as bits of a uint32."""
    return np.uint32(sum(1 << lane for lane, holds in enumerate(exchange(predicate)) if holds))


def shuffle(value, lane):
    """The value of another lane: a signed integer or a float."""
    return exchange(value)[int(lane) % WARP]


shuffle_bits = shuffle


def match_any(value):
    """The lanes that hold the same int32 as this one, as bits of a uint32."""
    return np.uint32(sum(1 << lane for lane, other in enumerate(exchange(value)) if other == value))


def warp_sync():
    """Barrier of the warp; afterwards each lane sees what the other lanes wrote to shared memory before."""
    exchange(None)


def count_trailing_zeros(bits):
    """Index of the lowest set bit of a nonzero uint32, as int32."""
    return np.int32((int(bits) & -int(bits)).bit_length() - 1)


def popcount(bits):
    """Number of set bits of a uint32, as int32."""
    return np.int32(int(bits).bit_count())


def relaxed_load(array, i):
    """Return array[i], loaded from memory at every call."""
    return array[i]


def opaque(value):
    """An int32 whose value the compiler cannot infer; see below."""
    return np.int32(value)


def nanoseconds():
    """The GPU's clock, in nanoseconds."""
    return np.int64(time.perf_counter_ns())
