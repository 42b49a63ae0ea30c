"""Changes of capacities under a flow, after which a solver that keeps its state can continue.

A new terminal capacity changes the excess of a pixel by the difference.  A new edge capacity changes the residual by
the difference.  If the residual would become negative, the flow exceeds the new capacity, and the excess flow is
pushed back:

      before                     after                     r(p, q) = -2:   r(p, q) = 0,  r(q, p) -= 2
  p ── r = 3 ──► q    - 5    p ── r = -2 ──► q    becomes                  e(p) += 2,    e(q) -= 2

This is the reparametrisation of Kohli and Torr, "Dynamic graph cuts for efficient inference in Markov random
fields", PAMI 2007.  The flow remains a pseudoflow of the new problem, and every solver can start from a pseudoflow.
"""

import numpy as np

from gridcut.core.units import units
from gridcut.device import inner_kernel, plain_kernel


@plain_kernel
def compare_kernel(new, old, extent, zero):
    """Compare a plane with a flat array: number of changed pixels, largest new and old value there, and any bad value.

    A bad value is negative or NaN.
    """
    count = 0
    largest = zero
    gone = zero
    bad = False
    n2 = new.stride[2]
    for z in range(extent[0]):
        for y in range(extent[1]):
            n = new.start + z * new.stride[0] + y * new.stride[1]
            line = (z * extent[1] + y) * extent[2]
            for x in range(extent[2]):
                value, before = new.data[np.uint64(n + x * n2)], old[np.uint64(line + x)]
                if value != before:
                    count += 1
                    largest = value if value > largest else largest
                    gone = before if before > gone else gone
                    bad |= not value >= 0
    return count, largest, gone, bad


@plain_kernel
def find_changes_kernel(new, old, extent, pixels, values):
    """Write the raster indices of the pixels where a plane differs from a flat array, and the plane's values there."""
    count = 0
    n2 = new.stride[2]
    for z in range(extent[0]):
        for y in range(extent[1]):
            n = new.start + z * new.stride[0] + y * new.stride[1]
            line = (z * extent[1] + y) * extent[2]
            for x in range(extent[2]):
                value = new.data[np.uint64(n + x * n2)]
                if value != old[np.uint64(line + x)]:
                    pixels[count] = line + x
                    values[count] = value
                    count += 1


@plain_kernel
def change_terminals_kernel(new, old, mask, sign, scale, extent, stride, head, excess):
    """Set old = new at all pixels and excess += sign * change: `change_terminal_kernel` without a list of pixels."""
    n2 = new.stride[2]
    for z in range(extent[0]):
        for y in range(extent[1]):
            n = new.start + z * new.stride[0] + y * new.stride[1]
            line = (z * extent[1] + y) * extent[2]
            p = head + z * stride[0] + y * stride[1]
            for x in range(extent[2]):
                value, before = new.data[np.uint64(n + x * n2)], old[np.uint64(line + x)]
                old[np.uint64(line + x)] = value
                if mask is not None:
                    m = mask.start + z * mask.stride[0] + y * mask.stride[1] + x * mask.stride[2]
                    if mask.data[np.uint64(m)] == 0:
                        continue
                excess[np.uint64(p + x)] += sign * (units(value, scale) - units(before, scale))


@plain_kernel
def change_terminal_kernel(values, pixels, old, mask, sign, scale, extent, stride, head, excess, cells):
    """Set old = values at some pixels and excess += sign * change; writes the changed cells, returns their number."""
    touched = 0
    for i in range(pixels.size):
        line, x = divmod(pixels[i], extent[2])
        z, y = divmod(line, extent[1])
        change = units(values[i], scale) - units(old[pixels[i]], scale)
        old[pixels[i]] = values[i]
        if mask is not None:
            m = z * mask.stride[0] + y * mask.stride[1] + x * mask.stride[2]
            if mask.data[mask.start + m] == 0:
                continue
        p = head + z * stride[0] + y * stride[1] + x
        excess[p] += sign * change
        cells[touched] = p
        touched += 1
    return touched


@inner_kernel
def push_back(excess, residual, step, p, k):
    """Set a negative residual to 0 by pushing the excess flow back along its arc."""
    arcs = len(step)
    over = -residual[p * arcs + k]
    if over > 0:
        q = p + step[k]
        residual[p * arcs + k] = 0
        residual[q * arcs + (k ^ 1)] -= over
        excess[p] += over
        excess[q] -= over


# args: an entry call, to which Python passes arrays one by one in half the time that a bundle takes
@plain_kernel
def change_arc_kernel(
    values,
    pixels,
    old,
    mask,
    far_mask,
    both,
    scale,
    extent,
    offset,
    stride,
    head,
    step,
    k,
    excess,
    residual,
    cells,
):
    """Set old = values at some pixels, and adjust residuals and excesses; both: the opposite arc changes equally.

    Writes the cells at both ends of the changed arcs, returns their number.
    """
    arcs = len(step)
    touched = 0
    for i in range(pixels.size):
        line, x = divmod(pixels[i], extent[2])
        z, y = divmod(line, extent[1])
        change = units(values[i], scale) - units(old[pixels[i]], scale)
        old[pixels[i]] = values[i]
        if not (0 <= z + offset[0] < extent[0] and 0 <= y + offset[1] < extent[1] and 0 <= x + offset[2] < extent[2]):
            continue
        if mask is not None:
            m = z * mask.stride[0] + y * mask.stride[1] + x * mask.stride[2]
            if mask.data[mask.start + m] == 0 or far_mask.data[far_mask.start + m] == 0:
                continue
        p = head + z * stride[0] + y * stride[1] + x
        q = p + step[k]
        residual[p * arcs + k] += change
        if both:
            residual[q * arcs + (k ^ 1)] += change
        push_back(excess, residual, step, p, k)
        push_back(excess, residual, step, q, k ^ 1)
        cells[touched] = p
        cells[touched + 1] = q
        touched += 2
    return touched


@plain_kernel
def sink_excess_kernel(excess, sink_side):
    """Sum of the excess on the sink side in two halves of 32 bits: (low, high)."""
    low = np.int64(0)
    high = np.int64(0)
    for p in range(excess.size):
        e = np.int64(excess[p]) if sink_side[p] else np.int64(0)
        low += e & 0xFFFFFFFF
        high += e >> 32
    return low, high
