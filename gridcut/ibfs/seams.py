"""Seams: the arcs between two neighbouring strips of lines, removed so that the strips can be solved separately.

A strip is a range of lines along the first axis (rows, planes), so its cells are contiguous.  The seam before line
`line` consists of the arcs from the `rise` lines before it, where rise is the arc's offset along the first axis.
"""

import numpy as np

from gridcut.device import plain_kernel


@plain_kernel
def cut_seams(residual, step, rises, cells, stride, saved, is_cut):
    """Save and clear the capacities of all arcs across the seams before the lines that start at `cells`."""
    arcs = len(step)
    for seam in range(cells.size):
        i = 0
        for k in range(0, arcs, 2):  # even arcs lead forward
            for p in range(cells[seam] - rises[k] * stride, cells[seam]):
                there = p * arcs + k
                back = (p + step[k]) * arcs + k + 1
                saved[seam, i] = residual[there]
                saved[seam, i + 1] = residual[back]
                residual[there] = 0
                residual[back] = 0
                i += 2
        is_cut[seam] = 1


@plain_kernel
def restore_seam(residual, step, rises, first, stride, saved):
    """Restore the capacities of the seam before the line that starts at cell `first`."""
    arcs = len(step)
    i = 0
    for k in range(0, arcs, 2):
        for p in range(first - rises[k] * stride, first):
            residual[p * arcs + k] = saved[i]
            residual[(p + step[k]) * arcs + k + 1] = saved[i + 1]
            i += 2


class Seams:
    """The seams of a grid before the lines `lines`, in order.

    rises     offsets of the arcs along the first axis
    saved[i]  capacities of the seam before lines[i], while is_cut[i]
    """

    def __init__(self, residual, layout, lines):
        self.residual = residual
        self.layout = layout
        self.lines = lines
        self.rises = np.array([offset[0] for offset in layout.offsets], np.int64)
        size = 2 * int(self.rises[::2].sum()) * layout.stride[0]
        self.saved = np.empty((len(lines), size), residual.dtype)
        self.is_cut = np.zeros(len(lines), np.uint8)

    def cell(self, line: int) -> int:
        return self.layout.head + line * self.layout.stride[0]

    def cut(self) -> None:
        """Cut all seams."""
        layout, cells = self.layout, np.array([self.cell(line) for line in self.lines], np.int64)
        cut_seams(self.residual, layout.step, self.rises, cells, layout.stride[0], self.saved, self.is_cut)

    def restore(self) -> None:
        """Restore the seams that are still cut."""
        layout = self.layout
        for i in np.flatnonzero(self.is_cut):
            first = self.cell(self.lines[i])
            restore_seam(self.residual, layout.step, self.rises, first, layout.stride[0], self.saved[i])
            self.is_cut[i] = 0
