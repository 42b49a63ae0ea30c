"""matching: maximum matchings of bipartite graphs with their proof, and greedy matchings of general graphs.

Names are loaded on first use: importing matching does not import numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gridcut.device import CertificateError
    from matching.core.graph import BipartiteGraph
    from matching.core.graph_input import bipartite_graph
    from matching.core.matching import Matching
    from matching.decomposition.block_triangular import BlockTriangular, dulmage_mendelsohn
    from matching.decomposition.bottleneck_matching import Bottleneck, bottleneck
    from matching.files import read_graph
    from matching.general.coarsening import CoarseGraph, Hierarchy, coarsen, hierarchy
    from matching.general.greedy_matching import GreedyMatching, greedy
    from matching.solving import maximum, maximum_bipartite_matching, structural_rank

_MODULE_OF = {
    "BipartiteGraph": "matching.core.graph",
    "BlockTriangular": "matching.decomposition.block_triangular",
    "Bottleneck": "matching.decomposition.bottleneck_matching",
    "CertificateError": "gridcut.device",
    "CoarseGraph": "matching.general.coarsening",
    "GreedyMatching": "matching.general.greedy_matching",
    "Hierarchy": "matching.general.coarsening",
    "Matching": "matching.core.matching",
    "bipartite_graph": "matching.core.graph_input",
    "bottleneck": "matching.decomposition.bottleneck_matching",
    "coarsen": "matching.general.coarsening",
    "dulmage_mendelsohn": "matching.decomposition.block_triangular",
    "greedy": "matching.general.greedy_matching",
    "hierarchy": "matching.general.coarsening",
    "maximum": "matching.solving",
    "maximum_bipartite_matching": "matching.solving",
    "read_graph": "matching.files",
    "structural_rank": "matching.solving",
}

__all__ = [
    "BipartiteGraph",
    "BlockTriangular",
    "Bottleneck",
    "CertificateError",
    "CoarseGraph",
    "GreedyMatching",
    "Hierarchy",
    "Matching",
    "bipartite_graph",
    "bottleneck",
    "coarsen",
    "dulmage_mendelsohn",
    "greedy",
    "hierarchy",
    "maximum",
    "maximum_bipartite_matching",
    "read_graph",
    "structural_rank",
]


def __getattr__(name: str):
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'matching' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})
