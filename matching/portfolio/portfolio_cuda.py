"""What method="auto" runs on a GPU: the cheap initial matching, then tree grafting; the CPU where a GPU only waits.

Returns a maximum matching.  In long thin graphs a search has thousands of levels of a few vertices each.  A GPU takes
two microseconds a level whatever is in it, a CPU as many nanoseconds a vertex; so after PATIENCE of such levels, and
more in large graphs, the CPU's default takes over: from nothing if no matching was given, since its own first matching
is better there, or else from the matching reached so far, which keeps what was given.

Files: cheap.py, ms_bfs_graft.py, matching/portfolio/portfolio.py.

[1] Azad, Buluç, Pothen. "A parallel tree grafting algorithm for maximum cardinality matching in bipartite graphs."
    IPDPS 2015; the other references are in those files.

O(phases (n + m + edges)); 16 n + 8 m bytes, and a bit a column, beside the graph and the matching.
"""

import numpy as np
from numba import int32, int64

from gridcut.device.arrays import download, overwrite, upload
from gridcut.device.cuda import SIMULATED, cuda, cuda_kernel
from gridcut.device.launch import launch
from matching.core.graph import BipartiteGraph
from matching.core.grid_cuda import add_up
from matching.core.problem_cuda import DeviceGraph, for_host
from matching.initial import cheap_cuda as cheap
from matching.papers import ms_bfs_graft_cuda as ms_bfs_graft
from matching.portfolio import portfolio

THREADS = 32 if SIMULATED else 256
# Levels of one block alone before the CPU takes over, and one more for so many edges: a tenth of what a CPU takes.
PATIENCE, EDGES_A_LEVEL = (3, 20) if SIMULATED else (1000, 2000)
ALPHA = 2.0  # of tree grafting: reading marks costs a GPU more than [1]'s 5 allows for, in skewed and in random graphs


@cuda_kernel
def count_kernel(match, found):
    """Vertices that are matched."""
    v = int32(cuda.grid(1))
    add_up(found, int32(0), int64(v < match.size and match[v] >= 0))


def matched(match) -> int:
    """Vertices that are matched."""
    found = upload(np.zeros(1, np.int64))
    launch(count_kernel, -(-match.size // THREADS), THREADS, match, found)
    return int(download(found)[0])


def search(graph: DeviceGraph, row_match, col_match) -> dict:
    """Make a matching on the GPU maximum in place; stats, "stages" what ran."""
    given = matched(row_match)
    done = cheap.fill(graph, row_match, col_match)
    taken = matched(row_match) - given
    patience = PATIENCE + graph.row_adj.size // EDGES_A_LEVEL
    stats = ms_bfs_graft.search_for(graph, row_match, col_match, patience, ALPHA)
    if stats.pop("finished"):
        edges, length = stats["edges"] + done["edges"], stats["path_length"] + taken  # paths of one edge
        return {**stats, "edges": edges, "path_length": length, "stages": ("cheap", "ms_bfs_graft")}
    return hand_over(graph, row_match, col_match, given)


def hand_over(graph: DeviceGraph, row_match, col_match, given: int) -> dict:
    """The CPU's default on what is on the GPU; stats, of the CPU's work alone."""
    by_row = download(graph.row_ptr), download(graph.row_adj)
    on_host = BipartiteGraph.of_checked(row_match.size, col_match.size, by_row)
    rows, cols = (download(match) if given else np.full(match.size, -1, np.int32) for match in (row_match, col_match))
    stats = portfolio.solve(on_host, rows, cols, threads=1)  # threads match otherwise at first, and in ropes worse
    overwrite(row_match, rows)
    overwrite(col_match, cols)
    return {**stats, "stages": ("cheap", "ms_bfs_graft", "cpu")}


solve = for_host(search)


def kernels():
    """Name, kernel and argument types of what is compiled."""
    return [("count", count_kernel, (int32[::1], int64[::1]))]
