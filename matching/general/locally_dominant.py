"""Locally dominant matching: what algorithm 2 of Fagginger Auer and Bisseling finds, without sorting the edges.

Returns the very matching of sorted.py, of at least half of the weight that any matching has.  An edge is heavier than
another if its weight is larger or, between equal ones, if it comes first in the order of (lower end, upper end); of
two edges at one vertex that is the one to the neighbour of lower number.  So no two edges are equal, and an edge that
is the heaviest at both of its ends is in the matching of algorithm 2 [1]: it may be taken at once, and so on without
its ends.

Rounds first, in which threads look for the heaviest edge of each free vertex and take those that were found from both
ends [2].  Then one thread walks: from a vertex along its heaviest edge, from there along the heaviest one, and so on,
each heavier than the last, until one is the heaviest at both ends; it is taken, and the walk goes on from what is left
of the path [3].  Rounds read memory in a row and share it among threads; the walk needs no more steps where edges
get heavier along long paths, on which a round takes one edge.

Arrays (n vertices, entries k as in graph.adj)
  partner[v]     -1: free; partner[partner[v]] == v
  taken[v]       1 if partner[v] >= 0: a quarter of the memory, which is read at random
  weight[k]      as integers, see GeneralGraph.keys
  candidate[v]   the neighbour along v's heaviest edge to those that were free when it was looked for; NOBODY: none was
  second[v]      the one along the next heaviest of these edges; candidate[v]: not known; the walk does not use it
  searches[v]    how often v was searched; from MANY on it has a heap
  heap[ptr[v] : ptr[v] + size[v]]   v's entries that may be free, counted from ptr[v], heaviest first
  live[i]        vertices that are free and have a candidate
  path[0 .. top] the walk; candidate[path[i]] == path[i + 1], all are free

Ours: the second candidates, which spare half of the searches, and the heaps.  A vertex whose neighbours are taken one
after another is searched MANY times and then has its entries in a heap, where a search costs O(log degree); so the
worst case is O(n + m log(largest degree)), and there hardly ever is a heap.

[1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
[2] Manne, Bisseling. "A parallel approximation algorithm for the weighted maximum matching problem." PPAM 2007.
[3] Preis. "Linear time 1/2-approximation algorithm for maximum weighted matching in general graphs." STACS 1999.

O(n + m log(largest degree)) time; 26 bytes a vertex, and 4 an entry where there are heaps.
"""

import numpy as np

from gridcut.device import kernel, thread_count
from matching.core.prefetch import prefetch
from matching.general.order import CHUNK, ONE
from matching.general.parts import packed, parts_of, run_on_parts
from matching.general.random import PREFETCH_DISTANCE
from matching.general.weighted import heaviest_unmatched, prefetch_list

NONE = np.int32(-1)
BELOW_ALL = np.int64(-1)  # less than any weight
HEAP_AFTER = 8  # searches of all entries before a vertex gets a heap
MAX_ROUNDS = 6  # fewer than MANY, since they know no heaps
PARALLEL_MIN_VERTICES = 20_000  # vertices below which starting threads costs more than it saves


@kernel
def is_heavier(weight, base, a, b):
    """Whether v's entry a is heavier than its entry b; entries count from `base`, their neighbours ascend."""
    return weight[base + a] > weight[base + b] or (weight[base + a] == weight[base + b] and a < b)


@kernel
def sift_down(heap, base, size, i, weight):
    """Let the entry at place i of a heap sink to where it belongs."""
    entry = heap[base + i]
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and is_heavier(weight, base, heap[base + child + 1], heap[base + child]):
            child += 1
        if not is_heavier(weight, base, heap[base + child], entry):
            break
        heap[base + i] = heap[base + child]
        i = child
    heap[base + i] = entry


@kernel
def search_heap(ptr, adj, weight, taken, searches, heap, size, v):
    """The neighbour along v's heaviest edge to a free one, by its heap; what is not free leaves the heap for good."""
    base = ptr[v]
    if searches[v] == HEAP_AFTER:
        count = 0
        for k in range(base, ptr[v + 1]):
            if not taken[adj[k]]:
                heap[base + count] = k - base
                count += 1
        for i in range(count // 2 - 1, -1, -1):
            sift_down(heap, base, count, i, weight)
        size[v] = count
    while size[v] > 0:
        w = adj[base + heap[base]]
        if not taken[w]:
            return w
        size[v] -= 1
        if size[v] > 0:
            heap[base] = heap[base + size[v]]
            sift_down(heap, base, size[v], 0, weight)
    return NONE


@kernel
def best_two(best, second, best_weight, second_weight, w, x):
    """The neighbours along the heaviest and the next heaviest edge so far, and their weights; w and x are one more.

    Of equal ones the first.  Without a branch, since which edges are heavier cannot be predicted.
    """
    second = w if x > second_weight else second
    second = best if x > best_weight else second
    best = w if x > best_weight else best
    return best, second, max(x, best_weight), max(second_weight, min(x, best_weight))


@kernel
def first_kernel(ptr, adj, weight, candidate, second, first, last):
    """The two heaviest edges of each vertex, all of them free; writes candidate and second."""
    for v in range(np.uint64(first), np.uint64(last)):
        one, two, best_weight, second_weight = NONE, NONE, BELOW_ALL, BELOW_ALL
        for k in range(np.uint64(ptr[v]), np.uint64(ptr[v + ONE])):
            one, two, best_weight, second_weight = best_two(one, two, best_weight, second_weight, adj[k], weight[k])
        candidate[v], second[v] = one, two


@kernel
def search_kernel(ptr, adj, weight, taken, active, candidate, second, searches, first, last):
    """The candidate of each live vertex whose own was taken; writes it and second, returns the entries looked at."""
    edges = 0
    to_search = np.empty(CHUNK, np.int32)
    for begin in range(first, last, CHUNK):
        # Without a branch, since whether a candidate was taken cannot be predicted.
        count = np.uint64(0)
        for i in range(np.uint64(begin), np.uint64(min(begin + CHUNK, last))):
            v = np.uint64(active[i])
            c = candidate[v]
            s = second[v]
            is_matched = taken[np.uint64(c)] != 0
            c = s if is_matched else c
            candidate[v] = c
            second[v] = c if is_matched and s != NONE else s
            to_search[count] = v
            count += np.uint64(is_matched & (s != NONE) & (taken[np.uint64(max(s, 0))] != 0))
        for i in range(count):
            if i + PREFETCH_DISTANCE < count:
                prefetch_list(ptr, adj, weight, np.uint64(to_search[i + PREFETCH_DISTANCE]))
            v = np.uint64(to_search[i])
            one, two, best_weight, second_weight = NONE, NONE, BELOW_ALL, BELOW_ALL
            for k in range(np.uint64(ptr[v]), np.uint64(ptr[v + ONE])):
                x = BELOW_ALL if taken[np.uint64(adj[k])] else weight[k]
                one, two, best_weight, second_weight = best_two(one, two, best_weight, second_weight, adj[k], x)
            candidate[v], second[v] = one, two
            searches[v] += 1
            edges += ptr[v + ONE] - ptr[v]
    return edges


@kernel
def take_kernel(active, candidate, partner, taken, first, last):
    """Take the edges that are the heaviest at both ends, pack the live vertices to the front of the part; their number.

    Each end of an edge is written by the thread whose part it is in.  Without a branch, as above.
    """
    kept = np.uint64(first)
    end = np.uint64(last)
    for i in range(kept, end):
        if i + PREFETCH_DISTANCE < end:
            prefetch(candidate, candidate[np.uint64(active[i + PREFETCH_DISTANCE])])
        v = np.uint64(active[i])
        w = candidate[v]
        is_mutual = candidate[np.uint64(w) if w != NONE else v] == active[i]
        partner[v] = w if is_mutual else NONE
        taken[v] = is_mutual
        active[kept] = v
        kept += np.uint64((w != NONE) & (not is_mutual))
    return np.int64(kept) - first


@kernel
def walk_kernel(ptr, adj, weight, active, candidate, searches, heap, size, path, partner, taken):
    """Walk from every live vertex; writes partner, returns the entries looked at and the heaps made."""
    edges = 0
    heaps = 0
    for start in active:
        if taken[start]:
            continue
        path[0] = start
        top = 0
        while top >= 0:
            v = path[top]
            w = candidate[v]
            if w != NONE and taken[w]:
                if searches[v] < HEAP_AFTER:
                    best = heaviest_unmatched(ptr, adj, weight, taken, np.uint64(v))
                    w = adj[best] if best >= 0 else NONE
                    edges += ptr[v + 1] - ptr[v]
                else:
                    heaps += searches[v] == HEAP_AFTER
                    w = search_heap(ptr, adj, weight, taken, searches, heap, size, v)
                candidate[v] = w
                searches[v] = min(searches[v] + 1, HEAP_AFTER + 1)
            if w == NONE:  # only the first of a path: the others can go back
                top -= 1
            elif top > 0 and w == path[top - 1]:
                partner[v] = w
                partner[w] = v
                taken[v] = 1
                taken[w] = 1
                top -= 2
            else:
                top += 1
                path[top] = w
    return edges, heaps


def solve(graph, partner, *, threads=None):
    """Match free vertices along edges that are the heaviest at both ends; counts of what was done.

    threads   workers; None: numba's number of threads.  The matching is the same with any number
    """
    n = graph.n
    threads = thread_count() if threads is None else threads
    ptr, adj, weight = graph.ptr, graph.adj, graph.keys()
    candidate, second = np.empty(n, np.int32), np.empty(n, np.int32)
    taken, searches = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
    active = np.arange(n, dtype=np.int32)
    stats = {"edges": len(adj), "rounds": 0, "threads": threads}

    parts = parts_of(n, threads if n >= PARALLEL_MIN_VERTICES else 1)
    run_on_parts(first_kernel, (ptr, adj, weight, candidate, second), parts)
    while True:
        left = run_on_parts(take_kernel, (active, candidate, partner, taken), parts)
        active = packed(active, parts, left)
        if stats["rounds"] == MAX_ROUNDS or not len(active):
            break
        parts = parts_of(len(active), threads if len(active) >= PARALLEL_MIN_VERTICES else 1)
        searched = run_on_parts(search_kernel, (ptr, adj, weight, taken, active, candidate, second, searches), parts)
        stats["edges"] += sum(searched)
        stats["rounds"] += 1

    heap, size, path = np.empty(len(adj), np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    edges, heaps = walk_kernel(ptr, adj, weight, active, candidate, searches, heap, size, path, partner, taken)
    return {**stats, "edges": stats["edges"] + edges, "heaps": heaps}
