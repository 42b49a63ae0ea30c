"""Maximum matching of the rows of a bipartite graph, and a deficient set of rows if one stays unmatched.

`match` writes col_of[i] and row_of[j], -1 if unmatched, and returns an unmatched row or -1.  `deficient` collects the
rows that alternating paths reach from such a row.  All their columns are matched with other rows of the set, so there
is one column too few (Hall's condition).

First, rows take free columns greedily, rows with few columns before the others.  Then each phase finds shortest
augmenting paths: a breadth-first search computes the level of each row, and depth-first searches from the free rows
descend one level per step.

Arrays (n rows, m columns; CSR: row i is allowed columns[start[i] : start[i + 1]])
  col_of[i], row_of[j]   the matching
  level[i]               length of the shortest alternating path from a free row;  -1: not reached, or exhausted
  at[i]                  first arc of row i that this phase has not tried
  seen[i]                first arc of row i whose column may be free (columns never become free again)
  path                   rows of the depth-first search, and the queue of the breadth-first one

[1] Hopcroft, Karp. "An n^5/2 algorithm for maximum matchings in bipartite graphs." SIAM Journal on Computing 2, 1973.
Deviates: a row searches all its columns for a free one before it descends (lookahead; Duff, Kaya, Ucar, "Design,
implementation, and analysis of maximum transversal algorithms", ACM TOMS 38, 2011).

O(a sqrt(n)) for a arcs.
"""

import numpy as np

from assign.core.infeasible import InfeasibleError
from gridcut.device import inner_kernel, kernel


@kernel
def _greedy(start, columns, order, col_of, row_of, seen):
    """Match rows with free columns, in this order; returns the number of rows without one."""
    free = 0
    for k in range(order.size):
        i = order[k]
        a = start[i]
        while a < start[i + 1] and row_of[columns[a]] >= 0:
            a += 1
        if a < start[i + 1]:
            col_of[i] = columns[a]
            row_of[columns[a]] = i
            a += 1
        else:
            free += 1
        seen[i] = a
    return free


@inner_kernel
def _levels(start, columns, col_of, row_of, level, path):
    """Breadth-first search from all free rows; returns whether a free column was reached."""
    last = 0
    for i in range(col_of.size):
        if col_of[i] < 0:
            level[i] = 0
            path[last] = i
            last += 1
        else:
            level[i] = -1
    first = 0
    deepest = np.int64(col_of.size)
    while first < last:
        i = path[first]
        first += 1
        if level[i] >= deepest:
            break
        for a in range(start[i], start[i + 1]):
            other = row_of[columns[a]]
            if other < 0:
                deepest = np.int64(level[i])
            elif level[other] < 0:
                level[other] = level[i] + 1
                path[last] = other
                last += 1
    return deepest < col_of.size


@inner_kernel
def _augment(start, columns, root, col_of, row_of, level, at, seen, path):
    """Depth-first search down the levels from a free row; returns whether it was matched."""
    depth = 0
    path[0] = root
    while depth >= 0:
        i = path[depth]
        end = start[i + 1]
        a = seen[i]
        while a < end and row_of[columns[a]] >= 0:
            a += 1
        seen[i] = a
        if a < end:
            j = columns[a]
            while depth >= 0:
                i = path[depth]
                j, col_of[i] = col_of[i], j
                row_of[col_of[i]] = i
                depth -= 1
            return True
        a = at[i]
        while a < end and level[row_of[columns[a]]] != level[i] + 1:
            a += 1
        if a < end:
            at[i] = a + 1
            depth += 1
            path[depth] = row_of[columns[a]]
        else:
            at[i] = end
            level[i] = -1
            depth -= 1
    return False


@kernel
def match(start, columns, order, col_of, row_of, level, at, seen, path):
    """Match as many rows as possible; returns an unmatched row, or -1."""
    col_of[:] = -1
    row_of[:] = -1
    free = _greedy(start, columns, order, col_of, row_of, seen)
    while free and _levels(start, columns, col_of, row_of, level, path):
        for i in range(at.size):
            at[i] = start[i]
        for i in range(col_of.size):
            if col_of[i] < 0 and _augment(start, columns, i, col_of, row_of, level, at, seen, path):
                free -= 1
    for i in range(col_of.size):
        if col_of[i] < 0:
            return i
    return -1


@kernel
def deficient(start, columns, root, col_of, row_of, level, path):
    """Collect the rows reached from an unmatched row after `match` in `path`; returns their number."""
    level[:] = -1
    level[root] = 0
    path[0] = root
    first, last = 0, 1
    while first < last:
        i = path[first]
        first += 1
        for a in range(start[i], start[i + 1]):
            other = row_of[columns[a]]
            if level[other] < 0:
                level[other] = 0
                path[last] = other
                last += 1
    return last


def solve(start, columns, n, m):
    """(col_of, None) if every row can be matched, else (col_of, rows): the rows are a deficient set."""
    col_of, row_of = np.empty(n, np.int32), np.empty(m, np.int32)
    level, at, seen, path = np.empty(n, np.int32), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int32)
    order = np.argsort(np.diff(start), kind="stable").astype(np.int32)
    left = match(start, columns, order, col_of, row_of, level, at, seen, path)
    if left < 0:
        return col_of, None
    return col_of, path[: deficient(start, columns, left, col_of, row_of, level, path)].copy()


def check_feasible(indptr, indices, n, m):
    """Find a matching of all rows, col_of_row (int32), or raise InfeasibleError with a deficient set.

    Row i of n is allowed the columns indices[indptr[i] : indptr[i + 1]] of m; costs are not used.
    """
    col_of, rows = solve(indptr, indices, n, m)
    if rows is not None:
        raise deficiency(indptr, indices, rows)
    return col_of


def deficiency(indptr, indices, rows) -> InfeasibleError:
    """The error for a deficient set of rows."""
    inside = np.zeros(len(indptr) - 1, bool)
    inside[rows] = True
    allowed = np.zeros(int(indices.max(initial=-1)) + 1, bool)
    allowed[indices[np.repeat(inside, np.diff(indptr))]] = True
    return InfeasibleError(np.flatnonzero(inside), np.flatnonzero(allowed))
