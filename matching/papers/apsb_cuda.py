"""APsB: searches to the first level with a free row, then speculative augmentation along the shortest paths.

Returns a maximum matching. Hopcroft and Karp's algorithm on a GPU. The paths of a phase are shortest ones, but need
not be a maximal set of them, so their bound on the number of phases does not hold. Arrays, races and the proof of
exactness: alternate_cuda.py.

[1] Deveci, Kaya, Uçar, Çatalyürek. "GPU accelerated maximum cardinality matching algorithms for bipartite graphs."
    Euro-Par 2013. Algorithm 1.

O(min(n, m) (m levels + edges)) in the worst case; 4 n + 8 m bytes in addition to the graph and the matching.
"""

from matching.core.problem_cuda import DeviceGraph
from matching.papers.alternate_cuda import maximise


def solve(graph: DeviceGraph, row_match, col_match, *, search: str = "gpubfs_wr", grid: str = "ct") -> dict:
    """Make a matching on the GPU maximum in place; returns stats, with "phases" the number of searches.

    search   "gpubfs_wr": each root augments along one path only; "gpubfs": along all paths that lead to it
    grid     "ct": a constant number of threads, 256 x 256; "mt": one per column, or as many as the GPU holds
    """
    return maximise(graph, row_match, col_match, search, grid, shortest=True)
