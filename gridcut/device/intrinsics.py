"""Operations that numba lacks on the CPU, for kernels.

    atomic_add(array, i, value) -> the old value      atomic_load(array, i)
    atomic_or(array, i, bits) -> the old value        atomic_store(array, i, value)
    atomic_and(array, i, bits) -> the old value       lowest_bit(mask) -> its index
    atomic_cas(array, i, old, new) -> the old value   prefetch(array, i)

Atomic operations are on elements of one-dimensional arrays of integers.  Those that return the old value are
sequentially consistent; loads acquire and stores release.  Under NUMBA_DISABLE_JIT=1 the same functions run as plain
Python, made atomic by one lock.

`prefetch` loads an element's cache line before it is needed.  A search in a large graph waits for memory at almost
every vertex.  If a queue holds the next vertices, the cache lines of later entries can be loaded while earlier entries
are processed.
"""

import threading

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from gridcut.device.numba_internals import item_pointer

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
