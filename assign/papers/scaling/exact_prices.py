"""Exact prices of the original integer costs for an optimal flow, from prices that are optimal up to eps.

The prices satisfy c_p >= 0 for every pair, and c_p == 0 for pairs with flow.  The prices of cost scaling are rounded
down to multiples of the multiplier, and then lowered where an edge requires it (Bellman's method with a queue).  This
terminates because an optimal flow has no cycle of negative cost.  Rounded prices deviate by less than one original
unit, and the edges of a path by less than another, so each price falls at most twice (unless fixed edges require more):
three scans per node.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 5.1.
[2] Ahuja, Magnanti, Orlin. "Network Flows." Prentice Hall, 1993, sections 5.4 and 9.3.

Time O(n m) for any optimal flow, O(m) for one that comes from cost scaling; memory 13 bytes per node.
"""

import numpy as np

from gridcut.device import kernel


@kernel
def tighten(network):
    """Lower the price of each column with flow so that the edge of the flow has c_p >= 0.

    A full edge may have c_p < 0, because its capacity is one unit; but its column takes only one unit anyway.
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
