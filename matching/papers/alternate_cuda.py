"""Breadth-first searches from all free columns at once, and speculative augmentation: what apfb.py and apsb.py share.

A search visits columns level by level.  Every free row it meets ends a path; from each such row a thread walks back
and exchanges matched edges for the others (Alternate), without asking whether other threads walk on the same columns.
Rows that came off badly are made free afterwards (FixMatching).  The matching gets larger all the same, by one pair at
least, and the end is a search that found no path; so it is maximum.

Arrays (n rows, m columns)                                           paper [1]
  row_match[r]    the column of r; -1: free; -2: free, and met        rmatch
  col_match[c]    the row of c; -1: free                              cmatch
  level[c]        UNVISITED; START or more: when it was visited;      bfs_array, L0 = 2
                  of a root also DONE: a path from it was found;
                  or ~r: the path from it that counts ends at row r
  before[r]       the column that r was reached from                  predecessor
  root[c]         where the search came from, of visited columns      root

Races, and why they do no harm
  Search: several columns of one level may reach a row.  All of them write the same level[], and any of them may stay
    in before[r]: paths lead through columns of falling levels whoever it is.  A column late to see that another is
    visited writes the same again.  The authors write root[c] together with before[r], and two threads may leave one
    value each; here a column takes its root from before[] when it is expanded, a barrier later, so the two agree.
  Alternate: row_match[r] becomes before[r] or stays.  col_match[c] = r is written only by walks at rows r with
    before[r] = c, and followed by row_match[r] = c; so no column is left with a partner that is not its own, and a
    row is, only if another row took the column: FixMatching finds it.  A walk stops at a column whose partner r has
    before[r] = c, which some walk wrote that went on upwards; so by induction over the levels one walk arrives at
    a root, and no column ever loses its partner: one more column is matched than before.  (What before[] holds from
    earlier phases misleads nobody: a column on a path was visited through its partner, which got a new before[].)
  A search that finds nothing has marked no root, so it has expanded everything that can be reached.

[1] Deveci, Kaya, Uçar, Çatalyürek. "GPU accelerated maximum cardinality matching algorithms for bipartite graphs."
    Euro-Par 2013.  Algorithms 1 to 4; the walks from recorded rows are described below algorithm 4.

Deviates from [1]: the loops over phases and levels are inside one kernel.  Where walks start from the rows that roots
have recorded only (APsB with GPUBFS-WR), rows are recorded after the search, from before[], so that every row recorded
leads to the root that recorded it; then the walks meet nowhere.

O(min(n, m) (m levels + edges)) at worst; 4 n + 8 m bytes beside the graph and the matching.
"""

import numpy as np
from numba import int32, int64

from gridcut.device.arrays import allocate, download, upload
from gridcut.device.cuda import cuda, cuda_kernel, device_function, grid_sync, relaxed_load
from matching.core.grid_cuda import add_up, next_grid_slot, run_kernel
from matching.core.problem_cuda import EDGES, LEVELS, PATH_LENGTH, PHASES, as_stats

DONE, UNVISITED, START = 0, 1, 2
FREE, MET = -1, -2
INSERTED, FOUND = 4, 7  # in counts, three of each: by turns, so that one is cleared while another is read
THREADS = 256
CT_BLOCKS = 256  # of CT, as the authors launch it
SEARCHES, GRIDS = ("gpubfs", "gpubfs_wr"), ("ct", "mt")


@device_function
def expand(col_ptr, col_adj, row_match, level, predecessor, counts, c, root_of_c, current_level, grid_slot, with_root):
    """Algorithms 2 and 4, for one column; the number of its edges."""
    k = col_ptr[c]
    end = col_ptr[c + 1]
    while k < end:
        r = col_adj[k]
        mate = row_match[r]
        if mate >= 0:
            if level[mate] == UNVISITED:
                level[mate] = int32(current_level + 1)
                predecessor[r] = c
                counts[INSERTED + grid_slot] = 1
        elif mate == FREE:
            if with_root:
                level[root_of_c] = int32(DONE)
            row_match[r] = int32(MET)
            predecessor[r] = c
            counts[FOUND + grid_slot] = 1
        k += 1
    return end - col_ptr[c]


@device_function
def walk(row_match, col_match, predecessor, r):
    """Algorithm 3, from one free row; how many edges changed sides."""
    changed = int64(-1)
    while r >= 0:
        c = predecessor[r]
        previous_row = relaxed_load(col_match, c)
        if previous_row >= 0 and predecessor[previous_row] == c:
            break
        col_match[c] = r
        row_match[r] = c
        r = previous_row
        changed += 2
    return max(changed, int64(0))


@cuda_kernel
def alternate_kernel(col_ptr, col_adj, row_match, col_match, level, predecessor, root, counts, shortest, with_root):
    """Algorithm 1: phases until a search finds nothing.  shortest: a search ends with the level of the first path."""
    rows = int32(row_match.size)
    cols = int32(col_match.size)
    thread = int32(cuda.grid(1))
    threads = int32(cuda.gridsize(1))
    edges = int64(0)
    length = int64(0)
    levels = int64(0)
    phases = int64(0)
    grid_slot = int32(0)
    while True:
        c = thread
        while c < cols:
            level[c] = int32(UNVISITED) if col_match[c] >= 0 else int32(START)
            root[c] = c
            c = int32(c + threads)
        grid_sync()

        current_level = int32(START)
        found = int64(0)
        going = True
        while going:
            next_grid_slot(counts, int32(INSERTED), grid_slot, thread)
            following = next_grid_slot(counts, int32(FOUND), grid_slot, thread)
            c = thread
            while c < cols:
                if level[c] == current_level:
                    origin = c
                    if with_root:
                        if current_level > START:
                            origin = root[predecessor[col_match[c]]]
                            root[c] = origin
                        if level[origin] < UNVISITED:
                            c = int32(c + threads)
                            continue
                    edges += expand(
                        col_ptr,
                        col_adj,
                        row_match,
                        level,
                        predecessor,
                        counts,
                        c,
                        origin,
                        current_level,
                        grid_slot,
                        with_root,
                    )
                c = int32(c + threads)
            grid_sync()
            going = relaxed_load(counts, int32(INSERTED + grid_slot)) > 0
            found += relaxed_load(counts, int32(FOUND + grid_slot))
            if shortest and found > 0:
                going = False
            grid_slot = following
            current_level = int32(current_level + 1)
            levels += 1
        phases += 1
        if found == 0:
            break

        by_record = shortest and with_root
        if by_record:
            r = thread
            while r < rows:
                if row_match[r] == MET:
                    level[root[predecessor[r]]] = int32(~r)
                r = int32(r + threads)
            grid_sync()
        r = thread
        while r < rows:
            if row_match[r] == MET and (not by_record or level[root[predecessor[r]]] == ~r):
                length += walk(row_match, col_match, predecessor, r)
            r = int32(r + threads)
        grid_sync()
        r = thread
        while r < rows:
            c = row_match[r]
            if c == MET or (c >= 0 and col_match[c] != r):
                row_match[r] = int32(FREE)
            r = int32(r + threads)
    add_up(counts, int32(EDGES), edges)
    add_up(counts, int32(PATH_LENGTH), length)
    if thread == 0:
        counts[PHASES] = phases
        counts[LEVELS] = levels


def maximise(graph, row_match, col_match, search: str, grid: str, shortest: bool) -> dict:
    """Make a matching on the GPU maximum in place; counts of what was done."""
    for name, value, known in (("search", search, SEARCHES), ("grid", grid, GRIDS)):
        if value not in known:
            raise ValueError(f"{name} must be {known[0]!r} or {known[1]!r}, got {value!r}")
    rows, cols = row_match.size, col_match.size
    level, predecessor, root = allocate((cols, np.int32), (rows, np.int32), (cols, np.int32))
    counts = upload(np.zeros(10, np.int64))
    arrays = (graph.col_ptr, graph.col_adj, row_match, col_match, level, predecessor, root, counts)
    flags = (np.int32(shortest), np.int32(search == "gpubfs_wr"))
    run_kernel(alternate_kernel, (*arrays, *flags), THREADS, CT_BLOCKS * THREADS if grid == "ct" else cols)
    return as_stats(download(counts))


def kernels():
    """Name, kernel and argument types of what is compiled."""
    ids, longs = int32[::1], int64[::1]
    return [("alternate", alternate_kernel, (longs, ids, ids, ids, ids, ids, ids, longs, int32, int32))]
