"""APFB and APsB: breadth-first searches from all free columns, and speculative augmentation.

APFB is Hopcroft and Karp's algorithm with Duff and Wiberg's extension: a search continues after it has reached free
rows, until nothing more is reachable, so a phase augments along paths of all lengths.  APsB is Hopcroft and Karp's: a
search ends at the first level with a free row.  Its paths of a phase are shortest ones, but need not be a maximal set
of them, so their bound on the number of phases does not hold.

A search visits columns level by level. Every free row it reaches ends a path. From each such row a thread walks back
and exchanges matched and unmatched edges (Alternate), without checking for walks of other threads on the same columns.
Rows left without a consistent partner are made free afterwards (FixMatching). The matching still grows by at least one
pair per phase, and the last search finds no path, so the matching is maximum.

Arrays (n rows, m columns)                                           paper [1]
  row_match[r]    the column of r; -1: free; -2: free, and reached    rmatch
  col_match[c]    the row of c; -1: free                              cmatch
  level[c]        UNVISITED; START or more: when it was visited;      bfs_array, L0 = 2
                  of a root also DONE: a path from it was found;
                  or ~r: its path ends at row r
  predecessor[r]  the column from which r was reached                 predecessor
  root[c]         the root of c's search tree, for visited columns    root

Races
  Search: several threads may reach row r from columns of the same level. All of them store the same value in level[]
    of r's column, and any of them may win the store to predecessor[r]: in each case, paths lead through columns of
    descending levels. A thread that reads a stale UNVISITED stores the same value again. The authors write root[c]
    together with predecessor[r], and the two entries may come from different threads. Here the thread that expands c,
    one barrier later, computes root[c] from predecessor[], so the two agree.
  Alternate: a walk sets row_match[r] to predecessor[r] or leaves it. col_match[c] = r is stored only by walks at rows r
    with predecessor[r] = c, and followed by row_match[r] = c. So no column ends with a partner that has another
    partner, and a row does so only if another row took the column, which FixMatching detects. A walk stops at a column
    whose partner r has predecessor[r] = c, an entry stored by a walk that continued upwards. By induction over the
    levels, one walk arrives at a root, and no column ever loses its partner: one more column is matched than before.
    (Entries of predecessor[] from earlier phases are never followed: a column on a path was visited through its
    partner, whose entry is new.)
  A search that finds no path has marked no root, so it has expanded everything that is reachable.

[1] Deveci, Kaya, Uçar, Çatalyürek. "GPU accelerated maximum cardinality matching algorithms for bipartite graphs."
    Euro-Par 2013. Algorithms 1 to 4, for APFB without lines 9 and 10 of the first; the walks from recorded rows are
    described below algorithm 4.

Deviates from [1]: the loops over phases and levels are inside one kernel. Where walks start only from the rows that
roots have recorded (APsB with GPUBFS-WR), rows are recorded after the search, from predecessor[], so that every
recorded row leads to the root that recorded it; then no two walks meet.

O(min(n, m) (m levels + edges)) in the worst case; 4 n + 8 m bytes in addition to the graph and the matching.
"""

import numpy as np

from gridcut.device.arrays import allocate, download, upload
from gridcut.device.cuda import cuda, cuda_kernel, device_function, grid_sync, relaxed_load
from gridcut.device.cuda_types import int32, int64
from matching.core.grid_cuda import add_up, next_grid_slot, run_kernel
from matching.core.problem_cuda import EDGES, LEVELS, PATH_LENGTH, PHASES, DeviceGraph, as_stats

DONE, UNVISITED, START = 0, 1, 2
FREE, MET = -1, -2
INSERTED, FOUND = 4, 7  # in counts, three of each: one per grid slot, see next_grid_slot
THREADS = 256
CT_BLOCKS = 256  # of the CT variant, as the authors launch it


@device_function
def expand(arrays, c, root_of_c, current_level, grid_slot, with_root):
    """Algorithms 2 and 4 for one column; returns the number of its edges."""
    col_ptr, col_adj, row_match, level, predecessor, counts = arrays
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
    """Algorithm 3 from one free row; returns the length of the path."""
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
    """Algorithm 1: phases until a search finds no path. shortest: a search ends with the level of the first path."""
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
                    arrays = (col_ptr, col_adj, row_match, level, predecessor, counts)
                    edges += expand(arrays, c, origin, current_level, grid_slot, with_root)
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


def apfb(graph: DeviceGraph, row_match, col_match, *, search: str = "gpubfs_wr", grid: str = "ct") -> dict:
    """Make a matching on the GPU maximum in place; returns stats, with "phases" the number of searches.

    search   "gpubfs_wr": a tree stops growing when a path from its root is known, or, in `apsb`, each root augments
             along one path only; "gpubfs": it continues, or augments along all paths that lead to it
    grid     "ct": a constant number of threads, 256 x 256; "mt": one per column, or as many as the GPU holds
    """
    return maximise(graph, row_match, col_match, search, grid, shortest=False)


def apsb(graph: DeviceGraph, row_match, col_match, *, search: str = "gpubfs_wr", grid: str = "ct") -> dict:
    """As `apfb`, with searches that end at the first level with a free row."""
    return maximise(graph, row_match, col_match, search, grid, shortest=True)


def maximise(graph, row_match, col_match, search: str, grid: str, shortest: bool) -> dict:
    """Make a matching on the GPU maximum in place; returns counts of the work done."""
    rows, cols = row_match.size, col_match.size
    level, predecessor, root = allocate((cols, np.int32), (rows, np.int32), (cols, np.int32))
    counts = upload(np.zeros(10, np.int64))
    arrays = (graph.col_ptr, graph.col_adj, row_match, col_match, level, predecessor, root, counts)
    flags = (np.int32(shortest), np.int32(search == "gpubfs_wr"))
    run_kernel(alternate_kernel, (*arrays, *flags), THREADS, CT_BLOCKS * THREADS if grid == "ct" else cols)
    return as_stats(download(counts))
