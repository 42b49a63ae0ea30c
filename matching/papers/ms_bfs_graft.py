"""Multi-source breadth-first search with tree grafting: Azad, Buluç, Pothen, algorithms 3 to 7.

Makes a matching maximum.  A phase grows an alternating forest from all unmatched rows level by level; a tree stops
growing when it has found an unmatched column.  Then it augments along one path of each such tree.  The columns of these
trees are *grafted* onto the trees without a path, which are kept, and the next phase starts from the mates of the
grafted columns instead of from the roots.  Levels go top-down from the frontier or, if it is wide, bottom-up from the
columns in no tree.

Arrays and deviations from [1]: matching/forest/bitmap_search.py, and for several threads team_search.py, by the
same rules.

[1] Azad, Buluç, Pothen. "A parallel tree grafting algorithm for maximum cardinality matching in bipartite graphs."
IPDPS 2015.
[2] Azad, Halappanavar, Rajamanickam, Boman, Khan, Pothen. "Multithreaded algorithms for maximum matching in bipartite
graphs." IPDPS 2012.

`ms_bfs` is the algorithm [2] to which the authors (section II-D) add grafting: the forest is discarded after each
phase.  It deviates: a tree that has found its path is left immediately; no last phase if one side is fully matched.

O(nm) for n vertices and m edges, usually a few sweeps over the edges; 16 bytes per column and 12 bytes per row, or 28
and 16 with several threads.
"""

from time import perf_counter

from gridcut.device import thread_count
from matching.core.counts import EDGES_GRAFT, EDGES_UP, GRAFTS, LEVELS, LEVELS_UP, as_stats, new_counts
from matching.forest.bitmap_search import NO_LISTS, UNLIMITED, Rules, search
from matching.forest.team_search import WIDE, search_by_team

TEAM_ROWS = 1 << 15  # with fewer rows, the start of the threads, 0.3 ms, takes longer than they save


def solve(
    graph,
    row_match,
    col_match,
    *,
    grafting=True,
    direction_optimising=True,
    alpha=5,
    side="rows",
    threads=1,
    wide=WIDE,
):
    """Make a matching maximum in place; returns stats.

    grafting              keep trees without a path and graft onto them; False: start each phase from the roots
    direction_optimising  allow bottom-up levels
    alpha                 a level goes bottom-up if its frontier has 1/alpha of the unvisited vertices, and trees are
                          kept if they have 1/alpha of the vertices of the destroyed trees
    side                  the side whose unmatched vertices are the roots: "rows" or "columns"
    threads               number of threads; None: numba's
    wide                  number of vertices of a frontier, or of paths, from which several threads share them
    """
    if threads is None:
        threads = thread_count()
    rules = Rules(float(alpha) if direction_optimising else 0.0, float(alpha) if grafting else 0.0, True)
    start = perf_counter()
    if side == "columns":
        graph, row_match, col_match = graph.transposed, col_match, row_match
    lists = (*graph.by_row, *(graph.by_col if grafting or direction_optimising else NO_LISTS))
    counts = new_counts()
    seconds = {"prepare": perf_counter() - start}
    start = perf_counter()
    if threads > 1 and graph.rows >= max(TEAM_ROWS, wide):  # of fewer rows, one thread would search all levels
        search_by_team(lists, row_match, col_match, counts, UNLIMITED, UNLIMITED, rules, threads, wide)
    else:
        search(*lists, row_match, col_match, counts, UNLIMITED, UNLIMITED, rules)
    seconds["phases"] = perf_counter() - start
    return stats_of(counts, seconds, threads)


def ms_bfs(
    graph,
    row_match,
    col_match,
    *,
    direction_optimising=False,
    alpha=5,
    side="rows",
    threads=1,
    wide=WIDE,
):
    """Multi-source breadth-first search [2]: `solve` without grafting, by default without bottom-up levels."""
    switches = {"grafting": False, "direction_optimising": direction_optimising, "alpha": alpha, "side": side}
    return solve(graph, row_match, col_match, **switches, threads=threads, wide=wide)


def stats_of(counts, seconds: dict, threads: int) -> dict:
    """The counts by name."""
    stats = as_stats(counts, seconds)
    edges_bottom_up, edges_graft = int(counts[EDGES_UP]), int(counts[EDGES_GRAFT])
    return {
        **stats,
        "edges_top_down": stats["edges"] - edges_bottom_up - edges_graft,
        "edges_bottom_up": edges_bottom_up,
        "edges_graft": edges_graft,
        "levels": int(counts[LEVELS]),
        "levels_bottom_up": int(counts[LEVELS_UP]),
        "grafts": int(counts[GRAFTS]),
        "threads": threads,
    }
