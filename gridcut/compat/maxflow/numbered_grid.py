"""Recognises an image in a list of arcs, as `gridcut.max_flow` solves it in less time than a sparse graph.

The pixels are numbered row by row, so that arcs lead from node i to i + 1 and i - 1, and to i + W and i - W in rows of
W pixels.  There are no other arcs, and none from the end of a row to the next row.
"""

import numpy as np

from gridcut.device import kernel

OFFSETS = (0, 1), (0, -1), (1, 0), (-1, 0)  # of the arcs to i + 1, i - 1, i + W and i - W


def numbered_grid(nodes: int, arcs) -> tuple[tuple[int, int], dict] | None:
    """Shape and edges, as `max_flow` takes them, of a graph that is an image with 4 neighbours; None of any other.

    O(nodes + arcs), but on a graph that is none, it usually ends at the first arcs.
    """
    forward, back = arcs.forward, arcs.back
    planes = np.zeros((4, nodes), forward.dtype)
    width = planes_kernel(*arcs, planes)
    if not width or nodes % width:
        return None
    if forward.dtype.kind == "i" and forward.sum(dtype=float) + back.sum(dtype=float) >= 2**62:
        return None  # sums of parallel arcs might not fit int64
    shape = nodes // width, width
    right, left, down, up = planes.reshape(4, *shape)
    if right[:, -1].any() or left[:, 0].any() or down[-1].any() or up[0].any():
        return None
    return shape, dict(zip(OFFSETS, (right, left, down, up), strict=True))


@kernel
def planes_kernel(tail, head, forward, back, planes):
    """Add the capacities of arcs to those of i + 1, i - 1, i + W and i - W at node i; W, or 0 if they are no grid's."""
    width = 0
    for e in range(tail.size):
        u, v = tail[e], head[e]
        step = abs(v - u)
        if step > 1:
            if width == 0:
                width = step
            elif step != width:
                return 0
        if step:
            first = 0 if step == 1 else 2
            planes[first if v > u else first + 1, u] += forward[e]
            planes[first + 1 if v > u else first, v] += back[e]
    return width
