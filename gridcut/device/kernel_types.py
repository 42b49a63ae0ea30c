"""Argument types of CPU kernels as JSON values, to be kept in a file and compiled in another process.

scalars, none, and other types with a name     "int64", "none"
arrays                                         ["array", dtype, dimensions, layout, writable]
tuples of one type, of several                 ["uniform", type, length], ["tuple", types...]
bundles of arrays (`NamedTuple`)               ["named", "module:class", types...]
"""

from importlib import import_module

from numba import types


def encoded(kind):
    """The JSON value of a numba type; ValueError if it has none."""
    if isinstance(kind, types.Array) and kind.aligned:
        return ["array", encoded(kind.dtype), kind.ndim, kind.layout, kind.mutable]
    if isinstance(kind, types.NamedTuple | types.NamedUniTuple):
        instance = kind.instance_class
        return ["named", f"{instance.__module__}:{instance.__qualname__}", *map(encoded, kind.types)]
    if isinstance(kind, types.UniTuple):
        return ["uniform", encoded(kind.dtype), kind.count]
    if isinstance(kind, types.Tuple):
        return ["tuple", *map(encoded, kind.types)]
    if getattr(types, kind.name, None) == kind:
        return kind.name
    raise ValueError(f"no text for the type {kind}")


def decoded(value):
    """The numba type of a JSON value that `encoded` has returned."""
    if isinstance(value, str):
        return getattr(types, value)
    name, *rest = value
    if name == "array":
        dtype, dimensions, layout, writable = rest
        return types.Array(decoded(dtype), dimensions, layout, readonly=not writable)
    if name == "uniform":
        return types.UniTuple(decoded(rest[0]), rest[1])
    if name == "tuple":
        return types.Tuple([decoded(kind) for kind in rest])
    module, qualified = rest[0].split(":")
    return types.NamedTuple([decoded(kind) for kind in rest[1:]], getattr(import_module(module), qualified))
