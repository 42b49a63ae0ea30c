"""Expansions and swaps on a sparse graph, as cuts of graphs; `GraphState` has the methods that `Descent` calls.

A move has the rules of moves.py.  Its graph has the nodes that have a choice, numbered in ascending order, and the
edges between them; edges to other nodes are unary costs.  Unlike on grids, no flow is kept, and every move visits all
nodes.

Arrays of the kernels
  listed[i], index[u]       the node with the number i, and the number of node u; -1 without a choice
  rows                      (indptr, indices, weight): the edges of the energy, each in the rows of both ends
  excess[i]                 cost of the second label minus that of the first; above 0 it is a capacity from the source
  start, heads, capacity    the graph of the cut, as (indptr, indices, capacity)

Time per move: O(nodes + edges), plus the cut.
"""

import time

import numpy as np

from gridcut.device import plain_kernel
from gridcut.device.arguments import unmarked
from gridcut.graph.graph_flow import cut_of_graph
from gridcut.graph.graph_problem import GraphProblem
from gridcut.multilabel.labelling import choices
from gridcut.multilabel.moves import capacity as edge_capacity
from gridcut.multilabel.validation import LabelProblem


class GraphState:
    """A labelling of a graph, and the energy."""

    def __init__(self, problem: LabelProblem, start: np.ndarray):
        self.problem = problem
        self.labels = start.astype(np.int32)
        self._unary = unmarked(problem.unary)
        adjacent = problem.weights + problem.weights.T
        self._rows = adjacent.indptr.astype(np.int64), adjacent.indices.astype(np.int32), adjacent.data
        self._cut = np.empty(adjacent.nnz, np.int32), np.empty(adjacent.nnz, adjacent.dtype)

    def replace_labels(self, labels: np.ndarray) -> None:
        self.labels = labels.astype(np.int32)

    def cells(self, where: np.ndarray) -> np.ndarray:
        return np.flatnonzero(where)

    def pixels(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return cells, self.labels[cells]

    def energy(self) -> int:
        labels, problem = self.labels, self.problem
        paid = problem.unary[labels, np.arange(labels.size)].sum(dtype=np.int64)
        for p, q, weight in problem.edges():
            paid += (weight * problem.cost[labels[p], labels[q]]).sum(dtype=np.int64)
        return int(paid)

    def move(self, first: int, second: int, changed: list[np.ndarray]) -> tuple[np.ndarray, int]:
        """Make the best expansion of `second`, or swap; returns the nodes that changed and the change of the energy."""
        problem, labels = self.problem, self.labels
        zero, one = choices(labels, first, second, problem.allowed)
        listed = np.flatnonzero(zero != one)
        index = np.full(labels.size, -1, np.int32)
        index[listed] = np.arange(listed.size)
        moved = zero.astype(np.int32)
        heads, capacity = self._cut
        start = np.zeros(listed.size + 1, np.int64)
        excess = np.empty(listed.size, np.int64)
        load_move(
            listed, index, moved, second, self._rows, self._unary, problem.cost, excess, start,
            heads, capacity,
        )  # fmt: skip
        source, sink = np.maximum(excess, 0), np.maximum(-excess, 0)
        graph = GraphProblem(listed.size, start, heads[: start[-1]], capacity[: start[-1]], source, sink, False)
        cut = cut_of_graph(graph, "cpu", "ibfs", time.perf_counter())
        moved[listed[~cut.labels]] = second
        cells = np.flatnonzero(moved != labels)
        delta = int(energy_change(cells, labels, moved, self._rows, self._unary, problem.cost))
        if delta >= 0:
            return cells[:0], 0
        self.labels = moved
        return cells, delta


@plain_kernel
def load_move(listed, index, zero, second, rows, unary, cost, excess, start, heads, capacity):
    """Write the graph of a move, in which x = 0 is the label zero[u] of each node and x = 1 is `second`."""
    indptr, indices, weight = rows
    end = 0
    for i in range(listed.size):
        u = listed[i]
        a = zero[u]
        held = np.int64(unary[second, u]) - unary[a, u]
        for e in range(indptr[u], indptr[u + 1]):
            v = indices[e]
            w = np.int64(weight[e])
            theirs = zero[v]
            held += w * (np.int64(cost[second, theirs]) - cost[a, theirs])
            if index[v] >= 0:
                room, both = edge_capacity(int(u > v), a, theirs, second, cost)
                held -= w * (both - room)
                heads[end] = index[v]
                capacity[end] = w * room
                end += 1
        excess[i] = held
        start[i + 1] = end


@plain_kernel
def energy_change(cells, before, after, rows, unary, cost):
    """Change of the energy from the labels `before` to the labels `after`, which differ at `cells`."""
    indptr, indices, weight = rows
    total = np.int64(0)
    for i in range(cells.size):
        u = cells[i]
        old, new = before[u], after[u]
        total += np.int64(unary[new, u]) - unary[old, u]
        for e in range(indptr[u], indptr[u + 1]):
            v = indices[e]
            if v > u or before[v] == after[v]:  # if both ends change, the edge is counted once
                total += np.int64(weight[e]) * (np.int64(cost[new, after[v]]) - cost[old, before[v]])
    return total
