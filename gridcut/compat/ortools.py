"""OR-tools' `SimpleMaxFlow`: `import gridcut.compat.ortools as max_flow`.

Methods have the names of `ortools.graph.python`, and those of the older `ortools.graph.pywrapgraph`.
"""

from enum import IntEnum

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import breadth_first_order

from gridcut.graph.flow_between import flow_along_entries
from gridcut.graph.graph_flow import graph_max_flow

__all__ = ["SimpleMaxFlow"]


class Status(IntEnum):
    """What `SimpleMaxFlow.solve` returns."""

    OPTIMAL = 0
    POSSIBLE_OVERFLOW = 1
    BAD_INPUT = 2
    BAD_RESULT = 3


class SimpleMaxFlow:
    """A maximum flow problem with integer capacities, one arc at a time.

    Nodes are numbered from 0.  `solve` returns `BAD_INPUT` if source and sink are the same, and `OPTIMAL` otherwise;
    negative capacities, and capacities whose sum is too large for int64, raise an error.

    Examples
    --------
    >>> from gridcut.compat.ortools import SimpleMaxFlow
    >>> network = SimpleMaxFlow()
    >>> network.add_arcs_with_capacity([0, 0, 1], [1, 2, 3], [5, 4, 7]).tolist()
    [0, 1, 2]
    >>> network.solve(0, 3) == network.OPTIMAL, network.optimal_flow(), network.flows([0, 1, 2]).tolist()
    (True, 5, [5, 0, 5])
    >>> network.get_source_side_min_cut(), network.get_sink_side_min_cut()
    ([0, 2], [3, 1])
    """

    Status = Status
    OPTIMAL, POSSIBLE_OVERFLOW, BAD_INPUT, BAD_RESULT = Status

    def __init__(self) -> None:
        self._tails: list[int] = []
        self._heads: list[int] = []
        self._capacities: list[int] = []
        self._flows: NDArray = np.empty(0, np.int64)
        self._ends = (0, 0)
        self._value = 0

    def add_arc_with_capacity(self, tail: int, head: int, capacity: int) -> int:
        """Add an arc, and return its index."""
        self._tails.append(tail)
        self._heads.append(head)
        self._capacities.append(capacity)
        return len(self._tails) - 1

    def add_arcs_with_capacity(self, tails: ArrayLike, heads: ArrayLike, capacities: ArrayLike) -> NDArray:
        """Add arcs, and return their indices."""
        first = len(self._tails)
        arcs = np.broadcast_arrays(tails, heads, capacities)
        for kept, added in zip((self._tails, self._heads, self._capacities), arcs, strict=True):
            kept += added.tolist()
        return np.arange(first, len(self._tails))

    def set_arc_capacity(self, arc: int, capacity: int) -> None:
        """Change the capacity of an arc."""
        self._capacities[arc] = capacity

    def set_arcs_capacity(self, arcs: ArrayLike, capacities: ArrayLike) -> None:
        """Change the capacities of several arcs."""
        for arc, capacity in np.broadcast(arcs, capacities):
            self._capacities[arc] = int(capacity)

    def num_nodes(self) -> int:
        """The largest number of a node, plus 1."""
        return max(max(self._tails, default=-1), max(self._heads, default=-1)) + 1

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

    def solve(self, source: int, sink: int) -> IntEnum:
        """Find a maximum flow."""
        self._flows, self._value = np.zeros(self.num_arcs(), np.int64), 0
        self._ends = source, sink
        if source == sink:
            return Status.BAD_INPUT
        n = max(self.num_nodes(), source + 1, sink + 1)
        tails, heads, capacities = self._arcs()
        order = np.lexsort((heads, tails))
        key = (tails * n + heads)[order]
        first = np.flatnonzero(np.append(True, np.diff(key) != 0)[: len(key)])  # of the arcs between two nodes
        before = np.cumsum(capacities[order]) - capacities[order]
        together = np.add.reduceat(capacities[order], first) if len(first) else capacities
        starts = np.searchsorted(tails[order][first], np.arange(n + 1))
        graph = (starts, heads[order][first], together, (n, n))
        terminals = np.zeros((2, n), np.int64)
        terminals[0, source] = terminals[1, sink] = int(capacities.sum()) + 1
        cut = graph_max_flow(graph, *terminals, device="cpu")
        self._value = int(cut.value)
        entry = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(key))))
        left = flow_along_entries(graph, cut, source, sink)[entry] - (before - before[first][entry])
        self._flows[order] = np.clip(left, 0, capacities[order])  # the first of several arcs is filled first
        return Status.OPTIMAL

    def optimal_flow(self) -> int:
        """Value of the flow."""
        return self._value

    def flow(self, arc: int) -> int:
        """Flow along an arc."""
        return int(self._flows[arc])

    def flows(self, arcs: ArrayLike) -> NDArray:
        """Flow along each of several arcs."""
        return self._flows[np.asarray(arcs, np.int64)]

    def get_source_side_min_cut(self) -> list[int]:
        """Nodes that can be reached from the source in the residual graph."""
        return self._reached(self._ends[0], *self._arcs()[:2])

    def get_sink_side_min_cut(self) -> list[int]:
        """Nodes from which the sink can be reached in the residual graph."""
        return self._reached(self._ends[1], *self._arcs()[1::-1])

    def _arcs(self) -> tuple[NDArray, ...]:
        return tuple(np.array(one, np.int64) for one in (self._tails, self._heads, self._capacities))

    def _reached(self, node: int, tails: NDArray, heads: NDArray) -> list[int]:
        n = max(self.num_nodes(), node + 1)
        free, used = self._flows < np.array(self._capacities), self._flows > 0
        ends = np.append(tails[free], heads[used]), np.append(heads[free], tails[used])
        residual = scipy.sparse.csr_array((np.ones(len(ends[0])), ends), shape=(n, n))
        return breadth_first_order(residual, node, return_predecessors=False).tolist()

    AddArcWithCapacity, SetArcCapacity, NumNodes, NumArcs = add_arc_with_capacity, set_arc_capacity, num_nodes, num_arcs
    Tail, Head, Capacity, Solve, OptimalFlow, Flow = tail, head, capacity, solve, optimal_flow, flow
    GetSourceSideMinCut, GetSinkSideMinCut = get_source_side_min_cut, get_sink_side_min_cut
