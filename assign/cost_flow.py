"""min_cost_flow: the cheapest flow through a network with capacities, costs and supplies."""

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from assign.flow.flow_certificate import certify_flow, exact_total
from assign.flow.flow_errors import infeasible, unbounded
from assign.flow.flow_problem import check_network
from assign.methods import choose_flow_method
from gridcut.device.result import Result


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MinCostFlow(Result):
    """A flow of minimum cost, with prices that certify it.

    Attributes
    ----------
    flow : ndarray of int64, shape (arcs,)
        Flow along each arc.
    cost : int
        Sum of the costs times the flows.
    price : ndarray of int64, shape (nodes,)
        Dual prices.  The reduced cost ``cost + price[tail] - price[head]`` is at least 0 for arcs with flow below
        their capacity, and at most 0 for arcs with flow above their lower bound.
    method : str
        The method that was used.
    stats : dict
        Counters of the solver, and "seconds" per phase.

    Notes
    -----
    The result keeps references to the arguments of `min_cost_flow`.
    """

    flow: np.ndarray
    cost: int
    price: np.ndarray
    method: str
    stats: dict
    _given: tuple = field(repr=False)

    def check(self) -> None:
        """Certify that the flow is optimal, from its fields and the caller's arguments, exactly.

        Raises
        ------
        CertificateError
            If the flow violates a bound or a supply, the prices do not certify it, or `cost` is not its cost.

        Notes
        -----
        O(arcs + nodes).  The arguments are read again, so a network that was modified since is certified as it is now.
        """
        certify_flow(check_network(*self._given), self.flow, self.cost, self.price)


def min_cost_flow(
    tail: ArrayLike,
    head: ArrayLike,
    capacity: ArrayLike,
    cost: ArrayLike,
    supply: ArrayLike,
    lower: ArrayLike | None = None,
    *,
    start: MinCostFlow | None = None,
    method: str = "auto",
) -> MinCostFlow:
    """Find a flow of minimum cost that satisfies all supplies and capacities, exactly.

    Arc a leads from node tail[a] to node head[a].  What leaves a node minus what enters it is its supply::

        supply 4  (0) --- capacity 3, cost 1 ---> (1)  supply 0      flow 3 along 0-1 and 1-2, flow 1 along 0-2
                    \\                             |
                     \\ capacity 2, cost 5         | capacity 3, cost 2
                      `-------------> (2) <--------'   supply -4

    Parameters
    ----------
    tail, head : array_like of int (arcs,)
        The nodes of each arc.  Parallel arcs and arcs from a node to itself are allowed.
    capacity : int or array_like of int (arcs,)
        Largest flow along each arc; inf, or 2**62 and more, for no limit.
    cost : int or array_like of int (arcs,)
        Cost per unit of flow, also negative.
    supply : array_like of int (nodes,)
        Supply of each node, negative for demand; the sum must be 0.
    lower : int or array_like of int (arcs,), optional
        Smallest flow along each arc, also negative; by default 0.
    start : MinCostFlow, optional
        Result for the same arcs with other capacities, costs, supplies or bounds, from which the search starts.
    method : {"auto", "network_simplex", "cost_scaling"}
        "auto" for the fastest one, network simplex; "cost_scaling" is the published push-relabel with price scaling.

    Returns
    -------
    MinCostFlow
        ``flow``, ``cost``, ``price``; ``check()`` certifies them.

    Raises
    ------
    TypeError
        If an argument has the wrong type; floats are not rounded.
    ValueError
        If shapes do not match, supplies do not sum to 0, a lower bound exceeds its capacity, or integers are so large
        that flows or prices might not fit int64.
    InfeasibleFlowError
        A ValueError: if no flow satisfies the supplies and bounds; its ``nodes`` and ``check`` show why.
    UnboundedFlowError
        A ValueError: if flows exist, and a cycle of unlimited arcs has a negative cost; ``arcs`` are its arcs.

    See Also
    --------
    solve : assignments, which are flows of one unit per row.

    Notes
    -----
    A cycle of negative cost is used up to its capacity.  Memory is about 100 bytes per arc.

    With ``start``, networks of 10^5 arcs were solved 2 to 48 times as fast if a few supplies or 1 % of the capacities
    changed, and 1 to 8 times if 1 % of the costs did.

    References
    ----------
    .. [1] Király, Kovács. "Efficient implementations of minimum-cost flow algorithms." Acta Univ. Sapientiae,
       Informatica 4, 2012.

    The file of each method cites the source of its algorithm.

    Examples
    --------
    >>> found = min_cost_flow([0, 0, 1], [1, 2, 2], [3, 2, 3], [1, 5, 2], [4, 0, -4])
    >>> found.flow, found.cost
    (array([3, 1, 3]), 14)
    """
    begin = time.perf_counter()
    arguments = (tail, head, capacity, cost, supply, lower)
    given = check_network(*arguments)
    network = given.network
    name, solve = choose_flow_method(method)
    warm = {} if start is None else {"start": _start(start, given, name)}
    checked = time.perf_counter()
    error = unbounded(network)
    if error is not None:  # costs are then no matter, but the lack of any flow is
        network = network._replace(cost=np.zeros_like(network.cost))
    flow, price, left, stats = solve(network, **warm)
    if left.any():
        raise infeasible(given, flow, left)
    if error is not None:
        raise error
    flow += given.lower
    stats = {**stats, "seconds": {"check": checked - begin, "solve": time.perf_counter() - checked}}
    return MinCostFlow(flow, exact_total(network.cost, flow), price, name, stats, arguments)


def _start(start, given, method: str):
    """Flow without lower bounds and prices of an earlier result."""
    if not isinstance(start, MinCostFlow):
        raise TypeError(f"start must be the result of an earlier min_cost_flow, got {type(start).__name__}")
    arcs, nodes = len(given.lower), given.network.nodes
    if start.flow.shape != (arcs,) or start.price.shape != (nodes,):
        raise ValueError(
            f"start must have the {arcs} arcs and {nodes} nodes of the network, got {start.flow.size} and "
            f"{start.price.size}; solve without it"
        )
    if method != "network_simplex":
        raise ValueError(f"start is used by method 'network_simplex' only, got {method!r}; omit one of them")
    return start.flow - given.lower, start.price
