"""Graphs whose arrays lie on a GPU, and how a caller's graph is seen to be one.

Nothing here imports numba.cuda.  matching/core/device_graph_cuda.py reads and checks such graphs, and
matching/solving_cuda.py matches them; matching/general/general_graph_cuda.py is for greedy matching.
"""

import numpy as np

from gridcut.device.arrays import download, on_device


class DeviceBipartiteGraph:
    """Rows, columns and their edges on a GPU, checked; may be passed to `maximum` again and again.

    Attributes
    ----------
    rows, cols, edges : int
        How many there are.
    lists : DeviceGraph
        row_ptr, row_adj, col_ptr, col_adj on the GPU, of any order within a list; None without edges.
    library : str
        Whose the arrays were: "cupy", "torch", or "numba".
    """

    __slots__ = ("_host", "cols", "edges", "library", "lists", "rows")

    def __init__(self, rows: int, cols: int, edges: int, lists, library: str):
        self.rows, self.cols, self.edges, self.lists, self.library = rows, cols, edges, lists, library
        self._host = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.cols

    def host(self):
        """A BipartiteGraph on the host, which is kept."""
        if self._host is None:
            from matching.core.graph import bipartite_graph  # which needs this file for its border

            if self.lists is None:
                lists = np.zeros(self.rows + 1, np.int64), np.zeros(0, np.int32)
            else:
                lists = download(self.lists.row_ptr), download(self.lists.row_adj)
            self._host = bipartite_graph((*lists, self.shape))
        return self._host


class DeviceGeneralGraph:
    """An undirected graph on a GPU, checked; ptr, adj and weight as in matching/general/general_graph.py, None without
    edges.

    weighted   whether it has weights, which a graph without edges may have, too
    library    whose the arrays were
    """

    __slots__ = ("_host", "adj", "library", "n", "ptr", "weight", "weighted")

    def __init__(self, n: int, ptr, adj, weight, library: str):
        self.n, self.ptr, self.adj, self.library = n, ptr, adj, library
        self.weighted = weight is not None
        self.weight = weight if adj is not None else None
        self._host = None

    @property
    def edges(self) -> int:
        return 0 if self.adj is None else self.adj.size // 2

    def host(self):
        """A GeneralGraph on the host, which is kept."""
        if self._host is None:
            from matching.general.general_graph import GeneralGraph

            if self.adj is None:
                arrays = np.zeros(self.n + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
            else:
                arrays = download(self.ptr), download(self.adj), download(self.weight) if self.weighted else None
            self._host = GeneralGraph(*arrays[:2], arrays[2] if self.weighted else None)
        return self._host


def lies_on_gpu(graph) -> bool:
    """Whether a graph has its arrays on a GPU: a tuple of them, or a matrix with `indptr` and `indices`."""
    if isinstance(graph, DeviceBipartiteGraph | DeviceGeneralGraph):
        return True
    parts = graph[:2] if isinstance(graph, tuple) else (getattr(graph, name, None) for name in ("indptr", "indices"))
    return any(map(on_device, parts))
