"""From the arcs of a graph to a minimum cut: grids by `gridcut.max_flow`, all others by `gridcut.graph_max_flow`.

Each function imports its solver, with kernels that the other one does not need.  Both return the value of the maximum
flow, and the nodes that can still reach the sink, bool (n,).
"""

from typing import Any, NamedTuple

import numpy as np

from gridcut.device.arguments import INT64_MAX


class Arcs(NamedTuple):
    """Edges (tail, head), with their capacity in either direction."""

    tail: np.ndarray
    head: np.ndarray
    forward: np.ndarray
    back: np.ndarray


def solve_grid(shape: tuple[int, ...], arcs: list, source: np.ndarray, sink: np.ndarray) -> tuple[Any, np.ndarray]:
    """Solve a grid with arcs (offset, capacities, symmetric); the capacities may be scalars."""
    from gridcut.maximum_flow import max_flow

    most, source, sink, edges = _clamped(source.reshape(shape), sink.reshape(shape), _edges(shape, arcs))
    cut = max_flow(source, sink, edges, device="cpu")
    if most is not None and cut.value >= most:
        raise ValueError(f"the capacities are too large: every cut costs {most} or more; use GraphFloat")
    return cut.value, ~cut.labels.ravel()


def solve_graph(arcs: Arcs, source: np.ndarray, sink: np.ndarray) -> tuple[Any, np.ndarray]:
    """Solve any graph."""
    from gridcut.graph.edge_lists import edge_lists
    from gridcut.graph.graph_flow import graph_max_flow

    n = len(source)
    cut = graph_max_flow((*edge_lists(n, *arcs), (n, n)), source, sink, device="cpu")
    return cut.value, ~cut.labels


def _clamped(source: np.ndarray, sink: np.ndarray, edges: dict) -> tuple:
    """Integers so small that `max_flow` can sum them, and the largest; None: those given."""
    largest = [int(np.max(one, initial=0)) for one in (source, sink, *edges.values()) if one.dtype.kind == "i"]
    if 2 * sum(largest) <= INT64_MAX:
        return None, source, sink, edges
    most = INT64_MAX // (2 * len(largest))
    clamped = {offset: np.minimum(one, most) for offset, one in edges.items()}
    return most, np.minimum(source, most), np.minimum(sink, most), clamped


def _sum(one, other):
    """The sum of capacities; of integers, at most INT64_MAX."""
    total = np.asarray(one) + np.asarray(other)
    return np.where(total < one, INT64_MAX, total) if total.dtype.kind == "i" else total


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
        table[later] = _sum(table[later], capacity) if later in table else capacity
    edges = {}
    for later in {**forward, **back, **both}:
        one_way, reverse, two_way = (table.get(later, 0) for table in (forward, back, both))
        if np.ndim(one_way) == np.ndim(reverse) == 0 and one_way == reverse:
            edges[later] = _sum(two_way, one_way)
        else:
            edges[later] = _sum(one_way, two_way)
            edges[_opposite(later)] = _sum(reverse, _moved(two_way, shape, _opposite(later)))
    edges = {offset: np.broadcast_to(one, shape) if np.ndim(one) else one for offset, one in edges.items()}
    return edges or {(*zeros[1:], 1): np.int64(0)}


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
