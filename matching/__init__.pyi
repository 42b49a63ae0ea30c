from .compat.scipy import maximum_bipartite_matching
from .core.graph import BipartiteGraph
from .core.graph_input import bipartite_graph
from .core.matching import CertificateError, Matching
from .decomposition.block_triangular import BlockTriangular, dulmage_mendelsohn
from .files import read_graph
from .general.coarse_graph import CoarseGraph, Hierarchy
from .general.coarsening import coarsen, hierarchy
from .general.greedy_matching import GreedyMatching, greedy
from .solving import maximum, structural_rank

__all__ = [
    "BipartiteGraph",
    "BlockTriangular",
    "CertificateError",
    "CoarseGraph",
    "GreedyMatching",
    "Hierarchy",
    "Matching",
    "bipartite_graph",
    "coarsen",
    "dulmage_mendelsohn",
    "greedy",
    "hierarchy",
    "maximum",
    "maximum_bipartite_matching",
    "read_graph",
    "structural_rank",
]
