"""`GraphOnDevice`: a residual graph on a GPU.

    row[x], row[x] + 1, ..., row[x + 1] - 1       the arcs of node x

    head[a]: the node that arc a leads to         mate[a]: the reverse arc        residual[a]: c_f(x, head[a])

Nodes and arcs are int32.  A breadth-first search backwards from the deficits writes

    height[x]     distance to a deficit, 1 at a deficit;  ceiling = n + 1: cannot reach one
    queue[...]    nodes in the order in which they were reached, level by level
    tally         counters of the search
"""

from typing import Any, NamedTuple

import numpy as np

from gridcut.device.arrays import allocate, upload
from gridcut.graph.graph_layers_cuda import TALLY_SIZE
from gridcut.graph.residual_graph import ResidualGraph

MAX_NODES = 2**31 - 2**24  # a thread may count one stride past the last node
MAX_ARCS = 2**31 - 1


class GraphOnDevice(NamedTuple):
    """A residual graph on the GPU, its heights, and the height `ceiling`; all arrays are flat."""

    row: Any
    head: Any
    mate: Any
    residual: Any
    excess: Any
    height: Any
    queue: Any
    tally: Any
    ceiling: np.int32


def upload_graph(graph: ResidualGraph) -> GraphOnDevice:
    """Copy a graph with arcs to the GPU; raises ValueError if int32 cannot index its nodes and arcs."""
    arcs = graph.arcs.size // 4
    if graph.nodes >= MAX_NODES or arcs > MAX_ARCS:
        raise ValueError(
            f"graph must have less than {MAX_NODES} nodes and at most {MAX_ARCS} directions of edges on a GPU, got "
            f"{graph.nodes} and {arcs}; use device='cpu'"
        )
    height, queue = allocate((graph.nodes, np.int32), (graph.nodes, np.int32))
    return GraphOnDevice(
        upload((graph.first // 4).astype(np.int32)),
        upload(graph.arcs[::4].astype(np.int32)),
        upload((graph.arcs[1::4] // 4).astype(np.int32)),
        upload(graph.arcs[2::4].astype(graph.excess.dtype)),
        upload(graph.excess),
        height,
        queue,
        upload(np.zeros(TALLY_SIZE, np.int32)),
        np.int32(graph.nodes + 1),
    )
