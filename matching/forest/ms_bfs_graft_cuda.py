"""Tree grafting on a GPU: breadth-first searches from all unmatched rows at once, whose trees are kept between phases.

plain_ms_bfs_graft.py has the same steps in plain Python, one vertex after another; read it first.

Returns a maximum matching. Phases of algorithm 3: grow the forest level by level, top-down or bottom-up; augment in
every tree that has found an unmatched column; then graft the vertices of those trees onto the remaining trees, or start
again from all roots if that is expected to be cheaper. The method ends when no tree has found an unmatched column.
The forest then contains all vertices that are reachable from unmatched rows, and no unmatched column, so the matching
is maximum.

Arrays, the growth of a level, and its races: forest_cuda.py. The paths of a phase are in different trees, so one
thread changes each path, and no other thread accesses its vertices.

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
from gridcut.device.cuda import ballot, cuda, cuda_kernel, device_function, grid_sync, relaxed_load
from gridcut.device.cuda_types import int32, int64, uint32
from matching.core.frontier_cuda import (
    ALL_PUSHED,
    BLOCK_COUNTS_SIZE,
    COLLECTED,
    HEAD,
    MAX_BLOCK_SHARE,
    NARROW_FRONTIER,
    PUSHED,
    SHARED_SIZE,
    TAIL,
    UNLIMITED_LEVELS,
    Frontier,
    all_blocks_out,
    flush,
    next_level_slot,
    push,
)
from matching.core.grid_cuda import add_up, run_kernel
from matching.core.problem_cuda import (
    EDGES,
    LEVELS,
    PATH_LENGTH,
    PHASES,
    DeviceGraph,
    MatchedGraph,
    as_stats,
)
from matching.forest.forest_cuda import (
    ABANDONED,
    ACTIVE,
    CHILDLESS_ROOTS,
    FOREST_STATES,
    FOUND,
    RENEWED,
    RENEWED_COUNT,
    UNSEEN,
    Forest,
    augment,
    block_levels,
    bottom_up,
    narrow_levels,
    top_down,
)

THREADS = 512
REGISTERS = 64  # per thread, so that two blocks fit on a multiprocessor
BLOCKS_PER_SM = 2  # at most: with more blocks per multiprocessor, barriers cost what more threads save
BLOCK_LEVELS = 8  # that each block grows between two barriers of the grid
LEVELS_BOTTOM_UP, GRAFTS, FINISHED, BLOCK_LEVELS_RUN, COUNTS_SIZE = 4, 5, 6, 7, 8  # in counts


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
    *,
    grafting: bool = True,
    direction_optimising: bool = True,
    alpha: float = 5.0,
    block_levels: int = BLOCK_LEVELS,
) -> dict:
    """Make a matching on the GPU maximum in place; stats, "levels" and "block_levels" as the first block counts them.

    grafting               keep trees that have found no path; False: every phase starts from all roots
    direction_optimising   allow levels to be grown bottom-up, from the columns
    alpha                  bottom-up if the frontier has more than 1 / alpha of the columns in no tree; grafting if the
                           remaining trees have more than 1 / alpha of the columns to be grafted
    block_levels           levels that a block grows independently between barriers of the grid, if they are neither
                           narrow nor wide; 0: none
    """
    switches = (direction_optimising, grafting, block_levels)
    stats = search_limited(graph, row_match, col_match, UNLIMITED_LEVELS, alpha, *switches)
    del stats["finished"]
    return stats


def search_limited(
    graph,
    row_match,
    col_match,
    max_narrow_levels,
    alpha=5.0,
    direction_optimising=True,
    grafting=True,
    block_levels=BLOCK_LEVELS,
) -> dict:
    """`solve` that may end after `max_narrow_levels` levels in mode ONE_BLOCK; "finished": whether it did not."""
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
