"""Graphs of networkx as adjacency lists; networkx itself is not imported.

The rows of a bipartite graph are the nodes with the attribute ``bipartite=0``, networkx's convention, and the columns
those with 1.  Without that attribute the nodes are coloured, and the first node of each component is a row.  Rows and
columns are in the graph's order of nodes.
"""

import numpy as np

from gridcut.device import kernel
from gridcut.device.networkx_graph import AdjacencyLists, NetworkxGraph
from gridcut.device.two_colours import COLUMN, ROW, two_colours

WEIGHT = "weight"  # networkx's name of the edge attribute


@kernel
def select_rows(indptr, indices, side):
    """The pointers and column indices of the rows, whose ends must be columns, and an entry for which this fails or -1.

    Rows and columns are numbered in the order of the nodes.
    """
    number = np.empty(side.size, np.int64)
    rows = columns = count = 0
    for v in range(side.size):
        if side[v] == COLUMN:
            number[v] = columns
            columns += 1
        else:
            rows += 1
            count += indptr[v + 1] - indptr[v]
    row_ptr, row_adj = np.zeros(rows + 1, np.int64), np.empty(count, np.int64)
    row = at = 0
    for v in range(side.size):
        if side[v] == COLUMN:
            continue
        for k in range(indptr[v], indptr[v + 1]):
            if side[indices[k]] != COLUMN:
                return row_ptr, row_adj, k
            row_adj[at] = number[indices[k]]
            at += 1
        row += 1
        row_ptr[row] = at
    return row_ptr, row_adj, -1


def bipartite_lists(graph: NetworkxGraph) -> tuple[tuple, list, list]:
    """The lists (indptr, indices, shape) of a bipartite graph, and its nodes that are the rows and the columns."""
    lists = _undirected(graph)
    side = _given_sides(graph, lists.nodes)
    if side is None:
        side = np.empty(len(lists.nodes), np.int8)
        _, wrong = two_colours(lists.indptr, lists.indices, side)
        row_ptr, row_adj, _ = select_rows(lists.indptr, lists.indices, side)
    else:
        row_ptr, row_adj, wrong = select_rows(lists.indptr, lists.indices, side)
        if wrong < 0 and 2 * len(row_adj) != len(lists.indices):  # an edge inside the columns
            _, _, wrong = select_rows(lists.indptr, lists.indices, ROW + COLUMN - side)
    if wrong >= 0:
        tail = int(np.searchsorted(lists.indptr, wrong, side="right")) - 1
        raise ValueError(
            f"graph is not bipartite: the edge ({lists.nodes[tail]!r:.60}, {lists.nodes[lists.indices[wrong]]!r:.60}) "
            "joins two nodes of one side; matching.greedy accepts general graphs"
        )
    sides: tuple[list, list] = [], []
    for node, which in zip(lists.nodes, side.tolist(), strict=True):
        sides[which].append(node)
    rows, cols = sides
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
