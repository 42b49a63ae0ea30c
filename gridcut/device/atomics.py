"""Atomic operations on array elements for CPU kernels; numba has none.

    atomic_add(array, i, value) -> the old value      atomic_load(array, i)
    atomic_or(array, i, bits) -> the old value        atomic_store(array, i, value)
    atomic_and(array, i, bits) -> the old value
    atomic_cas(array, i, old, new) -> the old value

Arrays are one-dimensional and hold integers.  Operations that return the old value are sequentially consistent; loads
acquire and stores release.  Under NUMBA_DISABLE_JIT=1 the same functions run as plain Python, made atomic by one lock.
"""

import threading

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
