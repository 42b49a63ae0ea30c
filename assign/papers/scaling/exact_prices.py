"""Prices that prove an optimal flow optimal in the original integers, from prices that do so up to eps.

Returned are prices with c_p >= 0 for every pair, and 0 where there is flow.  Those of cost scaling are rounded down to
multiples of the multiplier, and then lowered where an edge demands it (Bellman's method with a queue).  As an optimal
flow has no cycle of negative cost, this ends; and as rounded prices miss by less than one original unit, and the edges
of a path by less than another, each price falls twice at most (unless edges fixed so far ask for more): three scans a
node.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 5.1.
[2] Ahuja, Magnanti, Orlin. "Network Flows." Prentice Hall, 1993, sections 5.4 and 9.3.

Time O(n m) for any optimal flow, O(m) for one that comes from cost scaling; memory 13 bytes a node.
"""

import numpy as np

from gridcut.device import kernel


@kernel
def tighten(network):
    """Lower columns to the prices of those that send them their unit.

    An edge that is full may have c_p < 0, because it holds one unit; but its column takes only one anyway.
    """
    for x in range(network.x_nodes):
        for a in range(network.first[x], network.first[x + 1]):
            if network.u_f[a] == 0:
                y = network.head[a]
                network.p[y] = min(network.p[y], network.c[a] + network.p[x])


@kernel
def lower_prices(network, price, queue, waits):
    """Lower prices until no edge from X, full or not, and none with flow back to X, has a negative reduced cost."""
    first, head, c, u_f = network.first, network.head, network.c, network.u_f
    size = len(price)
    front = 0
    waiting = size
    for x in range(size):
        queue[x] = x
        waits[x] = True
    while waiting > 0:
        x = queue[front]
        front = front + 1 if front + 1 < size else 0
        waiting -= 1
        waits[x] = False
        base = price[x]
        for a in range(first[x], first[x + 1]):
            y = head[a]
            if base + c[a] < price[y] and (u_f[a] == 1 or x < network.x_nodes):
                price[y] = base + c[a]
                if not waits[y]:
                    waits[y] = True
                    at = front + waiting
                    queue[at if at < size else at - size] = y
                    waiting += 1


def exact_prices(network, multiplier: int):
    """Prices of the original costs for the flow of the network, which must be optimal; fixed edges count too.

    Every pair has c_p >= 0, and pairs with flow have c_p = 0.
    """
    price = network.p // multiplier * multiplier
    lower_prices(network, price, np.empty(len(price), np.int32), np.empty(len(price), np.bool_))
    return price // multiplier
