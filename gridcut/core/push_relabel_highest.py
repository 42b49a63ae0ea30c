"""Push-relabel from the highest level first, an order for gridcut/core/push_relabel_fifo.py.

Excess that arrives from far away is gathered on its way, because the farthest moves first.  On a line of n pixels, the
first half sources and the second half sinks, this takes O(n) pushes, first in, first out O(n^2).

Arrays as there, and
  first[h], after[p]   a list of the active pixels of height h

Cherkassky, Goldberg. "On implementing the push-relabel method for the maximum flow problem." Algorithmica 1997.

Time O(n^2 sqrt(m)); memory 16 bytes per pixel.
"""

import numpy as np

from gridcut.core.push_relabel_fifo import push
from gridcut.core.push_relabel_rules import is_admissible, lifted
from gridcut.device import kernel


@kernel
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
