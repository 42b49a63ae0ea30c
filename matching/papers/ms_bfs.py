"""Multi-source breadth-first search: the algorithm to which Azad, Buluç, Pothen (section II-D) add tree grafting.

Makes a matching maximum.  A phase grows an alternating forest from all unmatched rows level by level; a tree stops
growing when it has found an unmatched column.  Then it augments along one path of each such tree and discards the
forest.  This is ms_bfs_graft without grafting, whose file names the arrays.

Deviations from [1]: a tree that has found its path is left immediately; no last phase if one side is fully matched.

[1] Azad, Halappanavar, Rajamanickam, Boman, Khan, Pothen. "Multithreaded algorithms for maximum matching in bipartite
graphs." IPDPS 2012.

O(nm) for n vertices and m edges; memory as ms_bfs_graft.
"""

from matching.forest.team_search import WIDE
from matching.papers import ms_bfs_graft


def solve(
    graph,
    row_match,
    col_match,
    *,
    direction_optimising=False,
    alpha=5,
    side="rows",
    threads=1,
    wide=WIDE,
    by_step=False,
):
    """Make a matching maximum in place; returns stats.

    direction_optimising  allow bottom-up levels, from unvisited columns
    alpha, side, threads, wide, by_step   as in ms_bfs_graft
    """
    switches = {"grafting": False, "direction_optimising": direction_optimising, "alpha": alpha, "side": side}
    return ms_bfs_graft.solve(graph, row_match, col_match, **switches, threads=threads, wide=wide, by_step=by_step)
