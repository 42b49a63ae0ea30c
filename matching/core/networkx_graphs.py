"""Graphs of networkx as adjacency lists, read edge by edge; networkx itself is not imported.

The rows of a bipartite graph are the nodes with the attribute ``bipartite=0``, networkx's convention, and the columns
those with 1.  Without that attribute the nodes are coloured, and the first node of each component is a row.  Rows and
columns are in the graph's order of nodes.
"""

from itertools import chain

import numpy as np

from gridcut.device.networkx_graph import NetworkxGraph, adjacency_of

WEIGHT = "weight"  # networkx's name of the edge attribute


def bipartite_lists(graph: NetworkxGraph) -> tuple[tuple, list, list]:
    """The lists (indptr, indices, shape) of a bipartite graph, and its nodes that are the rows and the columns."""
    adjacency = _adjacency(graph)
    side = _given_sides(graph) or _coloured(adjacency)
    rows = [node for node in adjacency if side[node] == 0]
    cols = [node for node in adjacency if side[node] == 1]
    index = dict(zip(cols, range(len(cols)), strict=True))
    indptr = _pointers(len(adjacency[node]) for node in rows)
    ends = chain.from_iterable(map(adjacency.__getitem__, rows))
    try:
        indices = np.fromiter(map(index.__getitem__, ends), np.int64, indptr[-1])
    except KeyError:
        raise _not_bipartite(*_edge_inside(adjacency, side)) from None
    if sum(len(adjacency[node]) for node in cols) != len(indices):
        raise _not_bipartite(*_edge_inside(adjacency, side))
    return (indptr, indices, (len(rows), len(cols))), rows, cols


def general_lists(graph: NetworkxGraph, weight=None) -> tuple[tuple, np.ndarray | None]:
    """The lists (indptr, indices, shape) of a graph, and the weights of its entries or None.

    The vertices are the nodes in the graph's order.

    weight   name of the edge attribute; None: "weight" if any edge has it, else no weights.  Edges without it weigh 1.
    """
    if weight is not None and not isinstance(weight, str):
        raise TypeError(
            f"weight of a networkx graph must be the name of an edge attribute, got {type(weight).__name__}"
        )
    adjacency = _adjacency(graph)
    index = dict(zip(adjacency, range(len(adjacency)), strict=True))
    if graph.is_multigraph():  # one entry per parallel edge
        lists = [[(end, data) for end, edges in ends.items() for data in edges.values()] for ends in adjacency.values()]
    else:
        lists = [list(ends.items()) for ends in adjacency.values()]
    indptr = _pointers(map(len, lists))
    indices = np.fromiter((index[end] for ends in lists for end, _ in ends), np.int64, indptr[-1])
    name = WEIGHT if weight is None else weight
    values = [data.get(name) for ends in lists for _, data in ends]
    lists_of_graph = indptr, indices, (len(index), len(index))
    if all(value is None for value in values):
        if weight is not None and values:
            raise ValueError(f"no edge of graph has the attribute weight={weight!r}")
        return lists_of_graph, None
    weights = np.array([1 if value is None else value for value in values])
    if weights.ndim != 1 or weights.dtype.kind not in "biuf":
        raise TypeError(f"the edge attribute {name!r} of graph must hold real numbers, got {weights.dtype}")
    return lists_of_graph, weights


def _adjacency(graph: NetworkxGraph):
    """The dict of each node's neighbours; TypeError for directed graphs."""
    if graph.is_directed():
        raise TypeError("graph is directed, but a matching requires an undirected graph; pass graph.to_undirected()")
    return adjacency_of(graph)


def _pointers(lengths) -> np.ndarray:
    return np.cumsum([0, *lengths], dtype=np.int64)


def _given_sides(graph: NetworkxGraph) -> dict | None:
    """0 or 1 for each node from the attribute "bipartite"; None if no node has it."""
    side = dict(graph.nodes(data="bipartite"))
    if all(value is None for value in side.values()):
        return None
    for node, value in side.items():
        if value not in (0, 1):
            raise ValueError(
                f"node {node!r:.60} of graph has bipartite={value!r:.60}; each node must have bipartite=0 (rows) or "
                "bipartite=1 (columns), or no node may have the attribute"
            )
    return side


def _coloured(adjacency) -> dict:
    """0 or 1 for each node, different at both ends of each edge; ValueError if that is impossible."""
    side: dict = {}
    for first in adjacency:
        if first in side:
            continue
        side[first] = 0
        stack = [first]
        while stack:
            node = stack.pop()
            other = 1 - side[node]
            for neighbour in adjacency[node]:
                if neighbour not in side:
                    side[neighbour] = other
                    stack.append(neighbour)
                elif side[neighbour] != other:
                    raise _not_bipartite(node, neighbour)
    return side


def _edge_inside(adjacency, side: dict) -> tuple:
    """An edge whose ends are on one side."""
    return next((node, end) for node, ends in adjacency.items() for end in ends if side[node] == side[end])


def _not_bipartite(node, neighbour) -> ValueError:
    return ValueError(
        f"graph is not bipartite: the edge ({node!r:.60}, {neighbour!r:.60}) joins two nodes of one side; "
        "matching.greedy accepts general graphs"
    )
