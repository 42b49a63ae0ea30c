"""A bipartite graph on a GPU.

This file does not import numba.cuda.  device_graph_cuda.py reads and checks such graphs, and matching/solving_cuda.py
matches them.
"""

import numpy as np

from gridcut.device.arrays import download
from matching.core.graph import BipartiteGraph, graph_of_rows
from matching.core.sparse import GraphOnGpu


class DeviceBipartiteGraph(GraphOnGpu):
    """Rows, columns and edges on a GPU, checked; may be passed to `maximum` any number of times.

    Attributes
    ----------
    rows, cols, edges : int
        Numbers of rows, columns and edges.
    lists : DeviceGraph
        row_ptr, row_adj, col_ptr, col_adj on the GPU, in any order within a list; None without edges.
    library : str
        Library of the caller's arrays: "cupy", "torch" or "numba".
    """

    __slots__ = ("_host", "cols", "edges", "library", "lists", "rows")

    def __init__(self, rows: int, cols: int, edges: int, lists, library: str):
        self.rows, self.cols, self.edges, self.lists, self.library = rows, cols, edges, lists, library
        self._host = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.cols

    def host(self) -> BipartiteGraph:
        """The graph on the host; kept for later calls."""
        if self._host is None:
            if self.lists is None:
                lists = np.zeros(self.rows + 1, np.int64), np.zeros(0, np.int32)
            else:
                lists = download(self.lists.row_ptr), download(self.lists.row_adj)
            self._host = graph_of_rows(*lists, self.shape)
        return self._host
