"""OR-tools' `SimpleLinearSumAssignment`: `import assign.compat.ortools as linear_sum_assignment`.

Methods have the names of `ortools.graph.python`, and those of the older `ortools.graph.pywrapgraph`.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assign.core.infeasible import InfeasibleError
from assign.solving import solve

__all__ = ["SimpleLinearSumAssignment"]


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
