"""Hopcroft and Karp's algorithm: phases of shortest augmenting paths, a maximal disjoint set of them in each.

Returns a maximum matching.  A phase is a breadth-first search from all free rows, which ends with the first level that
reaches a free column, and depth-first searches from the free rows along edges from one level to the next.

Arrays (n rows, m columns)
  level[r]    number of matched edges between row r and the nearest free row;  -1: not reached in this phase
  arc[r]      first edge of row r that no depth-first search of this phase has scanned; never decreases, so that dead
              ends are not searched again and a phase takes time linear in the edges
  free        free rows; rows that became matched are removed after each phase
  queue       visited rows of this phase, by level
  stack       rows of the current path

After augmentation, the columns of a path at level k + 1 are matched with rows of level k.  So no other search of the
phase enters them, and no marks for used paths are needed.

[1] Hopcroft, Karp. "An n^(5/2) algorithm for maximum matchings in bipartite graphs." SIAM Journal on Computing 2, 1973.
[2] Duff, Kaya, Uçar. "Design, implementation, and analysis of maximum transversal algorithms." ACM Transactions on
    Mathematical Software 38, 2011, section 3.1.6.

Deviation from [1]: both the levels and the depth-first searches start at the free rows.

O(sqrt(n + m) * edges).
"""

import time

import numpy as np

from gridcut.device import kernel, plain_kernel
from matching.core.counts import AUGMENTATIONS, EDGES, PATH_LENGTH, PHASES, as_stats, new_counts
from matching.core.graph import BipartiteGraph


@plain_kernel
def free_rows(row_ptr, row_match, free):
    """List the free rows that have edges; returns their number."""
    number = 0
    for r in range(row_match.size):
        if row_match[r] < 0 and row_ptr[r + 1] > row_ptr[r]:
            free[number] = r
            number += 1
    return number


@plain_kernel
def still_free(row_match, free, number):
    """Remove the rows that are matched from the list; returns its new length."""
    kept = 0
    for i in range(number):
        if row_match[free[i]] < 0:
            free[kept] = free[i]
            kept += 1
    return kept


@kernel
def match_along(row_match, col_match, stack, top, c):
    """Match the rows stack[:top + 1] of a path, the last one with the free column c; returns -1, the new top."""
    while top >= 0:
        r = stack[top]
        before = row_match[r]
        row_match[r] = c
        col_match[c] = r
        c = before
        top -= 1
    return top


@plain_kernel
def find_levels(row_ptr, row_adj, col_match, free, number, level, arc, queue, counts):
    """Breadth-first search; returns the number of visited rows and whether a free column was reached.

    Rows below the level of the first free column do not count as visited, as no shortest path contains them.
    """
    for i in range(number):
        r = free[i]
        level[r] = 0
        arc[r] = row_ptr[r]
        queue[i] = r
    head, tail, edges = 0, number, 0
    found = False
    last = 0
    while head < tail:
        r = queue[head]
        if found and level[r] > last:
            break
        head += 1
        below = level[r] + 1
        edges += row_ptr[r + 1] - row_ptr[r]
        for k in range(row_ptr[r], row_ptr[r + 1]):
            mate = col_match[row_adj[k]]
            if mate < 0:
                found = True
                last = level[r]
            elif level[mate] < 0:
                level[mate] = below
                arc[mate] = row_ptr[mate]
                queue[tail] = mate
                tail += 1
    for i in range(head, tail):
        level[queue[i]] = -1
    counts[EDGES] += edges
    return head, found


@plain_kernel
def augment_level_paths(row_ptr, row_adj, row_match, col_match, free, number, level, arc, stack, counts):
    """Search depth-first from each free row, and augment along the path found."""
    edges = 0
    for i in range(number):
        stack[0] = free[i]
        top = 0
        while top >= 0:
            r = stack[top]
            below = level[r] + 1
            end = row_ptr[r + 1]
            k = arc[r]
            c, mate = -1, -1
            while k < end:
                c = row_adj[k]
                mate = col_match[c]
                k += 1
                if mate < 0 or level[mate] == below:
                    break
                c = -1
            edges += k - arc[r]
            arc[r] = k
            if c < 0:
                top -= 1
            elif mate >= 0:
                top += 1
                stack[top] = mate
            else:
                counts[AUGMENTATIONS] += 1
                counts[PATH_LENGTH] += 2 * top + 1
                top = match_along(row_match, col_match, stack, top, c)
    counts[EDGES] += edges


@plain_kernel
def clear(level, queue, reached):
    """Reset the levels of the visited rows."""
    for i in range(reached):
        level[queue[i]] = -1


def solve(graph: BipartiteGraph, row_match, col_match) -> dict:
    """Make a matching maximum in place; returns stats."""
    rows, counts = graph.rows, new_counts()
    level = np.full(rows, -1, np.int32)
    arc = np.empty(rows, np.int64)
    free, queue, stack = (np.empty(rows, np.int32) for _ in range(3))
    seconds = {"levels": 0.0, "paths": 0.0}
    number = free_rows(graph.row_ptr, row_match, free)
    while number:
        begin = time.perf_counter()
        counts[PHASES] += 1
        reached, found = find_levels(graph.row_ptr, graph.row_adj, col_match, free, number, level, arc, queue, counts)
        between = time.perf_counter()
        seconds["levels"] += between - begin
        if not found:
            break
        augment_level_paths(graph.row_ptr, graph.row_adj, row_match, col_match, free, number, level, arc, stack, counts)
        clear(level, queue, reached)
        number = still_free(row_match, free, number)
        seconds["paths"] += time.perf_counter() - between
    return as_stats(counts, seconds)
