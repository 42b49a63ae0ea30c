"""What method="auto" runs on the CPU: the plain initial matching or Karp and Sipser's, and a search made for the cache.

Returns a maximum matching.

  few edges   every row takes its first free column; search
  many        the same, without the lists of the columns, for whose making there would be time to solve most meshes; a
              search that has looked at BUDGET times the edges goes on with them
  but         if alternating searches widen fast from the plain matching (`expansion`), as they do in random and in
              skewed graphs, begin again with Karp and Sipser's matching, which leaves next to no paths to find.  Not if
              so many rows are free that most of them have to be

A matching that is given is kept, and added to in the plain way.

Several methods under one name, as the best one differs from graph to graph [1]; more in cheap.py, karp_sipser.py,
bitmap_search.py and expansion.py, with their references.

[1] Duff, Kaya, Uçar. "Design, implementation, and analysis of maximum transversal algorithms." ACM Transactions on
    Mathematical Software 38, 2011.

O(n * edges); memory at most 28 bytes a row and 28 bytes a column, and the lists of the columns where they are made.
"""

import time

import numpy as np

from gridcut.device import kernel
from matching.cpu import karp_sipser
from matching.cpu.bitmap_search import search
from matching.cpu.cheap import take_first_free
from matching.cpu.counts import AUGMENTATIONS, EDGES, PATH_LENGTH, as_stats, new_counts
from matching.cpu.expansion import growth
from matching.graph import BipartiteGraph

SMALL = 20_000  # edges for which one kernel does all
FEW_FREE, MANY_FREE = 1 / 64, 1 / 4  # share of rows that are free, between which Karp and Sipser's matching may pay
WIDENS = 1.5  # growth of a level from which searches from many rows would see everything many times; meshes: below 1.3
BUDGET = 8  # sweeps over the edges
EVER = 2**62
NO_LISTS = np.empty(0, np.int64), np.empty(0, np.int32)


@kernel
def solve_small(row_ptr, row_adj, no_ptr, no_adj, row_match, col_match, counts):
    """First free columns, then all paths; pairs of the first step are paths of one edge."""
    before = pairs(row_match)
    counts[EDGES] += take_first_free(row_ptr, row_adj, row_match, col_match)
    taken = pairs(row_match) - before
    counts[AUGMENTATIONS] += taken
    counts[PATH_LENGTH] += taken
    search(row_ptr, row_adj, no_ptr, no_adj, row_match, col_match, counts, EVER)


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


def solve(graph: BipartiteGraph, row_match, col_match) -> dict:
    """Make a matching maximum in place; stats, "steps" what ran."""
    begin = time.perf_counter()
    if not graph.rows_are_made:
        graph, row_match, col_match = graph.transposed, col_match, row_match
    counts = new_counts()
    if graph.edges < SMALL:
        solve_small(*graph.by_row, *NO_LISTS, row_match, col_match, counts)
        steps, seconds = ("cheap", "search"), {"search": time.perf_counter() - begin}
    else:
        steps, seconds = solve_large(graph, row_match, col_match, counts)
    return {**as_stats(counts, seconds), "steps": steps}


def solve_large(graph, row_match, col_match, counts):
    """(steps, their seconds)."""
    times = [time.perf_counter()]
    rows, by_col, budget = graph.by_row, NO_LISTS, BUDGET * graph.edges
    given = pairs(row_match)
    counts[EDGES] += take_first_free(*rows, row_match, col_match)
    first = "cheap"
    if given == 0 and wants_karp_sipser(graph, row_match, col_match):
        row_match[:] = -1
        col_match[:] = -1
        counts[EDGES] += karp_sipser.initialise(graph, row_match, col_match)["edges"]
        by_col, budget = graph.by_col, EVER
        first = "karp_sipser"
    # Paths of one edge.
    taken = pairs(row_match) - given
    counts[AUGMENTATIONS] += taken
    counts[PATH_LENGTH] += taken
    times.append(time.perf_counter())
    if not search(*rows, *by_col, row_match, col_match, counts, budget):
        search(*rows, *graph.by_col, row_match, col_match, counts, EVER)
    times.append(time.perf_counter())
    return (first, "search"), {first: times[1] - times[0], "search": times[2] - times[1]}


def wants_karp_sipser(graph, row_match, col_match) -> bool:
    """Whether paths from the plain initial matching would be costly, and another one would save most of them."""
    share = free_rows(graph.row_ptr, row_match) / graph.rows
    if graph.rows + graph.cols >= 2**31 or not FEW_FREE < share < MANY_FREE:
        return False
    return growth(graph.row_ptr, graph.row_adj, col_match) > WIDENS
