"""Waves on layered networks: maximum flow on a sparse graph, on a GPU.

plain_waves.py has the same steps in plain Python, without lists of nodes with excess; read it first.

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

A wave reads no other nodes than those with excess: those of `active` (graph_layers_cuda.py), and those that have
received excess and had none, which it appends to `queue`, level by level.  If they are at most NARROW, one block
processes the level, as in the search.

The search ends when it has found all nodes with excess, since the levels above them take no part in the wave.  Nodes
with excess that a complete search did not reach are `stuck`: they cannot reach a deficit in a later phase either.

O(n^2) phases: a wave leaves excess only in nodes whose arcs to the level below are saturated, so the distances of these
nodes increase, and no distance ever decreases.  A phase takes O(n + m) work and up to two barriers per level.  The
layered networks are those of Dinic; the order of the pushes is that of Tarjan's wave method.  Memory on the GPU: 24
bytes per node and 12 per direction of an edge, 28 and 16 for int64.

One thread scans a row in a wave.

[1] Dinic. "Algorithm for solution of a problem of maximum flow in networks with power estimation." 1970.
[2] Tarjan. "A simple version of Karzanov's blocking flow algorithm." Operations Research Letters 2, 1984.
"""

import numpy as np

from gridcut.core.push_relabel_rules_cuda import is_admissible, push_amount
from gridcut.device.arrays import allocate, download, overwrite
from gridcut.device.cuda import ballot, cuda, cuda_kernel, device_function, grid_sync, popcount, relaxed_load
from gridcut.device.cuda_types import int32, int64
from gridcut.device.launch import blocks_of, launch, most_blocks
from gridcut.graph.device_graph_cuda import upload_graph
from gridcut.graph.graph_layers_cuda import (
    EXCESS_COUNTS,
    FOUND,
    FRONT,
    HEIGHT,
    LAST_BIT,
    LEVELS,
    NARROW,
    NODE_COUNTS,
    RECEIVED_COUNTS,
    TALLY_SIZE,
    THREADS,
    TOP,
    WAITING,
    WITH_EXCESS,
    expand_by_grid,
    expand_narrow_levels,
    next_slot,
    reserve,
    reset_heights,
    write_heads,
)
from gridcut.graph.residual_graph import ResidualGraph, copy_reverse_residuals

REGISTERS = 64  # per thread, so that two blocks fit on a multiprocessor


@device_function
def push_along(head, mate, residual, excess, height, a, level, left):
    """Push along an arc: (its head, the amount, whether the head has excess now and had none before)."""
    # All three are read unconditionally, so that the residual does not wait for the height.
    r = residual[a]
    y = head[a]
    amount = int64(0)
    has_received = False
    if is_admissible(level, height[y]) and r > 0:
        amount = int64(push_amount(left, r))
        residual[a] = r - amount
        residual[mate[a]] += amount
        before = cuda.atomic.add(excess, y, amount)
        has_received = before <= 0 and before + amount > 0
    return y, amount, has_received


# args: not bundled yet
@device_function
def push_by_grid(
    row, head, mate, residual, excess, height, queue, tally, active, first, own, level, front, waiting, slot
):
    """Push the excess of one level to the next one, by all blocks.

    Nodes of the level with excess: active[first : first + own] since the search, queue[front : front + waiting] since
    the wave reached them.
    """
    threads = int32(cuda.gridsize(1))
    lane = int32(cuda.laneid)
    end = int32(front + waiting)
    count = int32(own + waiting)
    base = int32(int32(cuda.grid(1)) - lane)
    while base < count:
        i = int32(base + lane)
        x = int32(0)
        a = int32(0)
        last = int32(0)
        left = int64(0)
        if i < count:
            x = active[first + i] if i < own else queue[front + i - own]
            a = row[x]
            last = row[x + 1]
            left = int64(relaxed_load(excess, x))
        while ballot(a < last and left > 0) != 0:
            begin = a
            bits = int32(0)
            bit = int32(1)
            while a < last and left > 0 and bit < LAST_BIT:
                _, amount, has_received = push_along(head, mate, residual, excess, height, a, level, left)
                left -= amount
                if has_received:
                    bits = int32(bits | bit)
                bit = int32(bit << 1)
                a = int32(a + 1)
            at = reserve(tally, int32(RECEIVED_COUNTS + slot), popcount(bits))
            write_heads(queue, int32(end + at), head, begin, int32(1), bits)
        if i < count:
            excess[x] = left
        base = int32(base + threads)


# args: not bundled yet
@device_function
def push_narrow_levels(
    row, head, mate, residual, excess, height, queue, tally, active, active_end, level, front, waiting
):
    """Push level by level with one block while few nodes have excess; all its threads call this."""
    counts = cuda.shared.array(3, int32)
    me = int32(cuda.threadIdx.x)
    if me < 3:
        counts[me] = 0
    cuda.syncthreads()
    slot = int32(0)
    first = active_end[level - 1]
    own = int32(active_end[level] - first)
    while level > 1 and own + waiting <= NARROW:
        following = next_slot(slot)
        end = int32(front + waiting)
        if me == 0:
            counts[following] = 0
        i = me
        while i < own + waiting:
            x = active[first + i] if i < own else queue[front + i - own]
            a = row[x]
            last = row[x + 1]
            left = int64(relaxed_load(excess, x))
            while a < last and left > 0:
                y, amount, has_received = push_along(head, mate, residual, excess, height, a, level, left)
                left -= amount
                if has_received:
                    queue[end + cuda.atomic.add(counts, slot, int32(1))] = y
                a = int32(a + 1)
            excess[x] = left
            i = int32(i + int32(cuda.blockDim.x))
        cuda.syncthreads()
        front = end
        waiting = counts[slot]
        slot = following
        level = int32(level - 1)
        own = int32(first - active_end[level - 1])
        first = active_end[level - 1]
    if me == 0:
        tally[FRONT] = front
        tally[WAITING] = waiting
        tally[HEIGHT] = level


@cuda_kernel(max_registers=REGISTERS)
def wave_kernel(row, head, mate, residual, excess, height, queue, tally, ceiling, active, active_end, stuck):
    """One phase; requires a cooperative launch, and a tally of zeros.

    Afterwards, tally[FOUND] of the tally[WITH_EXCESS] nodes with excess had been found before the wave.
    """
    thread = int32(cuda.grid(1))
    reset_heights(excess, height, queue, tally, ceiling)
    if thread == 0:
        active_end[0] = 0
    grid_sync()

    wanted = int32(relaxed_load(tally, int32(WITH_EXCESS)) - stuck)
    found = int32(0)
    top = int32(0)
    level = int32(1)
    front = int32(0)
    slot = int32(0)
    waiting = relaxed_load(tally, int32(NODE_COUNTS))
    while waiting > 0 and (wanted == 0 or found < wanted):
        coming = next_slot(slot)
        if thread == 0:
            tally[NODE_COUNTS + next_slot(coming)] = 0
            tally[EXCESS_COUNTS + next_slot(coming)] = 0
        if waiting <= NARROW:
            if cuda.blockIdx.x == 0:
                expand_narrow_levels(
                    row, head, mate, residual, excess, height, queue, tally, ceiling, active, active_end,
                    level, front, waiting, found, wanted, top,
                )  # fmt: skip
            grid_sync()
            front = relaxed_load(tally, int32(FRONT))
            waiting = relaxed_load(tally, int32(WAITING))
            level = relaxed_load(tally, int32(HEIGHT))
            found = relaxed_load(tally, int32(FOUND))
            top = relaxed_load(tally, int32(TOP))
        else:
            if thread == 0:
                active_end[level] = found
            expand_by_grid(
                row, head, mate, residual, excess, height, queue, tally, ceiling, active,
                level, front, waiting, found, coming,
            )  # fmt: skip
            grid_sync()
            front = int32(front + waiting)
            waiting = relaxed_load(tally, int32(NODE_COUNTS + coming))
            level = int32(level + 1)
            count = relaxed_load(tally, int32(EXCESS_COUNTS + coming))
            if count > 0:
                found = int32(found + count)
                top = level
        slot = coming
    if thread == 0:
        active_end[level] = found
    grid_sync()
    if thread == 0:
        tally[FOUND] = found
        tally[LEVELS] = level

    # The queue is used again, for nodes that receive excess.
    level = top
    front = int32(0)
    waiting = int32(0)
    slot = int32(0)
    while level > 1:
        first = active_end[level - 1]
        own = int32(active_end[level] - first)
        if own + waiting <= NARROW:
            if cuda.blockIdx.x == 0:
                push_narrow_levels(
                    row, head, mate, residual, excess, height, queue, tally, active, active_end, level, front, waiting
                )
            grid_sync()
            front = relaxed_load(tally, int32(FRONT))
            waiting = relaxed_load(tally, int32(WAITING))
            level = relaxed_load(tally, int32(HEIGHT))
        else:
            following = next_slot(slot)
            if thread == 0:
                tally[RECEIVED_COUNTS + following] = 0
            push_by_grid(
                row, head, mate, residual, excess, height, queue, tally, active,
                first, own, level, front, waiting, slot,
            )  # fmt: skip
            grid_sync()
            front = int32(front + waiting)
            waiting = relaxed_load(tally, int32(RECEIVED_COUNTS + slot))
            slot = following
            level = int32(level - 1)


def solve(graph: ResidualGraph) -> tuple[np.ndarray, dict]:
    """Solve in place, ending with a complete search; the mask of the sink side, and stats.

    stats   launches, which are phases, and levels of all searches
    """
    if graph.arcs.size == 0:
        return graph.excess < 0, {"launches": 0, "levels": 0}
    on_device = upload_graph(graph)
    stats = {"launches": 0, "levels": 0}
    lists = allocate((graph.nodes, np.int32), (graph.nodes + 2, np.int32))  # active, active_end
    zeros = np.zeros(TALLY_SIZE, np.int32)
    stuck = 0
    blocks = min(
        most_blocks(wave_kernel, (*on_device, *lists, np.int32(stuck)), THREADS), blocks_of(graph.nodes, THREADS)
    )
    while True:
        overwrite(on_device.tally, zeros)
        launch(wave_kernel, blocks, THREADS, *on_device, *lists, np.int32(stuck))
        tally = download(on_device.tally)
        stats["launches"] += 1
        stats["levels"] += int(tally[LEVELS])
        if tally[FOUND] == 0:
            break
        if tally[FOUND] < tally[WITH_EXCESS] - stuck:
            stuck = int(tally[WITH_EXCESS] - tally[FOUND])
    graph.excess[:] = download(on_device.excess)
    graph.arcs[2::4] = download(on_device.residual)
    copy_reverse_residuals(graph.arcs)
    return download(on_device.height) < on_device.ceiling, stats
