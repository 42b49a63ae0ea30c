"""Calls of C functions by their addresses, and arrays at an address, for kernels.

    call_function(address, arguments)     an int32; arguments: a tuple of int64, also for pointers and shorter integers
    bytes_at(address, size)               the memory there, as an array of bytes

Under NUMBA_DISABLE_JIT=1 the address of a function is a Python function.
"""

import ctypes

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload


def call_function(address, arguments):
    """Call a C function that takes integers of up to 64 bits or pointers and returns an int."""
    return address(*arguments)


def bytes_at(address, size):
    """The memory at an address, which the caller keeps alive."""
    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), np.uint8)


@intrinsic
def _call(typingctx, address, arguments):
    def build(context, builder, sig, values):
        count = len(sig.args[1].types)
        function = builder.inttoptr(values[0], ir.FunctionType(ir.IntType(32), [ir.IntType(64)] * count).as_pointer())
        return builder.call(function, [builder.extract_value(values[1], i) for i in range(count)])

    return types.int32(types.int64, arguments), build


@intrinsic
def _pointer(typingctx, address):
    def build(context, builder, sig, values):
        return builder.inttoptr(values[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), build


overload(call_function)(lambda address, arguments: lambda address, arguments: _call(address, arguments))
overload(bytes_at)(lambda address, size: lambda address, size: numba.carray(_pointer(address), size, np.uint8))
