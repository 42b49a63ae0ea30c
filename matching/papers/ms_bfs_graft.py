"""Multi-source breadth-first search with tree grafting: Azad, Buluç, Pothen, algorithms 3 to 7.

Makes a matching maximum.  A phase grows an alternating forest from all unmatched rows level by level, a tree resting
once it has found an unmatched column; then it augments along one path of each such tree.  The columns of the trees that
are no more are *grafted* onto trees that have found nothing and stay as they are, and the next phase begins with the
mates of those columns instead of from scratch.  Levels go top-down from the frontier or, when it is wide, bottom-up
from the columns in no tree.

Arrays and deviations from [1]: forest/forest.py, forest/serial.py and, for several threads, forest/threads.py.

[1] Azad, Buluç, Pothen. "A parallel tree grafting algorithm for maximum cardinality matching in bipartite graphs."
IPDPS 2015.

O(nm) for n vertices and m edges, usually a few sweeps over the edges; memory 17 bytes a column and 24 bytes a row, and
4 more a column with several threads.
"""

from matching.papers.forest.phases import maximise


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
    wide=8192,
    by_step=False,
):
    """Make a matching maximum, in place; counts of what was done, and seconds.

    grafting              keep trees that found nothing and graft onto them; False: every phase begins anew (ms_bfs)
    direction_optimising  allow bottom-up levels
    alpha                 a level goes bottom-up if its frontier has 1/alpha of the unvisited vertices, and trees are
                          kept if they have 1/alpha of the vertices that others lost
    side                  whose unmatched vertices are the roots: "rows" or "columns"
    threads               workers; None: numba's number of threads
    wide                  vertices of a frontier, or paths, from which on several threads share them
    by_step               seconds by step with one thread too, which costs some microseconds a phase
    """
    return maximise(
        graph,
        row_match,
        col_match,
        grafting=grafting,
        direction_optimising=direction_optimising,
        alpha=alpha,
        side=side,
        threads=threads,
        wide=wide,
        by_step=by_step,
    )
