"""Locally dominant matching on a GPU: what algorithm 2 of Fagginger Auer and Bisseling finds, without a sort.

Returns the very matching of matching/general/sorted.py, of at least half of the weight that any matching has; the
order of edges, and why there is one such matching, are in matching/general/locally_dominant.py.  Each round every
free vertex looks for its heaviest edge to a free one, unless the one it knows is free still, and edges found from both
ends are taken.

Arrays (n vertices)
  partner[v]     -1: free; partner[partner[v]] == v
  candidate[v]   the neighbour along v's heaviest edge to those that were free when it was looked for; NOBODY: none was
  lists[here:here + number]   live vertices: free, with a candidate

No races: a vertex is written by its own thread or warp; one step reads partner and writes candidate, the other the
other way round, with barriers of the whole grid between.

[1] Manne, Bisseling. "A parallel approximation algorithm for the weighted maximum matching problem." PPAM 2007.
[2] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.

O(n + m) time a round; as many rounds as a path has edges, if they get heavier all along it, few on other graphs.
12 bytes a vertex beside the graph.
"""

import numpy as np
from numba import float64, int32, int64

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
from matching.core.grid_cuda import add_up, next_turn, run_kernel
from matching.general.common_cuda import (
    BLOCKS,
    EDGES,
    IDS,
    LIVE,
    LONGS,
    MANY,
    ROUNDS,
    THREADS,
    heaviest_of,
    on_gpu,
    room_for,
)

NOBODY = -1


@device_function
def heaviest_free(adj, weight, partner, k, end, step):
    """The heaviest entry with a free neighbour of every step-th from k on, and its weight; -1: none is free."""
    best = int64(-1)
    most = weight[0]
    while k < end:
        heavy = weight[k]
        if (best < 0 or heavy > most) and partner[adj[k]] < 0:
            best = k
            most = heavy
        k += step
    return best, most


@device_function
def search(ptr, adj, weight, partner, candidate, lists, here, number, thread, threads):
    """The candidate of each live vertex whose own was taken; writes candidate, returns the entries looked at."""
    lane = int32(thread & 31)
    first = int32(thread - lane)
    edges = int64(0)
    while first < number:
        i = int32(first + lane)
        v = int32(0)
        k = int64(0)
        end = int64(0)
        looking = False
        if i < number:
            v = lists[here + i]
            known = candidate[v]
            looking = known == NOBODY or partner[known] >= 0
            if looking:
                k = ptr[v]
                end = ptr[v + 1]
                edges += end - k
        many = end - k > MANY
        if looking and not many:
            best, _ = heaviest_free(adj, weight, partner, k, end, int32(1))
            candidate[v] = adj[best] if best >= 0 else int32(NOBODY)
        hubs = ballot(many)
        while hubs != 0:
            which = count_trailing_zeros(hubs)
            hubs = hubs & (hubs - 1)
            start, stop = shuffle(k, which), shuffle(end, which)
            best, most = heaviest_free(adj, weight, partner, start + lane, stop, int32(32))
            best = heaviest_of(best, most, int32(32))
            if lane == which:
                candidate[v] = adj[best] if best >= 0 else int32(NOBODY)
        first = int32(first + threads)
    return edges


@cuda_kernel
def dominant_kernel(ptr, adj, weight, partner, candidate, lists, state, counts):
    """Rounds until nobody is live."""
    n = int32(partner.size)
    thread = int32(cuda.grid(1))
    threads = int32(cuda.gridsize(1))
    here, there = int32(0), n
    i = thread
    while i < n:
        lists[i] = i
        candidate[i] = int32(NOBODY)
        i = int32(i + threads)
    number = n
    turn = int32(0)
    rounds = int64(0)
    edges = int64(0)
    while number > 0:
        following = next_turn(state, int32(LIVE), turn, thread)
        edges += search(ptr, adj, weight, partner, candidate, lists, here, number, thread, threads)
        grid_sync()
        count = int32(0)
        i = thread
        while i < number:
            v = lists[here + i]
            w = candidate[v]
            if w != NOBODY:
                if candidate[w] == v:
                    partner[v] = w
                else:
                    count = int32(count + 1)
            i = int32(i + threads)
        place = room_for(count, state, int32(LIVE + turn))
        i = thread
        while i < number:
            v = lists[here + i]
            if candidate[v] != NOBODY and partner[v] < 0:
                lists[there + place] = v
                place = int32(place + 1)
            i = int32(i + threads)
        grid_sync()
        number = relaxed_load(state, int32(LIVE + turn))
        here, there = there, here
        turn = following
        rounds += 1
    add_up(counts, int32(EDGES), edges)
    if thread == 0:
        counts[ROUNDS] = rounds


def solve(graph, partner):
    """Match free vertices along edges that are the heaviest at both ends; counts of what was done."""

    def run(ptr, adj, weight, there):
        n = len(partner)
        candidate, lists = allocate((n, np.int32), (2 * n, np.int32))
        state, counts = upload(np.zeros(3, np.int32)), upload(np.zeros(2, np.int64))
        arguments = (ptr, adj, weight, there, candidate, lists, state, counts)
        run_kernel(dominant_kernel, arguments, THREADS, n, BLOCKS)
        counts = download(counts)
        return {"edges": int(counts[EDGES]), "rounds": int(counts[ROUNDS])}

    return on_gpu(graph, partner, True, run)


def kernels():
    """Name, kernel and argument types of what is compiled."""
    return [
        (f"dominant {name}", dominant_kernel, (LONGS, IDS, kind[::1], *(IDS,) * 4, LONGS))
        for name, kind in (("int64", int64), ("float64", float64))
    ]
