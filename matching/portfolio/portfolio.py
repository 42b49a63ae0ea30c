"""What method="auto" runs on the CPU: the plain initial matching or Karp and Sipser's, and a search made for the cache.

Returns a maximum matching.

  few edges   every row takes its first free column; search
  many        the same, without the lists of the columns, for whose making there would be time to solve most meshes; a
              search that has looked at MAX_SWEEPS times the edges goes on with them
  but         if alternating searches widen fast from the plain matching (`frontier_growth`), as they do in random and in
              skewed graphs, begin again with Karp and Sipser's matching, which leaves next to no paths to find.  Not if
              so many rows are free that most of them have to be

A matching that is given is kept, and added to in the plain way.  From PARALLEL_MIN_EDGES edges on, threads share each step, the
plain matching only where the columns of a row lie anywhere.

Several methods under one name, as the best one differs from graph to graph [1]; more in cheap.py, karp_sipser.py,
bitmap_search.py, bitmap_search_parallel.py and frontier_growth.py, with their references.

[1] Duff, Kaya, Uçar. "Design, implementation, and analysis of maximum transversal algorithms." ACM Transactions on
    Mathematical Software 38, 2011.

O(n * edges); memory at most 28 bytes a row and 28 bytes a column, and the lists of the columns where they are made.
"""

import time

import numpy as np

from gridcut.device import kernel, run_threads, thread_count
from matching.core.counts import AUGMENTATIONS, EDGES, PATH_LENGTH, as_stats, new_counts
from matching.core.graph import BipartiteGraph
from matching.initial import karp_sipser
from matching.initial.cheap import take_first_free, take_first_free_shared
from matching.portfolio.bitmap_search import UNLIMITED, search
from matching.portfolio.bitmap_search_parallel import search_parallel
from matching.portfolio.frontier_growth import frontier_growth

ONE_KERNEL_EDGES = 20_000  # edges for which one kernel does all
MIN_FREE_SHARE, MAX_FREE_SHARE = (
    1 / 64,
    1 / 4,
)  # share of rows that are free, between which Karp and Sipser's matching may pay
MIN_GROWTH = (
    1.5  # growth of a level from which searches from many rows would see everything many times; meshes: below 1.35
)
SAMPLED_ROWS, LOCAL_DISTANCE = (
    512,
    1 / 32,
)  # rows looked at, and how near their columns are in a numbering that is local
PARALLEL_MIN_EDGES = 1_000_000  # edges from which on threads pay
MAX_SWEEPS = 8  # sweeps over the edges
NO_LISTS = np.empty(0, np.int64), np.empty(0, np.int32)


@kernel
def solve_small(row_ptr, row_adj, row_match, col_match, counts):
    """First free columns, then all paths; pairs of the first step are paths of one edge."""
    before = pairs(row_match)
    counts[EDGES] += take_first_free(row_ptr, row_adj, row_match, col_match)
    taken = pairs(row_match) - before
    counts[AUGMENTATIONS] += taken
    counts[PATH_LENGTH] += taken
    if before + taken < min(row_match.size, col_match.size):
        no_ptr, no_adj = np.empty(0, np.int64), np.empty(0, np.int32)
        search(row_ptr, row_adj, no_ptr, no_adj, row_match, col_match, counts, UNLIMITED, UNLIMITED)


@kernel
def pairs(row_match):
    number = 0
    for r in range(row_match.size):
        number += row_match[r] >= 0
    return number


@kernel
def free_rows(row_ptr, row_match):
    """How many rows are free though they have columns."""
    number = 0
    for r in range(row_match.size):
        number += row_match[r] < 0 and row_ptr[r] < row_ptr[r + 1]
    return number


def solve(graph: BipartiteGraph, row_match, col_match, *, threads: int | None = None) -> dict:
    """Make a matching maximum in place; stats, "stages" what ran.

    threads   workers, for graphs of PARALLEL_MIN_EDGES edges and more; None: numba's number of threads
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
    """(stages, their seconds)."""
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
    # Paths of one edge.
    taken = pairs(row_match) - given
    counts[AUGMENTATIONS] += taken
    counts[PATH_LENGTH] += taken
    times.append(time.perf_counter())
    if first == "karp_sipser":
        search_core(graph, row_match, col_match, counts)
    else:
        search_all(graph, row_match, col_match, counts, 1 if scattered else threads)
    times.append(time.perf_counter())
    return (first, "search"), {first: times[1] - times[0], "search": times[2] - times[1]}


def match_cheap(rows, row_match, col_match, threads):
    """Each row takes its first free column; the edges looked at."""
    if threads == 1:
        return take_first_free(*rows, row_match, col_match)
    shared = np.zeros(1, np.int64)
    return sum(run_threads(lambda i: take_first_free_shared(*rows, row_match, col_match, shared), threads))


def is_scattered(row_ptr, row_adj, cols) -> bool:
    """Whether the columns of rows lie anywhere, not near the row.

    Then taking them is waiting for memory, which threads do side by side; but half of what a search comes to belongs to
    another thread and has to be sent, which costs more than sharing saves.
    """
    rows = np.linspace(0, len(row_ptr) - 2, SAMPLED_ROWS).astype(np.int64)
    rows = rows[row_ptr[rows] < row_ptr[rows + 1]]
    place, column = rows / (len(row_ptr) - 1), row_adj[row_ptr[rows]] / cols
    return len(rows) > 0 and float(np.median(np.abs(place - column))) > LOCAL_DISTANCE


def search_all(graph, row_match, col_match, counts, threads):
    """All paths, without the lists of the columns as long as that does not take too long."""
    budget = MAX_SWEEPS * graph.edges
    if threads == 1:
        done = search(*graph.by_row, *NO_LISTS, row_match, col_match, counts, budget, UNLIMITED)
    else:
        done = search_parallel(*graph.by_row, row_match, col_match, counts, budget, threads)
    if not done:
        search(*graph.by_row, *graph.by_col, row_match, col_match, counts, UNLIMITED, UNLIMITED)


def search_core(graph, row_match, col_match, counts):
    """The paths that Karp and Sipser's matching leaves, from the side of the core that has fewer free vertices."""
    rows, cols = (int(np.count_nonzero(match == -1)) for match in (row_match, col_match))
    if 0 < rows <= cols:
        search(*graph.by_row, *graph.by_col, row_match, col_match, counts, UNLIMITED, rows)
    elif cols > 0:
        search(*graph.by_col, *graph.by_row, col_match, row_match, counts, UNLIMITED, cols)
    for match in (row_match, col_match):
        np.maximum(match, -1, out=match)


def prefer_karp_sipser(graph, row_match, col_match) -> bool:
    """Whether paths from the plain initial matching would be costly, and another one would save most of them."""
    share = free_rows(graph.row_ptr, row_match) / graph.rows
    if graph.rows + graph.cols > karp_sipser.MAX_VERTICES or not MIN_FREE_SHARE < share < MAX_FREE_SHARE:
        return False
    return frontier_growth(graph.row_ptr, graph.row_adj, col_match) > MIN_GROWTH
