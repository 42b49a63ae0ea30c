"""Greedy one-sided matching, random or weighted: algorithm 1 of Fagginger Auer and Bisseling.

Returns a maximal matching. Vertices are visited in random order; each unmatched vertex is matched to one of its
unmatched neighbours:

  random     the first one, or the first from a random entry of its list on
  weighted   the one along its heaviest edge, the first of equal ones. That neighbour may have a heavier edge elsewhere,
             so the weight has no lower bound; sorted.py and locally_dominant.py reach half of the maximum

Arrays (n vertices)                              paper [1]
  partner[v]   partner, or -1                      pi(v), there min(v, partner of v)
  taken[v]     1 if partner[v] >= 0: a quarter of the memory of partner, which is read at random
  order        see order.py                        V after line 1
  chunk[i]     the next vertices                   V in line 4, without those matched long before

Deviates from [1]: the order is shuffled here, not the graph, and in blocks of 16384 vertices, so that the graph is read
block by block. A thousand vertices at a time are tested for being unmatched, and each again when it is visited; their
lists are prefetched some vertices in advance. With shuffled=False the order is the index order.

[1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
    Algorithm 1 with the random and with the weighted `select`.

O(n + m) time, 5 bytes per vertex.
"""

import numpy as np

from gridcut.device import inner_kernel, kernel, plain_kernel
from gridcut.device.intrinsics import prefetch
from matching.general.order import ONE, random_entry, random_factor, unmatched_kernel, vertex_order

PREFETCH_DISTANCE = np.uint64(24)  # vertices between the prefetch of a list and its use
FIRST = np.uint32(0)  # instead of a factor for `random_entry`: search a list from its start
NO_WEIGHTS = np.empty(0, np.int64)


@inner_kernel
def first_unmatched(adj, taken, start, end):
    """The entry of the first unmatched neighbour of a part of a list, or its end."""
    k = start
    while k < end and taken[np.uint64(adj[k])]:
        k += ONE
    return k


@inner_kernel
def heaviest_unmatched(ptr, adj, weight, taken, v):
    """The entry of v's heaviest edge to an unmatched neighbour, the first of equal ones; -1: there is none."""
    best = np.int64(-1)
    best_weight = weight.dtype.type(-1)  # below all weights
    for k in range(np.uint64(ptr[v]), np.uint64(ptr[v + ONE])):
        if not taken[np.uint64(adj[k])]:
            # Branch-free: whether an edge is heavier than the ones before cannot be predicted.
            best = np.int64(k) if weight[k] > best_weight else best
            best_weight = max(weight[k], best_weight)
    return best


@inner_kernel
def prefetch_list(ptr, adj, weight, v):
    """Prefetch v's entries: the cache lines of the first and the last entry, which is all of them for most vertices."""
    first = ptr[v]
    last = ptr[v + ONE] - 1
    prefetch(adj, first)
    prefetch(adj, last)
    prefetch(weight, first)
    prefetch(weight, last)


@plain_kernel
def match_kernel(ptr, adj, weight, chunk, partner, taken, r):
    """Lines 4 to 9 for some vertices; writes partner and taken, returns the number of entries scanned.

    weight   the heaviest edge is sought; NO_WEIGHTS: the first one
    r        FIRST, or a factor for `random_entry`, from which on a list is searched

    Indices are unsigned: numba then omits its test for negative indices, which takes half of the time.
    """
    n = np.uint64(chunk.size)
    edges = np.uint64(0)
    for i in range(n):
        if i + 2 * PREFETCH_DISTANCE < n:
            prefetch(ptr, chunk[i + 2 * PREFETCH_DISTANCE])
        if i + PREFETCH_DISTANCE < n:
            u = np.uint64(chunk[i + PREFETCH_DISTANCE])
            if weight.size:
                prefetch_list(ptr, adj, weight, u)
            else:
                prefetch(adj, ptr[u])
        v = np.uint64(chunk[i])
        if taken[v]:
            continue
        start = np.uint64(ptr[v])
        end = np.uint64(ptr[v + ONE])
        if weight.size:
            found = heaviest_unmatched(ptr, adj, weight, taken, v)
            k = np.uint64(found) if found >= 0 else end
            edges += end - start
        else:
            middle = start + random_entry(v, r, end - start) if r else start
            k = first_unmatched(adj, taken, middle, end)
            edges += min(k + ONE, end) - middle
            if r and k == end:
                k = first_unmatched(adj, taken, start, middle)
                edges += min(k + ONE, middle) - start
                k = k if k < middle else end
        if k < end:
            w = np.uint64(adj[k])
            partner[v] = w
            partner[w] = v
            taken[v] = 1
            taken[w] = 1
    return edges


@kernel
def match_all_kernel(ptr, adj, weight, order, partner, taken, r):
    """Lines 4 to 9 for the vertices of an order; writes partner and taken, returns the number of entries scanned."""
    positions, blocks, flips, chunk = order
    edges = 0
    for j in range(blocks.size):
        for begin in range(0, positions.size, chunk.size):
            count = unmatched_kernel(positions, blocks[j], flips[j], begin, chunk, taken)
            edges += match_kernel(ptr, adj, weight, chunk[:count], partner, taken, r)
    return edges


def random(graph, partner, *, seed=0, shuffled=True, select="first"):
    """Match unmatched vertices to an unmatched neighbour; returns counts of the work done.

    shuffled   visit vertices in random order; False: in index order
    select     "first" neighbour, by index, or "random": the first from a random entry of the list on
    """
    if select not in ("first", "random"):
        raise ValueError(f"method 'random' accepts select='first' or 'random', got {select!r}")
    r = random_factor(np.uint64(seed), np.uint64(0)) if select == "random" else FIRST
    return match_all(graph, NO_WEIGHTS, partner, seed, shuffled, r)


def weighted(graph, partner, *, seed=0, shuffled=True):
    """Match unmatched vertices along their heaviest edge; returns counts of the work done.

    shuffled   visit vertices in random order; False: in index order
    """
    return match_all(graph, graph.keys(), partner, seed, shuffled, FIRST)


def match_all(graph, weight, partner, seed: int, shuffled: bool, r) -> dict:
    """Algorithm 1 on one thread."""
    order, taken = vertex_order(graph.n, seed, shuffled), np.zeros(graph.n, np.uint8)
    return {"edges": match_all_kernel(graph.ptr, graph.adj, weight, order, partner, taken, r)}
