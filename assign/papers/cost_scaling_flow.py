"""Minimum-cost flow by cost scaling on a general network: Łupińska, algorithm 5.0; Goldberg and Tarjan [2].

A flow is eps-optimal for prices p if c_p(x, y) = c(x, y) + p(x) - p(y) >= -eps for every residual arc (x, y).

    Min-Cost:  eps <- C; p <- 0                                  here
      f <- a flow                                                network simplex without costs
      while eps >= 1 / n do (eps, f, p) <- Refine(eps, p)        costs are multiplied by n + 1: until eps = 1
    Refine(eps, p):
      eps <- eps / alpha
      saturate every residual arc with c_p < 0                   saturate
      while some x is active, e(x) > 0, do
        push flow along residual arcs (x, y) with c_p < 0        discharge, active nodes in a queue
        or relabel x: p(x) <- max {p(z) - c(x, z) - eps}

Deviates from [1]: none of its heuristics (5.3, arc fixing) is used.  An arc without a limit gets one that no flow of
minimum cost needs: the sum of all finite capacities and supplies.  At the end, some remainder of p by n + 1 belongs to
none of the n nodes; rounding p down from there gives integers that certify the flow for the costs given.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 5.1.
[2] Goldberg, Tarjan. "Finding minimum-cost circulations by successive approximation." Math. of OR 15(3), 1990.

O(n^2 m min(log(nC), m log n)); memory 41 bytes per arc and 36 per node.
"""

import numpy as np

from assign.flow import network_simplex
from assign.flow.flow_problem import UNLIMITED, Network
from gridcut.device import inner_kernel, kernel
from gridcut.device.arguments import INT64_MAX

ALPHA = 10


def solve(network: Network):
    """The flow of each arc, the price and the remaining supply of each node, and counters."""
    n, m = network.nodes, len(network.tail)
    largest = int(np.abs(network.cost).max(initial=0))
    capacity = network.capacity.copy()
    limited = capacity < UNLIMITED
    needed = int(capacity[limited].sum()) + int(np.abs(network.supply).sum()) + 1
    if 4 * (n + 1) ** 2 * largest > INT64_MAX or needed * (m + 1) > INT64_MAX:
        raise ValueError(
            f"method 'cost_scaling' needs 4 (nodes + 1)^2 |cost| and arcs times all capacities below 2**63, got "
            f"{n} nodes, {m} arcs, |cost| up to {largest} and capacities of {needed}; use method 'network_simplex'"
        )
    capacity[~limited] = needed
    feasible = network._replace(capacity=capacity, cost=np.zeros(m, np.int64))
    flow, _, left, _ = network_simplex.solve(feasible)
    price = np.zeros(n, np.int64)
    pushes, relabels = 0, 0
    if not left.any():
        ends = np.concatenate([network.tail, network.head])
        order = np.argsort(ends, kind="stable").astype(np.int32)  # the arc order[k], or order[k] - m in reverse
        first = np.searchsorted(ends[order], np.arange(n + 1))
        scaled = network.cost * (n + 1)
        eps = largest * (n + 1)
        while eps > 1:
            eps = max(eps // ALPHA, 1)
            counts = refine(network.tail, network.head, capacity, scaled, first, order, flow, price, eps)
            pushes, relabels = pushes + counts[0], relabels + counts[1]
        unused = np.flatnonzero(np.bincount(price % (n + 1), minlength=n + 1) == 0)[0]
        price = (price + n - unused) // (n + 1)
    return flow, price, left, {"pushes": pushes, "relabels": relabels}


@kernel
def refine(tail, head, capacity, cost, first, order, flow, price, eps):
    """Make a flow eps-optimal, in place; the numbers of pushes and relabels."""
    n, m = len(price), len(tail)
    excess = np.zeros(n, np.int64)
    for a in range(m):
        reduced = cost[a] + price[tail[a]] - price[head[a]]
        change = capacity[a] - flow[a] if reduced < 0 else -flow[a] if reduced > 0 else 0
        flow[a] += change
        excess[tail[a]] -= change
        excess[head[a]] += change
    queue = np.empty(n + 1, np.int32)
    begin, end = 0, 0
    for x in range(n):
        if excess[x] > 0:
            queue[end] = x
            end += 1
    current = first[:-1].copy()
    pushes, relabels = 0, 0
    while begin != end:
        x = queue[begin]
        begin = (begin + 1) % len(queue)
        while excess[x] > 0:
            if current[x] == first[x + 1]:
                relabel(tail, head, capacity, cost, first, order, flow, price, eps, x)
                relabels += 1
                current[x] = first[x]
            y, a, room, reduced = residual(tail, head, capacity, cost, flow, price, order[current[x]], x)
            if room == 0 or reduced >= 0:
                current[x] += 1
                continue
            amount = min(room, excess[x])
            flow[a] += amount if order[current[x]] < m else -amount
            excess[x] -= amount
            if excess[y] <= 0 < excess[y] + amount:
                queue[end] = y
                end = (end + 1) % len(queue)
            excess[y] += amount
            pushes += 1
    return pushes, relabels


@inner_kernel
def residual(tail, head, capacity, cost, flow, price, k, x):
    """The end, the arc, the residual capacity and the reduced cost of entry k of node x."""
    m = len(tail)
    if k < m:
        return head[k], k, capacity[k] - flow[k], cost[k] + price[x] - price[head[k]]
    a = k - m
    return tail[a], a, flow[a], -cost[a] + price[x] - price[tail[a]]


@inner_kernel
def relabel(tail, head, capacity, cost, first, order, flow, price, eps, x):
    """Lower p(x) to the smallest value that eps-optimality allows."""
    least = np.int64(INT64_MAX)
    for at in range(first[x], first[x + 1]):
        _, _, room, reduced = residual(tail, head, capacity, cost, flow, price, order[at], x)
        if room > 0:
            least = min(least, reduced)
    price[x] -= least + eps
