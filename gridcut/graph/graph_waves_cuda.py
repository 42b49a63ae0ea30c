"""Waves on layered networks: maximum flow on a sparse graph, on a GPU.

Returns the nodes that can still reach the sink once no excess can.  A phase is one launch with two parts.  A
breadth-first search backwards from the deficits sets the height of a node to its distance.  A wave then takes the
levels from the farthest one with excess to the nearest.  Every node of a level pushes its excess along residual arcs to
nodes exactly one level below, so excess passes all levels in one wave, unless no residual arc leads on::

    level    5    4    3    2    1: deficits
    excess   9 ─► 9 ─► 9 ─► 6 ─► -8        3 units remain at level 3: both arcs to level 2 are saturated
                        └─► 0
    wave     ────────────────►

Heights do not change during a wave, and a level only pushes to the next one.  The arcs between two nodes are therefore
changed by one thread, and only the excesses of receivers are added to atomically.

Arrays (n nodes; ceiling = n + 1), in addition to those of gridcut/papers/graph_global_relabel_cuda.py
  start[l - 1], ..., start[l] - 1    positions in `queue` of the nodes of level l
  tally[0..2]     in rotating order: number of nodes of the level that is read, of the level that is appended to, 0
  tally[3..5]     likewise: those of them with excess
  tally[6..]      as named below

A level of up to NARROW nodes is processed by one block, which continues while levels are narrow; the other blocks wait
at a barrier of the grid.  Barriers of a block are shorter, and long paths have thousands of narrow levels.

The search ends when it has found all nodes with excess, since the levels above them take no part in the wave.  Nodes
with excess that a complete search did not reach are `stuck`: they cannot reach a deficit in a later phase either.

O(n^2) phases: a wave leaves excess only in nodes whose arcs to the level below are saturated, so the distances of these
nodes increase, and no distance ever decreases.  A phase takes O(n + m) work and up to two barriers per level.  The
layered networks are those of Dinic; the order of the pushes is that of Tarjan's wave method.  Memory on the GPU: 20
bytes per node and 12 per direction of an edge, 24 and 16 for int64.

One thread scans a row.  `solve_on_device` solves a graph that was built on the GPU (graph_load_cuda.py).

[1] Dinic. "Algorithm for solution of a problem of maximum flow in networks with power estimation." 1970.
[2] Tarjan. "A simple version of Karzanov's blocking flow algorithm." Operations Research Letters 2, 1984.
"""

import numpy as np
from numba import int32, int64

from gridcut.device.arrays import allocate, download, overwrite, upload
from gridcut.device.cuda import (
    SIMULATED,
    WARP,
    ballot,
    count_trailing_zeros,
    cuda,
    cuda_kernel,
    device_function,
    grid_sync,
    popcount,
    relaxed_load,
)
from gridcut.device.launch import launch, most_blocks
from gridcut.graph.residual_graph import ResidualGraph
from gridcut.papers.global_relabel_cuda import append, blocks_of
from gridcut.papers.graph_global_relabel_cuda import GraphOnDevice, graph_types, upload_graph
from gridcut.papers.graph_lock_free import copy_reverse_residuals
from gridcut.papers.push_relabel_rules_cuda import is_admissible, push_amount

THREADS = WARP if SIMULATED else 512  # per block
REGISTERS = 64  # per thread, so that two blocks fit on a multiprocessor
NARROW = 4 if SIMULATED else 1024  # nodes of a level that one block processes
# Slots of tally after the rotating counters.  FRONT to FOUND: where one block has ended, in the search (the first node
# of the level that it did not expand, its number of nodes, its height, and all nodes with excess that were found) and
# in the wave (HEIGHT).  WITH_EXCESS: all nodes with excess.  TOP: the highest level with excess.  LEVELS: number of
# levels of the search.
EXCESS_COUNTS, FRONT, WAITING, HEIGHT, FOUND, WITH_EXCESS, TOP, LEVELS, TALLY_SIZE = 3, 6, 7, 8, 9, 10, 11, 12, 13


@device_function
def count_lanes(tally, slot, holds):
    """Add the number of lanes for which `holds` to tally[slot]; all lanes of the warp must call this."""
    bits = ballot(holds)
    if bits != 0 and int32(cuda.laneid) == count_trailing_zeros(bits):
        cuda.atomic.add(tally, slot, popcount(bits))


@device_function
def reset_heights(excess, height, queue, tally, ceiling):
    """List the deficits, which are level 1, and count the nodes with excess."""
    size = int32(excess.size)
    thread = int32(cuda.grid(1))
    threads = int32(cuda.gridsize(1))
    lane = int32(cuda.laneid)
    base = int32(thread - lane)  # all lanes of a warp execute the same iterations
    while base < size:
        x = int32(base + lane)
        has_deficit = False
        has_excess = False
        if x < size:
            e = excess[x]
            has_deficit = e < 0
            has_excess = e > 0
            height[x] = int32(1) if has_deficit else ceiling
        append(queue, tally, int32(0), int32(0), has_deficit, x)
        count_lanes(tally, int32(WITH_EXCESS), has_excess)
        base = int32(base + threads)


@device_function
def reaches(head, mate, residual, height, a, level, ceiling):
    """The node that arc a leads to, and whether this thread has found that it is one level above."""
    y = head[a]
    found = False
    if relaxed_load(height, y) == ceiling and residual[mate[a]] > 0:
        found = cuda.atomic.cas(height, y, ceiling, int32(level + 1)) == ceiling
    return y, found


@device_function
def expand_by_grid(row, head, mate, residual, excess, height, queue, tally, ceiling, level, front, end, coming):
    """Append the nodes one level above queue[front:end] to the queue, by all blocks."""
    threads = int32(cuda.gridsize(1))
    lane = int32(cuda.laneid)
    base = int32(front + int32(cuda.grid(1)) - lane)
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
            has_excess = False
            if a < last:
                y, found = reaches(head, mate, residual, height, a, level, ceiling)
                has_excess = found and excess[y] > 0
                a = int32(a + 1)
            append(queue, tally, coming, end, found, y)
            if has_excess:
                tally[TOP] = int32(level + 1)
            count_lanes(tally, int32(EXCESS_COUNTS + coming), has_excess)
        base = int32(base + threads)


@device_function
def expand_narrow_levels(
    row, head, mate, residual, excess, height, queue, start, tally, ceiling, level, front, waiting, found, wanted
):
    """Expand levels by one block while they are narrow, and write the state to tally; all its threads call this."""
    counts = cuda.shared.array(6, int32)
    me = int32(cuda.threadIdx.x)
    if me < 6:
        counts[me] = 0
    cuda.syncthreads()
    slot = int32(0)
    while 0 < waiting <= NARROW and (wanted == 0 or found < wanted):
        following = int32(slot + 1) if slot < 2 else int32(0)
        end = int32(front + waiting)
        if me == 0:
            counts[following] = 0
            counts[EXCESS_COUNTS + following] = 0
            start[level] = end
        i = int32(front + me)
        while i < end:
            x = queue[i]
            a = row[x]
            last = row[x + 1]
            while a < last:
                y, is_found = reaches(head, mate, residual, height, a, level, ceiling)
                if is_found:
                    queue[end + cuda.atomic.add(counts, slot, int32(1))] = y
                    if excess[y] > 0:
                        cuda.atomic.add(counts, int32(EXCESS_COUNTS + slot), int32(1))
                        tally[TOP] = int32(level + 1)
                a = int32(a + 1)
            i = int32(i + int32(cuda.blockDim.x))
        cuda.syncthreads()
        front = end
        waiting = counts[slot]
        found = int32(found + counts[EXCESS_COUNTS + slot])
        level = int32(level + 1)
        slot = following
    if me == 0:
        tally[FRONT] = front
        tally[WAITING] = waiting
        tally[HEIGHT] = level
        tally[FOUND] = found


@device_function
def push_down(row, head, mate, residual, excess, height, x, level):
    """Push the excess of a node to the level below."""
    left = relaxed_load(excess, x)
    if left <= 0:
        return
    a = row[x]
    last = row[x + 1]
    while a < last and left > 0:
        # Both are read unconditionally, so that no read waits for another.
        r = residual[a]
        y = head[a]
        if is_admissible(level, height[y]) and r > 0:
            amount = push_amount(left, r)
            residual[a] = r - amount
            residual[mate[a]] += amount
            cuda.atomic.add(excess, y, amount)
            left = left - amount
        a = int32(a + 1)
    excess[x] = left


@device_function
def push_level(row, head, mate, residual, excess, height, queue, start, level, thread, threads):
    """Push the excess of all nodes of a level."""
    i = int32(start[level - 1] + thread)
    end = start[level]
    while i < end:
        push_down(row, head, mate, residual, excess, height, queue[i], level)
        i = int32(i + threads)


@cuda_kernel(max_registers=REGISTERS)
def wave_kernel(row, head, mate, residual, excess, height, queue, tally, ceiling, start, stuck):
    """One phase; requires a cooperative launch, and a tally of zeros.

    Afterwards, tally[FOUND] of the tally[WITH_EXCESS] nodes with excess had been found before the wave.
    """
    thread = int32(cuda.grid(1))
    threads = int32(cuda.gridsize(1))
    reset_heights(excess, height, queue, tally, ceiling)
    if thread == 0:
        start[0] = 0
    grid_sync()

    wanted = int32(relaxed_load(tally, int32(WITH_EXCESS)) - stuck)
    found = int32(0)
    level = int32(1)
    front = int32(0)
    slot = int32(0)
    waiting = relaxed_load(tally, int32(0))
    while waiting > 0 and (wanted == 0 or found < wanted):
        coming = int32(slot + 1) if slot < 2 else int32(0)
        clear = int32(coming + 1) if coming < 2 else int32(0)
        if thread == 0:
            tally[clear] = 0
            tally[EXCESS_COUNTS + clear] = 0
        if waiting <= NARROW:
            if cuda.blockIdx.x == 0:
                expand_narrow_levels(
                    row, head, mate, residual, excess, height, queue, start, tally, ceiling,
                    level, front, waiting, found, wanted,
                )  # fmt: skip
            grid_sync()
            front = relaxed_load(tally, int32(FRONT))
            waiting = relaxed_load(tally, int32(WAITING))
            level = relaxed_load(tally, int32(HEIGHT))
            found = relaxed_load(tally, int32(FOUND))
        else:
            end = int32(front + waiting)
            if thread == 0:
                start[level] = end
            expand_by_grid(row, head, mate, residual, excess, height, queue, tally, ceiling, level, front, end, coming)
            grid_sync()
            front = end
            waiting = relaxed_load(tally, coming)
            found = int32(found + relaxed_load(tally, int32(EXCESS_COUNTS + coming)))
            level = int32(level + 1)
        slot = coming
    top = relaxed_load(tally, int32(TOP))
    if thread == 0:
        start[level] = int32(front + waiting)
    grid_sync()
    if thread == 0:
        tally[FOUND] = found
        tally[LEVELS] = level

    level = top
    while level > 1:
        if start[level] - start[level - 1] <= NARROW:
            if cuda.blockIdx.x == 0:
                while level > 1 and start[level] - start[level - 1] <= NARROW:
                    me, block = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
                    push_level(row, head, mate, residual, excess, height, queue, start, level, me, block)
                    cuda.syncthreads()
                    level = int32(level - 1)
                if cuda.threadIdx.x == 0:
                    tally[HEIGHT] = level
            grid_sync()
            level = relaxed_load(tally, int32(HEIGHT))
        else:
            push_level(row, head, mate, residual, excess, height, queue, start, level, thread, threads)
            grid_sync()
            level = int32(level - 1)


def solve(graph: ResidualGraph) -> tuple[np.ndarray, dict]:
    """Solve in place; the mask of the sink side, and stats."""
    if graph.arcs.size == 0:
        return graph.excess < 0, {"launches": 0, "levels": 0}
    on_device = upload_graph(graph)
    stats = solve_on_device(on_device)
    graph.excess[:] = download(on_device.excess)
    graph.arcs[2::4] = download(on_device.residual)
    copy_reverse_residuals(graph.arcs)
    return download(on_device.height) < on_device.ceiling, stats


def solve_on_device(graph: GraphOnDevice) -> dict:
    """Solve in place, ending with a complete search; stats: launches, which are phases, and levels of all searches."""
    stats = {"launches": 0, "levels": 0}
    (start,) = allocate((graph.excess.size + 2, np.int32))
    zeros = np.zeros(TALLY_SIZE, np.int32)
    graph = graph._replace(tally=upload(zeros))
    stuck = 0
    blocks = most_blocks(wave_kernel, (*graph, start, np.int32(stuck)), THREADS)
    blocks = min(blocks, blocks_of(graph.excess.size, THREADS))
    while True:
        overwrite(graph.tally, zeros)
        launch(wave_kernel, blocks, THREADS, *graph, start, np.int32(stuck))
        tally = download(graph.tally)
        stats["launches"] += 1
        stats["levels"] += int(tally[LEVELS])
        if tally[FOUND] == 0:
            return stats
        if tally[FOUND] < tally[WITH_EXCESS] - stuck:
            stuck = int(tally[WITH_EXCESS] - tally[FOUND])


def kernels():
    """Names, kernels and argument types to compile."""
    return [
        (f"graph_waves {number}", wave_kernel, (*graph_types(number), int32[::1], int32)) for number in (int32, int64)
    ]
