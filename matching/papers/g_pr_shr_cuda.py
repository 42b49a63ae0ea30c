"""G-PR-Shr: push-relabel with lists of active columns, which are shrunk after every global relabeling.

Returns a maximum matching. Arrays, races and the proof of exactness: active_lists_cuda.py and labels_cuda.py.

[1] Deveci, Kaya, Uçar, Çatalyürek. "A push-relabel-based maximum cardinality bipartite matching algorithm on GPUs."
    ICPP 2013. Algorithms 7 to 9; shrinking in section III.C.

O((n + m) passes (free columns + edges of active columns)); 4 n + 20 m bytes in addition to the graph and the matching.
"""

from matching.core.problem_cuda import DeviceGraph
from matching.papers.active_lists_cuda import maximise


def solve(
    graph: DeviceGraph,
    row_match,
    col_match,
    *,
    relabel: tuple = ("adaptive", 0.7),
    shrink_from: int = 512,
) -> dict:
    """Make a matching on the GPU maximum in place; stats: "phases" counts global relabelings, "path_length" pushes.

    relabel       ("adaptive", k): relabel after k times cLevel passes, twice the number of levels of the last search;
                  ("fix", k): relabel after k passes
    shrink_from   minimum number of slots of a list that is shrunk
    """
    return maximise("g_pr_shr", graph, row_match, col_match, relabel, shrink_from)
