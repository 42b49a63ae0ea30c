"""Calls of a compiled kernel by its address, from kernels that need not contain its code.

numba copies the code of every callee into the caller and optimises it again, for the loop of a `parallel_kernel` more
than once.  A loop that calls a kernel by its address compiles in a fraction of that time.  The call cannot be
inlined, so it is for callees that run much longer than a call.

    address = address_of(kernel, *args)     in Python: compiles the kernel for arguments of these types
    call_address(address, args)             in a kernel: args is a tuple of exactly the same types

The kernel must return nothing.  Under NUMBA_DISABLE_JIT=1 the address is the function itself.
"""

from collections.abc import Callable

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from gridcut.device.numba_internals import address_of_code, call_code

_addresses: dict[tuple, int] = {}


def address_of(kernel: Callable, *args):
    """The address of the machine code of a kernel for arguments of these types; compiles it if necessary."""
    if not hasattr(kernel, "py_func"):
        return kernel
    # numba needs 7 us to find the type of an array.
    key = (kernel, *((a.dtype, a.ndim, a.flags.num) if isinstance(a, np.ndarray) else type(a) for a in args))
    if key not in _addresses:
        signature = tuple(map(numba.typeof, args))
        if signature not in kernel.overloads:
            kernel.compile(signature)
        _addresses[key] = address_of_code(kernel.overloads[signature])
    return _addresses[key]


def call_address(address, args) -> None:
    """Call the kernel at an address."""
    address(*args)


@intrinsic
def _call(typingctx, address, args):
    def build(context, builder, sig, values):
        kinds = sig.args[1].types
        arguments = [builder.extract_value(values[1], i) for i in range(len(kinds))]
        call_code(context, builder, values[0], arguments, kinds)
        return context.get_dummy_value()

    return types.none(types.uintp, args), build


overload(call_address)(lambda address, args: lambda address, args: _call(address, args))
