"""The GPU default without its tricks: push-relabel on tiles of a 2-D grid, in plain Python.

Read this first.  Tests compare the labels with those of `tiles.py`, which runs the same steps on a GPU without locks:

    relabel      `distances`: heights become the exact number of arcs to the sink, found by a breadth-first search
    stop         in `minimum_cut`: if no pixel with excess can reach the sink
    discharge    the tiles with excess, one colour after another; the heights outside a tile do not change meanwhile

Tiles that touch, also at a corner, have different colours, so no arc joins tiles of one colour: on the GPU one block of
threads discharges each of them, all blocks in parallel.  Within a tile every pixel with excess repeats one step: push
to the lowest neighbour if that is lower, else be relabeled to one above it (Łupińska [1], algorithm 4.5, after Hong).

Termination of this sequential program, after [1, section 4.1].  A push from p to a lower q adds the arc q -> p, which
leads up, and a relabel raises p to one above its lowest neighbour.  Heights start at the distances and only rise, but
never exceed the distances, so these never fall.  Every round makes a step, because only the steps of an active pixel
change its height or reduce its excess.  A step raises a height, or pushes at least one unit down.  If a height of p
rises in a round, so does the distance of p by the next search.  A finite distance is at most the number of pixels, so
this happens in finitely many rounds.  In any other round heights are constant, and the sum of excess times height,
which is bounded below, falls by at least 1.  Hence the loop ends.

This proof does not carry over to the GPU.  Lock-free steps read heights that are out of date, so a height may exceed
the distance, and distances may fall.  tiles.py therefore has a fallback, with a proof of its own.

What `tiles.py` adds: lock-free steps of all active pixels of a tile, by threads that follow the excess pushed; sweeps
over the colours repeated between two relabelings; the fallback after FALLBACK_ROUND rounds; 32 pixels of a row as the
bits of one word during the search; tiles searched again only where heights around them decreased; discharging in shared
memory, for about as long as relabeling took; local relabeling when few tiles have excess; both steps queued on the GPU
in advance; 3-D grids; slabs on several GPUs.
Where all arcs are parallel to the axes, it uses two colours instead of four.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011.
[2] Delong, Boykov. "A scalable graph-cut algorithm for N-D grids." CVPR 2008.
"""

from collections import deque

import numpy as np

UNREACHABLE = 1 << 30


def minimum_cut(source, sink, edges, *, tile=32, steps=32):
    """Labels of the minimum cut of a 2-D grid (True: source side), as `gridcut.max_flow` returns them.

    source, sink   integers of shape (h, w);  edges: {offset: integers of shape (h, w)}, both directions given
    tile           side of a tile, in pixels;  steps: of each pixel while its tile is discharged
    """
    excess = np.asarray(source, np.int64) - np.asarray(sink, np.int64)
    residual = {offset: _inside(np.array(capacity, np.int64), offset) for offset, capacity in edges.items()}
    while True:
        height = distances(excess, residual)
        if not ((excess > 0) & (height < UNREACHABLE)).any():
            return height == UNREACHABLE
        for colour in range(4):
            for rows, columns in tiles_of(colour, excess.shape, tile):
                discharge(rows, columns, excess, residual, height, steps)


def _inside(capacity, offset):
    """Capacities of an offset, 0 where it leaves the grid."""
    for axis, step in enumerate(offset):
        outside = [slice(None)] * 2
        if step:
            outside[axis] = slice(-step, None) if step > 0 else slice(None, -step)
            capacity[tuple(outside)] = 0
    return capacity


def distances(excess, residual):
    """The number of arcs from each pixel to the sink: 1 if it has capacity to the sink itself (excess < 0)."""
    height = np.where(excess < 0, 1, UNREACHABLE)
    queue = deque(zip(*np.nonzero(excess < 0), strict=True))
    while queue:
        y, x = queue.popleft()
        for (dy, dx), capacity in residual.items():  # the arc from (y - dy, x - dx) to (y, x)
            before = y - dy, x - dx
            if _is_inside(before, height.shape) and capacity[before] > 0 and height[before] == UNREACHABLE:
                height[before] = height[y, x] + 1
                queue.append(before)
    return height


def _is_inside(pixel, shape):
    return all(0 <= position < length for position, length in zip(pixel, shape, strict=True))


def tiles_of(colour, shape, side):
    """Ranges of rows and of columns of the tiles of one of four colours; they do not touch, even at corners."""
    for top in range(colour // 2 * side, shape[0], 2 * side):
        for left in range(colour % 2 * side, shape[1], 2 * side):
            yield range(top, min(top + side, shape[0])), range(left, min(left + side, shape[1]))


def discharge(rows, columns, excess, residual, height, steps):
    """Steps of the pixels of a tile with excess, until none has any that can move or `steps` are done."""
    for _ in range(steps):
        active = [(y, x) for y in rows for x in columns if excess[y, x] > 0 and height[y, x] < UNREACHABLE]
        if not active:
            return
        for pixel in active:
            step(pixel, excess, residual, height)


def step(pixel, excess, residual, height):
    """Push the excess of a pixel to its lowest neighbour, or raise the pixel above that."""
    y, x = pixel
    neighbours = [(height[y + dy, x + dx], (dy, dx)) for (dy, dx), capacity in residual.items() if capacity[pixel] > 0]
    lowest, (dy, dx) = min(neighbours, default=(UNREACHABLE, (0, 0)))
    if height[pixel] <= lowest:
        height[pixel] = min(lowest + 1, UNREACHABLE)
        return
    amount = min(excess[pixel], residual[dy, dx][pixel])
    excess[pixel] -= amount
    residual[dy, dx][pixel] -= amount
    residual[-dy, -dx][y + dy, x + dx] += amount
    excess[y + dy, x + dx] += amount
