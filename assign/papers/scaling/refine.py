"""The parts of Refine: its start, and pushes and relabels until the pseudoflow is a flow.

The set S of active nodes is a first-in, first-out queue.  A node is discharged until its excess is 0.  A node with a
single unit sends it along its lowest residual edge, as in algorithm 5.4, and is relabeled if that edge is not
admissible.  A node with more units pushes along every admissible edge it scans: a search for each unit would scan all
edges of a node with many units (z, or a node filled by `saturate`) every time.

Prices never rise here.  A price below MIN_PRICE raises an error, because int64 could not hold much lower ones.

Łupińska. "Parallel implementation of flow and matching algorithms." 2011, algorithms 5.0, 5.1 and 5.2.
Goldberg, Tarjan. "Finding minimum-cost circulations by successive approximation." Math. Oper. Res. 15, 1990.
"""

import numpy as np

from assign.papers.scaling.network import INFINITY
from assign.papers.scaling.price_update import update_prices
from gridcut.device import kernel

MIN_PRICE = -(2**61)


@kernel
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


@kernel
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


@kernel
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


@kernel
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
