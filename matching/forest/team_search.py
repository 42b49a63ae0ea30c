"""The search of bitmap_search.py by a team of threads: of the default, of ms_bfs and of ms_bfs_graft.

Makes a matching maximum, by the same rules.  The threads meet after each step (gridcut/device/threads.py); the last
one to arrive chooses the next step, and does levels of less than `wide` vertices itself.

Steps                                                                                   [2]
  START      list the free rows and mark the free columns; clear
  CLEAR      list the roots that are still free; clear seen and owner
  SETUP      start a tree from each root
  MATE       replace the columns of the frontier by the rows they are matched with
  DOWN, UP   a level, from the frontier or from the columns in no tree                  algorithms 4 and 6
  AUGMENT    augment along the path of each tree in `found`; count released columns     algorithm 3, line 18
  RELEASE    divide the queue into the rows of kept trees and released columns          algorithm 7, lines 1 to 7
  GRAFT      graft released columns                                                     algorithm 7, line 9

Threads claim chunks of the frontier, of the words of a bitmap or of a list by the counters NEXT and ALSO, and append
what they find to the shared queues by way of private ones.  They read a flag before they change it atomically.  Both
are as in the paper; there is no switch to measure their effect.

Arrays in addition to those of bitmap_search.py, or other than there
  queue, tree_of, root   two of each, which are read and written in turn; s[FLIP] and s[ROOT_FLIP] name the current ones
  found               indices of the roots that have found a path in this phase
  released            columns of the trees that have found a path
  leaf[k]             stays set when tree k is dissolved, so owner[r] of its rows need not be cleared
  s                   the state that only the last thread changes, and the shared counters, each in its own cache lines

Shared data during a level
  seen     DOWN: the thread whose atomic_or sets the bit owns the column.  UP: a word belongs to one thread
  parent   written by the thread that owns the column, before owner[] of the column's mate
  leaf[k]  the thread whose compare-and-swap replaces -1 by a free column gives tree k its path

A free column that was reached DOWN after its tree had got another path is *spare*: other trees have skipped it as seen.
It is in the queue as -1 - c, with the index of its tree, and so it is released with it, and can be grafted.  If trees
are not kept, the next phase clears all bits.  In a phase with spare columns, a path has been found, so it is not the
last.

Sources, deviations and complexity: bitmap_search.py.  Memory: 28 bytes per column and 16 per row.
"""

from typing import Any, NamedTuple

import numpy as np

from gridcut.device import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_load,
    atomic_or,
    atomic_store,
    inner_kernel,
    kernel,
)
from gridcut.device.intrinsics import prefetch
from gridcut.device.threads import CELL, is_last, new_cells, release, run_team, wait
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
    new_counts,
)
from matching.forest.bitmap_search import PREFETCH_DISTANCE, UNLIMITED, Rules, bit

WIDE = 512  # vertices of a level from which all threads share it
START, CLEAR, SETUP, MATE, DOWN, UP, AUGMENT, RELEASE, GRAFT, DONE = range(10)
Lists = tuple[
    Any, Any, Any, Any
]  # of the rows and of the columns: pointers, neighbours; None without those of the columns
CHUNK = 64  # vertices that a thread claims at a time, at most
LIST_CHUNK, WORD_CHUNK = 2048, 8
PRIVATE = 1024  # entries of a private queue
ALL = ~np.uint64(0)
ROOTS, COLUMNS, ROWS = range(3)  # what the frontier consists of
# Entries of s: counters, then what only the last thread changes.
NEXT, ALSO, TAIL, FOUND, RELEASED, ROOT_TAIL, FREE, SCANNED = range(0, 8 * CELL, CELL)
STEP, FORM, HEAD, EDGE, SIZE, NUMBER, ACTIVE, FLIP, ROOT_FLIP, OPENING, MAXIMUM = range(8 * CELL, 8 * CELL + 11)
STATE_SIZE = 9 * CELL


class Limits(NamedTuple):
    """The rules; width of shared levels; bounds on scanned edges and on the number of paths."""

    rules: Rules
    wide: int
    budget: int
    missing: int


class Graph(NamedTuple):
    """Adjacency lists and matching; the lists of the columns may be empty."""

    row_ptr: np.ndarray
    row_adj: np.ndarray
    col_ptr: np.ndarray
    col_adj: np.ndarray
    row_match: np.ndarray
    col_match: np.ndarray


class Trees(NamedTuple):
    """The arrays of the file header."""

    seen: np.ndarray
    is_free: np.ndarray
    parent: np.ndarray
    root: np.ndarray
    leaf: np.ndarray
    queue: np.ndarray
    tree_of: np.ndarray
    owner: np.ndarray
    found: np.ndarray
    released: np.ndarray
    s: np.ndarray


class Private(NamedTuple):
    """What belongs to one thread: entries that wait for the shared queues, and counts."""

    vertex: np.ndarray
    tree: np.ndarray
    other: np.ndarray
    counts: np.ndarray


@inner_kernel
def append(private, number, t, queue, tree):
    """Append private entries to the shared queue; returns 0, the number that is left."""
    at = atomic_add(t.s, TAIL, number)
    for j in range(number):
        queue[at + j] = private.vertex[j]
        tree[at + j] = private.tree[j]
    return 0


@inner_kernel
def append_to(private, number, t, array, end):
    """Append private.other[:number] to a shared list that ends at s[end]; returns 0."""
    at = atomic_add(t.s, end, number)
    for j in range(number):
        array[at + j] = private.other[j]
    return 0


@inner_kernel
def list_roots(g, t, private, root, old):
    """List the free rows that have neighbours or, given the old roots, those that have found no path."""
    s = t.s
    size = old.size if old.size else g.row_match.size
    first = atomic_add(s, ALSO, LIST_CHUNK)
    while first < size:
        number = 0
        for i in range(first, min(first + LIST_CHUNK, size)):
            if old.size:
                if t.leaf[i] >= 0:
                    continue
                r = np.int64(old[i])
            else:
                r = np.int64(i)
                if g.row_match[r] != -1 or g.row_ptr[r] == g.row_ptr[r + 1]:
                    continue
            private.other[number] = r
            number += 1
        append_to(private, number, t, root, ROOT_TAIL)
        first = atomic_add(s, ALSO, LIST_CHUNK)


@inner_kernel
def clear(g, t, opening):
    """Clear seen and owner; when the search starts, also mark the free columns."""
    s, m = t.s, g.col_match.size
    words, rows = t.seen.size, t.owner.size
    first = atomic_add(s, NEXT, LIST_CHUNK)
    while first < max(words, rows):
        for word in range(first, min(first + LIST_CHUNK, words)):
            t.seen[word] = 0
        for r in range(first, min(first + LIST_CHUNK, rows)):
            t.owner[r] = -1
        first = atomic_add(s, NEXT, LIST_CHUNK)
    if opening:
        free = 0
        first = atomic_add(s, SCANNED, LIST_CHUNK)
        while first < words:
            for word in range(first, min(first + LIST_CHUNK, words)):
                bits = np.uint64(0)
                for c in range(word << 6, min((word + 1) << 6, m)):
                    if g.col_match[c] < 0:
                        bits |= bit(c)[1]
                        free += 1
                t.is_free[word] = bits
            first = atomic_add(s, SCANNED, LIST_CHUNK)
        atomic_add(s, FREE, free)


@inner_kernel
def set_up(t):
    """Start a tree from each root."""
    s = t.s
    root = t.root[s[ROOT_FLIP]]
    first = atomic_add(s, NEXT, LIST_CHUNK)
    while first < s[NUMBER]:
        for k in range(first, min(first + LIST_CHUNK, s[NUMBER])):
            t.leaf[k] = -1
            if t.owner.size:
                t.owner[root[k]] = k
        first = atomic_add(s, NEXT, LIST_CHUNK)


@inner_kernel
def to_rows(g, t, queue, tree, first, last):
    """Replace columns of the queue by the rows they are matched with, and set the owners of these rows."""
    for i in range(first, last):
        prefetch(g.col_match, max(queue[i], 0))
    for i in range(first, last):
        if queue[i] >= 0:
            r = g.col_match[queue[i]]
            queue[i] = r
            prefetch(g.row_ptr, r)
            if t.owner.size:
                atomic_store(t.owner, r, tree[i])


@inner_kernel
def mate(g, t):
    """Replace the columns of the frontier by their rows."""
    s = t.s
    queue, tree = t.queue[s[FLIP]], t.tree_of[s[FLIP]]
    first = atomic_add(s, NEXT, CHUNK)
    while first < s[EDGE]:
        to_rows(g, t, queue, tree, first, min(first + CHUNK, s[EDGE]))
        first = atomic_add(s, NEXT, CHUNK)


@inner_kernel
def down(g, t, private):
    """A level from the frontier; returns the number of scanned edges."""
    s, seen, leaf = t.s, t.seen, t.leaf
    form, edge, size = s[FORM], s[EDGE], s[SIZE]
    queue, tree = t.queue[s[FLIP]], t.tree_of[s[FLIP]]
    source = t.root[s[ROOT_FLIP]] if form == ROOTS else queue
    waiting, edges = 0, 0
    first = atomic_add(s, NEXT, size)
    while first < edge:
        last = min(first + size, edge)
        if form == COLUMNS:
            to_rows(g, t, queue, tree, first, last)
        else:
            for i in range(first, last):
                prefetch(g.row_ptr, source[i])
        for i in range(first, min(first + PREFETCH_DISTANCE, last)):
            prefetch(g.row_adj, g.row_ptr[max(source[i], 0)])
        for i in range(first, last):
            if i + PREFETCH_DISTANCE < last:
                prefetch(g.row_adj, g.row_ptr[max(source[i + PREFETCH_DISTANCE], 0)])
            k = i if form == ROOTS else np.int64(tree[i])
            if atomic_load(leaf, k) >= 0:
                continue
            r = np.int64(source[i])
            for a in range(g.row_ptr[r], g.row_ptr[r + 1]):
                edges += 1
                c = np.int64(g.row_adj[a])
                word, mask = bit(c)
                if atomic_load(seen, word) & mask or atomic_or(seen, word, mask) & mask:
                    continue
                t.parent[c] = r
                free = t.is_free[word] & mask
                if free and atomic_cas(leaf, k, -1, c) < 0:
                    t.found[atomic_add(s, FOUND, 1)] = k
                    break
                if waiting == PRIVATE:
                    waiting = append(private, waiting, t, queue, tree)
                private.vertex[waiting] = -1 - c if free else c
                private.tree[waiting] = k
                waiting += 1
                if free:
                    break
        first = atomic_add(s, NEXT, size)
    append(private, waiting, t, queue, tree)
    return edges


@inner_kernel
def up(g, t, private):
    """A level from the columns in no tree; returns the number of scanned edges."""
    s, m, leaf = t.s, g.col_match.size, t.leaf
    queue, tree = t.queue[s[FLIP]], t.tree_of[s[FLIP]]
    words = t.seen.size
    waiting, edges = 0, 0
    first = atomic_add(s, NEXT, WORD_CHUNK)
    while first < words:
        for word in range(first, min(first + WORD_CHUNK, words)):
            seen = t.seen[word]
            if seen == ALL:
                continue
            # Most columns that find a row find it among their last two; those of the next word are prefetched.
            for c in range((word + 1) << 6, min((word + 2) << 6, m)):
                if t.seen[word + 1] & bit(c)[1] == 0:
                    for a in range(max(g.col_ptr[c], g.col_ptr[c + 1] - 2), g.col_ptr[c + 1]):
                        prefetch(t.owner, g.col_adj[a])
            for c in range(word << 6, min((word + 1) << 6, m)):
                mask = bit(c)[1]
                if seen & mask:
                    continue
                for a in range(g.col_ptr[c + 1] - 1, g.col_ptr[c] - 1, -1):
                    edges += 1
                    r = g.col_adj[a]
                    k = np.int64(atomic_load(t.owner, r))
                    if k < 0 or atomic_load(leaf, k) >= 0:
                        continue
                    t.parent[c] = r
                    if t.is_free[word] & mask:
                        if atomic_cas(leaf, k, -1, c) >= 0:
                            continue
                        t.found[atomic_add(s, FOUND, 1)] = k
                    else:
                        if waiting == PRIVATE:
                            waiting = append(private, waiting, t, queue, tree)
                        private.vertex[waiting] = g.col_match[c]
                        private.tree[waiting] = k
                        waiting += 1
                        # After parent[c]: a thread that reads this owner can follow parent[c].
                        atomic_store(t.owner, g.col_match[c], k)
                    seen |= mask
                    break
            t.seen[word] = seen
        first = atomic_add(s, NEXT, WORD_CHUNK)
    append(private, waiting, t, queue, tree)
    return edges


@inner_kernel
def augment(g, t, count_released):
    """Augment along the paths of `found`, and count the entries of the queue in trees with a path.

    Returns the number of edges of the paths, and the count.
    """
    s = t.s
    length, released = 0, 0
    first = atomic_add(s, NEXT, CHUNK)
    while first < s[FOUND]:
        last = min(first + CHUNK, s[FOUND])
        for i in range(first, last):
            prefetch(t.parent, t.leaf[t.found[i]])
        for i in range(first, last):
            c = np.int64(t.leaf[t.found[i]])
            word, mask = bit(c)
            atomic_and(t.is_free, word, ~mask)
            length -= 1
            while c >= 0:
                r = t.parent[c]
                before = np.int64(g.row_match[r])
                g.row_match[r] = c
                g.col_match[c] = r
                length += 2
                c = before
        first = atomic_add(s, NEXT, CHUNK)
    if count_released:
        tree = t.tree_of[s[FLIP]]
        first = atomic_add(s, ALSO, LIST_CHUNK)
        while first < s[EDGE]:
            for i in range(first, min(first + LIST_CHUNK, s[EDGE])):
                released += t.leaf[tree[i]] >= 0
            first = atomic_add(s, ALSO, LIST_CHUNK)
    return length, released


@inner_kernel
def release_trees(g, t, private):
    """Copy the entries of kept trees to the other queue, and list the columns of the others as released."""
    s = t.s
    old, old_tree = t.queue[1 - s[FLIP]], t.tree_of[1 - s[FLIP]]
    queue, tree = t.queue[s[FLIP]], t.tree_of[s[FLIP]]
    root = t.root[s[ROOT_FLIP]]
    first = atomic_add(s, NEXT, PRIVATE)
    while first < s[EDGE]:
        kept, free = 0, 0
        for i in range(first, min(first + PRIVATE, s[EDGE])):
            if t.leaf[old_tree[i]] < 0:
                private.vertex[kept] = old[i]
                private.tree[kept] = old_tree[i]
                kept += 1
            else:
                c = np.int64(g.row_match[old[i]] if old[i] >= 0 else -1 - old[i])
                word, mask = bit(c)
                atomic_and(t.seen, word, ~mask)
                private.other[free] = c
                free += 1
        append(private, kept, t, queue, tree)
        append_to(private, free, t, t.released, RELEASED)
        first = atomic_add(s, NEXT, PRIVATE)
    first = atomic_add(s, ALSO, PRIVATE)
    while first < s[FOUND]:
        free = 0
        for i in range(first, min(first + PRIVATE, s[FOUND])):
            c = np.int64(g.row_match[root[t.found[i]]])
            word, mask = bit(c)
            atomic_and(t.seen, word, ~mask)
            private.other[free] = c
            free += 1
        append_to(private, free, t, t.released, RELEASED)
        first = atomic_add(s, ALSO, PRIVATE)


@inner_kernel
def graft(g, t, private):
    """Graft released columns onto trees without a path; returns the number of scanned edges."""
    s, leaf = t.s, t.leaf
    queue, tree = t.queue[s[FLIP]], t.tree_of[s[FLIP]]
    released = t.released
    size = s[RELEASED]
    waiting, edges = 0, 0
    first = atomic_add(s, NEXT, CHUNK)
    while first < size:
        last = min(first + CHUNK, size)
        for i in range(first, last):
            prefetch(g.col_ptr, released[i])
        for i in range(first, last):
            c = np.int64(released[i])
            prefetch(g.col_adj, max(g.col_ptr[c + 1] - 1, 0))
        for i in range(first, last):
            if i + PREFETCH_DISTANCE < last:
                c = released[i + PREFETCH_DISTANCE]
                if g.col_ptr[c] < g.col_ptr[c + 1]:
                    prefetch(t.owner, g.col_adj[g.col_ptr[c + 1] - 1])
            c = np.int64(released[i])
            word, mask = bit(c)
            for a in range(g.col_ptr[c + 1] - 1, g.col_ptr[c] - 1, -1):
                edges += 1
                r = g.col_adj[a]
                k = np.int64(t.owner[r])
                if k < 0 or atomic_load(leaf, k) >= 0:
                    continue
                t.parent[c] = r
                if t.is_free[word] & mask:
                    if atomic_cas(leaf, k, -1, c) >= 0:
                        continue
                    t.found[atomic_add(s, FOUND, 1)] = k
                else:
                    if waiting == PRIVATE:
                        waiting = append(private, waiting, t, queue, tree)
                    private.vertex[waiting] = c
                    private.tree[waiting] = k
                    waiting += 1
                atomic_or(t.seen, word, mask)
                break
        first = atomic_add(s, NEXT, CHUNK)
    append(private, waiting, t, queue, tree)
    return edges


# Which step follows


@inner_kernel
def start_step(s, step, first):
    """Name the next step, whose first item is `first`."""
    s[STEP] = step
    s[NEXT], s[ALSO] = first, 0


@inner_kernel
def end_level(s, form):
    """The columns found by a level become the frontier."""
    s[HEAD] = 0 if s[FORM] == ROOTS else s[EDGE]
    s[EDGE] = s[TAIL]
    s[FORM] = form


@inner_kernel
def do_part(g, t, private, limits):
    """This thread's part of the current step."""
    s, counts = t.s, private.counts
    step = s[STEP]
    edges = 0
    if step == START or step == CLEAR:
        old = t.root[1 - s[ROOT_FLIP], : s[NUMBER]]
        list_roots(g, t, private, t.root[s[ROOT_FLIP]], old)
        clear(g, t, step == START)
    elif step == SETUP:
        set_up(t)
    elif step == MATE:
        mate(g, t)
    elif step == DOWN:
        edges = down(g, t, private)
    elif step == UP:
        edges = up(g, t, private)
        counts[EDGES_UP] += edges
    elif step == AUGMENT:
        length, released = augment(g, t, limits.rules.keep > 0 and g.col_ptr.size > 0)
        counts[PATH_LENGTH] += length
        atomic_add(s, RELEASED, released)
    elif step == RELEASE:
        release_trees(g, t, private)
    elif step == GRAFT:
        edges = graft(g, t, private)
        counts[EDGES_GRAFT] += edges
    counts[EDGES] += edges
    if edges:
        atomic_add(s, SCANNED, edges)


@inner_kernel
def next_level(g, t, private, limits):
    """Choose the next level; narrow ones are done here, by this thread alone."""
    s, counts = t.s, private.counts
    while s[HEAD] < s[EDGE]:
        width = s[EDGE] - s[HEAD]
        goes_up = limits.rules.alpha > 0 and g.col_ptr.size > 0 and (limits.rules.paper or s[OPENING] == 0)
        goes_up = goes_up and width * limits.rules.alpha >= g.col_match.size - s[TAIL]
        step = MATE if goes_up and s[FORM] == COLUMNS else UP if goes_up else DOWN
        start_step(s, step, 0 if step == UP else s[HEAD])
        if step != MATE:
            counts[LEVELS] += 1
            counts[LEVELS_UP] += step == UP
        if width >= limits.wide:
            s[SIZE] = max(8, min(CHUNK, width >> 7))
            return
        s[SIZE] = CHUNK
        do_part(g, t, private, limits)
        end_step(s)
    start_step(s, AUGMENT, 0)
    s[RELEASED] = 0


@inner_kernel
def end_step(s):
    """What follows from a level, or from its preparation."""
    if s[STEP] == MATE:
        s[FORM] = ROWS
    else:
        end_level(s, ROWS if s[STEP] == UP else COLUMNS)
        s[OPENING] = 0


@inner_kernel
def end_phase(g, t, private, limits):
    """After the augmentations: end, keep the trees without a path, or start again."""
    s, counts = t.s, private.counts
    found, released = s[FOUND], s[RELEASED]
    counts[PHASES] += 1
    counts[AUGMENTATIONS] += found
    s[FREE] -= found
    s[ACTIVE] -= found
    if found == 0 or s[FREE] == 0 or s[ACTIVE] == 0:
        s[MAXIMUM] = 1
        s[STEP] = DONE
    elif s[SCANNED] > limits.budget:
        s[STEP] = DONE
    else:
        s[RELEASED] = 0
        s[TAIL] = 0
        kept = s[EDGE] - released
        if limits.rules.paper:
            kept, released = kept + s[ACTIVE], released + found
        if limits.rules.keep > 0 and g.col_ptr.size > 0 and kept * limits.rules.keep >= released:
            s[FLIP] = 1 - s[FLIP]
            start_step(s, RELEASE, 0)
        else:
            s[ROOT_FLIP] = 1 - s[ROOT_FLIP]
            s[ROOT_TAIL], s[FOUND] = 0, 0
            start_step(s, CLEAR, 0)


@inner_kernel
def next_step(g, t, private, limits):
    """Run by the last thread to arrive: from the step that has ended to the next one."""
    s, counts = t.s, private.counts
    step = s[STEP]
    if step == START or step == CLEAR:
        s[NUMBER] = s[ROOT_TAIL]
        s[ACTIVE] = s[NUMBER]
        if step == START:
            s[SCANNED] = 0
            s[FREE] = min(s[FREE], limits.missing)
        if s[NUMBER] == 0 or s[FREE] == 0:
            s[MAXIMUM] = 1
            s[STEP] = DONE
        else:
            start_step(s, SETUP, 0)
    elif step == SETUP:
        s[FORM], s[HEAD], s[EDGE], s[TAIL], s[OPENING] = ROOTS, 0, s[NUMBER], 0, 1
        next_level(g, t, private, limits)
    elif step == AUGMENT:
        end_phase(g, t, private, limits)
    elif step == RELEASE:
        s[FOUND] = 0
        s[HEAD] = s[TAIL]
        start_step(s, GRAFT, 0)
    elif step == GRAFT:
        counts[GRAFTS] += 1
        s[EDGE], s[FORM], s[OPENING] = s[TAIL], COLUMNS, 1
        if s[HEAD] == s[EDGE] and s[FOUND] == 0:
            s[MAXIMUM] = 1
            s[STEP] = DONE
        else:
            next_level(g, t, private, limits)
    else:
        end_step(s)
        next_level(g, t, private, limits)


@kernel
def work(cells, threads, g, t, limits, counts, steps):
    """One thread of the team; returns at the end of the search or, for one that works alone, after some steps."""
    private = Private(np.empty(PRIVATE, np.int32), np.empty(PRIVATE, np.int32), np.empty(LIST_CHUNK, np.int32), counts)
    generation = 0
    while t.s[STEP] != DONE and generation < steps:
        do_part(g, t, private, limits)
        generation += 1
        if threads == 1 or is_last(cells, threads, generation):
            next_step(g, t, private, limits)
            release(cells, generation)
        elif not wait(cells, generation):
            return


def search_by_team(
    lists: Lists, row_match, col_match, counts, budget, missing, rules, threads: int, wide: int = WIDE
) -> bool:
    """`search` of bitmap_search.py on several threads: lists are the four arrays of both sides."""
    g, t, limits = arrays(lists, row_match, col_match, Limits(rules, wide, budget, missing))
    cells, of_threads = new_cells(), [new_counts() for _ in range(threads)]
    run_team(lambda i: work(cells, threads, g, t, limits, of_threads[i], UNLIMITED), threads, cells)
    counts += sum(of_threads)
    return bool(t.s[MAXIMUM])


def arrays(lists: Lists, row_match, col_match, limits: Limits) -> tuple[Graph, Trees, Limits]:
    """The arguments of `work`, at step START."""
    n, m = len(row_match), len(col_match)
    words, with_lists = (m >> 6) + 1, lists[2] is not None
    if not with_lists:
        lists = (*lists[:2], np.empty(0, np.int64), np.empty(0, np.int32))
    trees = Trees(
        seen=np.empty(words, np.uint64),
        is_free=np.empty(words, np.uint64),
        parent=np.empty(m, np.int32),
        root=np.empty((2, n), np.int32),
        leaf=np.empty(n, np.int32),
        queue=np.empty((2, m), np.int32),
        tree_of=np.empty((2, m), np.int32),
        owner=np.empty(n if with_lists else 0, np.int32),
        found=np.empty(min(n, m), np.int32),
        released=np.empty(m if with_lists else 0, np.int32),
        s=np.zeros(STATE_SIZE, np.int64),
    )
    return Graph(*lists, row_match, col_match), trees, limits
