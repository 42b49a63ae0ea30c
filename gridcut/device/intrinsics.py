"""Operations that numba lacks on the CPU, for kernels.

    atomic_add(array, i, value) -> the old value      atomic_load(array, i)
    atomic_or(array, i, bits) -> the old value        atomic_store(array, i, value)
    atomic_and(array, i, bits) -> the old value       lowest_bit(mask) -> its index
    atomic_cas(array, i, old, new) -> the old value   prefetch(array, i)
    call_address(address, args)                       address_of(kernel, *args) -> address, in Python

Atomic operations are on elements of one-dimensional arrays of integers.  Those that return the old value are
sequentially consistent; loads acquire and stores release.  Under NUMBA_DISABLE_JIT=1 the same functions run as plain
Python, made atomic by one lock.

`prefetch` loads an element's cache line before it is needed.  A search in a large graph waits for memory at almost
every vertex.  If a queue holds the next vertices, the cache lines of later entries can be loaded while earlier entries
are processed.

`call_address` calls a compiled kernel whose code the caller need not contain.  numba copies the code of every callee
into the caller and optimises it again, for the loop of a `parallel_kernel` more than once.  A loop that calls a kernel
by its address compiles in a fraction of that time.  The call cannot be inlined, so it is for callees that run much
longer than a call.  They must return nothing, and `args` is a tuple of exactly the types of `address_of`.
"""

import threading
from collections.abc import Callable

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from gridcut.device.numba_internals import address_of_code, call_code, item_pointer

_python_lock = threading.Lock()


def atomic_add(array, i, value):
    """array[i] += value atomically; returns the old value."""
    with _python_lock:
        old = array[i]
        array[i] = old + value
    return old


def atomic_or(array, i, bits):
    """array[i] |= bits atomically; returns the old value."""
    with _python_lock:
        old = array[i]
        array[i] = old | bits
    return old


def atomic_and(array, i, bits):
    """array[i] &= bits atomically; returns the old value."""
    with _python_lock:
        old = array[i]
        array[i] = old & bits
    return old


def atomic_cas(array, i, old, new):
    """array[i] = new if array[i] == old, atomically; returns the old value, which is `old` if it was swapped."""
    with _python_lock:
        found = array[i]
        if found == old:
            array[i] = new
    return found


def atomic_load(array, i):
    """Return array[i], loaded from memory at every call."""
    return array[i]


def atomic_store(array, i, value):
    """array[i] = value; a thread that loads it also sees all earlier writes of this thread."""
    array[i] = value


def _changes_by(operation):
    """An intrinsic that changes an element by an operation of LLVM, and returns the old value."""

    @intrinsic
    def change(typingctx, array, i, value):
        def build(context, builder, sig, args):
            pointer = item_pointer(context, builder, sig.args[0], args[0], args[1], sig.args[1])
            return builder.atomic_rmw(operation, pointer, args[2], "seq_cst")

        return array.dtype(array, i, array.dtype), build

    return change


_add, _or, _and = (_changes_by(operation) for operation in ("add", "or", "and"))


@intrinsic
def _cas(typingctx, array, i, old, new):
    def build(context, builder, sig, args):
        pointer = item_pointer(context, builder, sig.args[0], args[0], args[1], sig.args[1])
        return builder.extract_value(builder.cmpxchg(pointer, args[2], args[3], "seq_cst", "seq_cst"), 0)

    return array.dtype(array, i, array.dtype, array.dtype), build


@intrinsic
def _load(typingctx, array, i):
    def build(context, builder, sig, args):
        pointer = item_pointer(context, builder, sig.args[0], args[0], args[1], sig.args[1])
        value_type = context.get_value_type(sig.args[0].dtype)
        align = sig.args[0].dtype.bitwidth // 8
        return builder.load_atomic(pointer, "acquire", align, typ=value_type)

    return array.dtype(array, i), build


@intrinsic
def _store(typingctx, array, i, value):
    def build(context, builder, sig, args):
        pointer = item_pointer(context, builder, sig.args[0], args[0], args[1], sig.args[1])
        builder.store_atomic(args[2], pointer, "release", sig.args[0].dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, i, array.dtype), build


overload(atomic_add)(lambda array, i, value: lambda array, i, value: _add(array, i, value))
overload(atomic_or)(lambda array, i, bits: lambda array, i, bits: _or(array, i, bits))
overload(atomic_and)(lambda array, i, bits: lambda array, i, bits: _and(array, i, bits))
overload(atomic_cas)(lambda array, i, old, new: lambda array, i, old, new: _cas(array, i, old, new))
overload(atomic_load)(lambda array, i: lambda array, i: _load(array, i))
overload(atomic_store)(lambda array, i, value: lambda array, i, value: _store(array, i, value))


# Bits


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


# Prefetching

PREFETCH = "llvm.prefetch.p0"
READ, KEEP, DATA = 0, 3, 1  # the constants of llvm.prefetch: for reading, into all caches, not instructions


def prefetch(array, i):
    """Load array[i] into the cache; has no effect if the element does not exist."""


@intrinsic
def _prefetch(typingctx, array, i):
    def build(context, builder, sig, args):
        pointer = item_pointer(context, builder, sig.args[0], args[0], args[1], sig.args[1])
        pointer = builder.bitcast(pointer, ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        function = builder.module.globals.get(PREFETCH) or ir.Function(builder.module, kind, PREFETCH)
        builder.call(function, [pointer, number(READ), number(KEEP), number(DATA)])
        return context.get_dummy_value()

    return types.void(array, i), build


overload(prefetch)(lambda array, i: lambda array, i: _prefetch(array, i))


# Calls by address

_addresses: dict[tuple, int] = {}


def address_of(kernel: Callable, *args):
    """The address of the machine code of a kernel for arguments of these types; compiles it if necessary.

    Under NUMBA_DISABLE_JIT=1 the address is the function itself.
    """
    if not hasattr(kernel, "py_func"):
        return kernel
    key = (kernel, *map(_kind, args))
    if key not in _addresses:
        signature = tuple(map(numba.typeof, args))
        if signature not in kernel.overloads:
            kernel.compile(signature)
        _addresses[key] = address_of_code(kernel.overloads[signature])
    return _addresses[key]


def _kind(value):
    """What the type of an argument depends on; numba needs 7 us to find that of an array."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.num
    return (type(value), *map(_kind, value)) if isinstance(value, tuple) else type(value)


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
