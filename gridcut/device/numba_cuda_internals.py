"""The uses of the names that numba_internals.py lists for numba-cuda; imported only where numba.cuda is."""

import ctypes
from contextlib import contextmanager
from functools import cache, cached_property

import numpy as np
from cuda.bindings import driver
from numba import cuda

from gridcut.device.numba_internals import CUDA, CpuCode, found, need

_driver = cuda.cudadrv.driver
_DeviceNDArray = cuda.cudadrv.devicearray.DeviceNDArray


# Compiled kernels


class CudaCode(CpuCode):
    """The machine code of one CUDA kernel, as `CpuCode`."""

    form = found("numba.cuda.dispatcher", "CUDACacheImpl")
    dumps = staticmethod(found("numba.cuda.serialize", "dumps"))
    for_cuda = staticmethod(found("numba.cuda.utils", "numba_target_override"))
    needs = (form, dumps.__func__, for_cuda.__func__)

    @contextmanager
    def loading(self, context):
        # Without `context.refresh()`, which imports what only the compiler needs, SciPy too: 0.65 s in every process.
        with self.for_cuda():  # also while types and code are unpickled
            yield


def argument_types(kernel, args) -> tuple:
    """The types that a kernel is compiled for if it is launched with these arguments."""
    return tuple(map(need(kernel, "typeof_pyval", CUDA), args))


def handle_of(compiled) -> int:
    """The driver's handle of a compiled kernel."""
    return int(need(compiled, "library", CUDA).get_cufunc().handle)


def is_cooperative(compiled) -> bool:
    """Whether the threads of all blocks of a compiled kernel wait for one another."""
    return need(compiled, "cooperative", CUDA)


def unload_once(module=_driver) -> None:
    """Let the last GPU that has loaded machine code unload it.

    numba-cuda links a kernel once for all GPUs of the same kind and loads that library on each of them.  But each GPU
    also unloads it, once numba has more than ten objects to free.  The second time the driver frees memory that no
    longer exists: a process that has used two GPUs may crash at exit, after all its results are written.
    """
    make = getattr(module, "_module_finalizer", None)
    if make is None or hasattr(make, "wrapped"):
        return
    users = {}  # handle of a library: number of GPUs that have loaded it

    def finalizer(context, object_code):
        unload = make(context, object_code)
        handle = int(object_code.handle)
        users[handle] = users.get(handle, 0) + 1

        def leave():
            users[handle] -= 1
            if users[handle] == 0:
                del users[handle]
                unload()

        return leave

    finalizer.wrapped = make
    module._module_finalizer = finalizer


# Memory


def pools_memory(context) -> bool:
    """Whether the memory of a context is managed by another library, which pools it itself."""
    own = getattr(_driver, "NumbaCUDAMemoryManager", None)
    return own is None or not isinstance(getattr(context, "memory_manager", None), own)


def free_kept() -> None:
    """Free what numba keeps of the active GPU to free it later: objects of its context, and memory."""
    context = cuda.current_context()
    for owner in (context, getattr(context, "memory_manager", None)):
        if hasattr(owner, "deallocations"):
            owner.deallocations.clear()


class OwnedArray(_DeviceNDArray):
    """A device array of numba in memory of another object.

    Its attributes `address` and `owner`, and those that numba uses rarely, are computed on demand.
    """

    @classmethod
    def at(cls, address: int, shape: tuple[int, ...], dtype: np.dtype, owner):
        """A contiguous array at an address; its owner is kept alive."""
        array = cls.__new__(cls)
        stride = dtype.itemsize
        strides = ()
        for length in reversed(shape):
            strides = (stride, *strides)
            stride *= length
        state = array.__dict__
        state["address"], state["owner"], state["dtype"] = address, owner, dtype
        state["shape"], state["strides"], state["ndim"] = shape, strides, len(shape)
        state["size"], state["alloc_size"], state["stream"] = stride // dtype.itemsize, stride, 0
        return array

    @cached_property
    def address(self) -> int:
        return self.gpu_data.device_ctypes_pointer.value

    @cached_property
    def owner(self):
        return self.gpu_data

    @cached_property
    def _dummy(self):
        describe = need(cuda.cudadrv.dummyarray, "Array", CUDA).from_desc
        return describe(0, self.shape, self.strides, self.dtype.itemsize)

    @cached_property
    def gpu_data(self):
        make = need(_driver, "MemoryPointer", CUDA)
        size = self.size * self.dtype.itemsize
        return make(cuda.current_context(), driver.CUdeviceptr(self.address), size, owner=self.owner)

    @cached_property
    def _numba_type_(self):
        return _type_of(self.dtype)

    @property
    def device_ctypes_pointer(self):
        return ctypes.c_size_t(self.address)


@cache
def _type_of(dtype: np.dtype):
    array = _DeviceNDArray((1,), (dtype.itemsize,), dtype, gpu_data=object())
    return need(array, "_numba_type_", CUDA)


def address_of(array) -> int:
    """Address of a device array of numba or of ours."""
    try:
        return array.address
    except AttributeError:
        return need(array, "device_ctypes_pointer", CUDA).value or 0
