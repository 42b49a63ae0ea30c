"""From the arcs of a graph to a minimum cut: grids by `gridcut.max_flow`, all others by `gridcut.graph_max_flow`.

Each function imports its solver, with kernels that the other one does not need.
"""

import time
from typing import Any, NamedTuple

import numpy as np

MIN_GRID = 1000  # nodes; in smaller graphs, neither a grid nor trees save time


class Arcs(NamedTuple):
    """Edges (tail, head), with their capacity in either direction."""

    tail: np.ndarray
    head: np.ndarray
    forward: np.ndarray
    back: np.ndarray


class Solution(NamedTuple):
    """Value of the maximum flow, and the nodes that can still reach the sink, bool (n,)."""

    value: Any
    sink_side: np.ndarray


def solve_grid(shape: tuple[int, ...], arcs: list, source: np.ndarray, sink: np.ndarray) -> Solution:
    """Solve a grid with arcs (offset, capacities, symmetric); the capacities may be scalars."""
    return solve_planes(shape, _edges(shape, arcs), source, sink)


def solve_planes(shape: tuple[int, ...], edges: dict, source: np.ndarray, sink: np.ndarray) -> Solution:
    """Solve a grid with edges as `max_flow` takes them, except that they may be infinite."""
    from gridcut.maximum_flow import max_flow

    total, (source, sink, *capacities) = without_infinities([source, sink, *edges.values()], source.size)
    edges = dict(zip(edges, capacities, strict=True))
    cut = max_flow(source.reshape(shape), sink.reshape(shape), edges, device="cpu")
    return Solution(_checked(cut.value, total), ~cut.labels.ravel())


def _edges(shape: tuple[int, ...], arcs: list) -> dict:
    """The edges for `max_flow`, in which an offset without its opposite stands for both directions."""
    zeros = (0,) * len(shape)
    forward: dict = {}  # by offsets > 0: from p to p + offset, at p
    back: dict = {}  # from p to p - offset, at p
    both: dict = {}  # in both directions, at p
    for offset, capacity, symmetric in arcs:
        later = max(offset, _opposite(offset))
        if symmetric and offset < zeros:  # the same edges, given at their other ends
            capacity = _moved(capacity, shape, later)
        table = both if symmetric else forward if offset > zeros else back
        table[later] = table[later] + capacity if later in table else capacity
    edges = {}
    for later in {**forward, **back, **both}:
        one_way, reverse, two_way = (table.get(later, 0) for table in (forward, back, both))
        if np.ndim(one_way) == np.ndim(reverse) == 0 and one_way == reverse:
            edges[later] = two_way + one_way
        else:
            edges[later] = one_way + two_way
            edges[_opposite(later)] = reverse + _moved(two_way, shape, _opposite(later))
    edges = {offset: np.broadcast_to(one, shape) if np.ndim(one) else one for offset, one in edges.items()}
    return edges or {(*zeros[1:], 1): 0}


def _opposite(offset) -> tuple[int, ...]:
    return tuple(-step for step in offset)


def _moved(capacity, shape, step) -> Any:
    """Capacities of which that of p + step is at p, 0 outside of the grid."""
    if np.ndim(capacity) == 0:
        return capacity
    moved = np.zeros(shape, capacity.dtype)
    here = tuple(slice(max(0, -part), size - max(0, part)) for part, size in zip(step, shape, strict=True))
    there = tuple(slice(max(0, part), size - max(0, -part)) for part, size in zip(step, shape, strict=True))
    moved[here] = np.broadcast_to(capacity, shape)[there]
    return moved


def solve_graph(arcs: Arcs, source: np.ndarray, sink: np.ndarray) -> Solution:
    """Solve any graph."""
    total, (forward, back, source, sink) = without_infinities([arcs.forward, arcs.back, source, sink], 1)
    value, sink_side = _solve_finite(arcs._replace(forward=forward, back=back), source, sink)
    return Solution(_checked(value, total), sink_side)


def _solve_finite(arcs, source, sink) -> tuple[Any, np.ndarray]:
    nodes = len(source)
    if nodes >= MIN_GRID and len(arcs.tail) < nodes:
        from gridcut.compat.maxflow.edge_trees import cut_with_trees

        found = cut_with_trees(arcs, source, sink, _solve_finite)
        if found is not None:
            return found
    from gridcut.graph.edge_lists import edge_lists
    from gridcut.graph.graph_flow import cut_of_graph
    from gridcut.graph.graph_problem import GraphProblem

    start = time.perf_counter()
    indptr, indices, capacity = edge_lists(nodes, *arcs)
    problem = GraphProblem(nodes, indptr, indices, capacity, source, sink, capacity.dtype.kind == "f")
    cut = cut_of_graph(problem, None, "cpu", "ibfs", start)
    return cut.value, ~cut.labels


def without_infinities(arrays: list, repeats: int) -> tuple[Any, list]:
    """The arrays with more than twice the sum of all finite capacities for each infinite one, and that sum.

    repeats   how often a capacity that is a scalar counts
    """
    if all(np.isfinite(np.max(array, initial=0)) for array in arrays):
        return None, arrays
    finite = [np.where(np.isfinite(array), array, 0.0) for array in arrays]
    total = sum(float(array.sum()) * (repeats if array.ndim == 0 else 1) for array in finite)
    return total, [np.where(np.isinf(array), 2 * total + 1, array) for array in arrays]


def _checked(value, total):
    if total is not None and value > 1.5 * total + 0.5:
        raise ValueError("infinite capacities lead from the source to the sink, so that every cut is infinite")
    return value


def drawn(arcs: Arcs, source: np.ndarray, sink: np.ndarray, labels: np.ndarray, is_solved: bool) -> Any:
    """The networkx.DiGraph of residual capacities above 0, with the nodes "s" and "t"; without flow if not solved."""
    from importlib import import_module  # only this function needs networkx

    import scipy.sparse

    from gridcut.graph.edge_lists import edge_lists
    from gridcut.graph.flow_between import flow_along_entries
    from gridcut.graph.graph_flow import graph_max_flow

    n = len(source)
    every = np.arange(n)
    terminals = Arcs(
        np.concatenate((np.full(n, n), every)), np.concatenate((every, np.full(n, n + 1))),
        np.concatenate((source, sink)), np.zeros(2 * n, source.dtype),
    )  # fmt: skip
    indptr, indices, capacity = edge_lists(n + 2, *(np.concatenate(p) for p in zip(arcs, terminals, strict=True)))
    residual = scipy.sparse.csr_array((capacity, indices, indptr), shape=(n + 2, n + 2))
    if is_solved:
        total, (finite,) = without_infinities([capacity], 1)
        enough = np.zeros((2, n + 2), capacity.dtype)
        enough[0, n] = enough[1, n + 1] = 2 * finite.sum() + 1
        lists = indptr, indices, finite, (n + 2, n + 2)
        cut = graph_max_flow(lists, *enough, device="cpu")
        sent = scipy.sparse.csr_array((flow_along_entries(lists, cut, n, n + 1), indices, indptr), shape=(n + 2, n + 2))
        residual = residual - sent + sent.T
    graph = import_module("networkx").DiGraph()
    graph.add_nodes_from((node, {"segment": int(label)}) for node, label in enumerate(labels))
    graph.add_nodes_from("st")
    names = [*range(n), "s", "t"]
    residual = residual.tocoo()
    for u, v, left in zip(residual.row.tolist(), residual.col.tolist(), residual.data.tolist(), strict=True):
        if left > 0 and u != n + 1 and v != n:
            graph.add_edge(names[u], names[v], weight=left)
    return graph
