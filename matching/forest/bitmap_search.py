"""MS-BFS with tree grafting on one thread, cache-friendly: the search of the default, of ms_bfs and of ms_bfs_graft.

Makes a matching maximum.  A phase grows alternating trees from all free rows and augments along one path of each tree
that has found a free column; such a tree stops growing.  The matching is maximum when a phase finds no path, or no row
or no column is free.

With the adjacency lists of the columns, wide levels go bottom-up, from the columns that are in no tree.  If the trees
without a path are large, they are kept and columns of the other trees are grafted onto them.  Otherwise the next phase
builds new trees.

Arrays (n rows, m columns)
  seen, is_free    bitmaps of the columns that are in a tree, and that are free; they fit into the second-level cache
  parent[c]        row from which column c was reached, if seen
  root[k]          the free rows that have neighbours
  leaf[k]          free column that the tree of root[k] has found;  -1: none yet
  queue, tree_of   visited vertices in order, and the index of the root of each: rows up to the index `rows_end`, then
                   columns that will be replaced by the rows they are matched with
  owner[r]         index of the root whose tree contains row r;  -1: none.  Empty without the lists of the columns

The queue holds the next vertices, so cache lines are prefetched in three steps: the mate of a column, the pointer of
that row, its list.

[1] Azad, Halappanavar, Rajamanickam, Boman, Khan, Pothen. "Multithreaded algorithms for maximum matching in bipartite
    graphs." IPDPS 2012 (MS-BFS).
[2] Azad, Buluç, Pothen. "A parallel tree grafting algorithm for maximum cardinality matching in bipartite graphs."
    IPDPS 2015.

`Rules` selects the form.  PAPER_RULES are those of [2], algorithms 3 and 7, and DEFAULT_RULES those of the portfolio:

                                        [2]                                       default
  a level goes bottom-up if             frontier >= columns in no tree / alpha    the same
  levels that may                       all, also those of the roots and of       those after the first top-down level
                                        grafted columns
  trees are kept if                     their rows, with the roots,               their rows, without the roots,
                                        >= released columns / alpha               are half of all rows reached

Two rules are open in [2] and decide how many trees find a path (benchmarks/notes/papers.md).  Neighbours of a column
are read from the end of its list, as in the authors' program, and those of a row from the start: with both from the
start, most columns join the tree of one row with many neighbours.  A column may become a child of a row that the same
bottom-up level reached, but not of a row that the same grafting reached.

Deviations in both forms: a tree is left as soon as it has found its column, not after the other neighbours of the row;
an edge reads two bitmaps, and the mate only of columns that are new; columns without edges count as being in no tree;
no last phase if all rows or all columns are matched.

O(n * edges), usually a few sweeps over the edges; 16 bytes per column and 12 bytes per row.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device import inner_kernel, kernel, plain_kernel
from gridcut.device.intrinsics import prefetch
from matching.core.counts import (
    AUGMENTATIONS,
    EDGES,
    EDGES_GRAFT,
    EDGES_UP,
    GRAFTS,
    LEVELS,
    LEVELS_UP,
    PATH_LENGTH,
    PHASES,
)

PREFETCH_DISTANCE = 8  # entries of the queue between two steps of prefetching
ONE = np.uint64(1)
UNLIMITED = 2**62
NO_LISTS = None, None  # in place of the lists of the columns; what needs them is then not compiled


class Rules(NamedTuple):
    """When a level goes bottom-up, and when trees are kept; the table of the file header.

    alpha   a level may go bottom-up if its frontier has 1/alpha of the columns in no tree; 0: never
    keep    the trees without a path are kept if they have 1/keep of the vertices of the others; 0: never
    paper   whether roots count, and every level may go bottom-up
    """

    alpha: float
    keep: float
    paper: bool


DEFAULT_RULES = Rules(5.0, 1.0, False)


class Trees(NamedTuple):
    """The arrays of the file header."""

    seen: np.ndarray
    is_free: np.ndarray
    parent: np.ndarray
    root: np.ndarray
    leaf: np.ndarray
    queue: np.ndarray
    tree_of: np.ndarray


@inner_kernel
def bit(c):
    """(word, mask) of a column in a bitmap."""
    return c >> 6, ONE << np.uint64(c & 63)


@inner_kernel
def make_roots(row_ptr, row_match, col_match, trees):
    """List the free rows that have neighbours and mark the free columns; returns the numbers of both."""
    roots, free_columns = 0, 0
    for c in range(col_match.size):
        if col_match[c] < 0:
            word, mask = bit(c)
            trees.is_free[word] |= mask
            free_columns += 1
    for r in range(row_match.size):
        if row_match[r] == -1 and row_ptr[r] < row_ptr[r + 1]:
            trees.root[roots] = r
            roots += 1
    return roots, free_columns


@inner_kernel
def scan(row_ptr, row_adj, r, k, tail, trees, counts):
    """Scan the neighbours of row r of tree k until one is free; returns the new end of the queue."""
    for a in range(row_ptr[r], row_ptr[r + 1]):
        counts[EDGES] += 1
        c = np.int64(row_adj[a])
        word, mask = bit(c)
        if trees.seen[word] & mask == 0:
            trees.seen[word] |= mask
            trees.parent[c] = r
            if trees.is_free[word] & mask:
                trees.leaf[k] = c
                return tail
            trees.queue[tail] = c
            trees.tree_of[tail] = k
            tail += 1
    return tail


@inner_kernel
def scan_roots(row_ptr, row_adj, roots, trees, counts):
    """Scan the roots of all trees; returns the end of the queue."""
    tail = 0
    for k in range(roots):
        if k + 2 * PREFETCH_DISTANCE < roots:
            prefetch(row_ptr, trees.root[k + 2 * PREFETCH_DISTANCE])
        if k + PREFETCH_DISTANCE < roots:
            prefetch(row_adj, row_ptr[trees.root[k + PREFETCH_DISTANCE]])
        tail = scan(row_ptr, row_adj, np.int64(trees.root[k]), k, tail, trees, counts)
    return tail


@inner_kernel
def replace_by_mates(col_match, rows_end, end, owner, trees):
    """Replace the columns queue[rows_end:end] by the rows they are matched with, and set the owners of these rows."""
    for i in range(rows_end, end):
        r = col_match[trees.queue[i]]
        trees.queue[i] = r
        owner[r] = trees.tree_of[i]
    return end


@inner_kernel
def is_wide(head, tail, col_match, alpha):
    """Whether the level queue[head:tail] goes bottom-up: its share of the columns in no tree."""
    return (tail - head) * alpha >= col_match.size - tail


@plain_kernel
def top_down(row_ptr, row_adj, col_match, head, rows_end, tail, owner, trees, counts, alpha):
    """Search from queue[head:tail], level by level, until one is wide enough for bottom-up.

    The queue holds rows up to the index `rows_end`.  Without owners there are no bottom-up levels.

    Returns the indices of the first unprocessed entry, of the first column, and of the end of the queue.
    """
    queue = trees.queue
    fetched, level_end = rows_end, tail
    counts[LEVELS] += head < tail
    while head < tail:
        if head == level_end:
            if owner.size and is_wide(head, tail, col_match, alpha):
                break
            level_end = tail
            counts[LEVELS] += 1
        end = min(tail, head + 3 * PREFETCH_DISTANCE)
        while fetched < end:
            prefetch(col_match, queue[fetched])
            fetched += 1
        end = min(tail, head + 2 * PREFETCH_DISTANCE)
        while rows_end < end:
            r = col_match[queue[rows_end]]
            queue[rows_end] = r
            prefetch(row_ptr, r)
            if owner.size:
                owner[r] = trees.tree_of[rows_end]
            rows_end += 1
        if head + PREFETCH_DISTANCE < rows_end:
            prefetch(row_adj, row_ptr[queue[head + PREFETCH_DISTANCE]])
        k = np.int64(trees.tree_of[head])
        if trees.leaf[k] < 0:
            tail = scan(row_ptr, row_adj, np.int64(queue[head]), k, tail, trees, counts)
        head += 1
    return head, rows_end, tail


@inner_kernel
def bottom_up(col_ptr, col_adj, col_match, tail, owner, trees, counts):
    """Search from each column in no tree for a row in a tree without a path; returns the new end of the queue."""
    before = counts[EDGES]
    for word in range(trees.seen.size):
        if trees.seen[word] == ~np.uint64(0):
            continue
        # Most columns that find a row find it among their last two; those of the next word are prefetched.
        for c in range((word + 1) << 6, min((word + 2) << 6, col_match.size)):
            if trees.seen[word + 1] & (ONE << np.uint64(c & 63)):
                continue
            for a in range(max(col_ptr[c], col_ptr[c + 1] - 2), col_ptr[c + 1]):
                prefetch(owner, col_adj[a])
        for c in range(word << 6, min((word + 1) << 6, col_match.size)):
            mask = ONE << np.uint64(c & 63)
            if trees.seen[word] & mask:
                continue
            for a in range(col_ptr[c + 1] - 1, col_ptr[c] - 1, -1):
                counts[EDGES] += 1
                r = col_adj[a]
                k = owner[r]
                if k >= 0 and trees.leaf[k] < 0:
                    trees.seen[word] |= mask
                    trees.parent[c] = r
                    if trees.is_free[word] & mask:
                        trees.leaf[k] = c
                    else:
                        trees.queue[tail] = c
                        trees.tree_of[tail] = k
                        owner[col_match[c]] = k
                        tail += 1
                    break
    counts[EDGES_UP] += counts[EDGES] - before
    counts[LEVELS_UP] += 1
    counts[LEVELS] += 1
    return tail


@inner_kernel
def grow_from_roots(row_ptr, row_adj, col_ptr, col_adj, col_match, roots, owner, trees, counts, rules):
    """Start new trees from all roots, and grow their first level; returns the end of the queue."""
    for word in range(trees.seen.size):
        trees.seen[word] = 0
    for k in range(roots):
        trees.leaf[k] = -1
    if col_ptr is not None:
        for r in range(owner.size):
            owner[r] = -1
        for k in range(roots):
            owner[trees.root[k]] = k
        if rules.paper and roots * rules.alpha >= col_match.size:
            return bottom_up(col_ptr, col_adj, col_match, 0, owner, trees, counts)
    counts[LEVELS] += 1
    return scan_roots(row_ptr, row_adj, roots, trees, counts)


@inner_kernel
def grow(row_ptr, row_adj, col_ptr, col_adj, col_match, head, tail, owner, trees, counts, rules):
    """Grow all further levels from queue[head:tail]; returns the end of the queue, which then holds rows."""
    alpha = rules.alpha
    rows_end = head
    while head < tail:
        if not (rules.paper and owner.size and is_wide(head, tail, col_match, alpha)):
            head, rows_end, tail = top_down(row_ptr, row_adj, col_match, head, head, tail, owner, trees, counts, alpha)
        if col_ptr is not None:
            while head < tail:
                head = replace_by_mates(col_match, rows_end, tail, owner, trees)
                tail = bottom_up(col_ptr, col_adj, col_match, tail, owner, trees, counts)
                rows_end = head
                if not is_wide(head, tail, col_match, alpha):
                    break
    return tail


@inner_kernel
def augment(row_match, col_match, roots, trees, counts):
    """Augment along the paths of all trees that have one; returns their number."""
    found = 0
    for k in range(roots):
        if k + 2 * PREFETCH_DISTANCE < roots and trees.leaf[k + 2 * PREFETCH_DISTANCE] >= 0:
            prefetch(trees.parent, trees.leaf[k + 2 * PREFETCH_DISTANCE])
            prefetch(col_match, trees.leaf[k + 2 * PREFETCH_DISTANCE])
        if k + PREFETCH_DISTANCE < roots and trees.leaf[k + PREFETCH_DISTANCE] >= 0:
            prefetch(row_match, trees.parent[trees.leaf[k + PREFETCH_DISTANCE]])
        c = np.int64(trees.leaf[k])
        if c < 0:
            continue
        found += 1
        word, mask = bit(c)
        trees.is_free[word] ^= mask
        counts[PATH_LENGTH] -= 1
        while c >= 0:
            r = trees.parent[c]
            before = np.int64(row_match[r])
            row_match[r] = c
            col_match[c] = r
            counts[PATH_LENGTH] += 2
            c = before
    counts[AUGMENTATIONS] += found
    return found


@inner_kernel
def drop_matched_roots(roots, trees):
    """Remove the roots that are matched; returns the number of the others."""
    kept_roots = 0
    for k in range(roots):
        if trees.leaf[k] < 0:
            trees.root[kept_roots] = trees.root[k]
            kept_roots += 1
    return kept_roots


@inner_kernel
def prefer_grafting(tail, roots, found, trees, rules):
    """Whether the trees without a path are kept: [2], algorithm 7, line 8."""
    released = 0
    for i in range(tail):
        released += trees.leaf[trees.tree_of[i]] >= 0
    kept = tail - released
    if rules.paper:
        kept += roots - found
        released += found
    return kept * rules.keep >= released


@inner_kernel
def graft(col_ptr, col_adj, row_match, roots, tail, owner, released, trees, counts):
    """Dissolve the trees that have found a path, and graft their columns onto the other trees where possible.

    `released` is scratch space for the columns of the dissolved trees.

    Returns the index of the first grafted column in the queue, the end of the queue, and the number of roots kept.
    """
    before = counts[EDGES]
    freed, kept, kept_roots = 0, 0, 0
    # Roots get new indices; the leaf of a tree without a path encodes the new one.
    for k in range(roots):
        r = trees.root[k]
        if trees.leaf[k] >= 0:
            owner[r] = -1
            released[freed] = row_match[r]
            freed += 1
        else:
            owner[r] = kept_roots
            trees.leaf[k] = -2 - kept_roots
            trees.root[kept_roots] = r
            kept_roots += 1
    for i in range(tail):
        k = trees.tree_of[i]
        r = trees.queue[i]
        if trees.leaf[k] >= 0:
            owner[r] = -1
            released[freed] = row_match[r]
            freed += 1
        else:
            owner[r] = -2 - trees.leaf[k]
            trees.queue[kept] = r
            trees.tree_of[kept] = owner[r]
            kept += 1
    for i in range(freed):
        word, mask = bit(np.int64(released[i]))
        trees.seen[word] &= ~mask
    end = kept
    for i in range(freed):
        if i + 2 * PREFETCH_DISTANCE < freed:
            prefetch(col_ptr, released[i + 2 * PREFETCH_DISTANCE])
            prefetch(col_adj, col_ptr[released[i + PREFETCH_DISTANCE] + 1] - 1)
            prefetch(owner, col_adj[col_ptr[released[i + PREFETCH_DISTANCE // 2] + 1] - 1])
        c = np.int64(released[i])
        for a in range(col_ptr[c + 1] - 1, col_ptr[c] - 1, -1):
            counts[EDGES] += 1
            r = col_adj[a]
            if owner[r] >= 0:
                word, mask = bit(c)
                trees.seen[word] |= mask
                trees.parent[c] = r
                trees.queue[end] = c
                trees.tree_of[end] = owner[r]
                end += 1
                break
    for k in range(kept_roots):
        trees.leaf[k] = -1
    counts[EDGES_GRAFT] += counts[EDGES] - before
    counts[GRAFTS] += 1
    return kept, end, kept_roots


@kernel
def search(row_ptr, row_adj, col_ptr, col_adj, row_match, col_match, counts, budget, missing, rules):
    """Run phases until the matching is maximum, or more than `budget` edges were scanned; whether it is maximum.

    The lists of the columns may be None; then there are no bottom-up levels and no grafting.  missing: an upper
    bound on the number of paths.  Rows with -2 in row_match are free, and no path needs to start from them.
    """
    n, m = row_match.size, col_match.size
    words = (m >> 6) + 1
    trees = Trees(
        np.zeros(words, np.uint64),
        np.zeros(words, np.uint64),
        np.empty(m, np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(m, np.int32),
        np.empty(m, np.int32),
    )
    owner = np.empty(0 if col_ptr is None else n, np.int32)
    released = np.empty(0 if col_ptr is None else m, np.int32)
    roots, free_columns = make_roots(row_ptr, row_match, col_match, trees)
    free_columns = min(free_columns, missing)
    head, tail = 0, 0
    rebuild = True
    while roots > 0 and free_columns > 0:
        if counts[EDGES] > budget:
            return False
        counts[PHASES] += 1
        if rebuild:
            head = 0
            tail = grow_from_roots(row_ptr, row_adj, col_ptr, col_adj, col_match, roots, owner, trees, counts, rules)
        tail = grow(row_ptr, row_adj, col_ptr, col_adj, col_match, head, tail, owner, trees, counts, rules)
        found = augment(row_match, col_match, roots, trees, counts)
        if found == 0:
            return True
        free_columns -= found
        if col_ptr is not None:
            rebuild = not prefer_grafting(tail, roots, found, trees, rules)
            if not rebuild:
                head, tail, roots = graft(col_ptr, col_adj, row_match, roots, tail, owner, released, trees, counts)
                if head == tail:
                    return True
        if rebuild:
            roots = drop_matched_roots(roots, trees)
    return True
