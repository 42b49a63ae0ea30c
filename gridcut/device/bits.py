"""Bit operations that numba lacks on the CPU."""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload


def lowest_bit(mask):
    """Index of the lowest set bit of a nonzero uint64."""
    mask = int(mask)
    return (mask & -mask).bit_length() - 1


@intrinsic
def _lowest_bit(typingctx, mask):
    def build(context, builder, sig, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), build


overload(lowest_bit)(lambda mask: lambda mask: _lowest_bit(mask))
