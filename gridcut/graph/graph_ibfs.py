"""Method "ibfs" on graphs, the default: reductions, pushes to neighbours, then one incremental breadth-first search.

`solve` changes the residual graph in place to one without a path from excess to a deficit, and returns the nodes that
can still reach a deficit, and stats.  `GraphMemory` does the same after changes, starting from the forests of the last
solve, and without reductions.  Kernels: graph_reduction.py, graph_search.py, graph_forest.py, graph_warm.py.

[1] Goldberg, Hed, Kaplan, Tarjan, Werneck. "Maximum flows by incremental breadth-first search." ESA 2011.
"""

import numpy as np

from gridcut.graph.graph_forest import make_graph_forest, make_graph_work
from gridcut.graph.graph_reduction import reduce_graph, restore_graph
from gridcut.graph.graph_search import UNTIL_BOTH, UNTIL_SINK, search_nodes
from gridcut.graph.graph_warm import grow_active_nodes, reroot_nodes
from gridcut.graph.residual_graph import ResidualGraph

MAX_CHANGED_SHARE = 0.1  # changed nodes per node above which a re-solve searches from scratch
MAX_REPAIR = 3.0  # repaired nodes per node above which a re-solve discards the forests


def solve(graph: ResidualGraph) -> tuple[np.ndarray, dict]:
    """Find a maximum flow; see the module."""
    reduction = reduce_graph(graph)
    if graph.nodes and graph.excess.min() < 0:
        forest = make_graph_forest(graph)
        arrays = graph.first, graph.arcs, graph.excess, forest, make_graph_work(graph)
        _, augmentations, repaired = search_nodes(UNTIL_SINK, *arrays)
        is_sink = forest.label < 0
    else:  # trees, and graphs without sinks
        is_sink = np.zeros(graph.nodes, bool)
        augmentations = repaired = 0
    if reduction is not None:
        restore_graph(graph, reduction, is_sink)
    return is_sink, {"augmentations": augmentations, "repaired": repaired}


class GraphMemory:
    """The forests of the last solve of a graph, from which the next one starts; they belong to one ResidualGraph."""

    def __init__(self, graph: ResidualGraph):
        self._graph = graph
        self._forest = make_graph_forest(graph)
        self._work = make_graph_work(graph)
        self._deepest = 0  # 0: no forests yet

    def solve(self, touched: np.ndarray | None) -> tuple[np.ndarray, dict]:
        """As `solve`.

        touched   the nodes whose excess or arcs have changed since the last solve, with repetitions; None: unknown
        """
        arrays = self._graph.first, self._graph.arcs, self._graph.excess, self._forest, self._work
        augmentations = repaired = 0
        if self._deepest and touched is not None and touched.size <= MAX_CHANGED_SHARE * self._graph.nodes:
            budget = int(MAX_REPAIR * self._graph.nodes)
            repaired = reroot_nodes(touched, self._deepest, *arrays)
            self._deepest, augmentations, more = grow_active_nodes(budget, self._deepest, *arrays)
            repaired += more
            is_complete = more <= budget
        else:
            is_complete = False
        if not is_complete:
            self._deepest, found, more = search_nodes(UNTIL_BOTH, *arrays)
            augmentations += found
            repaired += more
        return self._forest.label < 0, {"augmentations": augmentations, "repaired": repaired}
