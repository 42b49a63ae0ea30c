"""Locally dominant matching on a GPU: the matching of algorithm 2 of Fagginger Auer and Bisseling, without a sort.

Returns the same matching as matching/general/sorted.py, with at least half of the maximum weight of any matching. The
order of edges, and the proof that this matching is unique, are in matching/general/locally_dominant.py. In each round,
every active vertex searches its heaviest edge to an unmatched vertex, unless its candidate is still unmatched. Edges
that both ends have as candidate are matched.

Arrays (n vertices)
  partner[v]     partner, or -1
  candidate[v]   the other end of v's heaviest edge to a vertex that was unmatched when v was searched, or NO_VERTEX
  lists[source:source + n_active]   active vertices: unmatched, with a candidate; `source` and `target` alternate
  state[LENGTHS + s]   length of the list; s is the grid slot of the round, see `next_grid_slot`

  array      written by                                         read by
  partner    dominant_kernel, the thread of v                   search_all
  candidate  search_all, the thread or the warp of v            dominant_kernel; search_all, the thread of v
  lists      dominant_kernel, at positions from `reserve`       search_all, dominant_kernel, after the barrier
  state      reserve: atomic add, one thread per block          all threads, after the barrier

Races: none. The thread or the warp of v writes the entries of v. search_all reads partner and writes candidate, the
rest of dominant_kernel reads candidate and writes partner, and barriers of the whole grid separate the two.

Termination: the heaviest edge between unmatched vertices is the candidate of both ends after the search, so every round
matches an edge until the remaining vertices have no candidate, and the list is empty.  If the list does not become
shorter in a round, the graph is not symmetric: the kernel ends with ROUNDS = -1, and `solve` raises ValueError.

[1] Manne, Bisseling. "A parallel approximation algorithm for the weighted maximum matching problem." PPAM 2007.
[2] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.

O(n + m) time per round; as many rounds as a path has edges if their weights increase all along it, few on other graphs.
12 bytes per vertex in addition to the graph.
"""

import numpy as np

from gridcut.device.arrays import allocate, download, upload
from gridcut.device.cuda import (
    ballot,
    count_trailing_zeros,
    cuda,
    cuda_kernel,
    device_function,
    grid_sync,
    relaxed_load,
    shuffle,
)
from gridcut.device.cuda_types import int32, int64
from matching.core.grid_cuda import add_up, next_grid_slot, run_kernel
from matching.general.common_cuda import (
    BLOCKS_PER_SM,
    EDGES,
    LENGTHS,
    ROUNDS,
    THREADS,
    WARP_DEGREE,
    heaviest_of,
    match_on_gpu,
    reserve,
)
from matching.general.locally_dominant import asymmetric
from matching.general.order import NO_VERTEX


@device_function
def heaviest_unmatched(adj, weight, partner, k, end, stride):
    """Heaviest of every stride-th entry from k on with an unmatched neighbour, and its weight; -1: there is none."""
    best = int64(-1)
    best_weight = weight[0]
    while k < end:
        entry_weight = weight[k]
        if (best < 0 or entry_weight > best_weight) and partner[adj[k]] < 0:
            best = k
            best_weight = entry_weight
        k += stride
    return best, best_weight


@device_function
def search_all(ptr, adj, weight, partner, candidate, lists, source_list, n_active, thread, threads):
    """Search a new candidate for each active vertex whose candidate was matched; returns the entries scanned."""
    lane = int32(thread & 31)
    first = int32(thread - lane)
    edges = int64(0)
    while first < n_active:
        i = int32(first + lane)
        v = int32(0)
        k = int64(0)
        end = int64(0)
        searching = False
        if i < n_active:
            v = lists[source_list + i]
            present = candidate[v]
            searching = present == NO_VERTEX or partner[present] >= 0
            if searching:
                k = ptr[v]
                end = ptr[v + 1]
                edges += end - k
        is_hub = end - k > WARP_DEGREE
        if searching and not is_hub:
            best, _ = heaviest_unmatched(adj, weight, partner, k, end, int32(1))
            candidate[v] = adj[best] if best >= 0 else int32(NO_VERTEX)
        hubs = ballot(is_hub)
        while hubs != 0:
            source = count_trailing_zeros(hubs)
            hubs = hubs & (hubs - 1)
            start, stop = shuffle(k, source), shuffle(end, source)
            best, best_weight = heaviest_unmatched(adj, weight, partner, start + lane, stop, int32(32))
            best = heaviest_of(best, best_weight, int32(32))
            if lane == source:
                candidate[v] = adj[best] if best >= 0 else int32(NO_VERTEX)
        first = int32(first + threads)
    return edges


@cuda_kernel
def dominant_kernel(ptr, adj, weight, partner, candidate, lists, state, counts):
    """Rounds until no vertex is active."""
    n = int32(partner.size)
    thread = int32(cuda.grid(1))
    threads = int32(cuda.gridsize(1))
    source, target = int32(0), n
    i = thread
    while i < n:
        lists[i] = i
        candidate[i] = int32(NO_VERTEX)
        i = int32(i + threads)
    n_active = n
    grid_slot = int32(0)
    rounds = int64(0)
    edges = int64(0)
    while n_active > 0:
        following = next_grid_slot(state, int32(LENGTHS), grid_slot, thread)
        edges += search_all(ptr, adj, weight, partner, candidate, lists, source, n_active, thread, threads)
        grid_sync()
        count = int32(0)
        i = thread
        while i < n_active:
            v = lists[source + i]
            w = candidate[v]
            if w != NO_VERTEX:
                if candidate[w] == v:
                    partner[v] = w
                else:
                    count = int32(count + 1)
            i = int32(i + threads)
        position = reserve(count, state, int32(LENGTHS + grid_slot))
        i = thread
        while i < n_active:
            v = lists[source + i]
            if candidate[v] != NO_VERTEX and partner[v] < 0:
                lists[target + position] = v
                position = int32(position + 1)
            i = int32(i + threads)
        grid_sync()
        before = n_active
        n_active = relaxed_load(state, int32(LENGTHS + grid_slot))
        if n_active == before:
            break
        source, target = target, source
        grid_slot = following
        rounds += 1
    add_up(counts, int32(EDGES), edges)
    if thread == 0:
        counts[ROUNDS] = rounds if n_active == 0 else int64(-1)


def solve(graph, partner):
    """Match unmatched vertices along edges that are the heaviest at both ends; returns counts of the work done."""

    def run(ptr, adj, weight, on_device):
        n = len(partner)
        candidate, lists = allocate((n, np.int32), (2 * n, np.int32))
        state, counts = upload(np.zeros(3, np.int32)), upload(np.zeros(2, np.int64))
        arguments = (ptr, adj, weight, on_device, candidate, lists, state, counts)
        run_kernel(dominant_kernel, arguments, THREADS, n, BLOCKS_PER_SM)
        counts = download(counts)
        if counts[ROUNDS] < 0:
            raise asymmetric()
        return {"edges": int(counts[EDGES]), "rounds": int(counts[ROUNDS])}

    return match_on_gpu(graph, partner, True, run)
