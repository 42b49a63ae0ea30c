"""Seams: the arcs between two neighbouring strips of lines, removed so that the strips can be solved separately.

A strip is a range of lines along the first axis (rows, planes), so its cells are contiguous.  The seam before line
`line` consists of the arcs from the `rise` lines before it, where rise is the arc's offset along the first axis.
"""

import numpy as np

from gridcut.device import kernel


@kernel
def cut_seam(residual, step, rises, first, stride, saved):
    """Save and clear the capacities of all arcs across the seam before the line that starts at cell `first`."""
    arcs = len(step)
    i = 0
    for k in range(0, arcs, 2):  # even arcs lead forward
        for p in range(first - rises[k] * stride, first):
            there = p * arcs + k
            back = (p + step[k]) * arcs + k + 1
            saved[i] = residual[there]
            saved[i + 1] = residual[back]
            residual[there] = 0
            residual[back] = 0
            i += 2


@kernel
def restore_seam(residual, step, rises, first, stride, saved):
    """Restore the capacities that `cut_seam` saved."""
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
        self._run(cut_seam, 1)

    def restore(self) -> None:
        """Restore the seams that are still cut."""
        self._run(restore_seam, 0)

    def _run(self, run, is_cut):
        layout = self.layout
        for i in np.flatnonzero(self.is_cut != is_cut):
            self.is_cut[i] = is_cut
            run(self.residual, layout.step, self.rises, self.cell(self.lines[i]), layout.stride[0], self.saved[i])
