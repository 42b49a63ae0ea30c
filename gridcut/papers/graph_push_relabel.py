"""Sequential push-relabel on a sparse graph, with global and gap relabeling: Łupińska, algorithms 4.1 to 4.4.

Returns the nodes that can still reach the sink once no excess can.  As gridcut/papers/push_relabel.py, for arcs in
lists.  Active nodes are discharged first in, first out, or from the highest level first (order="fifo" or "highest").
Heights are recomputed by a backward search every n relabels.

Arrays (n nodes; ceiling = n + 1)     paper [1]
  excess[x] > 0: active                e(x);  < 0: minus the residual capacity of the arc to t
  height[x]                            h(x);  ceiling: disconnected from t
  arcs[a + 2], arcs[a + 3]             u_f(x, y), u_f(y, x);  y = arcs[a], see gridcut/graph/residual_graph.py
  current[x]                           the arc of x at which its next discharge starts
  members[h]                           nodes of height h; 0 below some height means a gap
  queue (fifo)                         S, a ring: every active node that is connected to t, once
  level[h], after[x] (highest)         S, a list per height

Deviates from [1] as on the grid: excess disconnected from the sink stays in its node instead of flowing back to the
source, which the minimum cut does not need; heights start as distances, not as 0; the source's arcs are represented by
the initial excess; a gap is found as in [2], by counting members, not only after a search.  A node of a graph may have
many arcs, so a discharge continues at the *current arc* of its node, as in [3]: the arcs before it cannot become
admissible before the node is relabeled.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 4.1 and 4.2.
[2] Cherkassky, Goldberg. "On implementing the push-relabel method for the maximum flow problem." Algorithmica
1997.
[3] Goldberg, Tarjan. "A new approach to the maximum-flow problem." Journal of the ACM 35(4), 1988.

Time O(n^3) with FIFO order, O(n^2 sqrt(m)) with the highest label; memory 16 bytes per node (fifo), 20 (highest).
"""

import numpy as np

from gridcut.core.push_relabel_rules import is_admissible, lifted, push_amount
from gridcut.device import inlined_kernel, kernel
from gridcut.device.arguments import check_positive
from gridcut.graph.graph_forest import move_flow
from gridcut.graph.residual_graph import ResidualGraph
from gridcut.papers.graph_global_relabel import global_relabel
from gridcut.papers.push_relabel import ORDERS, count_members


@inlined_kernel
def next_admissible(x, here, first, arcs, height, current):
    """The first admissible arc of x from its current arc on, which it becomes; -1: none."""
    for a in range(current[x], first[x + 1], 4):
        if arcs[a + 2] > 0 and is_admissible(here, height[arcs[a]]):
            current[x] = a
            return a
    return -1


@inlined_kernel
def lowest_neighbour(x, first, arcs, height, ceiling):
    """The smallest height of a residual neighbour of x, at most `ceiling`."""
    lowest = np.int64(ceiling)
    for a in range(first[x], first[x + 1], 4):
        if arcs[a + 2] > 0:
            lowest = min(lowest, np.int64(height[arcs[a]]))
    return lowest


@inlined_kernel
def push(x, a, arcs, excess):
    """Push through an arc of x; returns whether its head becomes active."""
    y = arcs[a]
    amount = push_amount(np.int64(excess[x]), np.int64(arcs[a + 2]))
    move_flow(arcs, np.uint64(a), amount)
    before = np.int64(excess[y])
    excess[x] -= amount
    excess[y] = before + amount
    return before <= 0 and before + amount > 0


@kernel
def discharge_fifo(first, arcs, excess, height, current, members, queue, ceiling, budget):
    """Discharge nodes in the order they became active, until none is left or after `budget` relabels."""
    size = queue.size
    front = 0
    waiting = 0
    for x in range(excess.size):
        if excess[x] > 0 and height[x] < ceiling:
            queue[waiting] = x
            waiting += 1
    pushes = 0
    relabels = 0
    gap = np.int64(ceiling)
    while waiting > 0 and relabels < budget:
        x = queue[front]
        front = front + 1 if front + 1 < size else 0
        waiting -= 1
        here = np.int64(height[x])
        if here > gap and members[gap] == 0:
            members[here] -= 1
            height[x] = ceiling
            continue
        while excess[x] > 0:
            a = next_admissible(x, here, first, arcs, height, current)
            if a < 0:
                break
            if push(x, a, arcs, excess):
                at = front + waiting
                queue[at if at < size else at - size] = arcs[a]
                waiting += 1
            pushes += 1
        if excess[x] > 0:
            relabels += 1
            members[here] -= 1
            lowest = lowest_neighbour(x, first, arcs, height, ceiling)
            if members[here] == 0:
                gap = here
                lowest = np.int64(ceiling)
            height[x] = lifted(lowest, ceiling)
            current[x] = first[x]
            if height[x] < ceiling:
                members[height[x]] += 1
                at = front + waiting
                queue[at if at < size else at - size] = x
                waiting += 1
    return pushes, relabels


@kernel
def discharge_highest(first, arcs, excess, height, current, members, level, after, ceiling, budget):
    """Discharge active nodes, the highest first, until none is left or after `budget` relabels."""
    level[:] = -1
    top = np.int64(0)
    for x in range(excess.size):
        if excess[x] > 0 and height[x] < ceiling:
            after[x] = level[height[x]]
            level[height[x]] = x
            top = max(top, np.int64(height[x]))
    pushes = 0
    relabels = 0
    while relabels < budget:
        while top > 0 and level[top] < 0:
            top -= 1
        if top == 0:
            break
        x = level[top]
        level[top] = after[x]
        here = top
        while excess[x] > 0:
            a = next_admissible(x, here, first, arcs, height, current)
            if a < 0:
                break
            if push(x, a, arcs, excess):
                y = arcs[a]
                after[y] = level[here - 1]
                level[here - 1] = y
            pushes += 1
        if excess[x] > 0:
            relabels += 1
            members[here] -= 1
            lowest = lowest_neighbour(x, first, arcs, height, ceiling)
            if members[here] == 0:
                lowest = np.int64(ceiling)
            height[x] = lifted(lowest, ceiling)
            current[x] = first[x]
            if height[x] < ceiling:
                top = np.int64(height[x])
                members[top] += 1
                after[x] = level[top]
                level[top] = x
    return pushes, relabels


def solve(graph: ResidualGraph, *, order="fifo", global_every=1.0) -> tuple[np.ndarray, dict]:
    """Solve in place; the mask of the sink side, and stats.

    order         "fifo" or "highest": order in which active nodes are discharged
    global_every  relabels between two global relabelings, as a multiple of the number of nodes (the paper:
    once every n)
    """
    if order not in ORDERS:
        raise ValueError(f"order must be 'fifo' or 'highest', got {order!r}")
    global_every = check_positive("global_every", global_every)
    first, arcs, excess = graph.first, graph.arcs, graph.excess
    size = graph.nodes
    ceiling = size + 1
    height = np.empty(size, np.int32)  # at most 2^31 - 1 by MAX_NODES
    queue = np.empty(size, np.int32)
    current = np.empty(size, first.dtype)
    members = np.empty(ceiling + 1, np.int32)
    level = np.empty(ceiling + 1 if order == "highest" else 0, np.int32)
    budget = max(1, int(min(global_every * size, 2**62)))
    stats = {"pushes": 0, "relabels": 0, "global_relabels": 0}
    while True:
        active = global_relabel(first, arcs, excess, height, queue, ceiling)
        stats["global_relabels"] += 1
        if active == 0:
            return height < ceiling, stats
        count_members(height, members)
        current[:] = first[:-1]
        lists = first, arcs, excess, height, current, members
        if order == "fifo":
            pushes, relabels = discharge_fifo(*lists, queue, ceiling, budget)
        else:  # `queue` serves as `after`
            pushes, relabels = discharge_highest(*lists, level, queue, ceiling, budget)
        stats["pushes"] += pushes
        stats["relabels"] += relabels
