"""`Problem`, and the validation of the arguments of gridcut's functions, which converts them to one form.

No other file checks them again.  Invalid values (negative, NaN, too large) are detected by the loading kernels of
gridcut/core/load.py, which read every capacity anyway; `first_bad` finds the pixel for the message.
"""

import operator
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gridcut.device import cuda_is_available
from gridcut.device.arguments import plain_array
from gridcut.device.arrays import DeviceArray, on_device, widened, wrap_device_array

Offset = tuple[int, ...]

DTYPES = tuple(np.dtype(t) for t in (np.uint8, np.uint16, np.int32, np.int64, np.float32, np.float64))
# Types that convert to one of DTYPES without loss; bool is read as uint8.
WIDER = {"int8": np.int32, "int16": np.int32, "uint32": np.int64, "float16": np.float32}


class Problem(NamedTuple):
    """A checked problem; the arrays are the caller's own if their type allows it, and are never written.

    source, sink     the grid's shape, or 0-d: the same capacity at every pixel.  All arrays are an ndarray or a
                     DeviceArray, or None in the problem that a result keeps without its arrays
    edges[offset]    likewise, capacity from p to p + offset; if the opposite is absent, it has the same capacity
    mask             bool, the grid's shape, or None: all pixels take part
    is_float         capacities are floats: the solvers work on multiples of a fixed-point unit
    items            None, or the length of a batch: arrays may then have a leading axis of that length
    library          None for arrays on the host, or the library of arrays on a GPU (then all but the 0-d ones)
    bound            None, or for floats the bound to which capacities are clamped: see gridcut/core/units.py
    """

    shape: tuple[int, ...]
    source: Any
    sink: Any
    edges: dict[Offset, Any]
    mask: Any
    is_float: bool
    items: int | None = None
    library: str | None = None
    bound: float | None = None

    def arrays(self):
        """All capacity arrays with their names in messages."""
        yield "source", self.source
        yield "sink", self.sink
        for offset, array in self.edges.items():
            yield f"edges[{offset}]", array

    def array_of(self, key):
        """The capacities of a terminal, given by its name, or of an offset."""
        return self.edges[key] if isinstance(key, tuple) else getattr(self, key)

    def with_array(self, key, array) -> "Problem":
        """The problem with the array of a terminal or an offset replaced."""
        if isinstance(key, tuple):
            return self._replace(edges={**self.edges, key: array})
        return self._replace(**{key: array})

    @property
    def empty(self) -> bool:
        return 0 in self.shape or self.items == 0

    def changed(self, change) -> "Problem":
        """The problem with every array replaced by change(array)."""
        return self._replace(
            source=change(self.source),
            sink=change(self.sink),
            edges={offset: change(array) for offset, array in self.edges.items()},
            mask=None if self.mask is None else change(self.mask),
        )

    def on_host(self) -> "Problem":
        """The problem with all arrays on the host."""
        if self.library is None:
            return self
        return self.changed(lambda a: a.host() if isinstance(a, DeviceArray) else a)._replace(library=None)

    def bare(self) -> "Problem":
        """The problem without its arrays."""
        return self._replace(source=None, sink=None, edges=dict.fromkeys(self.edges), mask=None)

    def item(self, i: int) -> "Problem":
        """One problem of a batch."""
        if self.items is None:
            return self
        return self.changed(lambda a: a[i] if a.ndim > len(self.shape) else a)._replace(items=None)


def check_problem(source, sink, edges, mask) -> Problem:
    """Check types and shapes of the arguments of `max_flow` and `Solver`; raises TypeError or ValueError."""
    source = as_array("source", source)
    sink = as_array("sink", sink)
    shape = source.shape or sink.shape
    if not 1 <= len(shape) <= 3:
        raise ValueError(f"source must have 1, 2 or 3 axes, got shape {source.shape}")
    check_shape("source", source, shape)
    if sink.ndim and sink.shape != shape:
        raise ValueError(f"sink must have the shape of source, {shape}, got {sink.shape}")
    edges = check_edges(edges, shape)
    if mask is not None:
        mask = check_mask(mask, shape)
    return finished(Problem(shape, source, sink, edges, mask, False))


def finished(problem: Problem) -> Problem:
    """The problem with is_float and library set; TypeError if some arrays are on a GPU and some on the host."""
    is_float = any(array.dtype.kind == "f" for _, array in problem.arrays())
    return problem._replace(is_float=is_float, library=library_of(problem))


def library_of(problem: Problem) -> str | None:
    """The library of the arrays if they are on a GPU, else None."""
    arrays = [*problem.arrays(), *([] if problem.mask is None else [("mask", problem.mask)])]
    on_gpu = [(name, array.library) for name, array in arrays if isinstance(array, DeviceArray)]
    on_host = [name for name, array in arrays if not isinstance(array, DeviceArray) and array.ndim]
    if not on_gpu:
        return None
    if on_host:
        raise TypeError(
            f"{on_gpu[0][0]} is on the GPU and {on_host[0]} on the host; copy one of them, "
            "so that all arrays are on the same device"
        )
    return on_gpu[0][1]


def as_array(name: str, value) -> np.ndarray | DeviceArray:
    """An array of one of DTYPES, on the host or on a GPU; shares memory with `value` if possible."""
    if not on_device(value):
        return as_capacity(name, value)
    array = as_device_array(name, value)
    if array.dtype == np.bool_:
        data = None if array.data is None else array.data.view(np.uint8)
        return replace(array, data=data, dtype=np.dtype(np.uint8))
    if array.dtype not in DTYPES:
        wider = WIDER.get(array.dtype.name)
        if wider is None:
            names = ", ".join(t.name for t in DTYPES)
            raise TypeError(f"{name} must be an array of {names}; got dtype {array.dtype}")
        array = wrap_device_array(name, widened(value, np.dtype(wider)))
    return array


def as_device_array(name: str, value) -> DeviceArray:
    if not cuda_is_available():
        raise TypeError(
            f"{name} is an array on a GPU; copy it to the host first, or install numba-cuda "
            "(cutmatch's extra cuda13 or cuda12) to solve it on the GPU"
        )
    return wrap_device_array(name, value)


def as_capacity(name: str, value) -> np.ndarray:
    """An array on the host of one of DTYPES; shares memory with `value` if possible."""
    if type(value) is np.ndarray and value.dtype in DTYPES and value.flags.carray:
        return value
    array = plain_array(name, value)
    if array.dtype == np.bool_:
        array = array.view(np.uint8)
    if array.dtype.newbyteorder("=") not in DTYPES:
        wider = WIDER.get(array.dtype.name)
        if wider is None:
            names = ", ".join(t.name for t in DTYPES)
            what = f"dtype {array.dtype}" if isinstance(value, np.ndarray) else f"{type(value).__name__}"
            raise TypeError(f"{name} must be an array of {names}; got {what}")
        array = array.astype(wider)
    if not array.dtype.isnative or any(s % array.itemsize for s in array.strides):
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def check_shape(name: str, array, shape: tuple[int, ...], items: int | None = None) -> None:
    if array.ndim == 0 or array.shape == shape or (items is not None and array.shape == (items, *shape)):
        return
    batch = "" if items is None else f", or {(items, *shape)} for a batch"
    raise ValueError(f"{name} must be a scalar or have the grid's shape {shape}{batch}, got shape {array.shape}")


def check_mask(mask, shape: tuple[int, ...], items: int | None = None) -> np.ndarray | DeviceArray:
    mask = as_device_array("mask", mask) if on_device(mask) else plain_array("mask", mask)
    if mask.dtype != np.bool_:
        raise TypeError(f"mask must be a bool array (True: the pixel takes part), got dtype {mask.dtype}")
    if mask.shape != shape and (items is None or mask.shape != (items, *shape)):
        batch = "" if items is None else f", or {(items, *shape)} for a batch"
        raise ValueError(f"mask must have the grid's shape {shape}{batch}, got shape {mask.shape}")
    return mask


def check_mapping(edges) -> None:
    if not isinstance(edges, Mapping):
        raise TypeError(
            "edges must be a mapping from offsets to capacities, such as {(0, 1): right, (1, 0): down}; "
            f"got {type(edges).__name__}"
        )


def check_edges(edges, shape: tuple[int, ...], items: int | None = None) -> dict[Offset, np.ndarray | DeviceArray]:
    check_mapping(edges)
    checked = {}
    for key, value in edges.items():
        offset = check_offset(key, len(shape))
        if offset in checked:
            raise ValueError(f"edges contains the offset {offset} twice; omit one of them")
        name = f"edges[{offset}]"
        array = as_array(name, value)
        check_shape(name, array, shape, items)
        checked[offset] = array
    return checked


def check_offset(key, ndim: int, name: str = "edges") -> Offset:
    """An offset as a tuple of `ndim` ints; on a 1-D grid an int is accepted."""
    items = key if isinstance(key, tuple | list | np.ndarray) else (key,)
    try:
        offset = tuple(operator.index(i) for i in items)
    except TypeError:
        raise TypeError(f"{name}: an offset must be a tuple of {ndim} integers, got {key!r}") from None
    if len(offset) != ndim:
        raise ValueError(f"{name}: an offset must have {ndim} entries, one for each axis of the grid, got {key!r}")
    if not any(offset):
        raise ValueError(f"{name}: the offset {offset} connects a pixel to itself; omit it")
    return offset


def first_bad(name: str, array: np.ndarray, shape: tuple[int, ...], used) -> ValueError:
    """The error for an array with a negative capacity or NaN at a pixel in `used` (None: all pixels)."""
    values = np.broadcast_to(array, shape)
    bad = ~(values >= 0)
    if used is not None:
        bad &= used
    where = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), shape))
    return bad_capacity(name, values[where], where)


def bad_capacity(name: str, value, where: tuple[int, ...]) -> ValueError:
    """The error for a negative capacity or NaN."""
    if np.isnan(value):
        return ValueError(
            f"{name} holds {value} at {where}; capacities must be numbers; use inf for arcs that must not be cut"
        )
    return ValueError(f"{name} holds {value} at {where}; capacities must be 0 or more")


# The pixels of the terms of an energy


def ends(shape: tuple[int, ...], offsets: tuple[Offset, ...]) -> list[tuple[slice, ...]]:
    """Slices of p, p + offsets[0], p + offsets[1], ... over all p for which all of these pixels are in the grid."""
    axes = range(len(shape))
    low = [max([0, *(-o[i] for o in offsets)]) for i in axes]
    high = [min([shape[i], *(shape[i] - o[i] for o in offsets)]) for i in axes]
    high = [max(h, lo) for h, lo in zip(high, low, strict=True)]  # an offset longer than the grid: an empty slice
    zero = (0,) * len(shape)
    return [tuple(slice(low[i] + o[i], high[i] + o[i]) for i in axes) for o in (zero, *offsets)]


def pixel_at(found: np.ndarray, region: tuple[slice, ...]) -> tuple[int, ...]:
    """Grid coordinates of the first True in `found`, an array over the pixels of `region`."""
    inner = np.unravel_index(int(np.argmax(found)), found.shape)
    return tuple(int(i) + s.start for i, s in zip(inner, region, strict=True))
