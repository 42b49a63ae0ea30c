"""Few changes of terminals of a small grid: one compiled call per update, and one per warm solve with method "ibfs".

With 40 changed pixels of 4096, Python and the passing of arguments take most of the time.  Here each call passes flat
arrays one by one, since numba needs three times as long for the same arrays in named tuples.  The state of a `Solver`
(gridcut/core/host_state.py) goes this way if `is_small` and if the new values are valid and ordinary; everything else
goes the long way, which also reports errors.

geometry   [d0, d1, d2, s0, s1, s2, head] of the layout in gridcut/core/grid.py
Others as in gridcut/core/grid.py and forest.py.
"""

import numpy as np

from gridcut.core.grid import Grid, Layout
from gridcut.core.problem import Problem
from gridcut.device import kernel
from gridcut.ibfs.forest import Forest, Work
from gridcut.ibfs.ibfs import MAX_CHANGED_SHARE, MAX_RESOLVE_REPAIR, STRIP_CELLS, unsigned_steps
from gridcut.ibfs.warm import resume

LISTS = Work._fields.index("source_orphans")  # the first list of `Work` that a warm solve uses


def is_small(problem: Problem, grid: Grid) -> bool:
    """Whether changes of a grid may go the short way: integers of 32 bits, no mask, few cells."""
    is_plain = not problem.is_float and problem.mask is None
    return is_plain and grid.excess.dtype == np.int32 and grid.layout.size <= STRIP_CELLS


class SmallChanges:
    """The short way of one grid: what does not change as long as its layout does not."""

    __slots__ = ("budget", "geometry", "most_touched", "shape", "steps")

    def __init__(self, layout: Layout):
        self.shape = layout.shape
        self.geometry = np.array([*layout.extent, *layout.stride3, layout.head], np.int64)
        self.steps = unsigned_steps(layout.step)[1]
        self.budget = int(MAX_RESOLVE_REPAIR * layout.size)
        self.most_touched = int(MAX_CHANGED_SHARE * layout.size)

    def change(self, source, sink, where: tuple, old_source, old_sink, bounds: list, excess):
        """Change the terminals of listed pixels, if all new values are ordinary; else None, and nothing has changed.

        source, sink           new values, or None
        old_source, old_sink   the state's arrays, which are changed, as is `excess`
        bounds                 largest permitted new value of each

        Returns the changed cells and the change of the total capacity to the sink.
        """
        for axis in where:
            if type(axis) is not np.ndarray or axis.dtype.kind not in "iu":
                return None
        try:
            pixels = np.ravel_multi_index(where, self.shape)
        except (TypeError, ValueError):
            return None
        if pixels.ndim != 1 or pixels.size == 0 or source is sink is None:
            return None
        if source is None:
            source = np.empty(0, old_source.dtype)
        elif not is_ordinary(source, old_source, pixels):
            return None
        if sink is None:
            sink = np.empty(0, old_sink.dtype)
        elif not is_ordinary(sink, old_sink, pixels):
            return None
        cells = np.empty(pixels.size, np.int32)
        count, to_sink = change_terminals(
            pixels,
            source,
            sink,
            old_source.reshape(-1),
            old_sink.reshape(-1),
            *bounds[:2],
            self.geometry,
            excess,
            cells,
        )
        return None if count < 0 else (cells[:count], to_sink)

    def solve(self, cells, arcs_changed: bool, grid: Grid, memory: tuple, labels):
        """Complete the forests after changes at some cells, and write the labels.

        memory   as `solve_warm` returns it, with lists

        Returns the bound of all depths, the numbers of augmentations and of repaired cells, and the sum of the excesses
        on the sink side.  If the second number exceeds `budget`, the flow is valid but not complete.
        """
        forest, deepest, work = memory
        return resume_and_read(
            cells, arcs_changed, self.budget, deepest, self.geometry, self.steps, grid.excess, grid.residual,
            *forest, *work[LISTS:], labels.reshape(-1),
        )  # fmt: skip


def is_ordinary(values, old: np.ndarray, pixels: np.ndarray) -> bool:
    """Whether new values are an array of the same type as the old ones, with one value per pixel."""
    is_array = type(values) is np.ndarray and values.dtype == old.dtype and values.shape == pixels.shape
    return is_array and values.flags.carray


@kernel
def change_terminals(pixels, source, sink, old_source, old_sink, most_source, most_sink, geometry, excess, cells):
    """Set new terminal capacities of some pixels, and adjust the excesses.

    source, sink   one value per pixel, or none at all

    Returns the number of changed cells, which are written to `cells`, and the change of the total capacity to the sink;
    (-1, 0) if a value is negative or above its maximum, and nothing has changed.
    """
    for value in source:
        if not 0 <= np.int64(value) <= most_source:
            return -1, 0
    for value in sink:
        if not 0 <= np.int64(value) <= most_sink:
            return -1, 0
    d1, d2 = geometry[1], geometry[2]
    s0, s1, head = geometry[3], geometry[4], geometry[6]
    touched = 0
    to_sink = 0
    for i in range(pixels.size):
        pixel = np.uint64(pixels[i])
        line = pixel // np.uint64(d2)
        x = np.int64(pixel - line * np.uint64(d2))
        z = line // np.uint64(d1)
        y = np.int64(line - z * np.uint64(d1))
        p = head + np.int64(z) * s0 + y * s1 + x
        change = 0
        if source.size > 0:
            change += np.int64(source[i]) - np.int64(old_source[pixel])
            old_source[pixel] = source[i]
        if sink.size > 0:
            more = np.int64(sink[i]) - np.int64(old_sink[pixel])
            old_sink[pixel] = sink[i]
            to_sink += more
            change -= more
        if change != 0:
            excess[p] += change
            cells[touched] = p
            touched += 1
    return touched, to_sink


# args: an entry call, to which Python passes arrays one by one in half the time that a bundle takes
@kernel
def resume_and_read(
    cells, arcs_changed, budget, deepest, geometry, step, excess, residual, label, parent, link, queued,
    source_orphans, sink_orphans, detached, queue, ring, ends, head, labels,
):  # fmt: skip
    """`resume`, then write the labels in raster order: see `SmallChanges.solve`."""
    forest = Forest(label, parent, link, queued)
    work = Work(
        queue, queue, queue, queue, source_orphans, sink_orphans, detached, queue, ring, ends, head
    )  # the first four lists are those of a search from scratch
    deepest, augmentations, repaired, more = resume(
        cells, arcs_changed, budget, excess, residual, step, deepest, forest, work
    )
    left = 0
    if more <= budget:
        d0, d1, d2 = geometry[0], geometry[1], geometry[2]
        s0, s1 = geometry[3], geometry[4]
        for z in range(d0):
            for y in range(d1):
                i = np.uint64((z * d1 + y) * d2)
                p = np.uint64(geometry[6] + z * s0 + y * s1)
                for x in range(np.uint64(d2)):
                    is_source = label[p + x] >= 0
                    labels[i + x] = is_source
                    left += 0 if is_source else np.int64(excess[p + x])
    return deepest, augmentations, repaired, more, left
