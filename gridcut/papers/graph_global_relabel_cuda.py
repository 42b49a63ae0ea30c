"""Heights of a sparse graph on the GPU: global relabeling (Łupińska 2011, algorithm 4.4) in one launch.

As gridcut/papers/global_relabel_cuda.py: a breadth-first search backwards from the sink, one level between two
grid-wide barriers.  Here every thread takes a node of the level and scans the arcs of this node one by one.  The lanes
of a warp scan together until the longest of their rows ends, and append the nodes they have found with one atomic
addition.

    row[x], row[x] + 1, ..., row[x + 1] - 1       the arcs of node x

    head[a]: the node that arc a leads to         mate[a]: the reverse arc        residual[a]: c_f(x, head[a])

Arrays height, queue and tally as in that file, with nodes for cells.  Nodes and arcs are int32.  O(n + m) work, one
barrier per level, and within a level one step per arc of the longest row; memory 8 bytes per node.
"""

from typing import NamedTuple

import numpy as np
from numba import int32, int64

from gridcut.device.arrays import allocate, download, upload
from gridcut.device.cuda import SIMULATED, WARP, ballot, cuda, cuda_kernel, grid_sync, relaxed_load
from gridcut.device.launch import launch, most_blocks
from gridcut.graph.residual_graph import ResidualGraph
from gridcut.papers.global_relabel_cuda import append, blocks_of

THREADS = WARP if SIMULATED else 256  # per block
MAX_NODES = 2**31 - 2**24  # a thread may count one stride past the last node
MAX_ARCS = 2**31 - 1


class GraphOnDevice(NamedTuple):
    """A residual graph on the GPU, its heights, and the height `ceiling`; all arrays are flat."""

    row: object
    head: object
    mate: object
    residual: object
    excess: object
    height: object
    queue: object
    tally: object
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
        upload(np.zeros(4, np.int32)),
        np.int32(graph.nodes + 1),
    )


@cuda_kernel
def graph_relabel_kernel(row, head, mate, residual, excess, height, queue, tally, ceiling):
    """Set all heights to distances to the sink, and count the active nodes; requires a cooperative launch."""
    size = int32(excess.size)
    thread = int32(cuda.grid(1))
    threads = int32(cuda.gridsize(1))
    lane = int32(cuda.laneid)
    if thread == 0:
        tally[3] = 0
    base = int32(thread - lane)  # all lanes of a warp execute the same iterations
    while base < size:
        x = int32(base + lane)
        deficit = False
        if x < size:
            deficit = excess[x] < 0
            height[x] = int32(1) if deficit else ceiling
        append(queue, tally, int32(0), int32(0), deficit, x)
        base = int32(base + threads)
    grid_sync()

    level = int32(2)
    front = int32(0)
    slot = int32(0)
    waiting = relaxed_load(tally, int32(0))
    while waiting > 0:
        end = int32(front + waiting)
        coming = int32((slot + 1) % 3)
        if thread == 0:
            tally[(slot + 2) % 3] = 0
        base = int32(front + thread - lane)
        while base < end:
            a = int32(0)
            last = int32(0)
            if base + lane < end:
                x = queue[base + lane]
                a = row[x]
                last = row[x + 1]
            while ballot(a < last) != 0:
                found = False
                y = int32(0)
                if a < last:
                    y = head[a]
                    if relaxed_load(height, y) == ceiling and residual[mate[a]] > 0:
                        found = cuda.atomic.cas(height, y, ceiling, level) == ceiling
                    a = int32(a + 1)
                append(queue, tally, coming, end, found, y)
            base = int32(base + threads)
        grid_sync()
        front = end
        slot = coming
        waiting = relaxed_load(tally, slot)
        level = int32(level + 1)

    if thread < 3:
        tally[thread] = 0
    active = int32(0)
    x = thread
    while x < size:
        if excess[x] > 0 and height[x] < ceiling:
            active = int32(active + 1)
        x = int32(x + threads)
    if active > 0:
        cuda.atomic.add(tally, int32(3), active)


def global_relabel(graph: GraphOnDevice) -> int:
    """Set all heights to distances to the sink; returns the number of active nodes."""
    blocks = min(most_blocks(graph_relabel_kernel, graph, THREADS), blocks_of(graph.excess.size, THREADS))
    launch(graph_relabel_kernel, blocks, THREADS, *graph)
    return int(download(graph.tally)[3])


def graph_types(number):
    """Argument types of a GraphOnDevice whose capacities are `number`, for the compile test."""
    index = int32[::1]
    return (index, index, index, number[::1], number[::1], index, index, index, int32)


def kernels():
    """Names, kernels and argument types to compile."""
    return [(f"graph_global_relabel {number}", graph_relabel_kernel, graph_types(number)) for number in (int32, int64)]
