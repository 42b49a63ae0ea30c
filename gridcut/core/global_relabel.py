"""Global relabeling (Łupińska, algorithm 4.4), and the sink side that follows from the heights.

A backward breadth-first search from the sink sets the height of every pixel to its distance to the sink in the residual
graph.  The pixels that it does not reach are disconnected from the sink and get the height `ceiling`: the gap
relabeling of the same section.

Arrays
  height[p]   1: remaining capacity to the sink;  ceiling: cannot reach the sink (and the padding)
  queue[...]  pixels in the order in which they were reached; one entry per cell
"""

from gridcut.device import kernel


@kernel
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


@kernel
def sink_side_of(height, ceiling, sink_side):
    """Mark the pixels that can reach the sink."""
    for p in range(height.size):
        sink_side[p] = height[p] < ceiling
