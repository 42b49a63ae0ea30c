"""Colour, propose, respond, match on a GPU: algorithms 3 and 4 of Fagginger Auer and Bisseling.

Returns the maximal matching that matching/cpu/greedy/parallel.py finds with the same seed: colours are its colours, and
what a vertex chooses depends on the step before only, between barriers of the whole grid.  All rounds are one kernel.

Arrays (n vertices)                                     paper [1]
  state[v]     BLUE, RED, DEAD or MATCHED               pi(v)
  choice[v]    whom v chose this round; NOBODY; NO_HOPE  sigma(v), there infinity and dead
  partner[v]   -1: free; partner[partner[v]] == v       pi(v), there min(v, partner of v)
  lists[here:here + n]   the blue in front, the red behind   V in lines 7, 12, 21 and 28

::

    deal     settle the round before; the next colour of who is live still    ── barrier ──  two a round, and one more
    propose  blue ones, who lie side by side, as many lanes as there are      ── barrier ──  with weights: respond

No races: in each step a vertex is written by its own thread or lanes, which read nothing that the step writes, but for
two things.  Who is asked by several keeps the least of them, whoever writes last.  A red one that is live still is made
ready for proposals while others ask who it chose: it did not choose them, and still has not.

Deviates from [1] as the CPU's does, and: where edges have no weights, a red one does not look for blue ones that chose
it; they leave it the least of their names, which is the first of its neighbours, as they choose.  That it has no hope
it learns when it is blue.  The last vertices are left to one block, whose barriers cost less.

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
    bits_set,
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
    heaviest_of,
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
MOST_LANES = 2 if SIMULATED else 8  # of a vertex, where there are more threads than vertices
TAIL = 5 if SIMULATED else 128  # live vertices from which on one block goes on alone
LISTED = 2 if SIMULATED else 32  # vertices of a thread between two calls for room in the lists; at most 32
REDS, COUNTS = LIVE + 3, LIVE + 6  # in state: lengths of the lists of blue and of red ones, three of each


@device_function
def suits(state, choice, v, w, proposing):
    """Whether v may choose w: blues choose any red, reds a blue that chose them."""
    return state[w] == RED if proposing else state[w] == BLUE and choice[w] == v


@device_function
def choose(adj, weight, heaviest, state, choice, v, k, end, lanes, proposing):
    """Lines 12 to 26 for the vertex v of every `lanes` lanes of a warp, -1: none; writes choice."""
    lane = int32(cuda.threadIdx.x & 31)
    me = int32(lane & (lanes - 1))
    group = ((int64(1) << lanes) - 1) << (lane - me)
    before = (int64(1) << lane) - 1
    hope = False
    best = int64(-1)
    most = weight[0]
    looking = v >= 0 and k < end
    while ballot(looking) != 0:
        fits = False
        if looking and k + me < end:
            w = adj[k + me]
            hope = hope or state[w] <= RED
            fits = suits(state, choice, v, w, proposing)
        if heaviest:
            if fits and (best < 0 or weight[k + me] > most):
                best = k + me
                most = weight[best]
        else:
            fitting = int64(ballot(fits)) & group
            if fits and fitting & before == 0:
                best = k + me
            looking = looking and fitting == 0
        k += lanes
        looking = looking and k < end
    if heaviest:
        best = heaviest_of(best, most, lanes)
    chosen = int64(ballot(best >= 0)) & group
    hopes = int64(ballot(hope)) & group
    if v >= 0:
        if best >= 0 and chosen & before == 0:
            w = adj[best]
            choice[v] = w
            if not heaviest:
                cuda.atomic.min(choice, w, v)
        elif chosen == 0 and me == 0:
            choice[v] = int32(NOBODY) if hopes != 0 else int32(NO_HOPE)


@device_function
def choose_all(ptr, adj, weight, heaviest, state, choice, lists, first, number, proposing, thread, threads):
    """Lines 12 to 19 (proposing) from lists[first] on, or 21 to 26 (responding) from there down, for `number` vertices.

    Writes choice, returns the entries that may have been looked at.
    """
    lane = int32(thread & 31)
    shift = int32(0)
    while (1 << shift) < MOST_LANES and int64(number) << (shift + 1) <= threads:
        shift = int32(shift + 1)
    lanes = int32(1 << shift)
    some = int32((thread - lane) >> shift)
    edges = int64(0)
    while some < number:
        i = int32(some + (lane >> shift))
        v = int32(-1)
        k = int64(0)
        end = int64(0)
        if i < number:
            v = lists[first + i] if proposing else lists[first - i]
            k = ptr[v]
            end = ptr[v + 1]
        leads = lane & (lanes - 1) == 0
        if leads:
            edges += end - k
        many = end - k > MANY * lanes
        choose(adj, weight, heaviest, state, choice, int32(-1) if many else v, k, end, lanes, proposing)
        hubs = ballot(many and leads)
        while hubs != 0:
            which = lowest_set(hubs)
            hubs = hubs & (hubs - 1)
            hub, start, stop = shuffle(v, which), shuffle(k, which), shuffle(end, which)
            choose(adj, weight, heaviest, state, choice, hub, start, stop, int32(32), proposing)
        some = int32(some + (threads >> shift))
    return edges


@device_function
def listed(lists, here, n, blues, i, first_round):
    """The i-th of the live vertices: the blue ones lie in front of lists[here : here + n], the red ones behind."""
    if first_round:
        return i
    return lists[here + i] if i < blues else lists[here + n - 1 - (i - blues)]


@device_function
def settle(partner, colour, choice, v):
    """Lines 28 to 33 for one vertex: whether it is live still."""
    w = choice[v]
    if w == NO_HOPE:
        colour[v] = int8(DEAD)
        return False
    if w >= 0 and w != NOT_ASKED and choice[w] == v:
        partner[v] = w
        colour[v] = int8(MATCHED)
        return False
    return True


@device_function
def deal(partner, colour, choice, lists, of_before, state, turn, r, limit, first_round, thread, threads):
    """Lines 28 to 33, then 7 to 10 of the next round for those that are live still, who are listed by colour.

    of_before   where lists are and where they go, how many blue ones there were, and how many of both colours
    """
    here, there, blues, number = of_before
    n = int32(partner.size)
    start = int32(0)
    while start < number:
        live = int32(0)
        blue = int32(0)
        i = int32(start + thread)
        j = int32(0)
        while j < LISTED and i < number:
            v = listed(lists, here, n, blues, i, first_round)
            if first_round or settle(partner, colour, choice, v):
                live |= int32(1) << j
                if colour_of(uint32(v + 1), r) < limit:
                    blue |= int32(1) << j
                    colour[v] = int8(BLUE)
                else:
                    colour[v] = int8(RED)
                    choice[v] = int32(NOT_ASKED)
            i = int32(i + threads)
            j = int32(j + 1)
        front = int32(there + room_for(bits_set(blue), state, int32(LIVE + turn)))
        back = int32(there + n - 1 - room_for(bits_set(live ^ blue), state, int32(REDS + turn)))
        i = int32(start + thread)
        j = int32(0)
        while j < LISTED and i < number:
            if live >> j & 1:
                v = listed(lists, here, n, blues, i, first_round)
                if blue >> j & 1:
                    lists[front] = v
                    front = int32(front + 1)
                else:
                    lists[back] = v
                    back = int32(back - 1)
            i = int32(i + threads)
            j = int32(j + 1)
        start = int32(start + LISTED * threads)


@device_function
def meet(alone):
    """Barrier of all blocks, or of the one that goes on alone."""
    if alone:
        cuda.syncthreads()
    else:
        grid_sync()


@cuda_kernel
def rounds_kernel(ptr, adj, weight, partner, colour, choice, lists, state, counts, heaviest, threshold, seed, most):
    """Algorithm 3: rounds until nobody is live, at most `most`."""
    n = int32(partner.size)
    thread = int32(cuda.grid(1))
    threads = int32(cuda.gridsize(1))
    here, there = n, int32(0)
    blues, number = int32(0), n
    turn = int32(0)
    rounds = int32(0)
    edges = int64(0)
    alone = False
    while True:
        following = next_turn(state, int32(LIVE), turn, thread)
        next_turn(state, int32(REDS), turn, thread)
        r = factor_of(seed, uint64(rounds))
        of_before = (here, there, blues, number)
        deal(partner, colour, choice, lists, of_before, state, turn, r, threshold, rounds == 0, thread, threads)
        meet(alone)
        here, there = there, here
        blues = relaxed_load(state, int32(LIVE + turn))
        reds = relaxed_load(state, int32(REDS + turn))
        number = int32(blues + reds)
        turn = following
        if number == 0 or rounds == most:
            break
        if number <= TAIL:
            if cuda.blockIdx.x > 0:
                break
            alone = True
            threads = int32(cuda.blockDim.x)
        edges += choose_all(ptr, adj, weight, heaviest, colour, choice, lists, here, blues, True, thread, threads)
        meet(alone)
        if heaviest:
            last = int32(here + n - 1)
            edges += choose_all(ptr, adj, weight, heaviest, colour, choice, lists, last, reds, False, thread, threads)
            meet(alone)
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
        state, counts = upload(np.zeros(COUNTS, np.int32)), upload(np.zeros(2, np.int64))
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
