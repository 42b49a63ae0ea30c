"""The grid that all solvers work on: a flat padded index space, residuals as an array of structures, and excesses.

A pixel p has 2K arcs in opposite pairs; arc k leads to p + step[k], and step[k ^ 1] == -step[k].  Padding
cells between and around the lines have no capacity, so no kernel has to test whether a neighbour exists:

        head cells                                      a 2-D grid with offsets of at most 1:
        ┌ line 0 ┐ pad                                        up: p - stride
        ┌ line 1 ┐ pad   the pad after a line serves             ▲
        ┌ line 2 ┐ pad   as the pad before the next      p - 1 ◄ p ► p + 1
        head cells                                               ▼ p + stride

Arrays
  residual[p * 2K + k]   residual capacity of arc k; 0 if it leaves the grid or touches a masked pixel
  excess[p] > 0          capacity left from the source, or excess held
  excess[p] < 0          minus the capacity left to the sink;  0 in the padding

Initially excess = source - sink: the flow from the source through a pixel straight to the sink has been sent.
Both arrays are int32 if no sum of capacities incident to a pixel can reach 2^31, else int64.  Float capacities are
rounded to multiples of a unit, a power of two (`Grid.unit`), as fine as int64 allows.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gridcut.core.problem import Offset


class Layout(NamedTuple):
    """The positions of the pixels of a grid in the flat index space; see the drawing above.

    offsets[k], step[k]   arc k as an offset in the grid and in the flat index space
    stride                flat step of each axis;  head: flat index of pixel (0, ..., 0)
    size                  number of cells, padding included
    """

    shape: tuple[int, ...]
    offsets: tuple[Offset, ...]
    step: tuple[int, ...]
    stride: tuple[int, ...]
    head: int
    size: int

    @property
    def arcs(self) -> int:
        return len(self.step)

    @property
    def extent(self) -> tuple[int, int, int]:
        """The shape with leading axes of length 1 up to three."""
        return (1,) * (3 - len(self.shape)) + self.shape

    @property
    def stride3(self) -> tuple[int, int, int]:
        return (0,) * (3 - len(self.shape)) + self.stride

    def offset3(self, k: int) -> tuple[int, int, int]:
        return (0,) * (3 - len(self.shape)) + self.offsets[k]

    def interior(self, array: np.ndarray) -> np.ndarray:
        """The pixels of a contiguous flat array, or of one with more axes, as a view of the grid's shape."""
        first = array.strides[0]
        strides = tuple(s * first for s in self.stride) + array.strides[1:]
        # Not as_strided, which takes longer than the labels of a small grid.
        return np.ndarray(self.shape + array.shape[1:], array.dtype, array, self.head * first, strides)  # type: ignore

    def arc(self, offset: Offset) -> int:
        """Index of the arc with this offset; KeyError if there is none."""
        try:
            return self.offsets.index(offset)
        except ValueError:
            raise KeyError(offset) from None


class Grid(NamedTuple):
    """The state that a solver changes in place; `unit` is the capacity of one unit: 1, or a power of two for floats."""

    layout: Layout
    excess: np.ndarray
    residual: np.ndarray
    unit: float | int

    @property
    def step(self) -> tuple[int, ...]:
        return self.layout.step

    @property
    def dtype(self) -> np.dtype:
        return self.excess.dtype


def index_type(size: int) -> type:
    """The integer type of arrays that hold cell indices or heights of a grid of `size` cells."""
    return np.int32 if size < 2**31 - 2 else np.int64


def make_layout(shape: tuple[int, ...], offsets) -> Layout:
    """Pad the grid for these offsets and their opposites; equal sets give equal layouts."""
    return _make_layout(tuple(shape), frozenset(offsets))


@lru_cache(maxsize=64)
def _make_layout(shape: tuple[int, ...], offsets: frozenset) -> Layout:
    zero = (0,) * len(shape)
    forward = sorted({max(o, tuple(-i for i in o)) for o in offsets}, key=lambda o: (sum(map(abs, o)), o))
    # An offset longer than the grid connects no pixels; without it, the padding stays smaller than the grid.
    forward = [o for o in forward if o > zero and all(abs(i) < d for i, d in zip(o, shape, strict=True))]
    if not forward:
        forward = [
            (*zero[1:], 1)
        ]  # arcs without capacity, so that solvers need no special case for a grid without arcs
    pairs = tuple(o for f in forward for o in (f, tuple(-i for i in f)))
    padding = [max((abs(o[axis]) for o in pairs), default=0) for axis in range(len(shape))]
    stride = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        stride[axis] = stride[axis + 1] * (shape[axis + 1] + padding[axis + 1])
    head = sum(r * s for r, s in zip(padding, stride, strict=True))
    step = tuple(sum(i * s for i, s in zip(o, stride, strict=True)) for o in pairs)
    return Layout(shape, pairs, step, tuple(stride), head, head + shape[0] * stride[0] + head)
