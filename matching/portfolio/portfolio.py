"""The CPU method of method="auto": a cheap or a Karp-Sipser initial matching, then a cache-friendly search.

Returns a maximum matching.

  few edges     each row takes its first free column; then the search
  many edges    the same, without the adjacency lists of the columns: in the time to build them, most meshes are solved.
                A search that has scanned MAX_SWEEPS times the edges continues with these lists
  fast growth   if the frontier of alternating searches grows fast from the cheap matching (`frontier_growth`), as in
                random and in skewed graphs, start again with the Karp-Sipser matching, which leaves very few augmenting
                paths.  Not if most of the free rows have to stay free

In a mesh the number of vertices within d steps grows like a power of d, in random and in skewed graphs exponentially.
Then searches from many free vertices traverse the whole graph many times, and an initial matching that leaves few free
vertices is worth its time.  In meshes the paths are short and the cheap matching suffices.  The growth is measured in
SAMPLES * MAX_ROWS steps, each of which scans the neighbours of a row.

A given matching is kept and extended by the cheap one.  With PARALLEL_MIN_EDGES edges or more, threads share each
stage; they share the cheap matching only if the columns of a row are far from the row.

The best method differs from graph to graph [1], hence several under one name.  References for the parts: cheap.py,
karp_sipser.py, bitmap_search.py and team_search.py.

[1] Duff, Kaya, Uçar. "Design, implementation, and analysis of maximum transversal algorithms." ACM Transactions on
    Mathematical Software 38, 2011.

O(n * edges); at most 28 bytes per row and 28 bytes per column, and the lists of the columns where they are built.
"""

import time

import numpy as np

from gridcut.device import kernel, plain_kernel, run_threads, thread_count
from matching.core.counts import AUGMENTATIONS, EDGES, PATH_LENGTH, as_stats, new_counts
from matching.core.graph import BipartiteGraph
from matching.forest.bitmap_search import DEFAULT_RULES, NO_LISTS, UNLIMITED, search
from matching.initial import karp_sipser
from matching.initial.cheap import take_first_free, take_first_free_shared
from matching.initial.karp_sipser import PARALLEL_MIN_EDGES

ONE_KERNEL_EDGES = 20_000  # with fewer edges, one kernel does everything
# Free rows per row between which the Karp-Sipser matching can be faster.
MIN_FREE_SHARE, MAX_FREE_SHARE = 1 / 64, 1 / 4
# Growth per level above which searches from many rows visit most of the graph many times; meshes: below 1.35.
MIN_GROWTH = 1.5
MIN_ROWS_PER_FREE = 256  # few rows are free
MAX_SWEEPS = 8  # scanned edges, per edge, before the search gets the lists of the columns
SAMPLES = 3  # start rows
MIN_ROWS, MAX_ROWS = 128, 4096  # numbers of visited rows between which the growth is measured
SAMPLED_ROWS, LOCAL_DISTANCE = 512, 1 / 32  # the distance of row and column, per side, in a local numbering


@kernel
def solve_small(row_ptr, row_adj, row_match, col_match, counts):
    """The cheap matching, whose pairs count as paths of one edge, and all augmenting paths."""
    before = pairs(row_match)
    counts[EDGES] += take_first_free(row_ptr, row_adj, row_match, col_match)
    taken = pairs(row_match) - before
    counts[AUGMENTATIONS] += taken
    counts[PATH_LENGTH] += taken
    if before + taken < min(row_match.size, col_match.size):
        search(row_ptr, row_adj, None, None, row_match, col_match, counts, UNLIMITED, UNLIMITED, DEFAULT_RULES)


@plain_kernel
def pairs(row_match):
    number = 0
    for r in range(row_match.size):
        number += row_match[r] >= 0
    return number


@plain_kernel
def free_rows(row_ptr, row_match):
    """The number of free rows that have neighbours."""
    number = 0
    for r in range(row_match.size):
        number += row_match[r] < 0 and row_ptr[r] < row_ptr[r + 1]
    return number


@kernel
def frontier_growth(row_ptr, row_adj, col_match):
    """Mean factor by which a level multiplies the number of visited rows; 1 if no search visits MIN_ROWS rows."""
    n = row_ptr.size - 1
    limit = min(MAX_ROWS, n // 4)
    seen = np.zeros(n, np.bool_)
    queue = np.empty(n, np.int32)
    total, measured = 0.0, 0
    for sample in range(SAMPLES):
        queue[0] = (2 * sample + 1) * n // (2 * SAMPLES)
        seen[queue[0]] = True
        head, tail, levels, first = 0, 1, 0, 0
        while head < tail and tail < limit:
            end = tail
            while head < end:
                r = queue[head]
                head += 1
                for k in range(row_ptr[r], row_ptr[r + 1]):
                    mate = col_match[row_adj[k]]
                    if mate >= 0 and not seen[mate]:
                        seen[mate] = True
                        queue[tail] = mate
                        tail += 1
            if first > 0:
                levels += 1
            elif tail >= MIN_ROWS:
                first = tail
        if levels > 0:
            total += np.log(tail / first) / levels
            measured += 1
        elif first > 0:
            total += np.log(tail / 2)
            measured += 1
        for i in range(tail):
            seen[queue[i]] = False
    return np.exp(total / measured) if measured else 1.0


def solve(graph: BipartiteGraph, row_match, col_match, *, threads: int | None = None) -> dict:
    """Make a matching maximum in place; returns stats, with the names of the stages that ran in "stages".

    threads   number of workers for graphs of PARALLEL_MIN_EDGES edges or more; None: numba's number of threads
    """
    begin = time.perf_counter()
    if not graph.has_rows:
        graph, row_match, col_match = graph.transposed, col_match, row_match
    counts = new_counts()
    row_ptr, row_adj = graph.by_row
    if len(row_adj) < ONE_KERNEL_EDGES:
        solve_small(row_ptr, row_adj, row_match, col_match, counts)
        stages, seconds = ("cheap", "search"), {"search": time.perf_counter() - begin}
    else:
        workers = 1 if len(row_adj) < PARALLEL_MIN_EDGES else threads or thread_count()
        stages, seconds = solve_large(graph, row_match, col_match, counts, workers)
    stats = as_stats(counts, seconds)
    stats["stages"] = stages
    return stats


def solve_large(graph, row_match, col_match, counts, threads):
    """(names of the stages, seconds of each)."""
    times = [time.perf_counter()]
    given = pairs(row_match)
    scattered = threads > 1 and is_scattered(*graph.by_row, graph.cols)
    counts[EDGES] += match_cheap(graph.by_row, row_match, col_match, threads if scattered else 1)
    first = "cheap"
    if given == 0 and prefer_karp_sipser(graph, row_match, col_match):
        first = "karp_sipser"
        row_match.fill(-1)
        col_match.fill(-1)
        counts[EDGES] += karp_sipser.match(graph, row_match, col_match, False, threads)[0]
    # Initial pairs count as paths of one edge.
    taken = pairs(row_match) - given
    counts[AUGMENTATIONS] += taken
    counts[PATH_LENGTH] += taken
    times.append(time.perf_counter())
    if first == "karp_sipser":
        search_core(graph, row_match, col_match, counts, threads)
    else:
        search_all(graph, row_match, col_match, counts, threads)
    times.append(time.perf_counter())
    return (first, "search"), {first: times[1] - times[0], "search": times[2] - times[1]}


def is_scattered(row_ptr, row_adj, cols) -> bool:
    """Whether the columns of a row are far from the row in the numbering.

    The matching of such a graph waits for memory, which threads do concurrently.  In others, each thread starts in the
    middle of the local order, and the pairs of two threads are shifted against each other.
    """
    rows = np.linspace(0, len(row_ptr) - 2, SAMPLED_ROWS).astype(np.int64)
    rows = rows[row_ptr[rows] < row_ptr[rows + 1]]
    position, column = rows / (len(row_ptr) - 1), row_adj[row_ptr[rows]] / cols
    return len(rows) > 0 and float(np.median(np.abs(position - column))) > LOCAL_DISTANCE


def match_cheap(rows, row_match, col_match, threads):
    """Match each row with its first free column; returns the number of scanned edges."""
    if threads == 1:
        return take_first_free(*rows, row_match, col_match)
    shared = np.zeros(1, np.int64)
    return sum(run_threads(lambda i: take_first_free_shared(*rows, row_match, col_match, shared), threads))


def search_all(graph, row_match, col_match, counts, threads):
    """All augmenting paths; with the lists of the columns only if the search exceeds its budget of edges.

    If few rows are free, one phase on one thread often takes less time than the start of the others.
    """
    matches, no_bound = (row_match, col_match), UNLIMITED
    without_columns = (*graph.by_row, *NO_LISTS)
    few = threads > 1 and free_rows(graph.row_ptr, row_match) * MIN_ROWS_PER_FREE < len(row_match)
    if few and run_search(without_columns, *matches, counts, counts[EDGES], no_bound, 1):
        return
    if not run_search(without_columns, *matches, counts, MAX_SWEEPS * graph.edges, no_bound, threads):
        run_search((*graph.by_row, *graph.by_col), *matches, counts, UNLIMITED, no_bound, threads)


def search_core(graph, row_match, col_match, counts, threads):
    """The paths that the Karp-Sipser matching leaves, from the side of the core with fewer free vertices."""
    rows, cols = (int(np.count_nonzero(match == -1)) for match in (row_match, col_match))
    if 0 < rows <= cols:
        run_search((*graph.by_row, *graph.by_col), row_match, col_match, counts, UNLIMITED, rows, threads)
    elif cols > 0:
        run_search((*graph.by_col, *graph.by_row), col_match, row_match, counts, UNLIMITED, cols, threads)
    for match in (row_match, col_match):
        np.maximum(match, -1, out=match)


def run_search(lists, row_match, col_match, counts, budget, missing, threads) -> bool:
    """`search` of bitmap_search.py by one thread, or by a team."""
    if threads == 1:
        return search(*lists, row_match, col_match, counts, budget, missing, DEFAULT_RULES)
    from matching.forest.team_search import search_by_team

    return search_by_team(lists, row_match, col_match, counts, budget, missing, DEFAULT_RULES, threads)


def prefer_karp_sipser(graph, row_match, col_match) -> bool:
    """Whether paths from the cheap matching would be expensive and the Karp-Sipser matching would save most of them."""
    share = free_rows(graph.row_ptr, row_match) / graph.rows
    if graph.rows + graph.cols > karp_sipser.MAX_VERTICES or not MIN_FREE_SHARE < share < MAX_FREE_SHARE:
        return False
    return frontier_growth(graph.row_ptr, graph.row_adj, col_match) > MIN_GROWTH
