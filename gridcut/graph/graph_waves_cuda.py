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

A wave reads no other nodes than those with excess: those of `active`, and those that have
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

from typing import Any, NamedTuple

import numpy as np

from gridcut.core.push_relabel_rules_cuda import append, is_admissible, push_amount
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
    shuffle,
)
from gridcut.device.cuda_types import int32, int64
from gridcut.device.launch import blocks_of, launch, most_blocks
from gridcut.graph.residual_graph import ResidualGraph, copy_reverse_residuals

# `GraphOnDevice`: a residual graph on a GPU.
#
#     row[x], row[x] + 1, ..., row[x + 1] - 1       the arcs of node x
#
#     head[a]: the node that arc a leads to         mate[a]: the reverse arc        residual[a]: c_f(x, head[a])
#
# Nodes and arcs are int32.  A breadth-first search backwards from the deficits writes
#
#     height[x]     distance to a deficit, 1 at a deficit;  ceiling = n + 1: cannot reach one
#     queue[...]    nodes in the order in which they were reached, level by level
#     tally         counters of the search

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


# The search: levels of nodes by their distance to a deficit, and the nodes with excess in them.
#
# Breadth-first search backwards from the deficits, one level between two barriers of the grid, in a kernel that goes
# on with the result.  A level of at most NARROW nodes is expanded by one block, which continues while levels are
# narrow; the other blocks wait at a barrier of the grid.  Barriers of a block are shorter, and long paths have
# thousands of narrow levels.  Up to 2^MAX_SHIFT threads scan one row if there are more threads than nodes in a level.
#
# Arrays (n nodes; ceiling = n + 1), in addition to those of GraphOnDevice
#   active          nodes with excess, in the order in which the search found them, level by level
#   active_end[l]   number of nodes in `active` of the levels up to l
#   tally           counters as named below; those of levels rotate: one is read, one is added to, and one is 0

THREADS = WARP if SIMULATED else 512  # per block
NARROW = 4 if SIMULATED else 512  # nodes of a level that one block processes
LAST_BIT = 1 << 30  # a lane scans up to 30 arcs before the warp reserves space for what it has found
MAX_SHIFT = 3  # up to 2^3 threads scan the row of one node in a search
# Slots of tally: the three rotating counters of each kind, then the state in which one block has ended.  FRONT and
# WAITING: position and number of the nodes of the next level in `queue`.  HEIGHT: that level.  FOUND: nodes with excess
# that the search has found.  TOP: the highest level with such a node.  WITH_EXCESS: all nodes with excess.  LEVELS:
# number of levels of the search.
NODE_COUNTS, EXCESS_COUNTS, RECEIVED_COUNTS = 0, 3, 6
FRONT, WAITING, HEIGHT, FOUND, TOP, WITH_EXCESS, LEVELS, TALLY_SIZE = 9, 10, 11, 12, 13, 14, 15, 16


@device_function
def next_slot(slot):
    """The slot after this one of three that rotate."""
    return int32(slot + 1) if slot < 2 else int32(0)


@device_function
def reserve(tally, slot, count):
    """Add the counts of all lanes of the warp to tally[slot]; the lane's share starts at the returned position.

    All lanes of the warp must call this.  One atomic addition per warp.
    """
    lane = int32(cuda.laneid)
    upto = int32(count)
    distance = int32(1)
    while distance < WARP:
        before = int32(shuffle(upto, (lane - distance) & (WARP - 1)))
        if lane >= distance:
            upto = int32(upto + before)
        distance = int32(2 * distance)
    total = int32(shuffle(upto, WARP - 1))
    at = int32(0)
    if lane == 0 and total > 0:
        at = int32(cuda.atomic.add(tally, slot, total))
    return int32(int32(shuffle(at, 0)) + upto - count)


@device_function
def write_heads(target, at, head, first, step, bits):
    """Write the heads of the arcs first + k * step, for all bits k that are set, to `target` from `at` on."""
    while bits != 0:
        target[at] = head[first + count_trailing_zeros(bits) * step]
        bits = int32(bits & (bits - 1))
        at = int32(at + 1)


@device_function
def reset_heights(graph):
    """List the deficits, which are level 1, and count the nodes with excess."""
    size = int32(graph.excess.size)
    thread = int32(cuda.grid(1))
    threads = int32(cuda.gridsize(1))
    lane = int32(cuda.laneid)
    base = int32(thread - lane)  # all lanes of a warp execute the same iterations
    while base < size:
        x = int32(base + lane)
        has_deficit = False
        has_excess = False
        if x < size:
            e = graph.excess[x]
            has_deficit = e < 0
            has_excess = e > 0
            graph.height[x] = int32(1) if has_deficit else graph.ceiling
        append(graph.queue, graph.tally, int32(NODE_COUNTS), int32(0), has_deficit, x)
        bits = ballot(has_excess)
        if bits != 0 and lane == count_trailing_zeros(bits):
            cuda.atomic.add(graph.tally, int32(WITH_EXCESS), popcount(bits))
        base = int32(base + threads)


@device_function
def reaches(graph, a, level):
    """The node that arc a leads to, and whether this thread has found that it is one level above."""
    height, ceiling = graph.height, graph.ceiling
    y = graph.head[a]
    found = False
    if relaxed_load(height, y) == ceiling and graph.residual[graph.mate[a]] > 0:
        found = cuda.atomic.cas(height, y, ceiling, int32(level + 1)) == ceiling
    return y, found


@device_function
def shift_of(nodes, threads):
    """Logarithm of the number of threads that scan one row: as many as there are per node, up to 2^MAX_SHIFT."""
    shift = int32(0)
    while shift < MAX_SHIFT and int64(nodes) << (shift + 1) <= threads:
        shift = int32(shift + 1)
    return shift


@device_function
def expand_by_grid(graph, active, level, front, waiting, found, coming):
    """List the nodes one level above queue[front : front + waiting], by all blocks."""
    row, head, excess, queue, tally = graph.row, graph.head, graph.excess, graph.queue, graph.tally
    threads = int32(cuda.gridsize(1))
    lane = int32(cuda.laneid)
    shift = shift_of(waiting, threads)
    step = int32(1 << shift)
    end = int32(front + waiting)
    base = int32(int32(cuda.grid(1)) - lane)
    while base < waiting << shift:
        a = int32(0)
        last = int32(0)
        i = int32(base + lane)
        if i < waiting << shift:
            x = queue[front + (i >> shift)]
            a = int32(row[x] + (i & (step - 1)))
            last = row[x + 1]
        while ballot(a < last) != 0:
            begin = a
            bits = int32(0)
            excess_bits = int32(0)
            bit = int32(1)
            while a < last and bit < LAST_BIT:
                y, is_found = reaches(graph, a, level)
                if is_found:
                    bits = int32(bits | bit)
                    if excess[y] > 0:
                        excess_bits = int32(excess_bits | bit)
                bit = int32(bit << 1)
                a = int32(a + step)
            at = reserve(tally, int32(NODE_COUNTS + coming), popcount(bits))
            write_heads(queue, int32(end + at), head, begin, step, bits)
            if ballot(excess_bits != 0) != 0:
                at = reserve(tally, int32(EXCESS_COUNTS + coming), popcount(excess_bits))
                write_heads(active, int32(found + at), head, begin, step, excess_bits)
        base = int32(base + threads)


@device_function
def expand_narrow_levels(graph, active, active_end, level, front, waiting, found, wanted, top):
    """Expand levels by one block while they are narrow, and write the state to tally; all its threads call this."""
    row, excess, queue, tally = graph.row, graph.excess, graph.queue, graph.tally
    counts = cuda.shared.array(6, int32)
    me = int32(cuda.threadIdx.x)
    threads = int32(cuda.blockDim.x)
    if me < 6:
        counts[me] = 0
    cuda.syncthreads()
    slot = int32(0)
    while 0 < waiting <= NARROW and (wanted == 0 or found < wanted):
        following = next_slot(slot)
        end = int32(front + waiting)
        shift = shift_of(waiting, threads)
        step = int32(1 << shift)
        if me == 0:
            counts[following] = 0
            counts[EXCESS_COUNTS + following] = 0
            active_end[level] = found
        i = me
        while i < waiting << shift:
            x = queue[front + (i >> shift)]
            a = int32(row[x] + (i & (step - 1)))
            last = row[x + 1]
            while a < last:
                y, is_found = reaches(graph, a, level)
                if is_found:
                    queue[end + cuda.atomic.add(counts, slot, int32(1))] = y
                    if excess[y] > 0:
                        active[found + cuda.atomic.add(counts, int32(EXCESS_COUNTS + slot), int32(1))] = y
                a = int32(a + step)
            i = int32(i + threads)
        cuda.syncthreads()
        front = end
        waiting = counts[slot]
        level = int32(level + 1)
        if counts[EXCESS_COUNTS + slot] > 0:
            found = int32(found + counts[EXCESS_COUNTS + slot])
            top = level
        slot = following
    if me == 0:
        tally[FRONT] = front
        tally[WAITING] = waiting
        tally[HEIGHT] = level
        tally[FOUND] = found
        tally[TOP] = top


REGISTERS = 64  # per thread, so that two blocks fit on a multiprocessor


@device_function
def push_along(graph, a, level, left):
    """Push along an arc: (its head, the amount, whether the head has excess now and had none before)."""
    residual = graph.residual
    # All three are read unconditionally, so that the residual does not wait for the height.
    r = residual[a]
    y = graph.head[a]
    amount = int64(0)
    has_received = False
    if is_admissible(level, graph.height[y]) and r > 0:
        amount = int64(push_amount(left, r))
        residual[a] = r - amount
        residual[graph.mate[a]] += amount
        before = cuda.atomic.add(graph.excess, y, amount)
        has_received = before <= 0 and before + amount > 0
    return y, amount, has_received


@device_function
def push_by_grid(graph, active, first, own, level, front, waiting, slot):
    """Push the excess of one level to the next one, by all blocks.

    Nodes of the level with excess: active[first : first + own] since the search, queue[front : front + waiting] since
    the wave reached them.
    """
    row, head, excess, queue, tally = graph.row, graph.head, graph.excess, graph.queue, graph.tally
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
                _, amount, has_received = push_along(graph, a, level, left)
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


@device_function
def push_narrow_levels(graph, active, active_end, level, front, waiting):
    """Push level by level with one block while few nodes have excess; all its threads call this."""
    row, excess, queue, tally = graph.row, graph.excess, graph.queue, graph.tally
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
                y, amount, has_received = push_along(graph, a, level, left)
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
def wave_kernel(graph, active, active_end, stuck):
    """One phase; requires a cooperative launch, and a tally of zeros.

    Afterwards, tally[FOUND] of the tally[WITH_EXCESS] nodes with excess had been found before the wave.
    """
    tally = graph.tally
    thread = int32(cuda.grid(1))
    reset_heights(graph)
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
                expand_narrow_levels(graph, active, active_end, level, front, waiting, found, wanted, top)
            grid_sync()
            front = relaxed_load(tally, int32(FRONT))
            waiting = relaxed_load(tally, int32(WAITING))
            level = relaxed_load(tally, int32(HEIGHT))
            found = relaxed_load(tally, int32(FOUND))
            top = relaxed_load(tally, int32(TOP))
        else:
            if thread == 0:
                active_end[level] = found
            expand_by_grid(graph, active, level, front, waiting, found, coming)
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
                push_narrow_levels(graph, active, active_end, level, front, waiting)
            grid_sync()
            front = relaxed_load(tally, int32(FRONT))
            waiting = relaxed_load(tally, int32(WAITING))
            level = relaxed_load(tally, int32(HEIGHT))
        else:
            following = next_slot(slot)
            if thread == 0:
                tally[RECEIVED_COUNTS + following] = 0
            push_by_grid(graph, active, first, own, level, front, waiting, slot)
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
    most = most_blocks(wave_kernel, (on_device, *lists, np.int32(stuck)), THREADS)
    blocks = min(most, blocks_of(graph.nodes, THREADS))
    while True:
        overwrite(on_device.tally, zeros)
        launch(wave_kernel, blocks, THREADS, on_device, *lists, np.int32(stuck))
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
