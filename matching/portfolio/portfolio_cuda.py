"""Default method on a GPU: the cheap initial matching, then tree grafting; the CPU for long narrow searches.

Returns a maximum matching. In long thin graphs a search has thousands of levels of a few vertices each. A GPU takes
two microseconds per level whatever its size, a CPU about as many nanoseconds per vertex. After MAX_NARROW_LEVELS such
levels, and one more per EDGES_PER_LEVEL edges, the CPU's default method takes over. It starts from scratch if the
caller passed no matching, since its own initial matching is better for such graphs; otherwise it starts from the
current matching, which keeps every vertex matched that the caller's matching covers.

Files: matching/initial/cheap_cuda.py, matching/forest/ms_bfs_graft_cuda.py, matching/portfolio/portfolio.py.

[1] Azad, Buluç, Pothen. "A parallel tree grafting algorithm for maximum cardinality matching in bipartite graphs."
    IPDPS 2015; the other references are in those files.

O(phases (n + m + edges)); 16 n + 8 m bytes, and one bit per column, in addition to the graph and the matching.
"""

import numpy as np

from gridcut.device.arrays import download, overwrite
from gridcut.device.cuda import SIMULATED
from matching.core.graph import BipartiteGraph
from matching.core.matching_cuda import matched
from matching.core.problem_cuda import DeviceGraph
from matching.forest import ms_bfs_graft_cuda as ms_bfs_graft
from matching.initial import cheap_cuda as cheap
from matching.portfolio import portfolio

# Levels in mode ONE_BLOCK before the CPU takes over, plus one per EDGES_PER_LEVEL edges: a tenth of the CPU's time.
MAX_NARROW_LEVELS, EDGES_PER_LEVEL = (3, 20) if SIMULATED else (1000, 2000)
ALPHA = 2.0  # of tree grafting; with [1]'s 5, reading marks costs a GPU too much in skewed and in random graphs


def solve(graph: DeviceGraph, row_match, col_match) -> dict:
    """Make a matching on the GPU maximum in place; returns stats, with the stages that ran as "stages".

    The stats of a search that the CPU finishes are of its work alone.
    """
    given = matched(row_match)
    init_stats = cheap.initialise(graph, row_match, col_match)
    initial = matched(row_match) - given
    most = MAX_NARROW_LEVELS + graph.row_adj.size // EDGES_PER_LEVEL
    stats = ms_bfs_graft.solve(graph, row_match, col_match, most, alpha=ALPHA)
    if stats.pop("finished"):
        edges, length = stats["edges"] + init_stats["edges"], stats["path_length"] + initial  # paths of one edge each
        return {**stats, "edges": edges, "path_length": length, "stages": ("cheap", "ms_bfs_graft")}
    by_row = download(graph.row_ptr), download(graph.row_adj)
    on_host = BipartiteGraph.of_checked(row_match.size, col_match.size, by_row)
    rows, cols = (download(match) if given else np.full(match.size, -1, np.int32) for match in (row_match, col_match))
    stats = portfolio.solve(on_host, rows, cols, threads=1)  # with more threads, the initial matching is worse on ropes
    overwrite(row_match, rows)
    overwrite(col_match, cols)
    return {**stats, "stages": ("cheap", "ms_bfs_graft", "cpu")}
