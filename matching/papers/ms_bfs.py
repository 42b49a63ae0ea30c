"""Multi-source breadth-first search: the algorithm that Azad, Buluç, Pothen (section II-D) graft trees onto.

Makes a matching maximum.  A phase grows an alternating forest from all unmatched rows level by level, a tree resting
once it has found an unmatched column; then it augments along one path of each such tree, forgets the forest and begins
anew.  This is ms_bfs_graft without grafting, so arrays are described in forest/forest.py.

Deviates from [1]: a tree that has found its path is left at once; no last phase when one side is matched whole.

[1] Azad, Halappanavar, Rajamanickam, Boman, Khan, Pothen. "Multithreaded algorithms for maximum matching in bipartite
graphs." IPDPS 2012.

O(nm) for n vertices and m edges; memory as ms_bfs_graft.
"""

from matching.papers.forest.phases import maximise


def solve(
    graph,
    row_match,
    col_match,
    *,
    direction_optimising=False,
    alpha=5,
    side="rows",
    threads=1,
    wide=8192,
    by_step=False,
):
    """Make a matching maximum, in place; counts of what was done, and seconds.

    direction_optimising  allow bottom-up levels, from unvisited columns
    alpha                 a level goes bottom-up if its frontier has 1/alpha of the unvisited vertices
    side                  whose unmatched vertices are the roots: "rows" or "columns"
    threads               workers; None: numba's number of threads
    wide                  vertices of a frontier, or paths, from which on several threads share them
    by_step               seconds by step with one thread too, which costs some microseconds a phase
    """
    return maximise(
        graph,
        row_match,
        col_match,
        grafting=False,
        direction_optimising=direction_optimising,
        alpha=alpha,
        side=side,
        threads=threads,
        wide=wide,
        by_step=by_step,
    )
