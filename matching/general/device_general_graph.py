"""An undirected graph on a GPU.

This file does not import numba.cuda.  general_graph_cuda.py reads and checks such graphs.
"""

import numpy as np

from gridcut.device.arrays import download
from matching.core.sparse import GraphOnGpu
from matching.general.general_graph import GeneralGraph


class DeviceGeneralGraph(GraphOnGpu):
    """An undirected graph on a GPU, checked; ptr, adj and weight as in general_graph.py, None without edges.

    weighted   whether it has weights; a graph without edges may have them too
    library    library of the caller's arrays: "cupy", "torch" or "numba"
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

    def host(self) -> GeneralGraph:
        """The graph on the host; kept for later calls."""
        if self._host is None:
            if self.adj is None:
                arrays = np.zeros(self.n + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
            else:
                arrays = download(self.ptr), download(self.adj), download(self.weight) if self.weighted else None
            self._host = GeneralGraph(*arrays[:2], arrays[2] if self.weighted else None)
        return self._host
