"""Warp reductions: the minimum over the lanes of a warp, with unsigned comparisons; and the bits of floats.

Signed integers are compared as unsigned ones.  Non-negative integers keep their order, and negative ones compare as
larger than all of them.

    warp_min             of an int32 per lane
    warp_min_long        of an int64 per lane
    bits_of, float_of    a float64 as an int64, and back

All 32 lanes of a warp must call warp_min and warp_min_long.
"""

import numpy as np
from llvmlite import ir
from numba import types

from gridcut.device.cuda import device_function, intrinsic

MAX_UNSIGNED = -1  # all bits set: larger than all others

WORD, BYTES = ir.IntType(32), ir.IntType(8).as_pointer()


@intrinsic
def bits_of(typingctx, number):
    """The bits of a float64."""
    return types.int64(types.float64), lambda context, builder, sig, args: builder.bitcast(args[0], ir.IntType(64))


@intrinsic
def float_of(typingctx, bits):
    """The float64 with these bits."""
    return types.float64(types.int64), lambda context, builder, sig, args: builder.bitcast(args[0], ir.DoubleType())


@intrinsic
def warp_min(typingctx, number):
    """Minimum int32 of the warp, compared as unsigned."""

    def build(context, builder, sig, args):
        # Compute capability 8.0 and later has an instruction for it; the architecture is known at link time.
        has_redux = builder.icmp_signed(">=", _architecture(builder), ir.Constant(WORD, 800))
        with builder.if_else(has_redux) as (then, otherwise):
            with then:
                reduced = _assembly(builder, "redux.sync.min.u32 $0, $1, 0xffffffff;", args[0])
                first = builder.block
            with otherwise:
                halved = args[0]
                for distance in (16, 8, 4, 2, 1):
                    line = f"shfl.sync.bfly.b32 $0, $1, {distance}, 31, 0xffffffff;"
                    other = _assembly(builder, line, halved)
                    halved = builder.select(builder.icmp_unsigned("<", other, halved), other, halved)
                second = builder.block
        result = builder.phi(WORD)
        result.add_incoming(reduced, first)
        result.add_incoming(halved, second)
        return result

    return types.int32(types.int32), build


def _assembly(builder, line, number):
    kind = ir.FunctionType(WORD, [WORD])
    return builder.call(ir.InlineAsm(kind, line, "=r,r", side_effect=True), [number])


def _architecture(builder):
    """The value of __CUDA_ARCH__ in CUDA C++."""
    module = builder.module
    text = ir.Constant(ir.ArrayType(ir.IntType(8), 12), bytearray(b"__CUDA_ARCH\0"))
    name = module.globals.get("cutmatch_cuda_arch")
    if name is None:
        name = ir.GlobalVariable(module, text.type, "cutmatch_cuda_arch", addrspace=4)
        name.global_constant, name.initializer, name.linkage = True, text, "internal"
    reflect = module.globals.get("__nvvm_reflect") or ir.Function(
        module, ir.FunctionType(WORD, [BYTES]), "__nvvm_reflect"
    )
    return builder.call(reflect, [builder.addrspacecast(builder.bitcast(name, ir.IntType(8).as_pointer(4)), BYTES)])


@device_function
def warp_min_long(number):
    """Minimum int64 of the warp, compared as unsigned."""
    high, low = np.int32(number >> 32), np.int32(number)
    top = warp_min(high)
    bottom = warp_min(low if high == top else np.int32(MAX_UNSIGNED))
    return np.int64((np.int64(top) << 32) | (np.int64(bottom) & 0xFFFFFFFF))
