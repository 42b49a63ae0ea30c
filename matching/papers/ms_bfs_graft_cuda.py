"""Tree grafting on a GPU: breadth-first searches from all unmatched rows at once, whose trees are kept between phases.

Returns a maximum matching.  Phases of algorithm 3: grow the forest level by level, top-down or bottom-up; augment in
every tree that has found an unmatched column; let the vertices of those trees be grafted onto the trees that are left,
or begin anew if that looks cheaper.  It ends when no tree has found anything; then the forest holds all that can be
reached from unmatched rows, and none of it is an unmatched column, so the matching is maximum.

Arrays, the growth of a level, and the races of it: forest.py.  Paths found in a phase lie in different trees, so each
is changed by one thread, which meets no other.

[1] Azad, Buluç, Pothen. "A parallel tree grafting algorithm for maximum cardinality matching in bipartite graphs."
    IPDPS 2015.  Algorithms 3 to 7.

Deviates from [1]: levels that are neither narrow nor wide are grown by each block by itself, BLOCK_LEVELS in a row, so
trees may be deeper than those of breadth-first searches, which the end of the search does not depend on; who is first
gives a tree its leaf, not who is last; renewed columns are marked, not listed, since a GPU reads all marks in less time
than it counts a list; all phases are one kernel.

O(phases (n + m + edges)); 16 n + 8 m bytes, and a bit a column, beside the graph and the matching.
"""

from numbers import Integral, Real

import numpy as np
from numba import float64, int32, int64, uint32

from gridcut.device.arrays import allocate, download, upload
from gridcut.device.cuda import ballot, cuda, cuda_kernel, device_function, grid_sync, relaxed_load
from matching.core.frontier_cuda import (
    BUFFER,
    COLLECTED,
    ENDLESS,
    GROWN,
    HEAD,
    NARROW,
    PLACES,
    PUSHED,
    SHARE,
    TAIL,
    flush,
    next_counts,
    push,
    together,
)
from matching.core.grid_cuda import add_up, run_kernel
from matching.core.problem_cuda import EDGES, LEVELS, PATH_LENGTH, PHASES, DeviceGraph, as_stats, for_host
from matching.papers.forest_cuda import (
    ACTIVE,
    ALONE,
    FOREST_STATES,
    FOUND,
    FRESH,
    RENEWED,
    TIRED,
    UNSEEN,
    block_levels,
    bottom_up,
    extend,
    narrow_levels,
    top_down,
)

THREADS = 512
REGISTERS = 64  # so that two blocks fit on a multiprocessor
BLOCKS = 2  # most on a multiprocessor: with more, barriers cost what more threads save
BLOCK_LEVELS = 8  # of each block by itself, between two barriers of the grid
LEVELS_UP, GRAFTS, FINISHED, LEVELS_APART, COUNTED = 4, 5, 6, 7, 8  # in counts


@device_function
def plant(graph, forest, out, thread, threads):
    """Algorithm 3, lines 1 to 5: every unmatched x with edges is a root and in the frontier, every y unseen."""
    x_ptr, mate_x = graph[0], graph[4]
    root_y, root_x, queue, state, seen = forest[0], forest[2], forest[4], forest[5], forest[6]
    x = thread
    while x < root_x.size:
        root = int32(-1)
        if mate_x[x] < 0 and x_ptr[x] < x_ptr[x + 1]:
            root = x
            push(queue, state, out, x)
        root_x[x] = root
        x = int32(x + threads)
    y = thread
    while y < root_y.size:
        root_y[y] = int32(UNSEEN)
        y = int32(y + threads)
    word = thread
    while word < seen.size:
        seen[word] = uint32(0)
        word = int32(word + threads)


@cuda_kernel(max_registers=REGISTERS)
def graft_kernel(
    x_ptr,
    x_adj,
    y_ptr,
    y_adj,
    mate_x,
    mate_y,
    root_y,
    parent,
    root_x,
    leaf,
    queue,
    roots,
    seen,
    state,
    counts,
    alpha,
    both_ways,
    grafting,
    own,
    patience,
):
    """Algorithm 3; given up, at a legal matching, after `patience` levels of one block alone."""
    near = cuda.shared.array(BUFFER, int32)
    place = cuda.shared.array(PLACES, int32)
    graph = (x_ptr, x_adj, y_ptr, y_adj, mate_x, mate_y)
    forest = (root_y, parent, root_x, leaf, queue, state, seen)
    thread = int32(cuda.grid(1))
    threads = int32(cuda.gridsize(1))
    cols = int32(mate_y.size)
    turn = int32(0)
    edges = int64(0)
    length = int64(0)
    phases, levels, levels_up, apart, grafts = int64(0), int64(0), int64(0), int64(0), int64(0)
    if cuda.threadIdx.x == 0:
        place[COLLECTED] = 0
    cuda.syncthreads()

    x = thread
    while x < leaf.size:
        leaf[x] = int32(-1)
        x = int32(x + threads)
    following = next_counts(state, turn, thread)
    plant(graph, forest, together(near, place, turn, int32(0)), thread, threads)
    flush(queue, near, place, state, turn, int32(0))
    grid_sync()
    tail = relaxed_load(state, int32(PUSHED + turn))
    turn = following
    number_of_roots = tail
    i = thread
    while i < tail:
        roots[i] = queue[i]
        i = int32(i + threads)
    unseen = cols
    finished = False
    tired = False
    while True:
        head = int32(0)
        while head < tail and not tired:
            if tail - head <= NARROW:
                before = tail
                if cuda.blockIdx.x == 0:
                    head, tail, more, looked = narrow_levels(graph, forest, queue, near, place, head, tail, patience)
                    edges += looked
                    levels += more
                    patience -= more
                    if thread == 0:
                        state[HEAD] = head
                        state[TAIL] = tail
                        state[TIRED] = int32(patience <= 0)
                grid_sync()
                head = relaxed_load(state, int32(HEAD))
                tail = relaxed_load(state, int32(TAIL))
                tired = relaxed_load(state, int32(TIRED)) != 0
                unseen = int32(unseen - (tail - before))
            else:
                following = next_counts(state, turn, thread)
                upwards = both_ways and (tail - head) * alpha >= unseen
                each = not upwards and own > 0 and tail - head <= cuda.gridDim.x * SHARE
                if each:
                    more, looked = block_levels(graph, forest, queue, near, place, state, turn, head, tail, own)
                    edges += looked
                    levels += max(more, int64(1))
                    apart += more
                else:
                    out = together(near, place, turn, tail)
                    if upwards:
                        edges += bottom_up(graph, forest, out, int32(UNSEEN), thread, threads)
                        levels_up += 1
                    else:
                        edges += top_down(graph, forest, out, head, thread, threads)
                    flush(queue, near, place, state, turn, tail)
                    levels += 1
                grid_sync()
                head = tail
                pushed = relaxed_load(state, int32(PUSHED + turn))
                unseen = int32(unseen - (relaxed_load(state, int32(GROWN + turn)) if each else pushed))
                tail = int32(tail + pushed)
                turn = following
        phases += 1
        finished = not tired and relaxed_load(state, int32(FOUND)) == 0
        if finished or tired:
            break

        if thread == 0:
            state[ACTIVE] = 0
            state[FRESH] = 0
            state[ALONE] = 0
        alone = int32(0)
        i = thread
        while i < number_of_roots:
            r = roots[i]
            if mate_x[r] < 0:
                if leaf[r] >= 0:
                    length += extend(mate_x, mate_y, parent, r, leaf[r])
                else:
                    alone = int32(alone + 1)
            i = int32(i + threads)
        grid_sync()

        if thread == 0:
            state[FOUND] = 0
        active = int32(0)
        fresh = int32(0)
        lane = int32(thread & 31)
        first = int32(thread - lane)
        while first < cols:
            y = int32(first + lane)
            renewed = False
            if y < cols:
                r = root_y[y]
                if r >= 0:
                    if leaf[r] >= 0:
                        root_y[y] = int32(RENEWED)
                        renewed = True
                        fresh = int32(fresh + 1)
                    else:
                        active = int32(active + 1)
            bits = ballot(renewed)
            if lane == 0:
                seen[first >> 5] ^= bits  # they were set
            first = int32(first + threads)
        add_up(state, int32(ALONE), alone)
        add_up(state, int32(ACTIVE), active)
        add_up(state, int32(FRESH), fresh)
        grid_sync()

        active = relaxed_load(state, int32(ACTIVE))
        fresh = relaxed_load(state, int32(FRESH))
        alone = relaxed_load(state, int32(ALONE))
        following = next_counts(state, turn, thread)
        out = together(near, place, turn, int32(0))
        if grafting and (active + alone) * alpha > fresh:
            edges += bottom_up(graph, forest, out, int32(RENEWED), thread, threads)
            grafts += 1
            unseen = int32(cols - active)
        else:
            plant(graph, forest, out, thread, threads)
            unseen = cols
        flush(queue, near, place, state, turn, int32(0))
        grid_sync()
        tail = relaxed_load(state, int32(PUSHED + turn))
        turn = following
        if unseen < cols:
            unseen = int32(unseen - tail)

    add_up(counts, int32(EDGES), edges)
    add_up(counts, int32(PATH_LENGTH), length)
    if thread == 0:
        counts[PHASES] = phases
        counts[LEVELS] = levels
        counts[LEVELS_UP] = levels_up
        counts[LEVELS_APART] = apart
        counts[GRAFTS] = grafts
        counts[FINISHED] = int64(finished)


def search(
    graph: DeviceGraph,
    row_match,
    col_match,
    *,
    grafting: bool = True,
    direction_optimising: bool = True,
    alpha: float = 5.0,
    block_levels: int = BLOCK_LEVELS,
) -> dict:
    """Make a matching on the GPU maximum in place; stats, "levels" and "block_levels" as the first block counts them.

    grafting               keep trees that have found nothing; False: every phase begins anew
    direction_optimising   levels may be grown bottom-up, from the columns
    alpha                  bottom-up if the frontier has more than 1 / alpha of the columns in no tree; grafting if the
                           trees that are left have more than 1 / alpha of the columns to be grafted
    block_levels             how many a block grows by itself between barriers of the grid where levels are neither
                           narrow nor wide; 0: none
    """
    if isinstance(block_levels, bool) or not isinstance(block_levels, Integral) or not 0 <= block_levels < 2**31:
        raise ValueError(f"block_levels must be a whole number from 0, got {block_levels!r}")
    if not isinstance(alpha, Real) or not 0 < alpha < np.inf:
        raise ValueError(f"alpha must be a number above 0; got {alpha!r}")
    switches = (direction_optimising, grafting, int(block_levels))
    stats = search_for(graph, row_match, col_match, ENDLESS, alpha, *switches)
    del stats["finished"]
    return stats


def search_for(
    graph,
    row_match,
    col_match,
    patience,
    alpha=5.0,
    direction_optimising=True,
    grafting=True,
    block_levels=BLOCK_LEVELS,
) -> dict:
    """`search` that may give up after `patience` levels of one block alone; "finished": whether it has not."""
    rows, cols = row_match.size, col_match.size
    work = allocate(*((size, np.int32) for size in (cols, cols, rows, rows, rows, rows)), (-(-cols // 32), np.uint32))
    state, counts = upload(np.zeros(FOREST_STATES, np.int32)), upload(np.zeros(COUNTED, np.int64))
    switches = (*map(np.int32, (direction_optimising, grafting, block_levels)), np.int64(patience))
    arguments = (*graph, row_match, col_match, *work, state, counts, np.float64(alpha), *switches)
    run_kernel(graft_kernel, arguments, THREADS, max(rows, cols), BLOCKS)
    counts = download(counts)
    names = {"levels_bottom_up": LEVELS_UP, "block_levels": LEVELS_APART, "grafts": GRAFTS}
    more = {name: int(counts[i]) for name, i in names.items()}
    return {**as_stats(counts), **more, "finished": bool(counts[FINISHED])}


solve = for_host(search)


def kernels():
    """Name, kernel and argument types of what is compiled."""
    ids, longs = int32[::1], int64[::1]
    types = (longs, ids, longs, ids, *(ids,) * 8, uint32[::1], ids, longs, float64, int32, int32, int32, int64)
    return [("graft", graft_kernel, types)]
