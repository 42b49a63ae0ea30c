"""Graphs of networkx as adjacency lists; networkx itself is not imported.

The rows of a bipartite graph are the nodes with the attribute ``bipartite=0``, networkx's convention, and the columns
those with 1.  Without that attribute the nodes are coloured, and the first node of each component is a row.  Rows and
columns are in the graph's order of nodes.
"""

from itertools import compress

import numpy as np

from gridcut.device.networkx_graph import AdjacencyLists, NetworkxGraph
from gridcut.device.two_colours import COLUMN, ROW, two_colours

WEIGHT = "weight"  # networkx's name of the edge attribute


def bipartite_lists(graph: NetworkxGraph) -> tuple[tuple, list, list]:
    """The lists (indptr, indices, shape) of a bipartite graph, and its nodes that are the rows and the columns.

    Rows and columns are numbered in the order of the nodes.
    """
    lists = _undirected(graph)
    side = _given_sides(graph, lists.nodes)
    tail = np.repeat(np.arange(len(lists.nodes)), np.diff(lists.indptr))
    if side is None:
        side = np.empty(len(lists.nodes), np.int8)
        _, wrong = two_colours(lists.indptr, lists.indices, side)
    else:
        wrong = next(iter(np.flatnonzero(side[tail] == side[lists.indices])), -1)
    if wrong >= 0:
        u, v = lists.nodes[tail[wrong]], lists.nodes[lists.indices[wrong]]
        raise ValueError(
            f"graph is not bipartite: the edge ({u!r:.60}, {v!r:.60}) joins two nodes of one side; matching.greedy "
            "accepts general graphs"
        )
    is_row, sizes = side == ROW, np.diff(lists.indptr)
    row_ptr = np.concatenate([[0], np.cumsum(sizes[is_row])])
    row_adj = (np.cumsum(~is_row) - 1)[lists.indices[is_row[tail]]]
    rows, cols = (list(compress(lists.nodes, which)) for which in (is_row, ~is_row))
    return (row_ptr, row_adj, (len(rows), len(cols))), rows, cols


def general_lists(graph: NetworkxGraph, weight=None) -> tuple[tuple, np.ndarray | None]:
    """The lists (indptr, indices, shape) of a graph, and the weights of its entries or None.

    The vertices are the nodes in the graph's order.

    weight   name of the edge attribute; None: "weight" if any edge has it, else no weights.  Edges without it weigh 1.
    """
    if weight is not None and not isinstance(weight, str):
        raise TypeError(
            f"weight of a networkx graph must be the name of an edge attribute, got {type(weight).__name__}"
        )
    lists = _undirected(graph, parallel=True)
    name = WEIGHT if weight is None else weight
    values = lists.attribute(name, None)
    lists_of_graph = lists.indptr, lists.indices, (len(lists.nodes), len(lists.nodes))
    if all(value is None for value in values):
        if weight is not None and values:
            raise ValueError(f"no edge of graph has the attribute weight={weight!r}")
        return lists_of_graph, None
    weights = np.array([1 if value is None else value for value in values])
    if weights.ndim != 1 or weights.dtype.kind not in "biuf":
        raise TypeError(f"the edge attribute {name!r} of graph must hold real numbers, got {weights.dtype}")
    return lists_of_graph, weights


def _undirected(graph: NetworkxGraph, *, parallel: bool = False) -> AdjacencyLists:
    if graph.is_directed():
        raise TypeError("graph is directed, but a matching requires an undirected graph; pass graph.to_undirected()")
    return AdjacencyLists(graph, parallel=parallel)


def _given_sides(graph: NetworkxGraph, nodes: list) -> np.ndarray | None:
    """The side of each node from the attribute "bipartite"; None if no node has it."""
    given = dict(graph.nodes(data="bipartite"))
    if all(value is None for value in given.values()):
        return None
    for node, value in given.items():
        if value not in (ROW, COLUMN):
            raise ValueError(
                f"node {node!r:.60} of graph has bipartite={value!r:.60}; each node must have bipartite=0 (rows) or "
                "bipartite=1 (columns), or no node may have the attribute"
            )
    return np.array([given[node] for node in nodes], np.int8)
