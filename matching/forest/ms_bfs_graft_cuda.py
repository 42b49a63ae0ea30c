"""Tree grafting on a GPU: breadth-first searches from all unmatched rows at once, whose trees are kept between phases.

plain_ms_bfs_graft.py has the same steps in plain Python, one vertex after another; read it first.

Returns a maximum matching. Phases of algorithm 3: grow the forest level by level, top-down or bottom-up; augment in
every tree that has found an unmatched column; then graft the vertices of those trees onto the remaining trees, or start
again from all roots if that is expected to be cheaper. The method ends when no tree has found an unmatched column.
The forest then contains all vertices that are reachable from unmatched rows, and no unmatched column, so the matching
is maximum.

X is the side of the roots, here the rows; Y is the other side.

Graph and matching: `MatchedGraph` (matching/core/problem_cuda.py)

Forest                                                                              paper [1]
  root_y[y]      root of the tree of y;  UNSEEN: in no tree;                        root[y], visited[y]
                 RENEWED: in no tree since this phase, and may be grafted
  parent[y]      the x from which y was reached, if root_y[y] >= 0                  parent[y]
  root_x[x]      root of the tree of x, which may have been destroyed since;        root[x]
                 -1: in no tree
  leaf[r]        unmatched y where an augmenting path from r ends;  -1: none yet    leaf[r]
  seen[y >> 5]   bit y & 31: whether root_y[y] >= 0, or about to be
  queue          X reached in this phase, level by level; the last level is the     F and Q
                 frontier queue[head:tail]

A tree is active while leaf[root] is -1. A root with a leaf is matched at the end of the phase and never becomes a root
again. So leaf[root] >= 0 keeps indicating that its tree no longer exists, and root_x of its members is not cleared.

Races
  Top-down: the thread whose atomic_or sets y's bit in seen owns y, and it alone writes root_y[y], parent[y] and
    root_x of y's mate. A stale load of seen only leads to an atomic_or on a bit that is already set.
  Bottom-up: one thread, or one warp, processes y, and y's mate belongs to y.
  leaf[r]: the thread whose compare-and-swap replaces -1 by an unmatched y gives r its path. If other threads find the
    tree still active shortly afterwards, it grows without effect: its members are renewed in the next phase, as in
    every tree with a leaf. An unmatched y whose compare-and-swap failed has that root too, and is renewed.
  No thread follows parent[] before the barrier at the end of a level.

Most edges lead to a y that was seen before, anywhere in memory. For these only a bit is loaded: 2^24 bits fit in a
GPU's cache, but as many roots do not.

Each vertex gets as many lanes of a warp as there are idle threads; a vertex with many more neighbours than lanes is
scanned by its whole warp.

The paths of a phase are in different trees, so one thread changes each path, and no other thread accesses its vertices.

[1] Azad, Buluç, Pothen. "A parallel tree grafting algorithm for maximum cardinality matching in bipartite graphs."
    IPDPS 2015. Algorithms 3 to 7.

Deviates from [1]: each block grows levels that are neither narrow nor wide independently, BLOCK_LEVELS in a row. Trees
may then be deeper than those of breadth-first searches; the end of the search does not depend on their depth. The
first thread that reaches an unmatched column gives a tree its leaf, not the last. Renewed columns are marked, not
listed, since a GPU reads all marks in less time than it counts a list. Levels that grow bottom-up scan neighbours in a
pseudo-random order. Leaves of trees, and columns without edges, count as unvisited in the choice of the direction. All
phases are one kernel.

O(phases (n + m + edges)); 16 n + 8 m bytes, and one bit per column, in addition to the graph and the matching.
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
from gridcut.device.cuda_types import int32, int64, uint32
from matching.core.frontier_cuda import (
    ALL_BLOCKS,
    ALL_PUSHED,
    BLOCK_COUNTS_SIZE,
    COLLECTED,
    HEAD,
    MAX_BLOCK_SHARE,
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
    make_block_levels,
    make_narrow_levels,
    next_level_slot,
    push,
)
from matching.core.grid_cuda import add_up, pseudo_random_neighbour, run_kernel
from matching.core.problem_cuda import EDGES, LEVELS, PATH_LENGTH, PHASES, DeviceGraph, MatchedGraph, as_stats

THREADS = 512
REGISTERS = 64  # per thread, so that two blocks fit on a multiprocessor
BLOCKS_PER_SM = 2  # at most: with more blocks per multiprocessor, barriers cost what more threads save
BLOCK_LEVELS = 8  # that each block grows between two barriers of the grid
LEVELS_BOTTOM_UP, GRAFTS, FINISHED, BLOCK_LEVELS_RUN, COUNTS_SIZE = 4, 5, 6, 7, 8  # in counts
UNSEEN, RENEWED = -1, -2
# slots of state
FOUND, ACTIVE, RENEWED_COUNT, CHILDLESS_ROOTS, ABANDONED, FOREST_STATES = range(STATE_SIZE, STATE_SIZE + 6)

MAX_LANES = 8  # per vertex
WARP_DEGREE = 2 if SIMULATED else 16  # neighbours per lane; above this degree the whole warp helps


class Forest(NamedTuple):
    """The arrays of the forest, except the queue; see above."""

    root_y: object
    parent: object
    root_x: object
    leaf: object
    seen: object


@device_function
def claim_neighbours(graph, forest, out, x, r, k, end, step):
    """Algorithm 4 for every step-th of x's edges from k on: each y that is in no tree joins the tree of r."""
    x_adj, mate_y = graph.x_adj, graph.mate_y
    root_y, parent, root_x, leaf, seen = forest
    all_blocks = out.mode == ALL_BLOCKS
    while k < end:
        y = x_adj[k]
        is_abandoned = leaf[r] >= 0
        bit = uint32(uint32(1) << uint32(y & 31))
        new = seen[y >> 5] & bit == 0
        # A single block waits for memory, so it loads mate_y[y] in advance; a wide level loads it only if needed.
        mate = int32(-1) if all_blocks else mate_y[y]
        if is_abandoned:
            return
        if new and cuda.atomic.or_(seen, y >> 5, bit) & bit == 0:
            root_y[y] = r
            parent[y] = x
            if all_blocks:
                mate = mate_y[y]
            if mate >= 0:
                root_x[mate] = r
                push(out, mate)
            elif cuda.atomic.cas(leaf, r, int32(-1), y) < 0:
                out.frontier.state[FOUND] = 1
        k += step


@device_function
def top_down(graph, forest, out, head, thread, threads):
    """Algorithm 4: a level from queue[head:tail] or the shared frontier, by `threads` threads; returns its edges."""
    x_ptr, root_x = graph.x_ptr, forest.root_x
    lane = int32(thread & 31)
    number = int32(out.tail - head)
    shift = int32(0)
    while (1 << shift) < MAX_LANES and int64(number) << (shift + 1) <= threads:
        shift = int32(shift + 1)
    lanes = int32(1 << shift)
    first = int32((thread - lane) >> shift)
    edges = int64(0)
    while first < number:
        i = int32(first + (lane >> shift))
        x = int32(0)
        r = int32(0)
        k = int64(0)
        end = int64(0)
        if i < number:
            x = frontier_vertex(out, head, i)
            k = x_ptr[x]
            end = x_ptr[x + 1]
            r = root_x[x]
        is_hub = end - k > WARP_DEGREE * lanes
        if lane & (lanes - 1) == 0:
            edges += end - k
        if not is_hub:
            claim_neighbours(graph, forest, out, x, r, k + (lane & (lanes - 1)), end, lanes)
        hubs = ballot(is_hub and lane & (lanes - 1) == 0)
        while hubs != 0:
            source = count_trailing_zeros(hubs)
            hubs = hubs & (hubs - 1)
            start = shuffle(k, source)
            stop = shuffle(end, source)
            claim_neighbours(graph, forest, out, shuffle(x, source), shuffle(r, source), start + lane, stop, int32(32))
        first = int32(first + (threads >> shift))
    return edges


@device_function
def attach(graph, forest, out, y, x, r):
    """Attach y to the tree of r below x; False if y is unmatched and the tree already has a leaf."""
    root_y, parent, root_x, leaf, seen = forest
    mate = graph.mate_y[y]
    if mate < 0:
        if cuda.atomic.cas(leaf, r, int32(-1), y) >= 0:
            return False
        out.frontier.state[FOUND] = 1
    cuda.atomic.or_(seen, y >> 5, uint32(uint32(1) << uint32(y & 31)))
    root_y[y] = r
    parent[y] = x
    if mate >= 0:
        root_x[mate] = r
        push(out, mate)
    return True


@device_function
def bottom_up(graph, forest, out, mark, thread, threads):
    """Algorithm 6: each y with this mark in root_y searches an active tree, else becomes UNSEEN; returns the edges."""
    y_ptr, y_adj = graph.y_ptr, graph.y_adj
    root_y, root_x, leaf = forest.root_y, forest.root_x, forest.leaf
    cols = int32(root_y.size)
    lane = int32(thread & 31)
    first = int32(thread - lane)
    edges = int64(0)
    while first < cols:
        y = int32(first + lane)
        start = int64(0)
        degree = int64(0)
        j = int64(0)
        if y < cols and root_y[y] == mark:
            root_y[y] = int32(UNSEEN)
            start = y_ptr[y]
            degree = y_ptr[y + 1] - start
            stop = min(degree, int64(WARP_DEGREE))
            while j < stop:
                x = y_adj[start + pseudo_random_neighbour(y, j, degree)]
                r = root_x[x]
                j += 1
                edges += 1
                if r >= 0 and leaf[r] < 0 and attach(graph, forest, out, y, x, r):
                    degree = j
                    stop = j
        hubs = ballot(j < degree)
        while hubs != 0:
            source = count_trailing_zeros(hubs)
            hubs = hubs & (hubs - 1)
            position = int64(WARP_DEGREE)
            hub_start = shuffle(start, source)
            last = shuffle(degree, source)
            searching = True
            while searching and position < last:
                x = int32(0)
                r = int32(-1)
                if position + lane < last:
                    x = y_adj[hub_start + pseudo_random_neighbour(int32(first + source), position + lane, last)]
                    r = root_x[x]
                candidates = ballot(r >= 0 and relaxed_load(leaf, max(r, int32(0))) < 0)
                if candidates == 0:
                    position += 32
                else:
                    attached = lane == count_trailing_zeros(candidates) and attach(
                        graph, forest, out, int32(first + source), x, r
                    )
                    searching = ballot(attached) == 0
                edges += 1
        first = int32(first + threads)
    return edges


narrow_levels = make_narrow_levels(top_down)
block_levels = make_block_levels(top_down)


@device_function
def augment(graph, parent, y):
    """Augment along the path from unmatched y up to its root; returns its number of edges."""
    length = int64(-1)
    while y >= 0:
        x = parent[y]
        above = graph.mate_x[x]
        graph.mate_y[y] = x
        graph.mate_x[x] = y
        y = above
        length += 2
    return length


class Work(NamedTuple):
    """Counts of the work so far, of this thread."""

    edges: object
    levels: object
    levels_bottom_up: object
    block_levels: object
    narrow_left: object  # levels in mode ONE_BLOCK before the search is abandoned


@device_function
def make_roots(graph, forest, out, thread, threads):
    """Algorithm 3, lines 1 to 5: every unmatched x with edges is a root and in the frontier, every y is unseen."""
    root_y, root_x, seen = forest.root_y, forest.root_x, forest.seen
    x = thread
    while x < root_x.size:
        root = int32(-1)
        if graph.mate_x[x] < 0 and graph.x_ptr[x] < graph.x_ptr[x + 1]:
            root = x
            push(out, x)
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


@device_function
def grow(graph, forest, frontier, grid_slot, tail, unseen, work, alpha, both_ways, max_block_levels):
    """Algorithm 3, lines 7 to 12: levels from queue[:tail] until the frontier is empty, or the search is abandoned.

    unseen   columns in no tree

    Returns (next grid slot, whether the search is abandoned, `work` with the counts of these levels).
    """
    state = frontier.state
    thread, threads = int32(cuda.grid(1)), int32(cuda.gridsize(1))
    edges, levels, levels_bottom_up, block_run, narrow_left = work
    abandoned = False
    head = int32(0)
    while head < tail and not abandoned:
        if tail - head <= NARROW_FRONTIER:
            before = tail
            if cuda.blockIdx.x == 0:
                head, tail, more_levels, scanned = narrow_levels(graph, forest, frontier, head, tail, narrow_left)
                edges += scanned
                levels += more_levels
                narrow_left -= more_levels
                if thread == 0:
                    state[HEAD] = head
                    state[TAIL] = tail
                    state[ABANDONED] = int32(narrow_left <= 0)
            grid_sync()
            head = relaxed_load(state, int32(HEAD))
            tail = relaxed_load(state, int32(TAIL))
            abandoned = relaxed_load(state, int32(ABANDONED)) != 0
            unseen = int32(unseen - (tail - before))
        else:
            following = next_level_slot(state, grid_slot, thread)
            bottom_up_level = both_ways and (tail - head) * alpha >= unseen
            per_block = not bottom_up_level and max_block_levels > 0 and tail - head <= cuda.gridDim.x * MAX_BLOCK_SHARE
            if per_block:
                more_levels, scanned = block_levels(graph, forest, frontier, grid_slot, head, tail, max_block_levels)
                edges += scanned
                levels += max(more_levels, int64(1))
                block_run += more_levels
            else:
                out = all_blocks_out(frontier, grid_slot, tail)
                if bottom_up_level:
                    edges += bottom_up(graph, forest, out, int32(UNSEEN), thread, threads)
                    levels_bottom_up += 1
                else:
                    edges += top_down(graph, forest, out, head, thread, threads)
                flush(frontier, grid_slot, tail)
                levels += 1
            grid_sync()
            head = tail
            pushed = relaxed_load(state, int32(PUSHED + grid_slot))
            unseen = int32(unseen - (relaxed_load(state, int32(ALL_PUSHED + grid_slot)) if per_block else pushed))
            tail = int32(tail + pushed)
            grid_slot = following
    return grid_slot, abandoned, Work(edges, levels, levels_bottom_up, block_run, narrow_left)


@device_function
def augment_trees(graph, forest, roots, number_of_roots, thread, threads):
    """Augment in each tree with a leaf: (edges of the paths, unmatched roots without a leaf), of this thread."""
    length = int64(0)
    childless = int32(0)
    i = thread
    while i < number_of_roots:
        r = roots[i]
        if graph.mate_x[r] < 0:
            if forest.leaf[r] >= 0:
                length += augment(graph, forest.parent, forest.leaf[r])
            else:
                childless = int32(childless + 1)
        i = int32(i + threads)
    return length, childless


@device_function
def renew(forest, thread, threads):
    """Remove the columns of trees with a leaf: (columns that stay in trees, columns removed), of this thread."""
    root_y, leaf, seen = forest.root_y, forest.leaf, forest.seen
    cols = int32(root_y.size)
    active = int32(0)
    renewed_count = int32(0)
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
                    renewed_count = int32(renewed_count + 1)
                else:
                    active = int32(active + 1)
        bits = ballot(renewed)
        if lane == 0:
            seen[first >> 5] ^= bits  # all these bits were set, so this clears them
        first = int32(first + threads)
    return active, renewed_count


@cuda_kernel(max_registers=REGISTERS)
def graft_kernel(graph, forest, queue, roots, state, counts, alpha, both_ways, grafting, max_block_levels, narrow_left):
    """Algorithm 3; abandoned, with a valid matching, after `narrow_left` levels in mode ONE_BLOCK."""
    shared = cuda.shared.array(SHARED_SIZE, int32)
    block_counts = cuda.shared.array(BLOCK_COUNTS_SIZE, int32)
    frontier = Frontier(queue, state, shared, block_counts)
    thread, threads = int32(cuda.grid(1)), int32(cuda.gridsize(1))
    cols = int32(graph.mate_y.size)
    grid_slot = int32(0)
    work = Work(int64(0), int64(0), int64(0), int64(0), narrow_left)
    phases, grafts, length = int64(0), int64(0), int64(0)
    if cuda.threadIdx.x == 0:
        block_counts[COLLECTED] = 0
    cuda.syncthreads()

    x = thread
    while x < forest.leaf.size:
        forest.leaf[x] = int32(-1)
        x = int32(x + threads)
    following = next_level_slot(state, grid_slot, thread)
    make_roots(graph, forest, all_blocks_out(frontier, grid_slot, int32(0)), thread, threads)
    flush(frontier, grid_slot, int32(0))
    grid_sync()
    tail = relaxed_load(state, int32(PUSHED + grid_slot))
    grid_slot = following
    number_of_roots = tail
    i = thread
    while i < tail:
        roots[i] = queue[i]
        i = int32(i + threads)
    unseen = cols
    finished = False
    while True:
        grid_slot, is_abandoned, work = grow(
            graph, forest, frontier, grid_slot, tail, unseen, work, alpha, both_ways, max_block_levels
        )
        phases += 1
        finished = not is_abandoned and relaxed_load(state, int32(FOUND)) == 0
        if finished or is_abandoned:
            break

        if thread == 0:
            state[ACTIVE] = 0
            state[RENEWED_COUNT] = 0
            state[CHILDLESS_ROOTS] = 0
        more_length, childless = augment_trees(graph, forest, roots, number_of_roots, thread, threads)
        length += more_length
        grid_sync()

        if thread == 0:
            state[FOUND] = 0
        active, renewed_count = renew(forest, thread, threads)
        add_up(state, int32(CHILDLESS_ROOTS), childless)
        add_up(state, int32(ACTIVE), active)
        add_up(state, int32(RENEWED_COUNT), renewed_count)
        grid_sync()

        active = relaxed_load(state, int32(ACTIVE))
        renewed_count = relaxed_load(state, int32(RENEWED_COUNT))
        childless = relaxed_load(state, int32(CHILDLESS_ROOTS))
        following = next_level_slot(state, grid_slot, thread)
        out = all_blocks_out(frontier, grid_slot, int32(0))
        if grafting and (active + childless) * alpha > renewed_count:
            scanned = bottom_up(graph, forest, out, int32(RENEWED), thread, threads)
            work = Work(work.edges + scanned, work.levels, work.levels_bottom_up, work.block_levels, work.narrow_left)
            grafts += 1
            unseen = int32(cols - active)
        else:
            make_roots(graph, forest, out, thread, threads)
            unseen = cols
        flush(frontier, grid_slot, int32(0))
        grid_sync()
        tail = relaxed_load(state, int32(PUSHED + grid_slot))
        grid_slot = following
        if unseen < cols:
            unseen = int32(unseen - tail)

    add_up(counts, int32(EDGES), work.edges)
    add_up(counts, int32(PATH_LENGTH), length)
    if thread == 0:
        counts[PHASES] = phases
        counts[LEVELS] = work.levels
        counts[LEVELS_BOTTOM_UP] = work.levels_bottom_up
        counts[BLOCK_LEVELS_RUN] = work.block_levels
        counts[GRAFTS] = grafts
        counts[FINISHED] = int64(finished)


def solve(
    graph: DeviceGraph,
    row_match,
    col_match,
    max_narrow_levels: int = UNLIMITED_LEVELS,
    *,
    grafting: bool = True,
    direction_optimising: bool = True,
    alpha: float = 5.0,
    block_levels: int = BLOCK_LEVELS,
) -> dict:
    """Make a matching on the GPU maximum in place; stats, "levels" and "block_levels" as the first block counts them.

    max_narrow_levels      levels in mode ONE_BLOCK after which the search may end early; "finished": it did not
    grafting               keep trees that have found no path; False: every phase starts from all roots
    direction_optimising   allow levels to be grown bottom-up, from the columns
    alpha                  bottom-up if the frontier has more than 1 / alpha of the columns in no tree; grafting if the
                           remaining trees have more than 1 / alpha of the columns to be grafted
    block_levels           levels that a block grows independently between barriers of the grid, if they are neither
                           narrow nor wide; 0: none
    """
    rows, cols = row_match.size, col_match.size
    forest = Forest(*allocate(*((size, np.int32) for size in (cols, cols, rows, rows)), (-(-cols // 32), np.uint32)))
    queue, roots = allocate((rows, np.int32), (rows, np.int32))
    state, counts = upload(np.zeros(FOREST_STATES, np.int32)), upload(np.zeros(COUNTS_SIZE, np.int64))
    switches = (*map(np.int32, (direction_optimising, grafting, block_levels)), np.int64(max_narrow_levels))
    arrays = (MatchedGraph(*graph, row_match, col_match), forest, queue, roots, state, counts)
    run_kernel(graft_kernel, (*arrays, np.float64(alpha), *switches), THREADS, max(rows, cols), BLOCKS_PER_SM)
    counts = download(counts)
    names = {"levels_bottom_up": LEVELS_BOTTOM_UP, "block_levels": BLOCK_LEVELS_RUN, "grafts": GRAFTS}
    more = {name: int(counts[i]) for name, i in names.items()}
    return {**as_stats(counts), **more, "finished": bool(counts[FINISHED])}
