"""The steps of a phase on several threads: Azad, Buluç, Pothen, algorithms 4 to 7 (arrays in forest.py).

A worker claims chunks of the frontier, or of the candidate y, by a shared counter.  It has a private queue, which it
copies to the shared one when it is full.  Shared arrays during a level
  root_y[y]   top-down: the worker whose compare-and-swap replaces -1 by a root owns y; bottom-up: one worker has y
  root_x[x]   written by the worker that owns the mate of x, after parent[] of that mate
  leaf[r]     the worker whose compare-and-swap replaces -1 by an unmatched y gives r its path.  In the paper the last
              writer wins; here the first one does, so that each tree enters `found` once
Levels of several threads are wide, so they set no links.

An unmatched y that was claimed top-down after its tree had got another leaf is *spare*.  Other workers have skipped it
as visited.  So it counts as renewable, as its root indicates, and active trees can adopt it in the next phase.

Azad, Buluç, Pothen. "A parallel tree grafting algorithm for maximum cardinality matching in bipartite graphs."
IPDPS 2015.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device import atomic_add, atomic_cas, atomic_load, atomic_store, kernel, run_threads
from matching.forest.forest import (
    ACTIVE,
    EDGES_DOWN,
    EDGES_GRAFT,
    EDGES_UP,
    FOUND,
    GRAFTS,
    LEVELS,
    LEVELS_UP,
    LISTED,
    SPARE,
    TAIL,
    UNLINKED,
    UNVISITED,
    Forest,
    Problem,
)
from matching.forest.serial import augment, graft_or_reroot, list_unvisited, prefer_grafting, update_counts

CHUNK_ENTRIES = 64  # entries that a worker claims at a time
PRIVATE_ENTRIES = 1024  # entries of a private queue; 4 kB
NEXT, QUEUE_END, FOUND_END, LEFT_END, SPARE_END = range(0, 80, 16)  # in different cache lines


class Pool(NamedTuple):
    """The data of the workers: left, the y that a bottom-up level has not reached; shared, counters."""

    problem: Problem
    forest: Forest
    left: np.ndarray
    shared: np.ndarray
    threads: int


def make_pool(problem, forest, threads):
    """Allocate the arrays of `threads` workers; `left` is empty for one."""
    m = len(problem.mate_y) if threads > 1 else 0
    return Pool(problem, forest, np.empty(m, np.int32), np.zeros(80, np.int64), threads)


@kernel
def flush(private, number, target, shared, end):
    """Copy a private queue to the end of a shared one."""
    at = atomic_add(shared, end, number)
    for k in range(number):
        target[at + k] = private[k]


@kernel
def top_down_part(problem, forest, tail, shared):
    """Algorithm 4, one worker's chunks of queue[shared[NEXT]:tail]; returns the number of scanned edges."""
    private = np.empty(PRIVATE_ENTRIES, np.int32)
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
                else:
                    atomic_add(shared, SPARE_END, 1)
        first = atomic_add(shared, NEXT, CHUNK_ENTRIES)
    flush(private, waiting, forest.queue, shared, QUEUE_END)
    return edges


@kernel
def bottom_up_part(problem, forest, candidates, number, left, shared, unlist):
    """Algorithm 6, one worker's chunks of candidates[:number]; returns the number of scanned edges.

    Candidates that remain in no tree are copied to `left`.
    """
    private = np.empty(PRIVATE_ENTRIES, np.int32)
    waiting = 0
    unreached_y = np.empty(CHUNK_ENTRIES, np.int32)
    edges = 0
    first = atomic_add(shared, NEXT, CHUNK_ENTRIES)
    while first < number:
        alone = 0
        for k in range(first, min(first + CHUNK_ENTRIES, number)):
            y = candidates[k]
            if forest.root_y[y] < 0:
                for a in range(problem.y_ptr[y], problem.y_ptr[y + 1]):
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
            elif unlist:
                forest.listed[y] = 0
        flush(unreached_y, alone, left, shared, LEFT_END)
        first = atomic_add(shared, NEXT, CHUNK_ENTRIES)
    flush(private, waiting, forest.queue, shared, QUEUE_END)
    return edges


@kernel
def augment_part(problem, forest, last, shared):
    """One worker's chunks of found[:last]; returns the number of edges of their paths."""
    length = 0
    first = atomic_add(shared, NEXT, CHUNK_ENTRIES)
    while first < last:
        length += augment(problem, forest, first, min(first + CHUNK_ENTRIES, last))
        first = atomic_add(shared, NEXT, CHUNK_ENTRIES)
    return length


@kernel
def collect_part(forest, shared):
    """collect_by_scan, one worker's chunks of all y."""
    private = np.empty(PRIVATE_ENTRIES, np.int32)
    m = len(forest.root_y)
    first = atomic_add(shared, NEXT, PRIVATE_ENTRIES)
    while first < m:
        number = 0
        for y in range(first, min(first + PRIVATE_ENTRIES, m)):
            r = forest.root_y[y]
            if r >= 0 and forest.leaf[r] >= 0:
                forest.root_y[y] = -1
                private[number] = y
                number += 1
        flush(private, number, forest.renewable, shared, LEFT_END)
        first = atomic_add(shared, NEXT, PRIVATE_ENTRIES)


def grow_level(pool, head, alpha, both_ways):
    """One level of Algorithm 3, lines 9 to 13, by all workers; returns the start of the next frontier in the queue."""
    problem, forest, left, shared, threads = pool
    count = forest.count
    count[UNLINKED] = 1
    tail = int(count[TAIL])
    shared[QUEUE_END] = tail
    shared[FOUND_END] = before = count[FOUND]
    if both_ways and (tail - head) * alpha >= count[UNVISITED]:
        edges = bottom_up_parallel(pool, forest.unvisited, int(count[LISTED]), True)
        count[LISTED] = number = int(shared[LEFT_END])
        forest.unvisited[:number] = left[:number]
        count[EDGES_UP] += edges
        count[LEVELS_UP] += 1
    else:
        shared[NEXT] = head
        shared[SPARE_END] = late = count[SPARE]
        count[EDGES_DOWN] += sum(run_threads(lambda i: top_down_part(problem, forest, tail, shared), threads))
        count[SPARE] = shared[SPARE_END]
        count[UNVISITED] -= count[SPARE] - late
    count[TAIL] = shared[QUEUE_END]
    count[FOUND] = shared[FOUND_END]
    count[ACTIVE] += count[TAIL] - tail
    count[UNVISITED] -= count[TAIL] - tail + count[FOUND] - before
    count[LEVELS] += 1
    return tail


def bottom_up_parallel(pool, candidates, number, unlist):
    """bottom_up by all workers, which update the ends in `shared`; returns the number of scanned edges."""
    problem, forest, left, shared, threads = pool
    shared[NEXT] = 0
    shared[LEFT_END] = 0
    return sum(
        run_threads(
            lambda i: bottom_up_part(problem, forest, candidates, number, left, shared, unlist),
            threads,
        )
    )


def augment_all(pool):
    """Augment along all paths; returns their total length."""
    problem, forest, _, shared, threads = pool
    shared[NEXT] = 0
    last = int(forest.count[FOUND])
    return sum(run_threads(lambda i: augment_part(problem, forest, last, shared), threads))


def next_frontier_parallel(pool, alpha, grafting, wide):
    """Algorithm 7 by all workers."""
    problem, forest, left, shared, threads = pool
    count = forest.count
    shared[NEXT] = 0
    shared[LEFT_END] = 0
    run_threads(lambda i: collect_part(forest, shared), threads)
    number = int(shared[LEFT_END])
    update_counts(problem, forest, number)
    if number < wide or not grafting or not prefer_grafting(forest, number, alpha):
        graft_or_reroot(problem, forest, number, alpha, grafting)
        return
    shared[QUEUE_END] = 0
    shared[FOUND_END] = 0
    count[UNLINKED] = 1
    count[EDGES_GRAFT] += bottom_up_parallel(pool, forest.renewable, number, False)
    unreached = int(shared[LEFT_END])
    count[TAIL] = shared[QUEUE_END]
    count[FOUND] = shared[FOUND_END]
    count[ACTIVE] += count[TAIL]
    count[UNVISITED] -= number - unreached
    count[GRAFTS] += 1
    list_unvisited(forest, left, unreached)
