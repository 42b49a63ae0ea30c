"""Arrays of an alternating forest, and their invariants.  X: the side of the roots, Y: the other side.

Problem
  x_ptr, x_adj   neighbours in Y of x: x_adj[x_ptr[x]:x_ptr[x + 1]];  y_ptr, y_adj likewise
  mate_x, mate_y partner, or -1: unmatched

Forest                                                                              paper [1]
  root_y[y]      root of the tree that contains y;  -1: none                        root[y], visited[y]
  parent[y]      the x from which y was reached, if root_y[y] >= 0                  parent[y]
  root_x[x]      root of the tree that contains x, or contained it when destroyed;    root[x]
                 -1: none.  A matched x is in a tree if and only if its mate is
  leaf[r]        unmatched y where an augmenting path from r ends;  -1: none yet    leaf[r]
  link[x]        next member of x's tree, in any order; link[r] is the first after the root;  -1: end.  Wide levels set
                 no links but count[UNLINKED]; then a scan finds the members until all trees have been rebuilt
  queue          F and Q: queue[:count[TAIL]] is the frontier when a phase begins
  unvisited      the first count[LISTED] entries hold every y with neighbours that is in no tree, and perhaps some that
                 have been added to one since;  listed[y]: y is among them
  free           the first count[FREE] entries are the unmatched x
  found          the first count[FOUND] entries are roots with a leaf: renewable trees
  renewable      the y removed from renewable trees

A tree is active while leaf[root] is -1.  A root with a leaf is matched at the end of the phase and never becomes a root
again.  So leaf[root] >= 0 continues to mark its tree as destroyed, and root_x of the members need not be cleared.

[1] Azad, Buluç, Pothen. "A parallel tree grafting algorithm for maximum cardinality matching in bipartite graphs."
IPDPS 2015.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device import kernel

# Indices of count: sizes, then counters.
TAIL, LISTED, FREE, FOUND, SPARE, OPEN, UNVISITED, ACTIVE = range(8)
EDGES_DOWN, EDGES_UP, EDGES_GRAFT, PHASES, AUGMENTATIONS, LENGTH, LEVELS, LEVELS_UP, GRAFTS = range(8, 17)
UNLINKED = 17
COUNTS = 18


class Problem(NamedTuple):
    """The adjacency lists of both sides, and the matching."""

    x_ptr: np.ndarray
    x_adj: np.ndarray
    y_ptr: np.ndarray
    y_adj: np.ndarray
    mate_x: np.ndarray
    mate_y: np.ndarray


class Forest(NamedTuple):
    """The arrays of the file header."""

    root_y: np.ndarray
    parent: np.ndarray
    root_x: np.ndarray
    leaf: np.ndarray
    link: np.ndarray
    queue: np.ndarray
    unvisited: np.ndarray
    listed: np.ndarray
    free: np.ndarray
    found: np.ndarray
    renewable: np.ndarray
    count: np.ndarray


def make_forest(problem: Problem) -> Forest:
    """A forest in which each tree is a root."""
    n, m = len(problem.mate_x), len(problem.mate_y)
    forest = Forest(
        np.full(m, -1, np.int32),
        np.empty(m, np.int32),
        np.full(n, -1, np.int32),
        np.full(n, -1, np.int32),
        np.full(n, -1, np.int32),
        np.empty(n, np.int32),
        np.empty(m, np.int32),
        np.zeros(m, np.uint8),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(m, np.int32),
        np.zeros(COUNTS, np.int64),
    )
    make_roots(problem, forest)
    return forest


@kernel
def make_roots(problem, forest):
    """Algorithm 3, lines 1 to 5: each unmatched x is a root, each y unvisited; vertices without edges are omitted."""
    count = forest.count
    for x in range(len(problem.mate_x)):
        if problem.mate_x[x] < 0 and problem.x_ptr[x] < problem.x_ptr[x + 1]:
            forest.free[count[FREE]] = x
            forest.queue[count[FREE]] = x
            forest.root_x[x] = x
            count[FREE] += 1
    for y in range(len(problem.mate_y)):
        if problem.y_ptr[y] < problem.y_ptr[y + 1]:
            forest.unvisited[count[LISTED]] = y
            forest.listed[y] = 1
            count[LISTED] += 1
            count[OPEN] += problem.mate_y[y] < 0
    count[TAIL] = count[FREE]
    count[ACTIVE] = count[FREE]
    count[UNVISITED] = count[LISTED]
