"""Sequential push-relabel with global and gap relabeling: Łupińska, algorithms 4.1 to 4.4.

Returns the pixels that can still reach the sink once no excess can.  Active pixels are discharged first in, first
out, or from the highest level first (order="fifo" or "highest").  Heights are recomputed by a backward search
every n relabels.  `Cut.flow` needs the FIFO order and the loop too, so they are in gridcut/core/push_relabel_fifo.py.

Arrays (n cells; ceiling = n + 1)     paper [1]
  excess[p] > 0: active                e(x);  < 0: minus the residual capacity of the arc to t
  height[p]                            h(x);  ceiling: disconnected from t
  residual[p * 2K + k]                 u_f(x, y),  y = p + step[k]
  members[h]                           pixels of height h; 0 below some height means a gap
  queue (fifo)                         S, a ring: every active pixel that is connected to t, once
  first[h], after[p] (highest)         S, a list per height

Deviates from [1]: excess disconnected from the sink stays in its pixel instead of flowing back to the source, which
the minimum cut does not need (`Cut.flow` returns it on request); heights start as distances, not as 0; the
source's arcs are represented by the initial excess; a gap is found as in [2], by counting members, not only after a
search.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 4.1 and 4.2.
[2] Cherkassky, Goldberg. "On implementing the push-relabel method for the maximum flow problem." Algorithmica
1997.

Time O(n^3) with FIFO order, O(n^2 sqrt(m)) with the highest label; memory 12 bytes per pixel (fifo),
16 (highest).
"""

import numpy as np

from gridcut.core.grid import Grid
from gridcut.core.push_relabel_fifo import discharge_fifo, push
from gridcut.core.push_relabel_fifo import solve as solve_by
from gridcut.core.push_relabel_rules import is_admissible, lifted
from gridcut.device import kernel

ORDERS = ("fifo", "highest")


@kernel
def discharge_highest(excess, residual, step, height, members, first, after, ceiling, budget):
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


def _discharge_highest(excess, residual, step, height, members, queue, ceiling, budget):
    """`discharge_highest`, with `queue` as `after`."""
    first = np.empty(members.size, members.dtype)
    return discharge_highest(excess, residual, step, height, members, first, queue, ceiling, budget)


def solve(grid: Grid, *, order="fifo", global_every=1.0, callback=None):
    """Solve in place; the mask of the sink side, and stats.

    order         "fifo" or "highest": order in which active pixels are discharged
    global_every  relabels between two global relabelings, as a multiple of the number of cells (the paper:
    once every n)
    """
    excess, residual, step = grid.excess, grid.residual, grid.step
    if order not in ORDERS:
        raise ValueError(f"order must be 'fifo' or 'highest', got {order!r}")
    discharge = discharge_fifo if order == "fifo" else _discharge_highest
    return solve_by(excess, residual, step, discharge=discharge, global_every=global_every, callback=callback)
