"""G-PR-NoShr: push-relabel with lists of active columns, which keep the length they begin with.

Returns a maximum matching.  Arrays, races and why the result is exact: active_lists.py and labels.py.

[1] Deveci, Kaya, Uçar, Çatalyürek. "A push-relabel-based maximum cardinality bipartite matching algorithm on GPUs."
    ICPP 2013.  Algorithms 7 to 9 without G-PR-SHRKRNL.

O((n + m) passes (free columns + edges of active columns)); 4 n + 20 m bytes beside the graph and the matching.
"""

from matching.core.problem_cuda import DeviceGraph, for_host
from matching.papers.active_lists_cuda import maximise

NEVER_SHRINK = 2**31 - 1


def search(graph: DeviceGraph, row_match, col_match, *, relabel: tuple = ("adaptive", 0.7)) -> dict:
    """Make a matching on the GPU maximum in place; stats: "phases" are renewals of labels, "path_length" the pushes.

    relabel   ("adaptive", k): labels are renewed after k times as many passes as the last search had levels;
              ("fix", k): after k passes
    """
    return maximise("g_pr_noshr", graph, row_match, col_match, relabel, NEVER_SHRINK)


solve = for_host(search)
