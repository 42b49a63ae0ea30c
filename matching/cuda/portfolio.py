"""What method="auto" runs on a GPU: the cheap initial matching or Karp and Sipser's, then tree grafting.

Returns a maximum matching.  Karp and Sipser's where many rows have at most one column: in sparse random and in skewed
graphs it leaves next to no paths to find, in meshes not fewer than pay for it.  A matching that is given is kept.

Files: cheap.py, karp_sipser.py, ms_bfs_graft.py.

[1] Azad, Buluç, Pothen. "A parallel tree grafting algorithm for maximum cardinality matching in bipartite graphs."
    IPDPS 2015; the other references are in those files.

O(phases (n + m + edges)); 16 n + 8 m bytes beside the graph and the matching.
"""

import numpy as np
from numba import int32, int64

from gridcut.device.arrays import download, upload
from gridcut.device.cuda import SIMULATED, cuda, cuda_kernel
from gridcut.device.launch import launch
from matching.cuda import cheap, karp_sipser, ms_bfs_graft
from matching.cuda.grid import add_up
from matching.cuda.problem import DeviceGraph, for_host

THREADS = 32 if SIMULATED else 256
# Share of rows with at most one column from which Karp and Sipser's matching is taken: sparse random graphs (degree 3:
# 0.20) and kron have more; road-like grids (0.08), uniform degree 5 (0.04), R-MAT and meshes less.
LONELY = 0.12


@cuda_kernel
def count_kernel(row_ptr, row_match, found):
    """Rows with at most one column, and rows that are matched."""
    r = int32(cuda.grid(1))
    inside = r < row_match.size
    add_up(found, int32(0), int64(inside and row_ptr[r + 1] - row_ptr[r] <= 1))
    add_up(found, int32(1), int64(inside and row_match[r] >= 0))


def count(graph: DeviceGraph, row_match) -> tuple[int, int]:
    """(rows with at most one column, rows that are matched)."""
    found = upload(np.zeros(2, np.int64))
    launch(count_kernel, -(-row_match.size // THREADS), THREADS, graph.row_ptr, row_match, found)
    return tuple(download(found).tolist())


def search(graph: DeviceGraph, row_match, col_match) -> dict:
    """Make a matching on the GPU maximum in place; stats, "steps" what ran."""
    lonely, before = count(graph, row_match)
    first = "karp_sipser" if lonely > LONELY * row_match.size else "cheap"
    done = (karp_sipser if first == "karp_sipser" else cheap).fill(graph, row_match, col_match)
    taken = count(graph, row_match)[1] - before
    stats = ms_bfs_graft.search(graph, row_match, col_match)
    edges, length = stats["edges"] + done["edges"], stats["path_length"] + taken  # paths of one edge
    return {**stats, "edges": edges, "path_length": length, "steps": (first, "ms_bfs_graft")}


solve = for_host(search)


def kernels():
    """Name, kernel and argument types of what is compiled."""
    return [("count", count_kernel, (int64[::1], int32[::1], int64[::1]))]
