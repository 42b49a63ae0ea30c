"""Lock-free push-relabel on a sparse graph, on a GPU: Hong's algorithm, Łupińska, algorithm 4.5.

Returns the nodes that can still reach the sink once no excess can.  As gridcut/papers/lock_free_cuda.py, for arcs in
lists: there is one thread per node, and only this thread pushes from the node and relabels it.  Threads never wait for
one another.  A node pushes to its *lowest* residual neighbours, and is relabeled only if these are not lower, so using
an outdated height of a neighbour is safe.

Arrays (n nodes; ceiling = n + 1)     paper [1]
  excess[x]      changed atomically    e(x);  other threads only add to it
  residual[a]    changed atomically    c_f(x, y);  only the thread of x takes from it;  y = head[a]
  height[x]      written by its thread h(x)
  row, mate      see graph_global_relabel_cuda.py

Deviates from [1] as on the grid: heights start as distances; excess disconnected from the sink stays in its node; a
thread ends when its node holds no excess, and after `steps` operations; every `global_every` launches heights are set
to distances again; from round FALLBACK_ROUND on, launches alternate between pushes only and relabels only.  As
gridcut/papers/graph_lock_free.py explains, one scan of a row serves pushes to all neighbours of the lowest height; they
count as one operation.

The graph is built and certified on the host.  A launch takes as long as the longest row that is scanned by one thread.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 4.4.
[2] Hong. "A lock-free multi-threaded algorithm for the maximum flow problem." IPDPS 2008.

No bound on the number of operations is proved.  Memory on the GPU: 16 bytes per node and 12 per direction of an edge,
20 and 16 for int64.
"""

import numpy as np
from numba import int32, int64

from gridcut.device.arrays import download
from gridcut.device.cuda import cuda, cuda_kernel, device_function, relaxed_load
from gridcut.device.launch import launch
from gridcut.graph.residual_graph import ResidualGraph
from gridcut.papers.global_relabel_cuda import blocks_of, check_counts, count_operations, make_counts, read_counts
from gridcut.papers.graph_global_relabel_cuda import global_relabel, graph_types, upload_graph
from gridcut.papers.graph_lock_free import copy_reverse_residuals
from gridcut.papers.push_relabel_rules_cuda import goes_down, lifted, push_amount

FALLBACK_ROUND = 200
PUSH, RELABEL = 1, 2  # bits of the operations that a launch may execute


@device_function
def lowest_neighbour(row, head, residual, height, x, ceiling):
    """Lines 4-9: the height of the lowest residual neighbours of x, and the first arc to one of them."""
    lowest = ceiling
    last = row[x + 1]
    nearest = last
    a = row[x]
    while a < last:
        # Both are read unconditionally, so that no read waits for another.
        r = relaxed_load(residual, a)
        h = relaxed_load(height, head[a])
        if r > 0 and h < lowest:
            lowest = h
            nearest = a
        a = int32(a + 1)
    return lowest, nearest


@device_function
def push_to_lowest(row, head, mate, residual, excess, height, x, left, lowest, nearest):
    """Lines 11-15 for every neighbour of x that still has the lowest height; returns the number of pushes."""
    pushes = int32(0)
    last = row[x + 1]
    a = nearest
    while a < last and left > 0:
        y = head[a]
        r = relaxed_load(residual, a)
        h = relaxed_load(height, y)
        if r > 0 and h == lowest:
            amount = push_amount(left, r)
            cuda.atomic.add(residual, a, -amount)
            cuda.atomic.add(residual, mate[a], amount)
            cuda.atomic.add(excess, x, -amount)
            cuda.atomic.add(excess, y, amount)
            left = left - amount  # other threads may have added more, which the next operation reads
            pushes = int32(pushes + 1)
        a = int32(a + 1)
    return pushes


@cuda_kernel
def graph_lock_free_kernel(row, head, mate, residual, excess, height, queue, tally, ceiling, counts, steps, may):
    """Algorithm 4.5 for all nodes, at most `steps` operations each."""
    x = int32(cuda.grid(1))
    if x >= excess.size:
        return
    here = height[x]
    left = relaxed_load(excess, x)
    pushes = int32(0)
    relabels = int32(0)
    while left > 0 and here < ceiling and steps > 0:
        lowest, nearest = lowest_neighbour(row, head, residual, height, x, ceiling)
        if goes_down(here, lowest):
            if may & PUSH != 0:
                made = push_to_lowest(row, head, mate, residual, excess, height, x, left, lowest, nearest)
                pushes = int32(pushes + made)
        elif may & RELABEL != 0:
            here = int32(lifted(lowest, ceiling))
            height[x] = here
            relabels = int32(relabels + 1)
        left = relaxed_load(excess, x)
        steps = int32(steps - 1)
    count_operations(counts, pushes, relabels)


def solve(graph: ResidualGraph, *, steps=64, global_every=8, block=256) -> tuple[np.ndarray, dict]:
    """Solve in place; the mask of the sink side, and stats.

    steps         maximum number of operations per node in one launch
    global_every  launches between two global relabelings
    block         threads per block
    """
    check_counts(steps=steps, global_every=global_every, block=block)
    stats = {"pushes": 0, "relabels": 0, "launches": 0, "global_relabels": 0}
    if graph.arcs.size == 0:
        return graph.excess < 0, stats
    on_device = upload_graph(graph)
    counts = make_counts()
    blocks = blocks_of(graph.nodes, block)
    while True:
        active = global_relabel(on_device)
        stats["global_relabels"] += 1
        if not active:
            break
        launches = [(steps, PUSH | RELABEL)]
        if stats["global_relabels"] >= FALLBACK_ROUND:
            launches = [(1, PUSH), (1, RELABEL)]
        for _ in range(global_every):
            for operations, may in launches:
                arguments = counts, np.int32(operations), np.int32(may)
                launch(graph_lock_free_kernel, blocks, block, *on_device, *arguments)
                stats["launches"] += 1
    read_counts(counts, stats)
    graph.excess[:] = download(on_device.excess)
    graph.arcs[2::4] = download(on_device.residual)
    copy_reverse_residuals(graph.arcs)
    return download(on_device.height) < on_device.ceiling, stats


def kernels():
    """Names, kernels and argument types to compile."""
    return [
        (
            f"graph_lock_free {number}",
            graph_lock_free_kernel,
            (*graph_types(number), int64[::1], int32, int32),
        )
        for number in (int32, int64)
    ]
