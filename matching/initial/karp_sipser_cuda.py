"""Karp and Sipser's initial matching on a GPU: vertices with one free neighbour first, on both sides.

Returns a maximal matching. A vertex with one free neighbour can be matched to it without loss. That removes both from
the graph, so that other vertices have one free neighbour left, and so on (a cascade). When no such vertex is left,
every STRIDE-th row takes a free column, preferably one with few free rows, and the cascades start again.

Arrays (n rows, m columns)
  row_match[r], col_match[c]   partner, or -1; changed in place, existing pairs are kept
  row_degree[r]                number of r's free columns; col_degree[c] likewise; also kept for matched vertices
  queue                        rows, or columns, that had one free neighbour when they were pushed

Races
  In each step only rows take columns, or only columns take rows. The thread whose compare-and-swap replaces -1 in the
  other side's match entry of u by its vertex v owns u, and it alone writes v's match entry. A vertex whose
  compare-and-swap fails has one free neighbour less; the winner subtracts it from that vertex's degree. Every
  neighbour that is matched subtracts one from a degree atomically, so degrees are exact at every barrier, and a degree
  falls from 2 to 1 only once: no vertex is in the queue twice. At the end no free row has a free column.

Deviates from [1]: all vertices with one free neighbour are matched concurrently instead of one after another, which
does not change the number of pairs while such vertices exist; many rows take columns concurrently if none exist.

[1] Karp, Sipser. "Maximum matchings in sparse random graphs." FOCS 1981.
[2] Azad, Halappanavar, Rajamanickam, Boman, Khan, Pothen. "Multithreaded algorithms for maximum matching in bipartite
    graphs." IPDPS 2012: in parallel, on CPUs.

O(n + m + edges), and one sweep of the vertices per STRIDE-th part of the rows; 8 n + 8 m bytes in addition to the graph
and the matching.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device.arrays import allocate, download, upload
from gridcut.device.cuda import (
    SIMULATED,
    ballot,
    count_trailing_zeros,
    cuda,
    cuda_kernel,
    device_function,
    grid_sync,
    relaxed_load,
    shuffle,
)
from gridcut.device.cuda_types import int32, int64
from matching.core.frontier_cuda import (
    BLOCK_COUNTS_SIZE,
    COLLECTED,
    HEAD,
    NARROW_FRONTIER,
    PUSHED,
    SHARED_SIZE,
    STATE_SIZE,
    TAIL,
    UNLIMITED_LEVELS,
    Frontier,
    all_blocks_out,
    flush,
    frontier_vertex,
    make_narrow_levels,
    push,
)
from matching.core.grid_cuda import add_up, next_grid_slot, pseudo_random_neighbour, run_kernel
from matching.core.problem_cuda import EDGES, LEVELS, PHASES, DeviceGraph, MatchedGraph

THREADS = 512
BLOCKS_PER_SM = 1  # since the kernel needs many registers
REGISTERS = 128
STRIDE = 32  # without single vertices, every STRIDE-th row takes a column
WARP_DEGREE = 2 if SIMULATED else 16  # neighbours that a thread scans by itself; above this degree its warp helps


class Degrees(NamedTuple):
    """Numbers of free neighbours of the side that acts and of the other side."""

    own: object
    other: object


@device_function
def decrement(adj, k, end, step, degree, out, pushing):
    """Subtract one from the degree of every step-th vertex from adj[k] on; push those with one free neighbour left."""
    while k < end:
        w = adj[k]
        if cuda.atomic.add(degree, w, int32(-1)) == 2 and pushing:
            push(out, w)
        k += step


@device_function
def decrement_neighbours(ptr, adj, u, degree, out, pushing, lane):
    """`decrement` for the neighbours of each lane's u, unless it is -1; returns the number of edges."""
    k = int64(0)
    end = int64(0)
    if u >= 0:
        k = ptr[u]
        end = ptr[u + 1]
    is_hub = end - k > WARP_DEGREE
    if not is_hub:
        decrement(adj, k, end, int32(1), degree, out, pushing)
    hubs = ballot(is_hub)
    while hubs != 0:
        source = count_trailing_zeros(hubs)
        hubs = hubs & (hubs - 1)
        start, stop = shuffle(k, source), shuffle(end, source)
        decrement(adj, start + lane, stop, int32(32), degree, out, pushing)
    return end - k


@device_function
def match_share(graph, degrees, out, head, count, stride_offset, thread, threads):
    """Vertices take a free neighbour: those of the queue, or every STRIDE-th from `stride_offset` on; returns edges."""
    ptr, adj, other_ptr, other_adj, match, other_match = graph
    degree, other_degree = degrees
    lane = int32(thread & 31)
    first = int32(thread - lane)
    edges = int64(0)
    while first < count:
        i = int32(first + lane)
        v = int32(-1)
        u = int32(-1)
        start = int64(0)
        length = int64(0)
        if i < count:
            if stride_offset >= 0:
                v = int32(i * STRIDE + stride_offset)
            else:
                v = frontier_vertex(out, head, i)
            if match[v] < 0 and degree[v] > 0:
                start = ptr[v]
                length = ptr[v + 1] - start
        stop = min(length, int64(WARP_DEGREE))
        edges += stop
        fewest = int32(0)
        j = int64(0)
        while j < stop:
            c = adj[start + pseudo_random_neighbour(v, j, length)]
            other_free = other_degree[c]
            if other_match[c] < 0 and (u < 0 or other_free < fewest):
                u = c
                fewest = other_free
            j += 1
        pending = ballot(u < 0 and j < length)
        while pending != 0:
            source = count_trailing_zeros(pending)
            pending = pending & (pending - 1)
            first_of, last = shuffle(start, source), shuffle(length, source)
            owner = shuffle(v, source)
            position = int64(WARP_DEGREE)
            found = int32(-1)
            while found < 0 and position < last:
                c = (
                    adj[first_of + pseudo_random_neighbour(owner, position + lane, last)]
                    if position + lane < last
                    else int32(-1)
                )
                free = ballot(c >= 0 and other_match[max(c, int32(0))] < 0)
                if free != 0:
                    found = shuffle(c, count_trailing_zeros(free))
                position += 32
                edges += 1
            if lane == source:
                u = found
        if u >= 0:
            if cuda.atomic.cas(other_match, u, int32(-1), v) < 0:
                match[v] = u
            else:
                u = int32(-1)
        edges += decrement_neighbours(other_ptr, other_adj, u, degree, out, stride_offset < 0, lane)
        if stride_offset >= 0:
            edges += decrement_neighbours(ptr, adj, v if u >= 0 else u, other_degree, out, False, lane)
        first = int32(first + threads)
    return edges


@device_function
def match_singles(graph, degrees, out, head, thread, threads):
    """A level of a cascade."""
    return match_share(graph, degrees, out, head, int32(out.tail - head), int32(-1), thread, threads)


narrow_singles = make_narrow_levels(match_singles)


@device_function
def cascade(graph, degrees, frontier, grid_slot, thread, threads):
    """Match vertices of one side that have one free neighbour until none is left: (next grid slot, edges, levels)."""
    match, state = graph.mate_x, frontier.state
    following = next_grid_slot(state, int32(PUSHED), grid_slot, thread)
    out = all_blocks_out(frontier, grid_slot, int32(0))
    v = thread
    while v < match.size:
        if match[v] < 0 and degrees.own[v] == 1:
            push(out, v)
        v = int32(v + threads)
    flush(frontier, grid_slot, int32(0))
    grid_sync()
    head = int32(0)
    tail = int32(relaxed_load(state, int32(PUSHED + grid_slot)))
    grid_slot = following
    edges = int64(0)
    levels = int64(0)
    while head < tail:
        if tail - head <= NARROW_FRONTIER:
            if cuda.blockIdx.x == 0:
                head, tail, more_levels, scanned = narrow_singles(
                    graph, degrees, frontier, head, tail, UNLIMITED_LEVELS
                )
                edges += scanned
                levels += more_levels
                if thread == 0:
                    state[HEAD] = head
                    state[TAIL] = tail
            grid_sync()
            head = relaxed_load(state, int32(HEAD))
            tail = relaxed_load(state, int32(TAIL))
        else:
            following = next_grid_slot(state, int32(PUSHED), grid_slot, thread)
            edges += match_singles(graph, degrees, all_blocks_out(frontier, grid_slot, tail), head, thread, threads)
            flush(frontier, grid_slot, tail)
            grid_sync()
            head = tail
            tail = int32(tail + relaxed_load(state, int32(PUSHED + grid_slot)))
            grid_slot = following
            levels += 1
    return grid_slot, edges, levels


@device_function
def discount_matched(graph, degree, out, thread, threads):
    """Decrement the degrees of the neighbours of matched vertices."""
    match = graph.mate_x
    lane = int32(thread & 31)
    first = int32(thread - lane)
    while first < match.size:
        v = int32(first + lane)
        matched = v < match.size and match[min(v, int32(match.size - 1))] >= 0
        decrement_neighbours(graph.x_ptr, graph.x_adj, v if matched else int32(-1), degree, out, False, lane)
        first = int32(first + threads)


@cuda_kernel(max_registers=REGISTERS)
def karp_sipser_kernel(by_row, row_degree, col_degree, queue, state, counts):
    """Cascades of rows and of columns alternate with rows that take columns, until no free row has a free column."""
    shared = cuda.shared.array(SHARED_SIZE, int32)
    block_counts = cuda.shared.array(BLOCK_COUNTS_SIZE, int32)
    row_ptr, row_adj, col_ptr, col_adj, row_match, col_match = by_row
    by_col = MatchedGraph(col_ptr, col_adj, row_ptr, row_adj, col_match, row_match)
    of_rows, of_cols = Degrees(row_degree, col_degree), Degrees(col_degree, row_degree)
    frontier = Frontier(queue, state, shared, block_counts)
    rows = int32(row_match.size)
    thread = int32(cuda.grid(1))
    threads = int32(cuda.gridsize(1))
    grid_slot = int32(0)
    edges = int64(0)
    levels = int64(0)
    cycles = int64(0)
    if cuda.threadIdx.x == 0:
        block_counts[COLLECTED] = 0
    cuda.syncthreads()
    v = thread
    while v < rows:
        row_degree[v] = int32(row_ptr[v + 1] - row_ptr[v])
        v = int32(v + threads)
    v = thread
    while v < col_match.size:
        col_degree[v] = int32(col_ptr[v + 1] - col_ptr[v])
        v = int32(v + threads)
    grid_sync()
    no_pushes = all_blocks_out(frontier, grid_slot, int32(0))
    for side in range(2):
        graph = by_row if side == 0 else by_col
        discount_matched(graph, col_degree if side == 0 else row_degree, no_pushes, thread, threads)
    grid_sync()
    stride_offset = int32(0)
    while True:
        for side in range(2):  # a loop, since inlining the cascade twice makes a long kernel
            graph = by_row if side == 0 else by_col
            degrees = of_rows if side == 0 else of_cols
            grid_slot, scanned, more_levels = cascade(graph, degrees, frontier, grid_slot, thread, threads)
            edges += scanned
            levels += more_levels

        # Nothing is pushed in this step: the counter indicates whether a row can still take a column.
        following = next_grid_slot(state, int32(PUSHED), grid_slot, thread)
        v = thread
        while v < rows:
            if row_match[v] < 0 and row_degree[v] > 0:
                state[PUSHED + grid_slot] = 1
            v = int32(v + threads)
        out = all_blocks_out(frontier, grid_slot, int32(0))
        count = int32((rows - stride_offset + STRIDE - 1) // STRIDE)
        edges += match_share(by_row, of_rows, out, int32(0), count, stride_offset, thread, threads)
        grid_sync()
        going = relaxed_load(state, int32(PUSHED + grid_slot)) > 0
        grid_slot = following
        if not going:
            break
        stride_offset = int32((stride_offset + 1) % STRIDE)
        cycles += 1
    add_up(counts, int32(EDGES), edges)
    if thread == 0:
        counts[PHASES] = cycles
        counts[LEVELS] = levels


def initialise(graph: DeviceGraph, row_match, col_match) -> dict:
    """Add pairs to a matching on the GPU in place; returns stats, "cycles" the number of sweeps in which rows chose."""
    rows, cols = row_match.size, col_match.size
    work = allocate(*((size, np.int32) for size in (rows, cols, max(rows, cols))))
    state, counts = upload(np.zeros(STATE_SIZE, np.int32)), upload(np.zeros(4, np.int64))
    arguments = (MatchedGraph(*graph, row_match, col_match), *work, state, counts)
    run_kernel(karp_sipser_kernel, arguments, THREADS, max(rows, cols), BLOCKS_PER_SM)
    counts = download(counts)
    return {"edges": int(counts[EDGES]), "cycles": int(counts[PHASES]), "levels": int(counts[LEVELS])}
