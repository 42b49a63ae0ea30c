"""Kernels of total variation by windows: load a window of one binary cut, and read what its bounds decide.

The binary energy of one cut decides one bit per pixel.  A window is a rectangle of pixels, some of them decided
already.  A neighbour outside the window that is undecided is taken as 0 for the lower bound and as 1 for the upper one.

  state[p]      UNDECIDED, ZERO or ONE
  known[i, j]   a copy of the window's states with a margin of one pixel, so that all steps on it see the same states
  low[p]        the start of p's interval; pixels of different intervals have no arc: it is known which is higher
  excess[c]     minus what bit 1 costs the pixel of cell c, arcs to decided and to outer pixels included
  margin[c]     what excess[c] increases by when undecided neighbours outside the window change from 0 to 1

Cells as in gridcut/core/grid.py; the pixel in row i, column j of a window is cell head + i * stride + j.
"""

import numpy as np

from gridcut.device import inner_kernel, plain_kernel
from gridcut.ibfs.forest import FREE

UNDECIDED, ZERO, ONE = np.uint8(0), np.uint8(1), np.uint8(2)


@plain_kernel
def undecided_box(state, top, bottom, left, right):
    """The bounding box (top, bottom, left, right) of the undecided pixels of a window; empty if there are none."""
    first, last, begin, end = bottom, top, right, left
    for y in range(top, bottom):
        for x in range(left, right):
            if state[y, x] == UNDECIDED:
                first = min(first, y)
                last = y + 1
                begin = min(begin, x)
                end = max(end, x + 1)
    return first, last, begin, end


@inner_kernel
def rise_of(t, centre, is_weak, is_quadratic, unit):
    """The data term at level t minus that at t - 1; see `DataTerm`."""
    if is_weak:
        return np.int64(1) if t > centre else np.int64(-1)
    if is_quadratic:
        return unit * (2 * t - 1) - centre
    return unit if t > centre else -unit


# args: an entry call, to which Python passes arrays one by one in half the time that a bundle takes
@plain_kernel
def load_window(
    top, left, height, width, half, centre, weak, is_quadratic, unit, weights, offsets, low, known,
    stride, head, size, excess, residual, margin, label, parent,
):  # fmt: skip
    """Load the cells of a window for the lower bound; returns whether some margin is not 0.

    A pixel whose own cost exceeds what all its undecided neighbours can change is decided at once, in `known`; the arcs
    that earlier pixels have to it become part of their excess.
    """
    arcs = len(offsets)
    rows, columns = low.shape
    unit = np.int64(unit)
    excess[:size] = 0
    residual[: size * arcs] = 0
    label[:size] = 0
    parent[:size] = FREE
    is_open = False
    for i in range(height):
        y = top + i
        for j in range(width):
            if known[i + 1, j + 1] != UNDECIDED:
                continue
            x = left + j
            cell = head + i * stride + j
            floor = low[y, x]
            is_weak = weak is not None and weak[y, x]
            rise = rise_of(np.int64(floor) + half, np.int64(centre[y, x]), is_weak, is_quadratic, unit)
            inside = np.int64(0)
            outside = np.int64(0)
            for k in range(arcs):
                dy, dx = offsets[k]
                v, u = y + dy, x + dx
                if v < 0 or v >= rows or u < 0 or u >= columns:
                    continue
                w = np.int64(weights[k])
                other = low[v, u]
                if other != floor:
                    rise += w if other < floor else -w
                    continue
                there = known[i + dy + 1, j + dx + 1]
                if there != UNDECIDED:
                    rise += w if there == ZERO else -w
                elif 0 <= i + dy < height and 0 <= j + dx < width:
                    residual[cell * arcs + k] = w
                    inside += w
                else:
                    outside += w
            if rise + inside + outside <= 0 or rise - inside - outside > 0:
                is_one = rise <= 0
                known[i + 1, j + 1] = ONE if is_one else ZERO
                for k in range(arcs):
                    dy, dx = offsets[k]
                    residual[cell * arcs + k] = 0
                    if not (0 <= i + dy < height and 0 <= j + dx < width):
                        continue
                    neighbour = cell + dy * stride + dx
                    w = residual[neighbour * arcs + (k ^ 1)]
                    residual[neighbour * arcs + (k ^ 1)] = 0
                    excess[neighbour] += w if is_one else -w
            else:
                excess[cell] = -rise - outside
                margin[cell] = 2 * outside
                is_open |= outside > 0
    return is_open


@plain_kernel
def raise_margin(height, width, known, stride, head, excess, margin, label):
    """From the lower to the upper bound: a bit that is 1 in both needs no flow; the others receive their margin."""
    for i in range(height):
        for j in range(width):
            if known[i + 1, j + 1] == UNDECIDED:
                cell = head + i * stride + j
                if label[cell] >= 0:
                    excess[cell] = 0
                    known[i + 1, j + 1] = ONE
                else:
                    excess[cell] += margin[cell]


@plain_kernel
def store_bits(top, left, height, width, is_open, known, stride, head, label, state):
    """Write the decided bits of a window to the image; if it is open, 1 of the upper bound alone decides nothing."""
    for i in range(height):
        for j in range(width):
            bit = known[i + 1, j + 1]
            if bit == UNDECIDED:
                if label[head + i * stride + j] < 0:
                    bit = ZERO
                elif not is_open:
                    bit = ONE
            state[top + i, left + j] = bit


@plain_kernel
def halve_intervals(half, state, low):
    """Move each interval to the half that its bit selects, and make all bits undecided."""
    for y in range(low.shape[0]):
        for x in range(low.shape[1]):
            if state[y, x] == ONE:
                low[y, x] += half
            state[y, x] = UNDECIDED
