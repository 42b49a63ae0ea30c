"""The uses of the names that numba_internals.py lists for the CUDA simulator; imported only where it is enabled."""

from importlib import import_module

from gridcut.device.numba_internals import SIMULATOR, need

_kernel = import_module("numba.cuda.simulator.kernel")
_api = import_module("numba.cuda.simulator.kernelapi")
_arrays = import_module("numba.cuda.simulator.cudadrv.devicearray")
_ArrayInKernel = need(_arrays, "FakeWithinKernelCUDAArray", SIMULATOR)
_Array = need(_arrays, "FakeCUDAArray", SIMULATOR)


def running_kernel():
    """The names that exist only inside kernels, while one runs; else None."""
    return need(_kernel, "_kernel_context", SIMULATOR)


def plain_array(value):
    """A kernel's argument with NumPy arrays in place of the simulator's, also in tuples with or without names."""
    if isinstance(value, tuple):
        fields = map(plain_array, value)
        return type(value)(*fields) if hasattr(value, "_fields") else tuple(fields)
    if isinstance(value, _ArrayInKernel):
        return value._item._ary
    return value._ary if isinstance(value, _Array) else value


def change_simulator(block: type, numpy, nanosleep, atomics: dict) -> None:
    """Replace what runs the threads of a block, what makes arrays in kernels, `nanosleep`, and atomic operations.

    atomics   for each name, a function from the simulator's operation to the new one
    """
    for module, name, value in ((_kernel, "BlockManager", block), (_api, "np", numpy)):
        need(module, name, SIMULATOR)
        setattr(module, name, value)
    need(_api, "FakeCUDAModule", SIMULATOR).nanosleep = nanosleep
    operations = need(_api, "FakeCUDAAtomic", SIMULATOR)
    for name, change in atomics.items():
        setattr(operations, name, change(getattr(operations, name)))
