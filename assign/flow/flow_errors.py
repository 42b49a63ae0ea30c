"""The errors raised when no flow or no cheapest flow exists, with the nodes that certify it."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from assign.flow.flow_problem import UNLIMITED, GivenNetwork, Network, check_network
from gridcut.device import CertificateError, plain_kernel
from gridcut.device.result import brief


class InfeasibleFlowError(ValueError):
    """No flow satisfies all supplies and bounds: the supply of `nodes` exceeds what can leave them.

    Attributes
    ----------
    nodes : ndarray of int64
        A set of nodes.
    supply : int
        Their total supply.
    capacity : int
        The capacity of the arcs that leave the set, minus the lower bounds of those that enter it; below `supply`.
    """

    def __init__(self, nodes: ArrayLike, supply: int, capacity: int):
        self.nodes = np.asarray(nodes, np.int64)
        self.supply, self.capacity = supply, capacity
        super().__init__(
            f"no flow exists: the nodes {brief(self.nodes.tolist())} have a total supply of {supply}, but at most "
            f"{capacity} can leave them; raise capacities, lower the bounds `lower`, or change supplies"
        )

    def __reduce__(self):
        return type(self), (self.nodes, self.supply, self.capacity)

    def check(
        self,
        tail: ArrayLike,
        head: ArrayLike,
        capacity: ArrayLike,
        cost: ArrayLike,
        supply: ArrayLike,
        lower: ArrayLike | None = None,
    ) -> None:
        """Certify from the arguments of `assign.min_cost_flow` that no flow exists; raises CertificateError."""
        given = check_network(tail, head, capacity, cost, supply, lower)
        if len(self.nodes) and not (self.nodes.min() >= 0 and self.nodes.max() < given.network.nodes):
            raise CertificateError("a node of the set is not in the network")
        if not self.supply > self.capacity or _cut(given, self.nodes) != (self.supply, self.capacity):
            raise CertificateError("the supply of the nodes does not exceed what can leave them")


class UnboundedFlowError(ValueError):
    """The cost has no minimum: `arcs` form a cycle without a limit, whose costs sum to `cost` < 0.

    Attributes
    ----------
    arcs : ndarray of int64
        The arcs of the cycle, in its order.
    cost : int
        The sum of their costs.
    """

    def __init__(self, arcs: ArrayLike, cost: int):
        self.arcs = np.asarray(arcs, np.int64)
        self.cost = cost
        super().__init__(
            f"the cost has no minimum: the arcs {brief(self.arcs.tolist())} form a cycle of unlimited capacity and of "
            f"cost {cost} per unit; limit the capacity of one of them"
        )

    def __reduce__(self):
        return type(self), (self.arcs, self.cost)


def infeasible(given: GivenNetwork, flow: np.ndarray, left: np.ndarray) -> InfeasibleFlowError:
    """The error of a flow of maximum value: `left` is the supply of each node that it leaves.

    Its nodes are those in reach of a node with such a supply.
    """
    network = given.network
    n = network.nodes
    free, used = flow < network.capacity, flow > 0
    start = np.flatnonzero(left > 0)
    ends = (
        np.concatenate([network.tail[free], network.head[used], np.full(len(start), n)]),
        np.concatenate([network.head[free], network.tail[used], start]),
    )
    residual = csr_array((np.ones(len(ends[0]), np.int8), ends), shape=(n + 1, n + 1))
    nodes = np.sort(breadth_first_order(residual, n, return_predecessors=False)[1:]).astype(np.int64)
    return InfeasibleFlowError(nodes, *_cut(given, nodes))


def unbounded(network: Network) -> UnboundedFlowError | None:
    """The error of a cycle of arcs without limit whose cost is negative, or None if there is none."""
    arcs = np.flatnonzero(network.capacity == UNLIMITED)
    if not len(arcs) or network.cost[arcs].min() >= 0:
        return None
    tail, head, cost = network.tail[arcs], network.head[arcs], network.cost[arcs]
    entry, visit = np.full(network.nodes, -1, np.int32), np.empty(network.nodes, np.int32)
    node = negative_cycle(tail, head, cost, np.zeros(network.nodes, np.int64), entry, visit)
    if node < 0:
        return None
    cycle = [entry[node]]
    while tail[cycle[-1]] != node:
        cycle.append(entry[tail[cycle[-1]]])
    return UnboundedFlowError(arcs[cycle[::-1]], sum(cost[cycle].tolist()))


@plain_kernel
def negative_cycle(tail, head, cost, dist, entry, visit):
    """A node of a cycle of negative cost, which `entry`, the arc into each node, then contains; or -1.

    Bellman's and Ford's method from all nodes.  A cycle of entries has a negative cost.  O(nodes * arcs).
    """
    changed = True
    while changed:
        changed = False
        for a in range(len(tail)):
            x, y = tail[a], head[a]
            if dist[x] + cost[a] < dist[y]:
                dist[y] = dist[x] + cost[a]
                entry[y] = a
                changed = True
        visit[:] = -1
        for start in range(len(entry)):
            x = start
            while visit[x] < 0:
                visit[x] = start
                if entry[x] < 0:
                    break
                x = tail[entry[x]]
            if visit[x] == start and entry[x] >= 0:
                return x
    return -1


def _cut(given: GivenNetwork, nodes: np.ndarray) -> tuple[int, int]:
    """The total supply of some nodes, and how much can leave them."""
    network, lower = given
    inside = np.zeros(network.nodes, bool)
    inside[nodes] = True
    leaving = inside[network.tail] & ~inside[network.head]
    entering = ~inside[network.tail] & inside[network.head]
    if (network.capacity[leaving] == UNLIMITED).any():
        raise CertificateError("an arc without limit leaves the nodes")
    least = int(lower[leaving].sum()) - int(lower[entering].sum())
    return int(network.supply[inside].sum()) + least, int(network.capacity[leaving].sum()) + least
