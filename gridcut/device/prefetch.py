"""prefetch(array, i): load an element's cache line before it is needed.

A search in a large graph waits for memory at almost every vertex.  If a queue holds the next vertices, the cache lines
of later entries can be loaded while earlier entries are processed.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from gridcut.device.numba_internals import item_pointer

NAME = "llvm.prefetch.p0"
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
        function = builder.module.globals.get(NAME) or ir.Function(builder.module, kind, NAME)
        builder.call(function, [pointer, number(READ), number(KEEP), number(DATA)])
        return context.get_dummy_value()

    return types.void(array, i), build


overload(prefetch)(lambda array, i: lambda array, i: _prefetch(array, i))
