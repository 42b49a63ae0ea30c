"""Locally dominant matching: the matching of algorithm 2 of Fagginger Auer and Bisseling, without sorting the edges.

Returns the same matching as sorted.py, with at least half of the maximum weight of any matching. An edge is heavier
than another if its weight is larger or, for equal weights, if it comes first in the order of (lower end, upper end); of
two edges at one vertex that is the one to the neighbour of lower index. So no two edges are equal, and an edge that is
the heaviest at both of its ends is in the matching of algorithm 2 [1]: it can be taken immediately, and the same holds
for the graph without its ends.

Rounds first: threads search the heaviest edge of each unmatched vertex and take the edges that both ends found [2].
Then one thread walks: from a vertex along its heaviest edge, from there along the heaviest one, and so on, each heavier
than the last, until one is the heaviest at both ends. That edge is taken, and the walk continues from the rest of the
path [3]. Rounds read memory sequentially and divide it among threads. The walk needs no more steps where weights
increase along long paths, on which a round takes one edge.

Arrays (n vertices, entries k as in graph.adj)
  partner[v]     partner, or -1
  taken[v]       1 if partner[v] >= 0: a quarter of the memory of partner, which is read at random
  weight[k]      as integers, see GeneralGraph.keys
  candidate[v]   the other end of v's heaviest edge to a vertex that was unmatched when v was searched, or NO_VERTEX
  second[v]      the same for the next heaviest of these edges; candidate[v]: unknown; not used by the walk
  searches[v]    number of searches of v; from HEAP_AFTER on it has a heap
  heap[ptr[v] : ptr[v] + size[v]]   v's entries that may be unmatched, relative to ptr[v], heaviest first
  active[i]      vertices that are unmatched and have a candidate
  path[0 .. top] the walk; candidate[path[i]] == path[i + 1], all are unmatched

Not in the papers: the second candidates, which save half of the searches, and the heaps. A vertex whose neighbours are
matched one after another is searched HEAP_AFTER times and then has its entries in a heap, where a search costs
O(log degree). So the worst case is O(n + m log(maximum degree)), and heaps are rare.

[1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
[2] Manne, Bisseling. "A parallel approximation algorithm for the weighted maximum matching problem." PPAM 2007.
[3] Preis. "Linear time 1/2-approximation algorithm for maximum weighted matching in general graphs." STACS 1999.

O(n + m log(maximum degree)) time; 26 bytes per vertex, and 4 per entry if there are heaps.
"""

import numpy as np

from gridcut.device import inner_kernel, kernel, plain_kernel, thread_count
from gridcut.device.intrinsics import prefetch
from matching.general.one_sided import PREFETCH_DISTANCE, heaviest_unmatched, prefetch_list
from matching.general.order import CHUNK, NO_VERTEX, ONE, packed, parts_of, run_on_parts

BELOW_ALL = np.int64(-1)  # below all weights
HEAP_AFTER = 8  # scans of all entries before a vertex gets a heap
MAX_ROUNDS = 6  # fewer than HEAP_AFTER, since rounds do not use heaps
PARALLEL_MIN_VERTICES = 20_000  # below that many vertices, starting threads costs more than it saves


@inner_kernel
def is_heavier(weight, base, a, b):
    """Whether v's entry a is heavier than its entry b; entries are relative to `base`, their neighbours ascend."""
    return weight[base + a] > weight[base + b] or (weight[base + a] == weight[base + b] and a < b)


@inner_kernel
def sift_down(heap, base, size, i, weight):
    """Move the entry at position i of a heap down until the heap order holds."""
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


@inner_kernel
def search_heap(ptr, adj, weight, taken, searches, heap, size, v):
    """The neighbour along v's heaviest edge to an unmatched vertex, by its heap; matched neighbours leave the heap."""
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
            sift_down(heap, base, np.int64(size[v]), np.int64(0), weight)
    return NO_VERTEX


@plain_kernel
def best_two(best, second, best_weight, second_weight, w, x):
    """The neighbours along the two heaviest edges so far, and their weights, after an edge to w of weight x.

    Of equal ones the first. Branch-free, since whether an edge is heavier cannot be predicted.
    """
    second = w if x > second_weight else second
    second = best if x > best_weight else second
    best = w if x > best_weight else best
    return best, second, max(x, best_weight), max(second_weight, min(x, best_weight))


@plain_kernel
def first_kernel(ptr, adj, weight, candidate, second, first, last):
    """The two heaviest edges of each vertex, when all are unmatched; writes candidate and second."""
    for v in range(np.uint64(first), np.uint64(last)):
        one, two, best_weight, second_weight = NO_VERTEX, NO_VERTEX, BELOW_ALL, BELOW_ALL
        for k in range(np.uint64(ptr[v]), np.uint64(ptr[v + ONE])):
            one, two, best_weight, second_weight = best_two(one, two, best_weight, second_weight, adj[k], weight[k])
        candidate[v], second[v] = one, two


@kernel
def search_kernel(ptr, adj, weight, taken, active, candidate, second, searches, first, last):
    """New candidates of active vertices whose candidate was matched; writes candidate and second, returns entries."""
    edges = 0
    to_search = np.empty(CHUNK, np.int32)
    for begin in range(first, last, CHUNK):
        # Branch-free, since whether a candidate was matched cannot be predicted.
        count = np.uint64(0)
        for i in range(np.uint64(begin), np.uint64(min(begin + CHUNK, last))):
            v = np.uint64(active[i])
            c = candidate[v]
            s = second[v]
            is_matched = taken[np.uint64(c)] != 0
            c = s if is_matched else c
            candidate[v] = c
            second[v] = c if is_matched and s != NO_VERTEX else s
            to_search[count] = v
            count += np.uint64(is_matched & (s != NO_VERTEX) & (taken[np.uint64(max(s, 0))] != 0))
        for i in range(count):
            if i + PREFETCH_DISTANCE < count:
                prefetch_list(ptr, adj, weight, np.uint64(to_search[i + PREFETCH_DISTANCE]))
            v = np.uint64(to_search[i])
            one, two, best_weight, second_weight = NO_VERTEX, NO_VERTEX, BELOW_ALL, BELOW_ALL
            for k in range(np.uint64(ptr[v]), np.uint64(ptr[v + ONE])):
                x = BELOW_ALL if taken[np.uint64(adj[k])] else weight[k]
                one, two, best_weight, second_weight = best_two(one, two, best_weight, second_weight, adj[k], x)
            candidate[v], second[v] = one, two
            searches[v] += 1
            edges += ptr[v + ONE] - ptr[v]
    return edges


@plain_kernel
def take_kernel(active, candidate, partner, taken, first, last):
    """Take the edges that are the heaviest at both ends, and pack the active vertices to the front of the part.

    Returns their number. The thread of its part writes each end of an edge. Branch-free, as above.
    """
    kept = np.uint64(first)
    end = np.uint64(last)
    for i in range(kept, end):
        if i + PREFETCH_DISTANCE < end:
            prefetch(candidate, candidate[np.uint64(active[i + PREFETCH_DISTANCE])])
        v = np.uint64(active[i])
        w = candidate[v]
        is_mutual = candidate[np.uint64(w) if w != NO_VERTEX else v] == active[i]
        partner[v] = w if is_mutual else NO_VERTEX
        taken[v] = is_mutual
        active[kept] = v
        kept += np.uint64((w != NO_VERTEX) & (not is_mutual))
    return np.int64(kept) - first


@plain_kernel
def walk_kernel(ptr, adj, weight, active, candidate, searches, heap, size, path, partner, taken):
    """Walk from every active vertex; writes partner, returns the entries scanned and the number of heaps built.

    -1 entries: a path ends before an edge that is the heaviest at both ends, or is longer than all vertices, which is
    impossible if both ends of every edge agree.
    """
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
            if w != NO_VERTEX and taken[w]:
                if searches[v] < HEAP_AFTER:
                    best = heaviest_unmatched(ptr, adj, weight, taken, np.uint64(v))
                    w = adj[best] if best >= 0 else NO_VERTEX
                    edges += ptr[v + 1] - ptr[v]
                else:
                    heaps += searches[v] == HEAP_AFTER
                    w = search_heap(ptr, adj, weight, taken, searches, heap, size, v)
                candidate[v] = w
                searches[v] = min(searches[v] + 1, HEAP_AFTER + 1)
            if w == NO_VERTEX:  # only the first vertex of a path: each other one can be matched to its predecessor
                if top > 0:
                    return -1, heaps
                top -= 1
            elif top > 0 and w == path[top - 1]:
                partner[v] = w
                partner[w] = v
                taken[v] = 1
                taken[w] = 1
                top -= 2
            else:
                top += 1
                if top == path.size:
                    return -1, heaps
                path[top] = w
    return edges, heaps


def asymmetric() -> ValueError:
    """The error for a graph that was changed after it was checked."""
    return ValueError("graph must be symmetric, but an edge is stored at one end only, or with different weights")


def solve(graph, partner, *, threads=None):
    """Match unmatched vertices along edges that are the heaviest at both ends; returns counts of the work done.

    threads   number of threads; None: numba's number of threads. The matching does not depend on it
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
    if edges < 0:
        raise asymmetric()
    return {**stats, "edges": stats["edges"] + edges, "heaps": heaps}
