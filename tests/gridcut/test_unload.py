"""A library that two GPUs have loaded is unloaded once, by the last of them."""

import importlib.util
from types import SimpleNamespace

import pytest
from numba import config

from gridcut.device.unload import unload_once


class Gpu:
    """The part of a context that numba's finalizer uses."""

    def __init__(self):
        self.modules = {}
        self.pending = []
        self.deallocations = SimpleNamespace(add_item=lambda unload, handle: self.pending.append(handle))


def numba_driver():
    """A copy of numba's driver module that may be modified."""
    from numba.cuda.cudadrv import driver

    return SimpleNamespace(_module_finalizer=getattr(driver._module_finalizer, "wrapped", driver._module_finalizer))


@pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None or bool(config.ENABLE_CUDASIM), reason="numba-cuda's own driver"
)
def test_the_last_gpu_unloads():
    module = numba_driver()
    unload_once(module)
    unload_once(module)  # a second call has no effect
    one, other = Gpu(), Gpu()
    shared, own = SimpleNamespace(handle=7), SimpleNamespace(handle=8)
    leave = [module._module_finalizer(gpu, code) for gpu, code in ((one, shared), (other, shared), (other, own))]
    leave[1]()
    assert (one.pending, other.pending) == ([], [])
    leave[2]()
    leave[0]()
    assert (one.pending, other.pending) == ([7], [8])
    again = module._module_finalizer(one, shared)  # loaded again
    again()
    assert one.pending == [7, 7]


def test_a_driver_without_the_finalizer_is_not_changed():
    module = SimpleNamespace()
    unload_once(module)
    assert not vars(module)
