"""Multi-source breadth-first search with tree grafting: Azad, Buluç, Pothen, algorithms 3 to 7.

Makes a matching maximum.  A phase grows an alternating forest from all unmatched rows level by level; a tree stops
growing when it has found an unmatched column.  Then it augments along one path of each such tree.  The columns of these
trees are *grafted* onto the trees without a path, which are kept, and the next phase starts from the mates of the
grafted columns instead of from the roots.  Levels go top-down from the frontier or, if it is wide, bottom-up from the
columns in no tree.

Arrays and deviations from [1]: forest.py, serial.py and, for several threads, forest_threads.py.

[1] Azad, Buluç, Pothen. "A parallel tree grafting algorithm for maximum cardinality matching in bipartite graphs."
IPDPS 2015.

O(nm) for n vertices and m edges, usually a few sweeps over the edges; 17 bytes per column and 24 bytes per row, and 4
more per column with several threads.
"""

from matching.forest.phases import maximise


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
    """Make a matching maximum in place; returns stats.

    grafting              keep trees without a path and graft onto them; False: start each phase from the roots
    direction_optimising  allow bottom-up levels
    alpha                 a level goes bottom-up if its frontier has 1/alpha of the unvisited vertices, and trees are
                          kept if they have 1/alpha of the vertices of the destroyed trees
    side                  the side whose unmatched vertices are the roots: "rows" or "columns"
    threads               number of workers; None: numba's number of threads
    wide                  number of vertices of a frontier, or of paths, from which several threads share them
    by_step               measure the seconds of each step with one thread too, a few microseconds per phase
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
