"""OR-tools' `SimpleLinearSumAssignment` and `SimpleMinCostFlow`.

    import assign.compat.ortools as linear_sum_assignment
    import assign.compat.ortools as min_cost_flow

Methods have the names of `ortools.graph.python`, and those of the older `ortools.graph.pywrapgraph`.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assign.core.infeasible import InfeasibleError
from assign.cost_flow import min_cost_flow
from assign.flow.flow_errors import InfeasibleFlowError
from assign.solving import solve

__all__ = ["SimpleLinearSumAssignment", "SimpleMinCostFlow"]


class Status(IntEnum):
    """What `SimpleLinearSumAssignment.solve` returns."""

    OPTIMAL = 0
    INFEASIBLE = 1
    POSSIBLE_OVERFLOW = 2


class SimpleLinearSumAssignment:
    """A sparse linear assignment problem with integer costs, one arc at a time.

    Left and right nodes are numbered from 0, and there are as many of both.  Of several arcs between two nodes, the
    cheapest counts.  `solve` returns `OPTIMAL` or `INFEASIBLE`; costs too large for int64 raise an error.

    Examples
    --------
    >>> from assign.compat.ortools import SimpleLinearSumAssignment
    >>> assignment = SimpleLinearSumAssignment()
    >>> assignment.add_arcs_with_cost([0, 0, 1], [0, 1, 0], [3, 1, 2]).tolist()
    [0, 1, 2]
    >>> assignment.solve() == assignment.OPTIMAL, assignment.optimal_cost(), assignment.right_mate(0)
    (True, 3, 1)
    """

    Status = Status
    OPTIMAL, INFEASIBLE, POSSIBLE_OVERFLOW = Status

    def __init__(self) -> None:
        self._arcs: list[tuple[int, int, int]] = []
        self._mates: NDArray = np.empty(0, np.int64)
        self._costs: NDArray = np.empty(0, np.int64)

    def add_arc_with_cost(self, left_node: int, right_node: int, cost: int) -> int:
        """Add an arc, and return its index."""
        self._arcs.append((left_node, right_node, cost))
        return len(self._arcs) - 1

    def add_arcs_with_cost(self, left_nodes: ArrayLike, right_nodes: ArrayLike, costs: ArrayLike) -> NDArray:
        """Add arcs, and return their indices."""
        first = len(self._arcs)
        arcs = np.broadcast_arrays(left_nodes, right_nodes, costs)
        self._arcs += zip(*(one.tolist() for one in arcs), strict=True)
        return np.arange(first, len(self._arcs))

    def num_nodes(self) -> int:
        """Number of left nodes, and of right nodes: the largest number of a node, plus 1."""
        return max((max(left, right) for left, right, _ in self._arcs), default=-1) + 1

    def num_arcs(self) -> int:
        """Number of arcs."""
        return len(self._arcs)

    def left_node(self, arc: int) -> int:
        """Left node of an arc."""
        return self._arcs[arc][0]

    def right_node(self, arc: int) -> int:
        """Right node of an arc."""
        return self._arcs[arc][1]

    def cost(self, arc: int) -> int:
        """Cost of an arc."""
        return self._arcs[arc][2]

    def solve(self) -> IntEnum:
        """Find an assignment of minimum cost."""
        n = self.num_nodes()
        self._mates = self._costs = np.empty(0, np.int64)
        if n:
            left, right, cost = np.array(self._arcs).T
            order = np.lexsort((cost, right, left))
            left, right, cost = left[order], right[order], cost[order]
            cheapest = np.append(True, (np.diff(left) != 0) | (np.diff(right) != 0))
            left, right, cost = left[cheapest], right[cheapest], cost[cheapest]
            starts = np.searchsorted(left, np.arange(n + 1))
            try:
                found = solve((starts, right, cost, (n, n)))
            except InfeasibleError:
                return Status.INFEASIBLE
            self._mates = found.col_of_row
            self._costs = cost[np.searchsorted(left * n + right, np.arange(n) * n + self._mates)]
        return Status.OPTIMAL

    def optimal_cost(self) -> int:
        """Cost of the assignment."""
        return int(self._costs.sum())

    def right_mate(self, left_node: int) -> int:
        """Right node that is assigned to a left node."""
        return int(self._mates[left_node])

    def assignment_cost(self, left_node: int) -> int:
        """Cost of the arc that is assigned to a left node."""
        return int(self._costs[left_node])

    AddArcWithCost, NumNodes, NumArcs = add_arc_with_cost, num_nodes, num_arcs
    LeftNode, RightNode, Cost, Solve = left_node, right_node, cost, solve
    OptimalCost, RightMate, AssignmentCost = optimal_cost, right_mate, assignment_cost


class FlowStatus(IntEnum):
    """What `SimpleMinCostFlow.solve` returns."""

    NOT_SOLVED = 0
    OPTIMAL = 1
    FEASIBLE = 2
    INFEASIBLE = 3
    UNBALANCED = 4
    BAD_RESULT = 5
    BAD_COST_RANGE = 6
    BAD_CAPACITY_RANGE = 7


class SimpleMinCostFlow:
    """A minimum-cost flow problem with integer capacities and costs, one arc at a time.

    `solve` returns `OPTIMAL`, `INFEASIBLE` or `UNBALANCED`; negative capacities, and integers whose sums are too large
    for int64, raise an error.

    Examples
    --------
    >>> from assign.compat.ortools import SimpleMinCostFlow
    >>> network = SimpleMinCostFlow()
    >>> network.add_arcs_with_capacity_and_unit_cost([0, 0, 1], [1, 2, 2], [3, 2, 3], [1, 5, 2]).tolist()
    [0, 1, 2]
    >>> network.set_nodes_supplies([0, 2], [4, -4])
    >>> network.solve() == network.OPTIMAL, network.optimal_cost(), network.flows([0, 1, 2]).tolist()
    (True, 14, [3, 1, 3])
    """

    Status = FlowStatus
    NOT_SOLVED, OPTIMAL, FEASIBLE, INFEASIBLE, UNBALANCED, BAD_RESULT, BAD_COST_RANGE, BAD_CAPACITY_RANGE = FlowStatus

    def __init__(self) -> None:
        self._tails: list[int] = []
        self._heads: list[int] = []
        self._capacities: list[int] = []
        self._costs: list[int] = []
        self._supplies: dict[int, int] = {}
        self._flows: NDArray = np.empty(0, np.int64)
        self._cost = self._value = 0

    def add_arc_with_capacity_and_unit_cost(self, tail: int, head: int, capacity: int, unit_cost: int) -> int:
        """Add an arc, and return its index."""
        return int(self.add_arcs_with_capacity_and_unit_cost([tail], [head], [capacity], [unit_cost])[0])

    def add_arcs_with_capacity_and_unit_cost(
        self, tails: ArrayLike, heads: ArrayLike, capacities: ArrayLike, unit_costs: ArrayLike
    ) -> NDArray:
        """Add arcs, and return their indices."""
        first = len(self._tails)
        arcs = np.broadcast_arrays(tails, heads, capacities, unit_costs)
        for kept, added in zip((self._tails, self._heads, self._capacities, self._costs), arcs, strict=True):
            kept += added.tolist()
        return np.arange(first, len(self._tails))

    def set_arc_capacity(self, arc: int, capacity: int) -> None:
        """Change the capacity of an arc."""
        self._capacities[arc] = capacity

    def set_arc_capacities(self, arcs: ArrayLike, capacities: ArrayLike) -> None:
        """Change the capacities of several arcs."""
        for arc, capacity in np.broadcast(arcs, capacities):
            self._capacities[arc] = int(capacity)

    def set_node_supply(self, node: int, supply: int) -> None:
        """Set the supply of a node, negative for demand."""
        self._supplies[int(node)] = int(supply)

    def set_nodes_supplies(self, nodes: ArrayLike, supplies: ArrayLike) -> None:
        """Set the supplies of several nodes."""
        for node, supply in np.broadcast(nodes, supplies):
            self._supplies[int(node)] = int(supply)

    def num_nodes(self) -> int:
        """The largest number of a node, plus 1."""
        return max((max(one, default=-1) for one in (self._tails, self._heads, self._supplies)), default=-1) + 1

    def num_arcs(self) -> int:
        """Number of arcs."""
        return len(self._tails)

    def tail(self, arc: int) -> int:
        """Node where an arc starts."""
        return self._tails[arc]

    def head(self, arc: int) -> int:
        """Node where an arc ends."""
        return self._heads[arc]

    def capacity(self, arc: int) -> int:
        """Capacity of an arc."""
        return self._capacities[arc]

    def unit_cost(self, arc: int) -> int:
        """Cost of a unit of flow along an arc."""
        return self._costs[arc]

    def supply(self, node: int) -> int:
        """Supply of a node."""
        return self._supplies.get(node, 0)

    def solve(self) -> IntEnum:
        """Find the cheapest flow that satisfies all supplies."""
        if sum(self._supplies.values()):
            self._store(np.zeros(self.num_arcs(), np.int64))
            return FlowStatus.UNBALANCED
        return self._solve(self._node_supplies(), *self._arcs())

    def solve_max_flow_with_min_cost(self) -> IntEnum:
        """Find the cheapest of all flows that ship as much supply as possible."""
        supply = self._node_supplies()
        n, other = len(supply), np.flatnonzero(supply)
        given, amount = supply[other] > 0, np.abs(supply[other])
        tails, heads, capacities, costs = self._arcs()
        reward = (n + 1) * max(map(abs, self._costs), default=0) + 1  # of a shipped unit, above the cost of any path
        return self._solve(  # a circulation through one more node, which gives all supply and takes all demand
            np.zeros(n + 1, np.int64),
            np.append(tails, np.where(given, n, other)),
            np.append(heads, np.where(given, other, n)),
            np.append(capacities, amount),
            np.append(costs, np.where(given, 0, -reward)),
        )

    def _solve(self, supply, tails, heads, capacities, costs) -> IntEnum:
        self._store(np.zeros(self.num_arcs(), np.int64))
        try:
            found = min_cost_flow(tails, heads, capacities, costs, supply)
        except InfeasibleFlowError:
            return FlowStatus.INFEASIBLE
        self._store(found.flow[: self.num_arcs()])
        return FlowStatus.OPTIMAL

    def _store(self, flows: NDArray) -> None:
        self._flows = flows
        self._cost = sum(map(int.__mul__, self._costs, flows.tolist()))
        sources = np.array([node for node, supply in self._supplies.items() if supply > 0], np.int64)
        tails, heads = self._arcs()[:2]
        self._value = int(flows[np.isin(tails, sources)].sum() - flows[np.isin(heads, sources)].sum())

    def _arcs(self) -> tuple[NDArray, ...]:
        arcs = (self._tails, self._heads, self._capacities, self._costs)
        return tuple(np.array(one, np.int64) for one in arcs)

    def _node_supplies(self) -> NDArray:
        supply = np.zeros(self.num_nodes(), np.int64)
        supply[list(self._supplies)] = list(self._supplies.values())
        return supply

    def optimal_cost(self) -> int:
        """Cost of the flow."""
        return self._cost

    def maximum_flow(self) -> int:
        """Total supply that the flow ships."""
        return self._value

    def flow(self, arc: int) -> int:
        """Flow along an arc."""
        return int(self._flows[arc])

    def flows(self, arcs: ArrayLike) -> NDArray:
        """Flow along each of several arcs."""
        return self._flows[np.asarray(arcs, np.int64)]

    AddArcWithCapacityAndUnitCost, SetArcCapacity = add_arc_with_capacity_and_unit_cost, set_arc_capacity
    SetNodeSupply, NumNodes, NumArcs, Tail, Head = set_node_supply, num_nodes, num_arcs, tail, head
    Capacity, Supply, UnitCost, Solve, Flow = capacity, supply, unit_cost, solve, flow
    SolveMaxFlowWithMinCost, OptimalCost, MaximumFlow = solve_max_flow_with_min_cost, optimal_cost, maximum_flow
