"""The maximum-flow problem of a networkx graph, read edge by edge; networkx itself is not imported.

Nodes are numbered in the graph's order.  The source is a node with an infinite capacity from the source of
`max_flow`, and the sink one with an infinite capacity to its sink.  Among integers, infinite capacities, and those that
int64 does not hold, are replaced by one more than the capacity of some finite cut.  That changes no minimum cut, and
makes no other cut minimal.
"""

from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

import numpy as np
import scipy

from gridcut.device.arguments import INT64_MAX
from gridcut.device.networkx_graph import NUMBERS, AdjacencyLists, NetworkxGraph, numbers_of
from gridcut.graph.graph_problem import MAX_NODES, GraphProblem, check_graph_problem

CAPACITY = "capacity"  # networkx's name of the edge attribute


class UnboundedFlowError(ValueError):
    """Edges of infinite capacity lead from the source to the sink."""


class Network(NamedTuple):
    """The edges of a networkx graph as entries of a matrix.

    nodes, index      the nodes in the order of their numbers; the number of each node
    indptr, indices   as in GraphProblem
    capacity          int64 if all finite capacities are integers, or Python's integers if one does not fit; else
                      float64; 0 where `infinite`
    infinite          whether the capacity of an entry is infinite
    """

    nodes: list
    index: dict
    indptr: np.ndarray
    indices: np.ndarray
    capacity: np.ndarray
    infinite: np.ndarray

    def has_entries_of(self, other: "Network") -> bool:
        """Whether nodes and entries are the same, in the same order."""
        pairs = (self.indptr, other.indptr), (self.indices, other.indices)
        return self.nodes == other.nodes and all(np.array_equal(mine, theirs) for mine, theirs in pairs)


def networkx_problem(graph: NetworkxGraph, source: Any, sink: Any) -> tuple[GraphProblem, list]:
    """The checked problem of a graph with an edge attribute "capacity", and the nodes in the order of their numbers.

    Edges without the attribute have infinite capacity.  Raises TypeError and ValueError, see `graph_max_flow`.
    """
    network = read_network(graph)
    return problem_between(network, source, sink), network.nodes


def read_network(graph: NetworkxGraph) -> Network:
    """The entries of a graph; TypeError or ValueError for capacities that are not numbers of 0 or more."""
    lists = AdjacencyLists(graph, parallel=True)
    nodes, indptr, indices = lists.nodes, lists.indptr, lists.indices
    if len(nodes) > MAX_NODES:
        raise ValueError(f"graph must have at most {MAX_NODES} nodes, got {len(nodes)}")
    given = lists.attribute(CAPACITY, inf)
    numbers = numbers_of(given)
    if numbers is None or not (numbers[0] >= 0).all():
        raise _bad_capacity(given, lambda i: _edge(nodes, indptr, indices, i))
    return Network(nodes, lists.index, indptr, indices, *numbers)


def problem_between(network: Network, source: Any, sink: Any) -> GraphProblem:
    """The checked problem between two nodes; its capacities are a copy.

    Raises ValueError if they are not nodes of the network, or the same one, and if the flow is unbounded.
    """
    nodes, index, indptr, indices, capacity, infinite = network
    s, t = (_number_of(name, node, index) for name, node in (("source", source), ("sink", sink)))
    if s == t:
        raise ValueError(f"source and sink must be different nodes of graph, both are {source!r:.60}")
    _check_bounded(indptr, indices, infinite, s, t, nodes)
    unlimited = _unlimited(capacity, indptr, indices, infinite, s, t)
    capacity = np.minimum(capacity, unlimited).astype(np.int64) if _is_large(capacity) else capacity.copy()
    terminals = np.zeros((2, len(nodes)), capacity.dtype)
    terminals[0, s] = terminals[1, t] = unlimited
    capacity[infinite] = unlimited
    lists = indptr, indices, capacity, (len(nodes), len(nodes))
    return check_graph_problem(lists, *terminals)


def _number_of(name: str, node, index: dict) -> int:
    try:
        return index[node]
    except (KeyError, TypeError):  # not there, or not hashable
        raise ValueError(f"{name} must be a node of graph, got {node!r:.60}") from None


def _bad_capacity(given: list, edge: Callable[[int], str]) -> Exception:
    """The error for capacities of which one is not a number, negative, or an integer too large to be a float."""
    for i, value in enumerate(given):
        is_number = isinstance(value, NUMBERS)
        if not is_number or not value >= 0:
            kind = ValueError if is_number else TypeError
            return kind(
                f"the edge attribute 'capacity' of {edge(i)} is {value!r:.60}; capacities must be numbers, 0 or more"
            )
    i = given.index(max(value for value in given if isinstance(value, int)))
    return ValueError(
        f"the edge attribute 'capacity' of {edge(i)} is {given[i]!r:.60}; among floats, integers must be less than "
        "2^1024"
    )


def _edge(nodes: list, indptr, indices, i: int) -> str:
    tail = int(np.searchsorted(indptr, i, side="right")) - 1
    return f"edge ({nodes[tail]!r:.40}, {nodes[indices[i]]!r:.40})"


def _check_bounded(indptr, indices, infinite, s: int, t: int, nodes: list) -> None:
    """Raise ValueError if a path of infinite capacities leads from s to t."""
    if not infinite.any():
        return
    n = len(nodes)
    kept = np.concatenate(([0], np.cumsum(infinite)))[indptr]
    paths = scipy.sparse.csr_array((np.ones(kept[-1], np.int8), indices[infinite], kept), shape=(n, n))
    reached, before = scipy.sparse.csgraph.breadth_first_order(paths, s)
    if t in reached:
        raise UnboundedFlowError(
            f"the maximum flow is unbounded: edges of infinite capacity lead from {nodes[s]!r:.40} to "
            f"{nodes[t]!r:.40}, the last one from {nodes[before[t]]!r:.40}; give one of them a finite attribute "
            "'capacity' (edges without it are infinite)"
        )


def _unlimited(capacity: np.ndarray, indptr, indices, infinite, s: int, t: int) -> float | int:
    """More than the capacity of one of the finite cuts: all finite edges, or those at the source or the sink."""
    if capacity.dtype.kind == "f":
        return inf
    at_source = np.arange(indptr[s], indptr[s + 1])
    at_sink = np.flatnonzero(indices == t)
    at_source = at_source[indices[at_source] != s]
    at_sink = at_sink[(at_sink < indptr[t]) | (at_sink >= indptr[t + 1])]
    cuts = [_sum(capacity), *(_sum(capacity[cut]) for cut in (at_source, at_sink) if not infinite[cut].any())]
    return min(1 + min(cuts), INT64_MAX)  # with the latter, which is too large to be summed, it is clamped again


def _sum(integers: np.ndarray) -> int:
    """The sum of integers that are 0 or more, also if int64 does not hold it."""
    return sum(integers.tolist()) if _is_large(integers) else int(integers.sum())


def _is_large(capacity: np.ndarray) -> bool:
    """Whether these are integers whose sum might exceed int64."""
    if capacity.dtype == object:
        return True
    return capacity.dtype.kind == "i" and float(capacity.max(initial=0)) * capacity.size >= 2.0**62
