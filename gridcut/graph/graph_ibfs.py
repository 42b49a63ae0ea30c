"""Method "ibfs" on graphs, the default: pushes to neighbours, then one incremental breadth-first search.

`solve` changes the residual graph in place to one without a path from excess to a deficit, and returns the nodes that
can still reach a deficit, and stats.  `solve_warm` does the same after changes, starting from the forests of the last
call.  Kernels: graph_search.py, graph_forest.py, graph_warm.py.

[1] Goldberg, Hed, Kaplan, Tarjan, Werneck. "Maximum flows by incremental breadth-first search." ESA 2011.
"""

import numpy as np

from gridcut.graph.graph_forest import make_graph_forest, make_graph_work
from gridcut.graph.graph_search import SINK, push_to_neighbours, search_graph
from gridcut.graph.residual_graph import ResidualGraph


def solve(graph: ResidualGraph) -> tuple[np.ndarray, dict]:
    """Find a maximum flow; see the module."""
    index_type = index_type_of(graph)
    forest = make_graph_forest(graph.nodes, index_type)
    push_to_neighbours(graph.first, graph.arcs, graph.excess)
    work = make_graph_work(graph.nodes, index_type)
    _, augmentations, repaired = search_graph(SINK, graph.first, graph.arcs, graph.excess, forest, work)
    return forest.label < 0, {"augmentations": augmentations, "repaired": repaired}


def index_type_of(graph: ResidualGraph) -> np.dtype:
    return graph.first.dtype
