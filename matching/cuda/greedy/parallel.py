"""Colour, propose, respond, match on a GPU: algorithms 3 and 4 of Fagginger Auer and Bisseling.

Returns the maximal matching that matching/cpu/greedy/parallel.py finds with the same seed: colours are its colours, and
what a vertex chooses depends on the step before only, between barriers of the whole grid.  All rounds are one kernel.

Arrays (n vertices)                                     paper [1]
  state[v]     BLUE, RED, DEAD or MATCHED               pi(v)
  choice[v]    whom v chose this round; NOBODY; NO_HOPE  sigma(v), there infinity and dead
  partner[v]   -1: free; partner[partner[v]] == v       pi(v), there min(v, partner of v)
  lists[here:here + number]   the blue and the red      V in lines 7, 12, 21 and 28

No races: in each step a vertex is written by its own thread or warp, which reads nothing that the step writes; but
who is asked by several, the least of them writes last.

Deviates from [1] as the CPU's does, and: where edges have no weights, a red one does not look for blue ones that chose
it; they leave it the least of their names, which is the first of its neighbours, as they choose.  That it has no hope
it learns when it is blue.

[1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
    Algorithms 3 and 4; p in section 3.1.

O(n + m) expected time a round, fewer vertices each round; 17 bytes a vertex beside the graph.
"""

from functools import partial

import numpy as np
from numba import float64, int8, int32, int64, uint32, uint64

from gridcut.device.arrays import allocate, download, upload
from gridcut.device.cuda import (
    SIMULATED,
    ballot,
    cuda,
    cuda_kernel,
    device_function,
    grid_sync,
    lowest_set,
    relaxed_load,
    shuffle,
)
from matching.cpu.greedy import parallel
from matching.cpu.greedy.colour import colour_sum
from matching.cpu.greedy.parallel import BLUE, DEAD, MATCHED, NO_HOPE, NOBODY, RED, random_factor
from matching.cuda.greedy.live import (
    BLOCKS,
    EDGES,
    IDS,
    LIVE,
    LONGS,
    MANY,
    ROUNDS,
    THREADS,
    heaviest_of_warp,
    on_gpu,
    on_host,
    room_for,
)
from matching.cuda.grid import add_up, next_turn, run_kernel

# In the simulator the CPU's machine code: Python would warn of every sum that does not fit.
colour_of, factor_of = (
    function if SIMULATED else device_function(getattr(function, "py_func", function))
    for function in (colour_sum, random_factor)
)
NOT_ASKED = 2**31 - 1  # choice of a red one until somebody proposes


@device_function
def suits(state, choice, v, w, proposing):
    """Whether v may choose w: blues choose any red, reds a blue that chose them."""
    return state[w] == RED if proposing else state[w] == BLUE and choice[w] == v


@device_function
def choose(adj, weight, heaviest, state, choice, v, k, end, proposing):
    """Lines 12 to 26 for one vertex by one thread: whom it chooses."""
    hope = False
    best = int64(-1)
    while k < end:
        w = adj[k]
        hope = hope or state[w] <= RED
        if suits(state, choice, v, w, proposing):
            if not heaviest:
                return w
            if best < 0 or weight[k] > weight[best]:
                best = k
        k += 1
    if best >= 0:
        return adj[best]
    return int32(NOBODY) if hope else int32(NO_HOPE)


@device_function
def choose_together(adj, weight, heaviest, state, choice, v, k, end, proposing):
    """The same by a warp."""
    lane = int32(cuda.threadIdx.x & 31)
    hope = False
    best = int64(-1)
    most = weight[0]
    k += lane
    while k - lane < end:
        fits = False
        if k < end:
            w = adj[k]
            hope = hope or state[w] <= RED
            fits = suits(state, choice, v, w, proposing)
        if heaviest:
            if fits and (best < 0 or weight[k] > most):
                best = k
                most = weight[k]
        else:
            fitting = ballot(fits)
            if fitting != 0:
                return adj[k - lane + lowest_set(fitting)]
        k += 32
    best = heaviest_of_warp(best, most)
    if best >= 0:
        return adj[best]
    return int32(NOBODY) if ballot(hope) != 0 else int32(NO_HOPE)


@device_function
def choose_all(ptr, adj, weight, heaviest, state, choice, lists, here, number, proposing, thread, threads):
    """Lines 12 to 19 (proposing) or 21 to 26 (responding); writes choice, returns the entries it may have looked at."""
    lane = int32(thread & 31)
    first = int32(thread - lane)
    edges = int64(0)
    while first < number:
        i = int32(first + lane)
        v = int32(-1)
        k = int64(0)
        end = int64(0)
        if i < number:
            v = lists[here + i]
            if (state[v] == BLUE) == proposing:
                k = ptr[v]
                end = ptr[v + 1]
                edges += end - k
            else:
                v = int32(-1)
        many = end - k > MANY
        if v >= 0 and not many:
            chosen = choose(adj, weight, heaviest, state, choice, v, k, end, proposing)
            choice[v] = chosen
            if chosen >= 0 and not heaviest:
                cuda.atomic.min(choice, chosen, v)
        hubs = ballot(many)
        while hubs != 0:
            which = lowest_set(hubs)
            hubs = hubs & (hubs - 1)
            hub = shuffle(v, which)
            start, stop = shuffle(k, which), shuffle(end, which)
            chosen = choose_together(adj, weight, heaviest, state, choice, hub, start, stop, proposing)
            if lane == 0:
                choice[hub] = chosen
                if chosen >= 0 and not heaviest:
                    cuda.atomic.min(choice, chosen, hub)
        first = int32(first + threads)
    return edges


@cuda_kernel
def rounds_kernel(ptr, adj, weight, partner, colour, choice, lists, state, counts, heaviest, threshold, seed, most):
    """Algorithm 3: rounds until nobody is live, at most `most`."""
    n = int32(partner.size)
    thread = int32(cuda.grid(1))
    threads = int32(cuda.gridsize(1))
    here, there = int32(0), n
    i = thread
    while i < n:
        lists[i] = i
        i = int32(i + threads)
    number = n
    turn = int32(0)
    rounds = int32(0)
    edges = int64(0)
    while number > 0 and rounds < most:
        r = factor_of(seed, uint64(rounds))
        following = next_turn(state, int32(LIVE), turn, thread)
        i = thread
        while i < number:
            v = lists[here + i]
            if colour_of(uint32(v + 1), r) < threshold:
                colour[v] = int8(BLUE)
            else:
                colour[v] = int8(RED)
                choice[v] = int32(NOT_ASKED)
            i = int32(i + threads)
        grid_sync()
        edges += choose_all(ptr, adj, weight, heaviest, colour, choice, lists, here, number, True, thread, threads)
        grid_sync()
        if heaviest:
            edges += choose_all(ptr, adj, weight, heaviest, colour, choice, lists, here, number, False, thread, threads)
            grid_sync()

        # Lines 28 to 33
        count = int32(0)
        i = thread
        while i < number:
            v = lists[here + i]
            w = choice[v]
            if w == NO_HOPE:
                colour[v] = int8(DEAD)
            elif w >= 0 and w != NOT_ASKED and choice[w] == v:
                partner[v] = w
                colour[v] = int8(MATCHED)
            else:
                count = int32(count + 1)
            i = int32(i + threads)
        place = room_for(count, state, turn)
        i = thread
        while i < number:
            v = lists[here + i]
            if colour[v] <= RED:
                lists[there + place] = v
                place = int32(place + 1)
            i = int32(i + threads)
        grid_sync()
        number = relaxed_load(state, int32(LIVE + turn))
        here, there = there, here
        turn = following
        rounds = int32(rounds + 1)
    add_up(counts, int32(EDGES), edges)
    if thread == 0:
        counts[ROUNDS] = rounds


def solve(graph, partner, *, seed=0, p=0.53406, select=None, rounds=256):
    """Match free vertices by rounds of proposals; counts of what was done.

    p         probability of blue
    select    "first" neighbour or "heaviest" edge; None: "heaviest" where the graph has weights
    rounds    at most so many; what is left then is matched by algorithm 1, on the host
    """
    parallel.check_options(p, select, rounds)
    heaviest = graph.weight is not None if select is None else select == "heaviest"
    threshold = np.int64(min(round(p * 2**32), 2**32 - 1))

    def run(ptr, adj, weight, there):
        n = len(partner)
        colour, choice, lists = allocate((n, np.int8), (n, np.int32), (2 * n, np.int32))
        state, counts = upload(np.zeros(3, np.int32)), upload(np.zeros(2, np.int64))
        work = (colour, choice, lists, state, counts, np.int32(heaviest), threshold, np.uint64(seed % 2**64))
        run_kernel(rounds_kernel, (ptr, adj, weight, there, *work, np.int32(rounds)), THREADS, n, BLOCKS)
        counts = download(counts)
        return {"edges": int(counts[EDGES]), "rounds": int(counts[ROUNDS])}

    stats = {"edges": 0, "rounds": 0} if rounds == 0 else on_gpu(graph, partner, heaviest, run)
    if stats["rounds"] == rounds and graph.edges:
        stats["edges"] += on_host(graph, partner, partial(parallel.solve, threads=1, rounds=0))["edges"]
    return stats


def kernels():
    """Name, kernel and argument types of what is compiled."""
    listed = []
    for name, kind in (("int64", int64), ("float64", float64)):
        types = (LONGS, IDS, kind[::1], IDS, int8[::1], IDS, IDS, IDS, LONGS, int32, int64, uint64, int32)
        listed.append((f"rounds {name}", rounds_kernel, types))
    return listed
