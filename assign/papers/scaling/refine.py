"""The parts of Refine: how it starts, and pushes and relabels until the pseudoflow is a flow.

S, the set of active nodes, is a queue, first in, first out.  A node is discharged until its excess is gone.  One with
a single unit sends it to its lowest residual neighbour, as algorithm 5.4 does, and is relabeled if that is not
admissible; one with more pushes along every admissible edge it meets, because a search for each unit would cost a
node of many units (z, and what `saturate` fills) its degree every time.

Prices never rise here; a price below FLOOR ends the work, since int64 could not hold much less.

Łupińska. "Parallel implementation of flow and matching algorithms." 2011, algorithms 5.0, 5.1 and 5.2.
Goldberg, Tarjan. "Finding minimum-cost circulations by successive approximation." Math. Oper. Res. 15, 1990.
"""

import numpy as np

from assign.papers.scaling.price_update import update_prices
from gridcut.device import kernel

MIN_PRICE = -(2**61)
INFINITY = np.iinfo(np.int64).max


@kernel
def saturate(network, bar):
    """Send a unit along every residual edge with c_p < bar; how many there were.

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
    """Take all flow away, and let the lowest edge of every node of X have c_p = low.

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

    Returns how many nodes are active, pushes and relabels; -1 active nodes: a price fell below FLOOR.
    """
    first, last, head, mate, c, u_f, _, e, p, x_nodes = network
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
                    y = head[a]
                    u_f[a] = 0
                    u_f[mate[a]] = 1
                    e[y] += 1
                    if e[y] == 1:
                        at = front + waiting
                        queue[at if at < size else at - size] = y
                        waiting += 1
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
            y = head[lowest]
            u_f[lowest] = 0
            u_f[mate[lowest]] = 1
            e[y] += 1
            if e[y] == 1:
                at = front + waiting
                queue[at if at < size else at - size] = y
                waiting += 1
        e[x] = 0
    return waiting, pushes, relabels


def until_flow(network, rules, eps: int, stats: dict, price_updates: bool) -> None:
    """Lines "while f is not a flow": discharge, and update prices every V relabels."""
    bounds = rules.at(eps)
    nodes = len(network.p)
    queue = np.empty(nodes, np.int32)
    budget = nodes if price_updates else INFINITY
    while True:
        active, pushes, relabels = discharge(network, queue, *bounds, budget)
        stats["pushes"] += pushes
        stats["relabels"] += relabels
        if active < 0:
            raise_price_range()
        if active == 0:
            return
        stats["price_updates"] += update_prices(network, rules, eps)


def raise_price_range():
    """Prices ran out of the range of int64."""
    raise ValueError("costs are too large for cost scaling, whose prices left the range of int64; use method='auto'")
