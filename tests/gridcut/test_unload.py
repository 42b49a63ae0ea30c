"""A library that two GPUs have loaded is unloaded once, by the last of them."""

from types import SimpleNamespace

import pytest
from numba import config

from gridcut.device.choose import numba_cuda_is_installed

if numba_cuda_is_installed() and not config.ENABLE_CUDASIM:
    from gridcut.device.numba_cuda_internals import unload_once
else:
    pytest.skip("numba-cuda's own driver", allow_module_level=True)


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
