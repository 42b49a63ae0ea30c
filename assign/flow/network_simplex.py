"""The primal network simplex method with block search: returns an optimal basic flow and prices that certify it.

A basis is a spanning tree; every other arc is empty or full.  An arc of negative reduced cost c_p(x, y) = c(x, y) +
p(x) - p(y) enters the tree if it is empty, of positive c_p if it is full.  Flow is sent around the cycle that it
closes, until an arc of the cycle is empty or full and leaves the tree.  Two rules make this fast and finite [1, 2]:

    entering   the arc of largest violation in a block of sqrt(m) arcs; the next search starts behind that block
    leaving    of the arcs that block the cycle, the last one in its direction from the join: trees stay strongly
               feasible, that is, every node can send some flow to the root, and the method does not cycle

The first tree (first_tree.py) has artificial arcs to an artificial root and, at a cost no path can reach, from it.  If
one of them has flow at the end, no flow exists.  That flow is then the minimum, so the nodes in reach of those whose
supply stays certify it (flow_errors.py).

Arrays
    tail, head, capacity, cost   of the arcs, shuffled, so that a block has arcs from everywhere; artificial arcs behind
    flow, state                  state: LOWER (empty), UPPER (full), or IN_TREE
    tree                         see spanning_tree.py

[1] Király, Kovács. "Efficient implementations of minimum-cost flow algorithms." Acta Univ. Sapientiae
    Informatica 4, 2012.
[2] Cunningham. "A network simplex method." Mathematical Programming 11, 1976.

Exponential in the worst case, though none is known in practice; about O(n m) on common networks.  Memory 45 bytes per
arc and 85 per node.
"""

import numpy as np

from assign.flow.first_tree import IN_TREE, LOWER, UPPER, first_tree
from assign.flow.flow_problem import UNLIMITED, Network
from assign.flow.spanning_tree import DOWN, UP, Tree, exchange, join_of, shift_prices
from gridcut.device import inlined_kernel, plain_kernel

MIN_BLOCK = 10  # arcs


def solve(network: Network, start=None):
    """The flow of each arc, the price and the remaining supply of each node, and counters.

    start   flow and prices of a similar network, or None
    """
    n, m = network.nodes, len(network.tail)
    stride = max(int(np.sqrt(m)), MIN_BLOCK)
    order = np.concatenate([np.arange(first, m, stride) for first in range(min(stride, m))] or [np.zeros(0, np.int64)])
    tail, head, capacity, cost = (a[order] for a in network[:4])
    flow, tight = np.zeros(m, np.int64), np.zeros(m, bool)
    if start is not None:
        flow, price = np.clip(start[0][order], 0, capacity), start[1]
        tight = cost + price[tail] - price[head] == 0
    large = np.int64((int(np.abs(network.cost).max(initial=0)) + 1) * (n + 1))
    tree, flow, state, to_root = first_tree(tail, head, capacity, cost, network.supply, flow, tight, large)
    node, root = np.arange(n, dtype=np.int32), np.full(n, n, np.int32)
    arcs = (
        np.concatenate([tail, np.where(to_root, node, root)]),
        np.concatenate([head, np.where(to_root, root, node)]),
        np.concatenate([capacity, np.full(n, UNLIMITED)]),
        np.concatenate([cost, np.where(to_root, 0, large)]),
    )
    pivots = run(*arcs, flow, state, *tree, m, stride)
    found = np.empty(m, np.int64)
    found[order] = flow[:m]
    left = np.where(to_root, flow[m:], -flow[m:])
    return found, tree.price[:n] - tree.price[n], left, {"pivots": pivots}


# args: an entry call, to which Python passes arrays one by one in half the time that a bundle takes
@plain_kernel
def run(
    tail, head, capacity, cost, flow, state,
    parent, pred, up, thread, before, size, last, price, changed,
    searched, block,
):  # fmt: skip
    """Pivot until no arc violates optimality; the number of pivots."""
    tree = Tree(parent, pred, up, thread, before, size, last, price, changed)
    start = 0
    pivots = 0
    while True:
        arc, start = entering(tail, head, cost, state, price, searched, block, start)
        if arc < 0:
            return pivots
        pivots += 1
        pivot(tail, head, capacity, cost, flow, state, tree, arc)


@inlined_kernel
def entering(tail, head, cost, state, price, searched, block, start):
    """The arc of largest violation in the next block that has one, and where the next search starts; or -1."""
    least = 0
    found = -1
    e = start
    left = block
    for _ in range(searched):
        violation = state[e] * (cost[e] + price[tail[e]] - price[head[e]])
        if violation < least:
            least = violation
            found = e
        e += 1
        if e == searched:
            e = 0
        left -= 1
        if left == 0:
            if found >= 0:
                break
            left = block
    return found, e


@inlined_kernel
def pivot(tail, head, capacity, cost, flow, state, tree, arc):
    """Send flow around the cycle of the entering arc, and exchange it for the arc that blocks the cycle."""
    parent, pred, up = tree.parent, tree.pred, tree.up
    x, y = tail[arc], head[arc]
    join = join_of(tree, x, y)
    first, second = (x, y) if state[arc] == LOWER else (y, x)
    delta = capacity[arc]
    u_out, u_in, v_in = -1, first, second
    u = first
    while u != join:
        e = pred[u]
        room = flow[e] if up[u] == UP else capacity[e] - flow[e]
        if room < delta:
            delta = room
            u_out = u
        u = parent[u]
    u = second
    while u != join:
        e = pred[u]
        room = flow[e] if up[u] == DOWN else capacity[e] - flow[e]
        if room <= delta:
            delta = room
            u_out, u_in, v_in = u, second, first
        u = parent[u]
    if delta > 0:
        amount = state[arc] * delta
        flow[arc] += amount
        u = x
        while u != join:
            flow[pred[u]] -= up[u] * amount
            u = parent[u]
        u = y
        while u != join:
            flow[pred[u]] += up[u] * amount
            u = parent[u]
    if u_out < 0:
        state[arc] = -state[arc]
        return
    state[arc] = IN_TREE
    leaving = pred[u_out]
    state[leaving] = LOWER if flow[leaving] == 0 else UPPER
    direction = UP if u_in == x else DOWN
    exchange(tree, u_in, u_out, v_in, join, arc, direction)
    shift_prices(tree, u_in, tree.price[v_in] - tree.price[u_in] - direction * cost[arc])
