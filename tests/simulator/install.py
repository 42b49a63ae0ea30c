"""Puts numba's simulator, as repaired here, in the place of a GPU."""

import sys
from types import SimpleNamespace

from tests.simulator import cuda, cuda_warp, memory
from tests.simulator.numba_simulator_internals import Array


def install():
    """Called before any CUDA module of the product is imported."""
    sys.modules.update(
        {
            "cuda.bindings": SimpleNamespace(driver=memory.Driver),
            "gridcut.device.cuda": cuda,
            "gridcut.device.cuda_warp": cuda_warp,
            "gridcut.device.memory": memory,
            "gridcut.device.numba_cuda_internals": SimpleNamespace(
                address_of=memory.address_of, argument_types=None, handle_of=None, is_cooperative=None
            ),
        }
    )
    Array.__cuda_array_interface__ = property(lambda self: self.__array_interface__)

    from gridcut.device import launch

    launch._compiled = lambda kernel, args: (None, [])  # numba launches all kernels
