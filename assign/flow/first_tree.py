"""The first tree of the network simplex method: from nothing, or from the flow and the prices of a similar network.

The tree consists of arcs with flow above 0 and below their capacity, of tight arcs, whose reduced cost is 0, and of
artificial arcs between the root and one node of each part.  All other arcs are empty or full.  From the leaves on, each
arc of the tree carries what its subtree must send.  If it cannot, or could send nothing more towards the root, it
leaves the tree, empty or full, and an artificial arc of its lower node takes the rest:

         root                  root
          |                     |  \\
          v                     v   \\  5
          |    u must send      |    u
          w    7, at most 2     w   /   2, full: not in the tree
           \\   along this arc    \\.'
            u

So the tree is strongly feasible.  Without flow and tight arcs, it is the star of all artificial arcs.

O(n + m) for n nodes and m arcs, times the paths of a union-find structure.
"""

import numpy as np

from assign.flow.spanning_tree import DOWN, UP, Tree
from gridcut.device import kernel

LOWER, IN_TREE, UPPER = 1, 0, -1


@kernel
def forest(tail, head, capacity, flow, tight, n, state):
    """Breadth-first order (n,) of a forest; parent, arc and direction of each node; state (arcs,) of its arcs: IN_TREE.

    Roots have the parent n.  First of all, arcs with flow between 0 and their capacity are taken.
    """
    m = tight.size
    leader, degree = np.arange(n + 1), np.zeros(n + 2, np.int64)
    for is_between in (True, False):
        for a in range(m):
            if (0 < flow[a] < capacity[a]) if is_between else tight[a]:
                u, v = tail[a], head[a]
                while leader[u] != u:
                    leader[u] = leader[leader[u]]
                    u = leader[u]
                while leader[v] != v:
                    leader[v] = leader[leader[v]]
                    v = leader[v]
                if u != v:
                    leader[u] = v
                    state[a] = IN_TREE
                    degree[tail[a] + 2] += 1
                    degree[head[a] + 2] += 1
    first = np.cumsum(degree)
    arcs = np.empty(first[n + 1], np.int64)
    for a in range(m):
        if state[a] == IN_TREE:
            for u in (tail[a], head[a]):
                arcs[first[u + 1]] = a
                first[u + 1] += 1
    order, parent = np.empty(n, np.int32), np.full(n + 1, -1, np.int32)
    pred, up = np.full(n + 1, -1, np.int32), np.full(n + 1, UP, np.int8)
    done = end = 0
    for root in range(n):
        if parent[root] < 0:
            parent[root], order[end] = n, root
            end += 1
        while done < end:
            u = order[done]
            done += 1
            for k in range(first[u], first[u + 1]):
                a = arcs[k]
                v = head[a] if tail[a] == u else tail[a]
                if parent[v] < 0:
                    parent[v], pred[v], up[v], order[end] = u, a, UP if tail[a] == v else DOWN, v
                    end += 1
    return order, parent, pred, up


@kernel
def first_tree(tail, head, capacity, cost, supply, flow, tight, large):
    """The tree; flow and state of all arcs, those of the artificial ones last; whether each of these leads to the root.

    flow    (arcs,) of a similar network, 0 to the capacities
    tight   (arcs,) the arcs that may be in the tree without flow, or full
    large   cost of an artificial arc from the root; one to the root costs 0
    """
    n, m = supply.size, tight.size
    state, new_flow = np.full(m + n, LOWER, np.int8), np.zeros(m + n, np.int64)
    order, parent, pred, up = forest(tail, head, capacity, flow, tight, n, state)
    need = supply.copy()
    for a in range(m):
        if state[a] == LOWER and 0 < flow[a] == capacity[a]:
            state[a], new_flow[a] = UPPER, flow[a]
            need[tail[a]] -= flow[a]
            need[head[a]] += flow[a]
    size = np.ones(n + 1, np.int32)
    for u in order[::-1]:
        a, p = pred[u], parent[u]
        if p < n:
            sent, limit = need[u] * up[u], capacity[a]
            new_flow[a] = min(max(sent, 0), limit)
            need[p] += new_flow[a] * up[u]
            need[u] -= new_flow[a] * up[u]
            if need[u] == 0 and (sent < limit if up[u] == UP else sent > 0):
                size[p] += size[u]
                continue
            state[a] = LOWER if new_flow[a] == 0 else UPPER
        parent[u], pred[u], up[u] = n, m + u, UP if need[u] >= 0 else DOWN
        state[m + u], new_flow[m + u] = IN_TREE, abs(need[u])
        size[n] += size[u]
    at, free = np.empty(n + 1, np.int32), np.ones(n + 1, np.int64)  # depth-first order, and its next place per subtree
    last, price = np.empty(n + 1, np.int32), np.zeros(n + 1, np.int64)
    at[0] = n
    place = np.zeros(n + 1, np.int64)
    for u in order:
        p = parent[u]
        place[u] = free[p]
        free[p] += size[u]
        free[u] = place[u] + 1
        at[place[u]] = u
        unit = cost[pred[u]] if pred[u] < m else (0 if up[u] == UP else large)
        price[u] = price[p] - up[u] * unit
    thread, before = np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
    for k in range(n + 1):
        u = at[k]
        thread[u], before[u] = at[k + 1 if k < n else 0], at[k - 1]
        last[u] = at[place[u] + size[u] - 1]
    tree = Tree(parent, pred, up, thread, before, size, last, price, np.empty(n + 1, np.int32))
    return tree, new_flow, state, up[:n] == UP
