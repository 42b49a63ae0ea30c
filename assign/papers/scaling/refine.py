"""The parts of Refine: its rules, its start, pushes and relabels until the pseudoflow is a flow, and both heuristics.

Rules for admissible edges and relabels are the only difference between the pushes of algorithms 5.0, 5.1 and 5.2.
A residual edge (x, y) has the reduced cost c_p(x, y) = c(x, y) + p(x) - p(y).

                        X to Y                 Y to X
  UNMODIFIED            c_p < 0                c_p < 0               admissible      algorithms 5.0, 5.2, 5.4
                        c_p >= -eps            c_p >= -eps           eps-optimal
  HALVES                c_p < eps / 2          c_p < -eps / 2        admissible      algorithm 5.1
                        c_p >= 0               c_p >= -eps           eps-optimal

In both, a relabel lowers p(x) until its lowest residual edge has the minimum c_p that eps-optimality allows.

The set S of active nodes is a first-in, first-out queue.  A node is discharged until its excess is 0.  A node with a
single unit sends it along its lowest residual edge, as in algorithm 5.4, and is relabeled if that edge is not
admissible.  A node with more units pushes along every admissible edge it scans: a search for each unit would scan all
edges of a node with many units (z, or a node filled by `saturate`) every time.

Prices never rise here.  A price below MIN_PRICE raises an error, because int64 could not hold much lower ones.

Price update, algorithm 5.3: every price is lowered by the distance to a node with a deficit.

Distances count eps: the residual edge (y, x) has the length floor(c_p(y, x) / eps) + 1, or without the 1 where
eps-optimality requires c_p >= 0, so that lowering p(y) by eps times its distance keeps the pseudoflow
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

Arc fixing: an edge whose reduced cost is large will never carry flow again.

For an eps-optimal flow f and a residual edge with c_p > 2 n eps, no flow for a smaller eps uses the edge: the two flows
would differ by a cycle through that edge, whose other edges cannot compensate for it.  n is the number of edges in such
a cycle that may cost -eps, at most two per node of X (`Rules.losses`).  Fixed edges are removed from the
adjacency lists: they are moved behind last[x], with their mates.

Deviates from the paper: edges that stay full permanently (c_p < -2 n eps) are not fixed, because algorithms 5.1 and 5.2
send their unit again in every Refine.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, sections 5.1 and 5.2.
[2] Goldberg. "An efficient implementation of a scaling minimum-cost flow algorithm." J. Algorithms 22, 1997.
[3] Goldberg, Tarjan. "Finding minimum-cost circulations by successive approximation." Math. Oper. Res. 15, 1990.

Price update: O(n + m + the largest distance); memory 25 bytes per node.
"""

from typing import NamedTuple

import numpy as np

from assign.papers.scaling.network import INFINITY
from gridcut.device import plain_kernel

MAX_DECREASE = 2**60  # of a price; with larger decreases, prices are not updated, which is equally correct
WAITING, LISTED, BEYOND, SCANNED = range(4)
REMOVED = -10  # mark in u_f while lists are rearranged, as in the paper
MIN_PRICE = -(2**61)


class Rules(NamedTuple):
    """One definition of admissible and of eps-optimal."""

    bar: tuple[int, int]  # admissible if c_p is below this many halves of eps; for edges that leave X, and Y
    low: tuple[int, int]  # eps-optimal if c_p is at least this many eps

    def at(self, eps: int):
        """bar_x, bar_y, low_x, low_y as integers: c_p < bar is the same as c_p < the exact half."""
        bar_x, bar_y = (-(-halves * eps // 2) for halves in self.bar)
        low_x, low_y = (times * eps for times in self.low)
        return bar_x, bar_y, low_x, low_y

    def losses(self, x_nodes: int) -> int:
        """Number of edges in a simple cycle that may cost -eps; a cycle visits each node of X at most once."""
        return -sum(self.low) * x_nodes


UNMODIFIED = Rules(bar=(0, 0), low=(-1, -1))
HALVES = Rules(bar=(1, -1), low=(0, -1))


@plain_kernel
def insert(x, b, first, after, before):
    """Insert a node at the head of a bucket's list."""
    after[x] = first[b]
    before[x] = -1
    if first[b] >= 0:
        before[first[b]] = x
    first[b] = x


@plain_kernel
def remove(x, b, first, after, before):
    """Remove a node from a bucket's list."""
    if before[x] >= 0:
        after[before[x]] = after[x]
    else:
        first[b] = after[x]
    if after[x] >= 0:
        before[after[x]] = before[x]


@plain_kernel
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


@plain_kernel
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


@plain_kernel
def mark(network, threshold):
    """Mark the edges from X without flow whose c_p exceeds the threshold, and their mates; returns their number."""
    first, last, head, mate, c, u_f, _, _, p, x_nodes = network
    found = 0
    for x in range(x_nodes):
        for a in range(first[x], last[x]):
            if u_f[a] == 1 and c[a] + p[x] - p[head[a]] > threshold:
                u_f[a] = REMOVED
                u_f[mate[a]] = REMOVED
                found += 1
    return found


@plain_kernel
def swap(network, a, b):
    """Exchange two edges of one node."""
    head, mate, c, u_f = network.head, network.mate, network.c, network.u_f
    head[a], head[b] = head[b], head[a]
    mate[a], mate[b] = mate[b], mate[a]
    c[a], c[b] = c[b], c[a]
    u_f[a], u_f[b] = u_f[b], u_f[a]
    mate[mate[a]] = a
    mate[mate[b]] = b


@plain_kernel
def take_out(network):
    """Move marked edges behind the others of their node."""
    first, last, u_f, x_nodes = network.first, network.last, network.u_f, network.x_nodes
    for x in range(len(last)):
        end = first[x]
        for a in range(first[x], last[x]):
            if u_f[a] == REMOVED:
                u_f[a] = 1 if x < x_nodes else 0
            else:
                if a != end:
                    swap(network, a, end)
                end += 1
        last[x] = end


def fix_arcs(network, threshold) -> int:
    """Fix the edges from X without flow whose c_p exceeds the threshold; returns their number.  f must be a flow."""
    found = mark(network, threshold)
    if found:
        take_out(network)
    return found


@plain_kernel
def saturate(network, bar):
    """Send a unit along every residual edge with c_p < bar; returns their number.

    Lines 3 and 4 of algorithm 5.0, bar = 0.
    """
    found = 0
    for x in range(len(network.p)):
        for a in range(network.first[x], network.last[x]):
            y = network.head[a]
            if network.u_f[a] == 1 and network.c[a] + network.p[x] - network.p[y] < bar:
                network.u_f[a] = 0
                network.u_f[network.mate[a]] = 1
                network.e[x] -= 1
                network.e[y] += 1
                found += 1
    return found


@plain_kernel
def empty(network, low):
    """Remove all flow, and set prices so that the lowest edge of every node of X has c_p = low.

    Lines 3 to 6 of algorithm 5.1, low = 0, and of algorithm 5.2, low = -eps.
    """
    for x in range(len(network.p)):
        of_x = x < network.x_nodes
        least = INFINITY
        for a in range(network.first[x], network.last[x]):
            if of_x:
                network.u_f[a] = 1
                least = min(least, network.c[a] - network.p[network.head[a]])
            else:
                network.u_f[a] = 0
        network.e[x] = network.d[x]
        if of_x and least < INFINITY:
            network.p[x] = low - least


@plain_kernel
def discharge(network, queue, bar_x, bar_y, low_x, low_y, budget):
    """Push and relabel until no node is active, or after `budget` relabels.

    Returns the numbers of active nodes, pushes and relabels; -1 active nodes: a price fell below MIN_PRICE.
    """
    first, last, head, _, c, u_f, _, e, p, x_nodes = network
    size = len(queue)
    front = 0
    waiting = 0
    for x in range(size):
        if e[x] > 0:
            queue[waiting] = x
            waiting += 1
    pushes = 0
    relabels = 0
    while waiting > 0 and relabels < budget:
        x = queue[front]
        front = front + 1 if front + 1 < size else 0
        waiting -= 1
        bar = bar_x if x < x_nodes else bar_y
        left = e[x]
        while left > 0:
            price = p[x]
            least = INFINITY
            lowest = -1
            for a in range(first[x], last[x]):
                if u_f[a] == 0:
                    continue
                partly = c[a] - p[head[a]]
                if left > 1 and partly + price < bar:
                    left -= 1
                    pushes += 1
                    waiting = push(network, a, queue, front, waiting)
                elif partly < least:
                    least = partly
                    lowest = a
            if least + price >= bar:
                p[x] = (low_x if x < x_nodes else low_y) - least
                relabels += 1
                if p[x] < MIN_PRICE:
                    return -1, pushes, relabels
            left -= 1
            pushes += 1
            waiting = push(network, lowest, queue, front, waiting)
        e[x] = 0
    return waiting, pushes, relabels


@plain_kernel
def push(network, a, queue, front, waiting):
    """Send a unit along edge a; returns the number of active nodes, which are queue[front ...], as in a ring."""
    y = network.head[a]
    network.u_f[a] = 0
    network.u_f[network.mate[a]] = 1
    network.e[y] += 1
    if network.e[y] == 1:
        at = front + waiting
        queue[at if at < queue.size else at - queue.size] = y
        waiting += 1
    return waiting


def until_flow(network, rules, eps, stats: dict, price_updates: bool, update_every=1.0, max_updates=INFINITY) -> None:
    """Lines "while f is not a flow": discharge, and update prices every `update_every` * V relabels."""
    bounds = rules.at(eps)
    nodes = len(network.p)
    queue = np.empty(nodes, np.int32)
    left = max_updates if price_updates else 0
    while True:
        budget = max(1, int(update_every * nodes)) if left else INFINITY
        left -= 1
        active, pushes, relabels = discharge(network, queue, *bounds, budget)
        stats["pushes"] += pushes
        stats["relabels"] += relabels
        if active < 0:
            raise_price_range()
        if active == 0:
            return
        stats["price_updates"] += update_prices(network, rules, eps)


def raise_price_range():
    """Raise ValueError for prices that leave the range of int64."""
    raise ValueError("costs are too large for cost scaling, whose prices left the range of int64; use method='auto'")
