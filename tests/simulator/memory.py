"""The names of gridcut/device/memory.py, and others of a GPU's driver, for numba's simulator."""

import ctypes
from collections import deque
from types import SimpleNamespace

import numpy as np

from tests.simulator.cuda import cuda
from tests.simulator.numba_simulator_internals import Array

PLENTY = 1 << 40
_pool = SimpleNamespace(kept=deque(), capacity=PLENTY, empty=lambda: None)
synchronize = cuda.synchronize


class FlatArray:
    """Part of a caller's memory."""

    def __init__(self, address, shape, dtype, owner):
        self.owner = owner  # kept alive
        self.__array_interface__ = {"data": (address, False), "shape": shape, "typestr": dtype.str, "version": 3}

    @staticmethod
    def at(*place):
        return Array(np.asarray(FlatArray(*place)))


def pool():
    return _pool


def free_bytes():
    return PLENTY


def free_kept():
    pass


def arrays_in_slab(places, total, zero=False):
    slab = cuda.device_array(total, np.uint8)
    if zero:
        slab[:] = 0
    return [slab[first : first + size].view(dtype) for first, size, dtype in places]


def clear(array):
    array[:] = 0


def address_of(array):
    return array.ctypes.data


def current_gpu():
    return 0


def gpu_of(address):
    return 0


def copy_in(copies):
    for host, there in copies:
        there.copy_to_device(host)


def copy_out(array, host):
    host.reshape(-1)[...] = array.copy_to_host()


class Driver:
    """What gridcut/device/peers.py calls."""

    @staticmethod
    def cuCtxGetCurrent():
        return 0, None

    @staticmethod
    def cuMemcpyDtoDAsync(target, source, size, stream):
        ctypes.memmove(target, source, size)
        return (0,)
