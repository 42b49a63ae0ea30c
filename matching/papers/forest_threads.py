"""MS-BFS with tree grafting on several threads: Azad, Buluç, Pothen, algorithms 3 to 7.

Makes a matching maximum. The algorithm is that of bitmap_search.py with PAPER_RULES. Bitmaps are for one thread, since
threads would write to the same words; so here each vertex has its own entry, and the roots are vertices.

X is the side of the roots, Y the other side:

Problem
  x_ptr, x_adj   neighbours in Y of x: x_adj[x_ptr[x]:x_ptr[x + 1]];  y_ptr, y_adj likewise
  mate_x, mate_y partner, or -1: unmatched

Forest                                                                              paper [1]
  root_y[y]      root of the tree that contains y;  -1: none                        root[y], visited[y]
  parent[y]      the x from which y was reached, if root_y[y] >= 0                  parent[y]
  root_x[x]      root of the tree that contains x, or contained it when destroyed;    root[x]
                 -1: none.  A matched x is in a tree if and only if its mate is
  leaf[r]        unmatched y where an augmenting path from r ends;  -1: none yet    leaf[r]
  queue          the x of all levels of a phase, in order                           F and Q
  candidates     y of a bottom-up level: those in no tree, or the renewable ones    R
  left           candidates that no tree has adopted in this level
  found          roots that have a leaf in this phase: renewable trees

A tree is active while leaf[root] is -1.  A root with a leaf is matched at the end of the phase and never becomes a root
again.  So leaf[root] >= 0 continues to mark its tree as destroyed, and root_x of the members need not be cleared.

A worker claims chunks of the frontier, or of the candidates, by a shared counter.  It has a private queue, which it
copies to the shared one when it is full.  Shared arrays during a level
  root_y[y]   top-down: the worker whose compare-and-swap replaces -1 by a root owns y; bottom-up: one worker has y
  root_x[x]   written by the worker that owns the mate of x, after parent[] of that mate
  leaf[r]     the worker whose compare-and-swap replaces -1 by an unmatched y gives r its path.  In the paper the last
              writer wins; here the first one does, so that each tree enters `found` once

An unmatched y that was claimed top-down after its tree had got another leaf is *spare*.  Other workers have skipped it
as visited.  So it counts as renewable, as its root indicates, and active trees can adopt it in the next phase.

Bottom-up levels and grafting read the neighbours of y from the end of the list; bitmap_search.py has the reason.
A y may become a child of an x that the same level or grafting has reached.

Deviations from [1]: one worker searches each sequence of narrow levels, of which long paths have thousands; a tree that
has found a leaf is left immediately; no last phase if no y or no x is unmatched.

[1] Azad, Buluç, Pothen. "A parallel tree grafting algorithm for maximum cardinality matching in bipartite graphs."
    IPDPS 2015.

O(nm) for n vertices and m edges, usually a few sweeps over the edges; 16 bytes per y and 16 bytes per x.
"""

from time import perf_counter
from typing import NamedTuple

import numpy as np

from gridcut.device import atomic_add, atomic_cas, atomic_load, atomic_store, kernel, run_threads
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

CHUNK_ENTRIES = 64  # entries that a worker claims at a time
PRIVATE_ENTRIES = 1024  # entries of a private queue; 4 kB
SCANS_PER_VISIT = 16  # scanning this many y takes about as long as visiting one
NEXT, QUEUE_END, FOUND_END, LEFT_END = range(0, 64, 16)  # in `shared`, in different cache lines


class Problem(NamedTuple):
    """The adjacency lists of both sides, and the matching."""

    x_ptr: np.ndarray
    x_adj: np.ndarray
    y_ptr: np.ndarray
    y_adj: np.ndarray
    mate_x: np.ndarray
    mate_y: np.ndarray


class Forest(NamedTuple):
    """The arrays of the file header, and the counters of the workers."""

    root_y: np.ndarray
    parent: np.ndarray
    root_x: np.ndarray
    leaf: np.ndarray
    queue: np.ndarray
    candidates: np.ndarray
    left: np.ndarray
    found: np.ndarray
    shared: np.ndarray


def make_forest(problem: Problem) -> Forest:
    """A forest without trees."""
    n, m = len(problem.mate_x), len(problem.mate_y)
    empty = [np.empty(size, np.int32) for size in (n, m, m, n)]
    roots = [np.full(m, -1, np.int32), np.empty(m, np.int32), np.full(n, -1, np.int32), np.full(n, -1, np.int32)]
    return Forest(*roots, *empty, np.zeros(64, np.int64))


@kernel
def flush(private, number, target, shared, end):
    """Copy a private queue to the end of a shared one."""
    at = atomic_add(shared, end, number)
    for k in range(number):
        target[at + k] = private[k]


@kernel
def top_down_part(problem, forest, tail, private):
    """Algorithm 4, one worker's chunks of queue[shared[NEXT]:tail]; returns the number of scanned edges."""
    shared = forest.shared
    waiting = 0
    edges = 0
    first = atomic_add(shared, NEXT, CHUNK_ENTRIES)
    while first < tail:
        for k in range(first, min(first + CHUNK_ENTRIES, tail)):
            x = forest.queue[k]
            r = forest.root_x[x]
            for a in range(problem.x_ptr[x], problem.x_ptr[x + 1]):
                if atomic_load(forest.leaf, r) >= 0:
                    break
                y = problem.x_adj[a]
                edges += 1
                if atomic_load(forest.root_y, y) >= 0 or atomic_cas(forest.root_y, y, -1, r) >= 0:
                    continue
                forest.parent[y] = x
                next_x = problem.mate_y[y]
                if next_x >= 0:
                    atomic_store(forest.root_x, next_x, r)
                    private[waiting] = next_x
                    waiting += 1
                    if waiting == PRIVATE_ENTRIES:
                        flush(private, waiting, forest.queue, shared, QUEUE_END)
                        waiting = 0
                elif atomic_cas(forest.leaf, r, -1, y) < 0:
                    forest.found[atomic_add(shared, FOUND_END, 1)] = r
        first = atomic_add(shared, NEXT, CHUNK_ENTRIES)
    flush(private, waiting, forest.queue, shared, QUEUE_END)
    return edges


@kernel
def bottom_up_part(problem, forest, number, private):
    """Algorithm 6, one worker's chunks of candidates[:number]; returns the number of scanned edges.

    Candidates that remain in no tree are copied to `left`.
    """
    shared = forest.shared
    waiting = 0
    unreached_y = np.empty(CHUNK_ENTRIES, np.int32)
    edges = 0
    first = atomic_add(shared, NEXT, CHUNK_ENTRIES)
    while first < number:
        alone = 0
        for k in range(first, min(first + CHUNK_ENTRIES, number)):
            y = forest.candidates[k]
            if forest.root_y[y] < 0:
                for a in range(problem.y_ptr[y + 1] - 1, problem.y_ptr[y] - 1, -1):
                    x = problem.y_adj[a]
                    edges += 1
                    r = atomic_load(forest.root_x, x)
                    if r < 0 or atomic_load(forest.leaf, r) >= 0:
                        continue
                    forest.parent[y] = x
                    next_x = problem.mate_y[y]
                    if next_x >= 0:
                        forest.root_y[y] = r
                        # After parent[y]: a worker that reads next_x in an active tree can follow parent[y].
                        atomic_store(forest.root_x, next_x, r)
                        private[waiting] = next_x
                        waiting += 1
                        if waiting == PRIVATE_ENTRIES:
                            flush(private, waiting, forest.queue, shared, QUEUE_END)
                            waiting = 0
                        break
                    if atomic_cas(forest.leaf, r, -1, y) < 0:
                        forest.root_y[y] = r
                        forest.found[atomic_add(shared, FOUND_END, 1)] = r
                        break
            if forest.root_y[y] < 0:
                unreached_y[alone] = y
                alone += 1
        flush(unreached_y, alone, forest.left, shared, LEFT_END)
        first = atomic_add(shared, NEXT, CHUNK_ENTRIES)
    flush(private, waiting, forest.queue, shared, QUEUE_END)
    return edges


@kernel
def list_part(problem, forest, renewable):
    """One worker's chunks of all y: list those in no tree as candidates, or with `renewable` those to be renewed.

    Algorithm 3, line 12, or algorithm 7, lines 1 to 7.  Returns the number of y in active trees.
    """
    shared = forest.shared
    private = np.empty(PRIVATE_ENTRIES, np.int32)
    active = 0
    m = len(forest.root_y)
    first = atomic_add(shared, NEXT, PRIVATE_ENTRIES)
    while first < m:
        number = 0
        for y in range(first, min(first + PRIVATE_ENTRIES, m)):
            r = forest.root_y[y]
            if r < 0:
                listed = not renewable and problem.y_ptr[y] < problem.y_ptr[y + 1]
            elif forest.leaf[r] < 0:
                listed = False
                active += 1
            else:
                listed = renewable
                if renewable:
                    forest.root_y[y] = -1
            if listed:
                private[number] = y
                number += 1
        flush(private, number, forest.candidates, shared, LEFT_END)
        first = atomic_add(shared, NEXT, PRIVATE_ENTRIES)
    return active


@kernel
def augment_part(problem, forest, last):
    """Augment along one worker's chunks of the paths of found[:last]; returns the number of their edges."""
    length = 0
    first = atomic_add(forest.shared, NEXT, CHUNK_ENTRIES)
    while first < last:
        for k in range(first, min(first + CHUNK_ENTRIES, last)):
            y = forest.leaf[forest.found[k]]
            while y >= 0:
                x = forest.parent[y]
                next_y = problem.mate_x[x]
                problem.mate_x[x] = y
                problem.mate_y[y] = x
                length += 2
                y = next_y
            length -= 1
        first = atomic_add(forest.shared, NEXT, CHUNK_ENTRIES)
    return length


@kernel
def narrow_levels(problem, forest, head, unvisited, listed, alpha, wide, counts):
    """Algorithm 3, lines 8 to 13, by one worker while the frontier has less than `wide` x.

    unvisited   number of y in no tree;  listed: number of candidates, -1: not listed in this phase

    Returns the index of the frontier in the queue, which ends at shared[QUEUE_END], and both numbers.
    """
    shared = forest.shared
    private = np.empty(PRIVATE_ENTRIES, np.int32)
    tail = shared[QUEUE_END]
    while head < tail and tail - head < wide:
        found = shared[FOUND_END]
        if (tail - head) * alpha >= unvisited:
            if listed < 0:
                shared[NEXT], shared[LEFT_END] = 0, 0
                list_part(problem, forest, False)
                listed = shared[LEFT_END]
            shared[NEXT], shared[LEFT_END] = 0, 0
            edges = bottom_up_part(problem, forest, listed, private)
            listed = shared[LEFT_END]
            forest.candidates[:listed] = forest.left[:listed]
            counts[EDGES_UP] += edges
            counts[LEVELS_UP] += 1
        else:
            shared[NEXT] = head
            edges = top_down_part(problem, forest, tail, private)
        counts[EDGES] += edges
        counts[LEVELS] += 1
        head, tail = tail, shared[QUEUE_END]
        unvisited -= tail - head + shared[FOUND_END] - found
    return head, unvisited, listed


class Workers(NamedTuple):
    """The arrays, and the number of threads for steps of `wide` vertices or more; one thread does the others."""

    problem: Problem
    forest: Forest
    threads: int
    wide: int

    def count(self, size: int) -> int:
        """The number of threads for a step of `size` vertices."""
        return self.threads if size >= self.wide else 1


def private_queue():
    """The queue of one worker."""
    return np.empty(PRIVATE_ENTRIES, np.int32)


def top_down(workers: Workers, head: int, tail: int) -> int:
    """Algorithm 4 on queue[head:tail] by all workers; returns the number of scanned edges."""
    problem, forest, threads, _ = workers
    forest.shared[NEXT] = head
    return sum(run_threads(lambda i: top_down_part(problem, forest, tail, private_queue()), threads))


def bottom_up(workers: Workers, number: int, threads: int) -> int:
    """Algorithm 6 on candidates[:number]; returns the number of scanned edges."""
    problem, forest, _, _ = workers
    forest.shared[NEXT] = forest.shared[LEFT_END] = 0
    return sum(run_threads(lambda i: bottom_up_part(problem, forest, number, private_queue()), threads))


def list_candidates(workers: Workers, renewable: bool) -> tuple[int, int]:
    """Fill `candidates` (see list_part): (number of candidates, number of y in active trees)."""
    problem, forest, _, _ = workers
    forest.shared[NEXT] = forest.shared[LEFT_END] = 0
    threads = workers.count(len(forest.root_y) // SCANS_PER_VISIT)
    active = sum(run_threads(lambda i: list_part(problem, forest, renewable), threads))
    return int(forest.shared[LEFT_END]), active


def augment(workers: Workers, last: int) -> int:
    """Augment along the paths of found[:last]; returns the number of their edges."""
    problem, forest, _, _ = workers
    forest.shared[NEXT] = 0
    return sum(run_threads(lambda i: augment_part(problem, forest, last), workers.count(last)))


def grow(workers: Workers, unvisited: int, alpha: float, counts) -> None:
    """Algorithm 3, lines 8 to 13, from queue[:shared[QUEUE_END]]; wide levels by all workers."""
    problem, forest, threads, wide = workers
    shared = forest.shared
    head, listed = 0, -1
    while head < shared[QUEUE_END]:
        tail = int(shared[QUEUE_END])
        if threads == 1 or tail - head < wide:
            limit = len(forest.queue) + 1 if threads == 1 else wide
            head, unvisited, listed = narrow_levels(problem, forest, head, unvisited, listed, alpha, limit, counts)
            continue
        found = int(shared[FOUND_END])
        if (tail - head) * alpha >= unvisited:
            if listed < 0:
                listed, _ = list_candidates(workers, False)
            edges = bottom_up(workers, listed, threads)
            listed = int(shared[LEFT_END])
            forest.candidates[:listed] = forest.left[:listed]
            counts[EDGES_UP] += edges
            counts[LEVELS_UP] += 1
        else:
            edges = top_down(workers, head, tail)
        counts[EDGES] += edges
        counts[LEVELS] += 1
        head = tail
        unvisited -= int(shared[QUEUE_END] - tail + shared[FOUND_END] - found)


def next_frontier(workers: Workers, free, keep: float, counts) -> int:
    """Algorithm 7: graft, or restart from the free x; writes the frontier and returns the number of y in trees."""
    forest = workers.forest
    shared = forest.shared
    number, active = list_candidates(workers, True)
    shared[QUEUE_END], shared[FOUND_END] = 0, 0
    if (active + len(free)) * keep >= number:
        edges = bottom_up(workers, number, workers.count(number))
        counts[EDGES] += edges
        counts[EDGES_GRAFT] += edges
        counts[GRAFTS] += 1
        return active + int(shared[QUEUE_END] + shared[FOUND_END])
    forest.root_x.fill(-1)
    forest.root_y.fill(-1)
    start_from(forest, free)
    return 0


def start_from(forest: Forest, free) -> None:
    """Make the free x the roots, and the frontier."""
    forest.root_x[free] = free
    forest.queue[: len(free)] = free
    forest.shared[QUEUE_END] = len(free)


def search_by_threads(problem: Problem, rules, threads: int, wide: int, counts) -> dict:
    """Algorithm 3; returns the seconds of each step.

    rules   alpha and keep as in bitmap_search.py
    """
    seconds = {"forest": 0.0, "augment": 0.0, "frontier": 0.0}
    workers = Workers(problem, make_forest(problem), threads, wide)
    forest = workers.forest
    free = np.flatnonzero((problem.mate_x < 0) & (np.diff(problem.x_ptr) > 0)).astype(np.int32)
    with_edges = np.diff(problem.y_ptr) > 0
    reachable, open_y = (int(np.count_nonzero(some)) for some in (with_edges, with_edges & (problem.mate_y < 0)))
    start_from(forest, free)
    in_trees = 0
    while len(free) and open_y:
        times = [perf_counter()]
        grow(workers, reachable - in_trees, rules.alpha, counts)
        counts[PHASES] += 1
        times.append(perf_counter())
        found = int(forest.shared[FOUND_END])
        counts[PATH_LENGTH] += augment(workers, found)
        counts[AUGMENTATIONS] += found
        times.append(perf_counter())
        free = free[problem.mate_x[free] < 0]
        open_y = open_y - found if found else 0
        if len(free) and open_y:
            in_trees = next_frontier(workers, free, rules.keep, counts)
        times.append(perf_counter())
        for step, first, last in zip(seconds, times, times[1:], strict=False):
            seconds[step] += last - first
    return seconds
