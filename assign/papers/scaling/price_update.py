"""The price update heuristic, algorithm 5.3: every price is lowered by the distance to a node with a deficit.

Distances count eps: the residual edge (y, x) has the length floor(c_p(y, x) / eps) + 1, or without the 1 where
eps-optimality requires c_p >= 0 (rules.py), so that lowering p(y) by eps times its distance keeps the pseudoflow
eps-optimal, and every active node gets a path of admissible edges.  It is Dijkstra's search from all nodes of
negative excess against the edges, in Dial's buckets, and ends with the bucket in which the last active node was
scanned.

Arrays                                       paper [1]
  label[x]    distance found so far           x.bucket, and l(x) once scanned; INFINITY: none
  first[b]    a node of bucket b, or -1       B[b];  b = label - base
  after[x], before[x]                         neighbours in the bucket's list
  state[x]    WAITING, LISTED, BEYOND: label beyond the last bucket, SCANNED

Deviates from [1]: the pseudocode omits adding the distance of x to the length of (y, x), without which labels are not
distances.  There are as many buckets as nodes; when all are empty, they start again from the smallest label beyond.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 5.2.
[2] Goldberg. "An efficient implementation of a scaling minimum-cost flow algorithm." J. Algorithms 22, 1997.

O(n + m + the largest distance); memory 25 bytes per node.
"""

import numpy as np

from assign.papers.scaling.network import INFINITY
from gridcut.device import kernel

MAX_DECREASE = 2**60  # of a price; with larger decreases, prices are not updated, which is equally correct
WAITING, LISTED, BEYOND, SCANNED = range(4)


@kernel
def insert(x, b, first, after, before):
    """Insert a node at the head of a bucket's list."""
    after[x] = first[b]
    before[x] = -1
    if first[b] >= 0:
        before[first[b]] = x
    first[b] = x


@kernel
def remove(x, b, first, after, before):
    """Remove a node from a bucket's list."""
    if before[x] >= 0:
        after[before[x]] = after[x]
    else:
        first[b] = after[x]
    if after[x] >= 0:
        before[after[x]] = before[x]


@kernel
def find_labels(network, eps, low_x, low_y, label, state, first, after, before):
    """Lines 2 to 32: distances until all active nodes are scanned; the last one, or -1 if none is active."""
    nodes = len(label)
    buckets = len(first)
    active = 0
    first[:] = -1
    for x in range(nodes):
        state[x] = WAITING
        label[x] = INFINITY
        if network.e[x] < 0:
            label[x] = 0
            state[x] = LISTED
            insert(x, 0, first, after, before)
        elif network.e[x] > 0:
            active += 1
    base = 0
    b = 0
    last = -1
    while active > 0:
        if b == buckets:
            base = INFINITY
            for x in range(nodes):
                if state[x] == BEYOND:
                    base = min(base, label[x])
            if base == INFINITY:
                return INFINITY
            for x in range(nodes):
                if state[x] == BEYOND and label[x] - base < buckets:
                    state[x] = LISTED
                    insert(x, label[x] - base, first, after, before)
            b = 0
        while first[b] >= 0:
            x = first[b]
            remove(x, b, first, after, before)
            state[x] = SCANNED
            here = base + b
            last = here
            if network.e[x] > 0:
                active -= 1
            low = low_x if x >= network.x_nodes else low_y  # of the edges (y, x), which leave the other side
            for a in range(network.first[x], network.last[x]):
                y = network.head[a]
                if network.u_f[a] == 1 or state[y] == SCANNED:
                    continue
                reduced = network.p[y] - network.c[a] - network.p[x]
                if label[y] != INFINITY and reduced >= (label[y] - here) * eps + low:
                    continue  # no shorter, and no division to know it
                length = here + max(reduced - low, 0) // eps  # below low only for a moment, among threads
                if state[y] == LISTED:
                    remove(y, label[y] - base, first, after, before)
                label[y] = length
                if length - base < buckets:
                    state[y] = LISTED
                    insert(y, length - base, first, after, before)
                else:
                    state[y] = BEYOND
        b += 1
    return last


@kernel
def lower(network, eps, label, state, last):
    """Lines 33 to 37: nodes that were not scanned are farther than the last one."""
    for x in range(len(label)):
        network.p[x] -= eps * (label[x] if state[x] == SCANNED else last + 1)


def update_prices(network, rules, eps: int) -> int:
    """Lower all prices by eps times the distances; 1 if it was done, 0 if no node is active."""
    nodes = len(network.p)
    _, _, low_x, low_y = rules.at(eps)
    label, first = np.empty(nodes, np.int64), np.empty(nodes, np.int32)
    state, after, before = np.empty(nodes, np.int8), np.empty(nodes, np.int32), np.empty(nodes, np.int32)
    last = find_labels(network, eps, low_x, low_y, label, state, first, after, before)
    if last < 0 or last >= MAX_DECREASE // eps:
        return 0
    lower(network, eps, label, state, last)
    return 1
