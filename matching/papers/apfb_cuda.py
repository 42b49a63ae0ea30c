"""APFB: searches to the last level, then speculative augmentation along all paths found.

Returns a maximum matching. A search continues after it has reached free rows, until nothing more is reachable, so a
phase augments along paths of all lengths: Hopcroft and Karp's algorithm with Duff and Wiberg's extension, on a GPU.
Arrays, races and the proof of exactness: alternate_cuda.py.

[1] Deveci, Kaya, Uçar, Çatalyürek. "GPU accelerated maximum cardinality matching algorithms for bipartite graphs."
    Euro-Par 2013. Algorithm 1 without its lines 9 and 10.

O(min(n, m) (m levels + edges)) in the worst case; 4 n + 8 m bytes in addition to the graph and the matching.
"""

from matching.core.problem_cuda import DeviceGraph
from matching.papers.alternate_cuda import maximise


def solve(graph: DeviceGraph, row_match, col_match, *, search: str = "gpubfs_wr", grid: str = "ct") -> dict:
    """Make a matching on the GPU maximum in place; returns stats, with "phases" the number of searches.

    search   "gpubfs_wr": a tree stops growing when a path from its root is known; "gpubfs": it continues
    grid     "ct": a constant number of threads, 256 x 256; "mt": one per column, or as many as the GPU holds
    """
    return maximise(graph, row_match, col_match, search, grid, shortest=False)
