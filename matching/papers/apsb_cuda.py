"""APsB: searches to the first level with a free row, then speculative augmentation along the shortest paths.

Returns a maximum matching.  Hopcroft and Karp's algorithm on a GPU; the paths of a phase are shortest ones, but need
not be a maximal set of them, so their bound on the number of phases is lost.  Arrays, races and why the result is
exact: alternate.py.

[1] Deveci, Kaya, Uçar, Çatalyürek. "GPU accelerated maximum cardinality matching algorithms for bipartite graphs."
    Euro-Par 2013.  Algorithm 1.

O(min(n, m) (m levels + edges)) at worst; 4 n + 8 m bytes beside the graph and the matching.
"""

from matching.core.problem_cuda import DeviceGraph, for_host
from matching.papers.alternate_cuda import maximise


def search(graph: DeviceGraph, row_match, col_match, *, search: str = "gpubfs_wr", grid: str = "ct") -> dict:
    """Make a matching on the GPU maximum in place; stats, of which "phases" are the searches.

    search   "gpubfs_wr": each root augments along one path only; "gpubfs": along whatever leads to it
    grid     "ct": a constant number of threads, 256 x 256; "mt": one for each column, as far as the GPU has them
    """
    return maximise(graph, row_match, col_match, search, grid, shortest=True)


solve = for_host(search)
