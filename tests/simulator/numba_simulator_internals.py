"""The names of numba's CUDA simulator that its documentation does not promise, and their uses."""

from importlib import import_module

from gridcut.device.numba_internals import Internal, need

_SIMULATOR = "numba.cuda.simulator"
SIMULATOR = (
    Internal(f"{_SIMULATOR}.kernel", "_kernel_context", "names that exist only inside kernels", "ImportError"),
    Internal(f"{_SIMULATOR}.kernel", "BlockManager", "runs the threads of a block", "ImportError"),
    Internal(f"{_SIMULATOR}.kernelapi", "np", "makes local and shared arrays", "ImportError"),
    Internal(f"{_SIMULATOR}.kernelapi", "FakeCUDAModule", "functions of kernels", "ImportError"),
    Internal(f"{_SIMULATOR}.kernelapi", "FakeCUDAAtomic", "atomic operations", "ImportError"),
    Internal(f"{_SIMULATOR}.cudadrv.devicearray", "FakeWithinKernelCUDAArray", "arrays in kernels", "ImportError"),
    Internal(f"{_SIMULATOR}.cudadrv.devicearray", "FakeCUDAArray", "arrays in bundles", "ImportError"),
)

_kernel = import_module("numba.cuda.simulator.kernel")
_api = import_module("numba.cuda.simulator.kernelapi")
_arrays = import_module("numba.cuda.simulator.cudadrv.devicearray")
_ArrayInKernel = need(_arrays, "FakeWithinKernelCUDAArray", SIMULATOR)
Array = need(_arrays, "FakeCUDAArray", SIMULATOR)


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
    return value._ary if isinstance(value, Array) else value


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
