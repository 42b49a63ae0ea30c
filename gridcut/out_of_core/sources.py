"""Capacities that are read a range of lines at a time, from disk (memmap, zarr, h5py) or from memory.

A line is an index along the first axis: a row of an image, a plane of a volume.  Grids with one axis are treated as
images of width 1, so that their lines are short too."""

import hashlib
import mmap
from collections.abc import Iterator

import numpy as np

from gridcut.core.grid import make_layout
from gridcut.core.load import largest_capacities, reader
from gridcut.core.problem import Offset, Problem, as_capacity, check_mapping, check_offset, check_shape, is_stored
from gridcut.device.arguments import plain_array, reject_masked
from gridcut.device.arrays import on_device

READ_BYTES = 1 << 26  # capacities read at a time when they are scanned independently of blocks


class LineArray:
    """One argument of `max_flow`, read by lines; kind: the dtype of its lines."""

    def __init__(self, name: str, value):
        self.name = name
        reject_masked(name, value)
        self._value = value if is_stored(value) or isinstance(value, np.ndarray) else as_capacity(name, value)
        self.shape = tuple(self._value.shape)
        self.ndim = len(self.shape)
        self.kind = as_capacity(name, self._value[:0] if self.ndim else self._value).dtype

    def lines(self, first: int, last: int) -> np.ndarray:
        """Lines first..last, or the scalar; a view for memory-mapped files."""
        return as_capacity(self.name, self._value[first:last] if self.ndim else self._value)

    def release(self) -> None:
        """Release the mapped pages of a memory-mapped file, which count as memory of this process."""
        if getattr(self._value, "mode", None) not in (
            "r",
            "r+",
            "w+",
        ):  # else changes in memory would be lost
            return
        base = self._value
        while base is not None and not isinstance(base, mmap.mmap):
            base = getattr(base, "base", None)
        if base is not None and hasattr(base, "madvise"):
            base.madvise(mmap.MADV_DONTNEED)


class LineMask(LineArray):
    """The mask of `max_flow`, read by lines."""

    def __init__(self, value):
        self.name = "mask"
        self._value = value if is_stored(value) else plain_array("mask", value)
        self.shape = tuple(self._value.shape)
        self.ndim = len(self.shape)
        self.kind = np.dtype(bool)
        if self._value.dtype != np.bool_:
            raise TypeError(f"mask must be a bool array (True: the pixel takes part), got dtype {self._value.dtype}")

    def lines(self, first, last):
        return np.asarray(self._value[first:last])


class Capacities:
    """A problem whose capacities are read by lines.

    shape, offsets   of the grid as it is solved: with at least two axes
    given            shape of the caller's arrays
    bound            as in gridcut.core.problem.Problem
    """

    def __init__(self, source, sink, edges, mask):
        named = {"source": source, "sink": sink}
        check_mapping(edges)
        for name, value in (*named.items(), *edges.items(), ("mask", mask)):
            if on_device(value):
                label = name if isinstance(name, str) else f"edges[{name}]"
                raise TypeError(f"{label} is on the GPU; method 'out_of_core' takes arrays on disk or on the host")
        self._source = LineArray("source", source)
        self._sink = LineArray("sink", sink)
        self.given = self._source.shape or self._sink.shape
        if not 1 <= len(self.given) <= 3:
            raise ValueError(f"source must have 1, 2 or 3 axes, got shape {self._source.shape}")
        check_shape("source", self._source, self.given)
        check_shape("sink", self._sink, self.given)
        self._edges: dict[Offset, LineArray] = {}
        for key, value in edges.items():
            offset = check_offset(key, len(self.given))
            if offset in self._edges:
                raise ValueError(f"edges contains the offset {offset} twice")
            self._edges[offset] = LineArray(f"edges[{offset}]", value)
            check_shape(f"edges[{offset}]", self._edges[offset], self.given)
        self._mask = None if mask is None else LineMask(mask)
        if mask is not None and self._mask.shape != self.given:
            raise ValueError(f"mask must have the grid's shape {self.given}, got shape {self._mask.shape}")
        flat = len(self.given) == 1
        self._tail = (0,) if flat else ()
        self.shape = (*self.given, 1) if flat else self.given
        self.offsets = [(*offset, *self._tail) for offset in self._edges]
        self.is_float = any(plane.kind.kind == "f" for plane in self._planes())
        self.bound = None

    def _planes(self) -> list[LineArray]:
        return [self._source, self._sink, *self._edges.values(), *([self._mask] if self._mask else [])]

    @property
    def offsets_given(self) -> list[Offset]:
        return list(self._edges)

    @property
    def pixel_bytes(self) -> int:
        """Bytes per pixel of all arrays that are not scalars."""
        return sum(plane.kind.itemsize for plane in self._planes() if plane.ndim)

    def problem(self, first: int, last: int, as_given: bool = False) -> Problem:
        """The problem restricted to lines first..last; as_given: with the axes of the caller's arrays."""
        tail = () if as_given else self._tail
        shape = (last - first, *(self.given[1:] if as_given else self.shape[1:]))

        def part(plane):
            lines = plane.lines(first, last)
            return lines.reshape(shape) if lines.ndim else lines

        edges = {(*offset, *tail): part(plane) for offset, plane in self._edges.items()}
        mask = None if self._mask is None else part(self._mask)
        return Problem(shape, part(self._source), part(self._sink), edges, mask, self.is_float, bound=self.bound)

    def release(self) -> None:
        for plane in self._planes():
            plane.release()

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Ranges of lines of about READ bytes."""
        line = self.pixel_bytes * int(np.prod(self.shape[1:])) or 1
        height = max(1, READ_BYTES // line)
        for first in range(0, self.shape[0], height):
            yield first, min(self.shape[0], first + height)

    def largest(self, halo_width: int) -> list:
        """Largest capacities of source, sink and every arc, as gridcut.core.load.largest_capacities, in one pass.

        Raises ValueError for negative capacities and NaN.

        halo_width   largest number of lines that an arc spans
        """
        total = None
        for first, last in self.ranges():
            low, high = max(0, first - halo_width), min(self.shape[0], max(last, first + halo_width) + halo_width)
            part = self.problem(low, high, as_given=True)
            found = largest_capacities(part, reader(part, make_layout(part.shape, part.edges)), low)
            total = found if total is None else [max(pair) for pair in zip(total, found, strict=True)]
            self.release()
        return total

    def digest(self) -> str:
        """SHA-256 of everything that the minimum cut depends on, in one pass."""
        total = hashlib.sha256(repr((self.given, list(self._edges), self._mask is not None)).encode())
        for plane in self._planes():
            total.update(f"{plane.kind} {plane.ndim}".encode())
            if not plane.ndim:
                total.update(plane.lines(0, 0).tobytes())
        for first, last in self.ranges():
            for plane in self._planes():
                if plane.ndim:
                    total.update(np.ascontiguousarray(plane.lines(first, last)).view(np.uint8))
            self.release()
        return total.hexdigest()
