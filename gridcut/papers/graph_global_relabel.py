"""Global relabeling (Łupińska 2011, algorithm 4.4) on the residual graph of a sparse graph.

As gridcut/papers/global_relabel.py, with nodes for pixels and lists of arcs for steps: a backward breadth-first search
from the sink sets the height of every node to its distance to the sink.  The nodes that it does not reach get the
height `ceiling` (gap relabeling).

Arrays, in addition to those of gridcut/graph/residual_graph.py (n nodes; ceiling = n + 1)
  height[x]   1: remaining capacity to the sink;  ceiling: cannot reach the sink
  queue[...]  nodes in the order in which they were reached; n entries

The search reads the residual capacity of an arc at its tail only, which is the copy that lock-free threads keep.
"""

from gridcut.device import kernel


@kernel
def global_relabel(first, arcs, excess, height, queue, ceiling):
    """Set all heights to distances to the sink; returns the number of nodes with excess that can reach it."""
    tail = 0
    for x in range(excess.size):
        if excess[x] < 0:
            height[x] = 1
            queue[tail] = x
            tail += 1
        else:
            height[x] = ceiling
    front = 0
    while front < tail:
        x = queue[front]
        front += 1
        current = height[x] + 1
        for a in range(first[x], first[x + 1], 4):
            y = arcs[a]
            if height[y] == ceiling and arcs[arcs[a + 1] + 2] > 0:
                height[y] = current
                queue[tail] = y
                tail += 1
    active = 0
    for i in range(tail):
        if excess[queue[i]] > 0:
            active += 1
    return active
