"""Push-relabel with global and gap relabeling, in first-in, first-out order or from the highest level first.

It completes preflows to flows (cut.py), for any neighbourhood, and is the method "push_relabel";
gridcut/papers/push_relabel.py states where it deviates from the paper.  The rules at one pixel and the global
relabeling serve the other methods of push-relabel as well.

Arrays (n cells; ceiling = n + 1)
  excess[p] > 0: active                < 0: minus the residual capacity of the arc to the sink
  height[p]                            arcs to the sink: 1 with remaining capacity to it;  ceiling: disconnected from
                                       the sink, and in the padding
  residual[p * 2K + k]                 of the arc to p + step[k]
  members[h]                           number of pixels of height h; 0 below some height means a gap
  queue                                a ring: every active pixel that is connected to the sink, once
  first[h], after[p]                   for the highest level first: a list of the active pixels of height h

Heights are recomputed by a backward breadth-first search from the sink every n relabels (algorithm 4.4): the distances
to the sink in the residual graph.  Pixels that it does not reach are disconnected, the gap relabeling of the same
section.  Excess disconnected from the sink stays in its pixel.

The highest level first gathers excess that arrives from far away on its way, because the farthest moves first [2].  On
a line of n pixels, the first half sources and the second half sinks, this takes O(n) pushes, first in, first out
O(n^2).

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 4.
[2] Cherkassky, Goldberg. "On implementing the push-relabel method for the maximum flow problem." Algorithmica 1997.

Time O(n^3), from the highest level O(n^2 sqrt(m)); memory 12 bytes per pixel, 16 from the highest level.
"""

import math

import numpy as np

from gridcut.core.grid import index_type
from gridcut.device import plain_kernel
from gridcut.device.arguments import check_positive

# Rules at one pixel, shared by all variants and devices: scalars in and out


@plain_kernel
def push_amount(excess, residual):
    """delta = min{u_f(x, y), e(x)}."""
    return min(excess, residual)


@plain_kernel
def is_admissible(height, neighbour):
    """Algorithm 4.3: a push goes to a neighbour lower by exactly one."""
    return height == neighbour + 1


@plain_kernel
def goes_down(height, lowest):
    """Algorithm 4.5: a push goes to the lowest neighbour, however much lower it is."""
    return height > lowest


@plain_kernel
def lifted(lowest, ceiling):
    """The height of a pixel that cannot push: one above its lowest residual neighbour."""
    return min(lowest + 1, ceiling)


# Global relabeling, and the sink side


@plain_kernel
def global_relabel(excess, residual, step, height, queue, ceiling):
    """Set all heights to distances to the sink; returns the number of pixels that can reach it."""
    arcs = len(step)
    tail = 0
    for p in range(excess.size):
        if excess[p] < 0:
            height[p] = 1
            queue[tail] = p
            tail += 1
        else:
            height[p] = ceiling
    front = 0
    while front < tail:
        p = queue[front]
        front += 1
        current = height[p] + 1
        for k in range(arcs):
            q = p + step[k]
            if height[q] == ceiling and residual[q * arcs + (k ^ 1)] > 0:
                height[q] = current
                queue[tail] = q
                tail += 1
    return tail


@plain_kernel
def sink_side_of(height, ceiling, sink_side):
    """Mark the pixels that can reach the sink."""
    for p in range(height.size):
        sink_side[p] = height[p] < ceiling


NEVER_EMPTY = 2**30  # members of a height, more than pixels can leave it


@plain_kernel
def count_members(height, members):
    """members[h] = number of cells of height h."""
    members[:] = 0
    for p in range(height.size):
        members[height[p]] += 1


@plain_kernel
def push(excess, residual, arc, opposite, q, left):
    """Push up to `left` along an arc to q, and add it to q's excess; the caller subtracts it from the pixel's.

    Returns the amount, and whether q becomes active.
    """
    amount = push_amount(left, residual[arc])
    residual[arc] -= amount
    residual[opposite] += amount
    before = excess[q]
    excess[q] = before + amount
    return amount, before <= 0 and before + amount > 0


@plain_kernel
def discharge_fifo(excess, residual, step, height, members, queue, ceiling, budget):
    """Discharge pixels in the order they became active, until none is left or after `budget` relabels."""
    arcs = len(step)
    size = queue.size
    front = 0
    waiting = 0
    for p in range(excess.size):
        if excess[p] > 0 and height[p] < ceiling:
            queue[waiting] = p
            waiting += 1
    pushes = 0
    relabels = 0
    gap = ceiling
    while waiting > 0 and relabels < budget:
        p = queue[front]
        front = front + 1 if front + 1 < size else 0
        waiting -= 1
        here = height[p]
        if here > gap and members[gap] == 0:
            members[here] -= 1
            height[p] = ceiling
            continue
        left = excess[p]
        lowest = ceiling
        for k in range(arcs):
            if residual[p * arcs + k] > 0:
                q = p + step[k]
                if is_admissible(here, height[q]):
                    amount, activated = push(excess, residual, p * arcs + k, q * arcs + (k ^ 1), q, left)
                    left -= amount
                    pushes += 1
                    if activated:
                        at = front + waiting
                        queue[at if at < size else at - size] = q
                        waiting += 1
                    if left == 0:
                        break
                elif height[q] < lowest:
                    lowest = height[q]
        excess[p] = left
        if left > 0:
            relabels += 1
            members[here] -= 1
            if members[here] == 0:
                gap = here
                lowest = ceiling
            height[p] = lifted(lowest, ceiling)
            if height[p] < ceiling:
                members[height[p]] += 1
                at = front + waiting
                queue[at if at < size else at - size] = p
                waiting += 1
    return pushes, relabels


@plain_kernel
def count_active(excess, height, ceiling):
    """Number of pixels with excess that are not known to be disconnected from the sink."""
    active = 0
    for p in range(excess.size):
        if excess[p] > 0 and height[p] < ceiling:
            active += 1
    return active


def solve(
    excess, residual, step, *, discharge=discharge_fifo, global_every=1.0, gap=True, exact_start=True, most=math.inf,
    callback=None,
):  # fmt: skip
    """Solve in place; the mask of the sink side, and stats.

    discharge     as `discharge_fifo`: its order of the active pixels
    global_every  relabels between two global relabelings, as a multiple of the number of cells; infinity: none but the
                  last, which finds the sink side
    gap           pixels above a gap become disconnected at once
    exact_start   heights start as distances to the sink; False: as low as possible
    most          relabels, about, after which to stop with a preflow that may not be a maximum one; the mask has no
                  meaning then
    """
    global_every = check_positive("global_every", global_every)
    size = excess.size
    ceiling = size + 1
    number = index_type(size)
    height = np.empty(size, number)
    queue = np.empty(size, number)
    members = np.empty(ceiling + 1, number)
    budget = max(1, int(min(global_every * size, 2**62)))
    stats = {"pushes": 0, "relabels": 0, "global_relabels": 0}
    height[:] = 1
    exact = exact_start
    while True:
        if exact:
            global_relabel(excess, residual, step, height, queue, ceiling)
            stats["global_relabels"] += 1
            if callback is not None:
                callback(dict(stats))
            if not count_active(excess, height, ceiling) or stats["relabels"] > most:
                break
        exact = True
        count_members(height, members)
        if not gap:
            members[:] = NEVER_EMPTY
        pushes, relabels = discharge(excess, residual, step, height, members, queue, ceiling, budget)
        stats["pushes"] += pushes
        stats["relabels"] += relabels
    sink_side = np.empty(size, np.uint8)
    sink_side_of(height, ceiling, sink_side)
    return sink_side, stats


# The highest level first


@plain_kernel
def discharge_by_height(excess, residual, step, height, members, first, after, ceiling, budget):
    """Discharge active pixels, the highest first, until none is left or after `budget` relabels."""
    arcs = len(step)
    first[:] = -1
    top = 0
    for p in range(excess.size):
        if excess[p] > 0 and height[p] < ceiling:
            after[p] = first[height[p]]
            first[height[p]] = p
            top = max(top, height[p])
    pushes = 0
    relabels = 0
    while relabels < budget:
        while top > 0 and first[top] < 0:
            top -= 1
        if top == 0:
            break
        p = first[top]
        first[top] = after[p]
        here = top
        left = excess[p]
        lowest = ceiling
        for k in range(arcs):
            if residual[p * arcs + k] > 0:
                q = p + step[k]
                if is_admissible(here, height[q]):
                    amount, activated = push(excess, residual, p * arcs + k, q * arcs + (k ^ 1), q, left)
                    left -= amount
                    pushes += 1
                    if activated:
                        after[q] = first[here - 1]
                        first[here - 1] = q
                    if left == 0:
                        break
                elif height[q] < lowest:
                    lowest = height[q]
        excess[p] = left
        if left > 0:
            relabels += 1
            members[here] -= 1
            if members[here] == 0:
                lowest = ceiling
            height[p] = lifted(lowest, ceiling)
            if height[p] < ceiling:
                members[height[p]] += 1
                top = height[p]
                after[p] = first[top]
                first[top] = p
    return pushes, relabels


def discharge_highest(excess, residual, step, height, members, queue, ceiling, budget):
    """`discharge_by_height`, called as `discharge_fifo`."""
    first = np.empty(members.size, members.dtype)
    return discharge_by_height(excess, residual, step, height, members, first, queue, ceiling, budget)
