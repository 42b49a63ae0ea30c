"""Method "ibfs" on graphs, the default: pushes to neighbours, then one incremental breadth-first search.

`solve` changes the residual graph in place to one without a path from excess to a deficit, and returns the nodes that
can still reach a deficit, and stats.  `solve_warm` does the same after changes, starting from the forests of the last
call.  Kernels: graph_search.py, graph_forest.py, graph_warm.py.

[1] Goldberg, Hed, Kaplan, Tarjan, Werneck. "Maximum flows by incremental breadth-first search." ESA 2011.
"""

import numpy as np

from gridcut.graph.graph_forest import make_graph_forest, make_graph_work
from gridcut.graph.graph_search import EITHER, SINK, forget, search_nodes
from gridcut.graph.residual_graph import ResidualGraph

BLOCK_ARCS = 1 << 30


def solve(graph: ResidualGraph) -> tuple[np.ndarray, dict]:
    """Find a maximum flow; see the module."""
    index_type = graph.first.dtype
    forest = make_graph_forest(graph.nodes, index_type)
    work = make_graph_work(graph.nodes, index_type)
    arrays = graph.first, graph.arcs, graph.excess, forest, work
    augmentations = repaired = 0
    bounds = block_bounds(graph)
    if len(bounds) > 2:
        for begin, end in zip(bounds[:-1], bounds[1:], strict=True):
            _, augmented, moved = search_nodes(begin, end, EITHER, *arrays)
            forget(begin, end, forest)
            augmentations += augmented
            repaired += moved
    _, augmented, moved = search_nodes(0, graph.nodes, SINK, *arrays)
    stats = {"augmentations": augmentations + augmented, "repaired": repaired + moved, "blocks": len(bounds) - 1}
    return forest.label < 0, stats


def block_bounds(graph: ResidualGraph) -> list[int]:
    """Bounds of blocks of consecutive nodes with about BLOCK_ARCS arcs each."""
    arcs = graph.arcs.size // 4
    blocks = max(1, arcs // BLOCK_ARCS)
    targets = np.arange(1, blocks) * (graph.arcs.size / blocks)
    inner = np.unique(np.searchsorted(graph.first, targets))
    return [0, *(int(b) for b in inner if 0 < b < graph.nodes), graph.nodes]
