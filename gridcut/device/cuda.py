"""The only module that imports numba.cuda.  Import it lazily, and only from CUDA solvers.

Kernels use `cuda`, `grid_sync`, `ballot`, ... from this module.  tests/simulator has the same names for numba's
simulator, in which SIMULATED is True and the kernels run unchanged.

    cuda_kernel          decorator of kernels; compiled at the first launch, machine code cached as for CPU kernels
    device_function      decorator of functions that kernels call
    cooperative_blocks   maximum number of resident blocks of a kernel, the limit for a grid that synchronises
    grid_sync            barrier of the whole grid (cooperative launches only; one block in the simulator),
                         and a memory fence: plain loads after it read what any thread stored before it
    ballot, shuffle, match_any, warp_sync   communication within a warp; all 32 threads must take part
    opaque               hides a number from the optimiser
    relaxed_load         loads from memory that other threads are changing, at every call

Kernels that also run in the simulator are limited there to one block of 32 threads, tiny inputs, and at most one shared
array per source line.

Some kernels wait in loops for stores of other threads.  They require that each lane of a warp makes progress
independently of the others, which GPUs guarantee from compute capability 7.0 on (independent thread scheduling).
"""

import numpy as np
from llvmlite import ir
from numba import config, cuda, types
from numba.cuda.extending import intrinsic, overload

from gridcut.device.kernel_store import KernelStore, keep
from gridcut.device.numba_cuda_internals import CudaCode, argument_types, handle_of, unload_once
from gridcut.device.numba_internals import array_data

config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # small images launch small grids; the user cannot act on that warning

SIMULATED = False  # True in tests, whose grids are tiny
WARP = 32
DEFAULT_SHARED = 48 * 1024  # bytes of shared memory per block without an opt-in
FULL_MASK = 0xFFFFFFFF  # all threads of a warp

unload_once()


class CudaKernelStore(KernelStore):
    """Machine code of a CUDA kernel."""

    code = CudaCode
    is_carried = False


def cuda_kernel(function=None, **options):
    """cuda.jit without a signature (with one, import would need a GPU); options as for cuda.jit."""
    if function is None:
        return lambda f: cuda_kernel(f, **options)
    return keep(cuda.jit(**options)(function), CudaKernelStore)


def device_function(function):
    """Decorate a function that kernels call."""
    return cuda.jit(device=True)(function)


def cooperative_blocks(kernel, args, threads: int, shared: int = 0) -> int:
    """Maximum number of blocks of this size that are resident on the GPU at a time; compiles the kernel.

    shared: bytes of dynamic shared memory per block; this function also opts the kernel in to more than 48 KB.
    """
    signature = argument_types(kernel, args)
    if signature not in kernel.overloads:
        kernel.compile(signature)
    compiled = kernel.overloads[signature]
    if shared > DEFAULT_SHARED:
        from cuda.bindings import driver

        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        function = driver.CUkernel(handle_of(compiled))
        (error,) = driver.cuKernelSetAttribute(attribute, shared, function, cuda.get_current_device().id)
        if error != driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"the GPU does not have {shared} bytes of shared memory per block: {error.name}")
    return compiled.max_cooperative_grid_blocks(threads, shared)


def multiprocessors() -> int:
    """Number of multiprocessors of the GPU."""
    return cuda.get_current_device().MULTIPROCESSOR_COUNT


@device_function
def grid_sync():
    """Barrier of the whole grid, and a memory fence; many kernels load without `relaxed_load` after it."""
    cuda.cg.this_grid().sync()


@device_function
def ballot(predicate):
    """The lanes whose predicate is true, as bits of a uint32."""
    return np.uint32(cuda.ballot_sync(FULL_MASK, predicate))


@device_function
def shuffle(value, lane):
    """The value of another lane: a signed integer or a float."""
    return cuda.shfl_sync(FULL_MASK, value, lane)


@device_function
def shuffle_bits(bits, lane):
    """The uint32 of another lane."""
    return np.uint32(cuda.shfl_sync(FULL_MASK, np.int32(bits), lane))


@device_function
def match_any(value):
    """The lanes that hold the same int32 as this one, as bits of a uint32."""
    return np.uint32(cuda.match_any_sync(FULL_MASK, value))


@device_function
def warp_sync():
    """Barrier of the warp; afterwards each lane sees what the other lanes wrote to shared memory before."""
    cuda.syncwarp(FULL_MASK)


@device_function
def count_trailing_zeros(bits):
    """Index of the lowest set bit of a nonzero uint32, as int32."""
    return np.int32(cuda.ffs(np.int32(bits)) - 1)


@device_function
def popcount(bits):
    """Number of set bits of a uint32, as int32."""
    return np.int32(cuda.popc(np.uint32(bits)))


def relaxed_load(array, i):
    """Return array[i], loaded from memory at every call."""
    return array[i]


@intrinsic
def _relaxed_load(typingctx, array, i):
    # The optimiser moves cuda.ldcv out of loops, since it is not a volatile load; inline assembly stays in place.
    def build(context, builder, sig, args):
        array_type, index_type = sig.args
        width = array_type.dtype.bitwidth
        value_type = context.get_value_type(array_type.dtype)
        data = array_data(context, builder, array_type, args[0])
        pointer = builder.gep(data, [context.cast(builder, args[1], index_type, types.intp)])
        load = ir.InlineAsm(
            ir.FunctionType(value_type, [pointer.type]),
            f"ld.relaxed.gpu.global.b{width} $0, [$1];",
            f"={'l' if width == 64 else 'r'},l,~{{memory}}",
            side_effect=True,
        )
        return builder.call(load, [pointer])

    return array.dtype(array, i), build


overload(relaxed_load, target="cuda")(lambda array, i: lambda array, i: _relaxed_load(array, i))


@intrinsic
def nanoseconds(typingctx):
    """The GPU's clock, in nanoseconds."""

    def build(context, builder, sig, args):
        read = ir.InlineAsm(
            ir.FunctionType(ir.IntType(64), []), "mov.u64 $0, %globaltimer;", "=l,~{memory}", side_effect=True
        )
        return builder.call(read, [])

    return types.int64(), build


@intrinsic
def opaque(typingctx, value):
    """An int32 whose value the compiler cannot infer.

    Computations that depend on it stay where they are.  In a long kernel the compiler would otherwise compute all
    addresses that depend only on the thread in advance, run out of registers and spill them to local memory.
    """

    def build(context, builder, sig, args):
        value = context.cast(builder, args[0], sig.args[0], types.int32)
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32)])
        return builder.call(ir.InlineAsm(kind, "mov.b32 $0, $1;", "=r,r", side_effect=True), [value])

    return types.int32(value), build
