"""Colour, propose, respond, match: algorithms 3 and 4 of Fagginger Auer and Bisseling, on threads.

Returns a maximal matching.  In each round every free vertex becomes blue or red by chance; blue ones propose to a red
neighbour, red ones respond to one of the proposals, and pairs that chose each other are matched.  Vertices without
a free neighbour are dead.  All vertices of one step are independent of each other, so the matching depends on the seed
and not on the number of threads.

Arrays (n vertices)                                     paper [1]
  state[v]     BLUE, RED, DEAD or MATCHED               pi(v)
  choice[v]    whom v chose this round; NOBODY; NO_HOPE  sigma(v), there infinity and dead; NOBODY between rounds
  partner[v]   -1: free; partner[partner[v]] == v       pi(v), there min(v, partner of v)
  live[i]      the vertices that are blue or red        V in lines 7, 12, 21 and 28

Deviates from [1]: rounds go over the vertices that are still free, not over all; what came to nothing is forgotten, so
a red one need not ask who is blue, only who chose it; r of a round is the splitmix64 of the seed and the round; after
`rounds` rounds what is left is matched by algorithm 1, as numbered (it never came to that with p = 0.53406).

[1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
    Algorithms 3 and 4; p in section 3.1.

O(n + m) expected time a round, fewer vertices each round; 13 bytes a vertex.
"""

import numpy as np

from gridcut.device import kernel, thread_count
from matching.core.prefetch import prefetch
from matching.general import random
from matching.general.colour import colour_sums
from matching.general.order import CHUNK, GOLDEN, ONE, S32, mixed
from matching.general.parts import each, packed, parts_of
from matching.general.random import AHEAD

BLUE, RED, DEAD, MATCHED = (np.int8(i) for i in range(4))
NOBODY = -1
NO_HOPE = -2
SMALLEST = 10_000  # live vertices below which starting threads costs more than it saves


@kernel
def colour_kernel(live, state, r, threshold, first, last):
    """Lines 7 to 10; writes state."""
    sums, room = np.empty(CHUNK, np.uint32), np.empty((5, CHUNK), np.uint32)
    for begin in range(first, last, CHUNK):
        some = live[begin : min(begin + CHUNK, last)]
        colour_sums(some, r, sums, room)
        for i in range(np.uint64(some.size)):
            state[np.uint64(some[i])] = BLUE if sums[i] < threshold else RED


@kernel
def fits(state, choice, v, w, proposing):
    """Whether v may choose w: blue ones any red one, red ones who chose them."""
    return state[w] == RED if proposing else np.uint64(choice[w]) == v


@kernel
def choose_kernel(ptr, adj, weight, heaviest, live, state, choice, proposing, first, last):
    """Lines 12 to 19 (proposing) or 21 to 26 (responding); writes choice, returns the entries looked at.

    Red ones look for themselves in what blue ones have written before; what other red ones write meanwhile is a blue
    one, or nobody.
    """
    looks = 0
    mine = BLUE if proposing else RED
    chunk = np.empty(CHUNK, np.int32)
    for begin in range(first, last, CHUNK):
        # Without a branch, since colours cannot be predicted.
        count = np.uint64(0)
        for i in range(np.uint64(begin), np.uint64(min(begin + CHUNK, last))):
            chunk[count] = live[i]
            count += np.uint64(state[np.uint64(live[i])] == mine)
        for i in range(count):
            if i + AHEAD < count:
                prefetch(adj, ptr[np.uint64(chunk[i + AHEAD])])
            v = np.uint64(chunk[i])
            start, end = np.uint64(ptr[v]), np.uint64(ptr[v + ONE])
            k = start
            best = end
            while k < end and (heaviest or best == end):
                if fits(state, choice, v, np.uint64(adj[k]), proposing):
                    if best == end or heaviest and weight[k] > weight[best]:
                        best = k
                k += ONE
            looks += k - start
            if best < end:
                choice[v] = adj[best]
            else:
                k = start
                while k < end and state[np.uint64(adj[k])] > RED:
                    k += ONE
                choice[v] = NOBODY if k < end else NO_HOPE
    return looks


@kernel
def match_kernel(live, state, choice, partner, first, last):
    """Lines 28 to 33; writes state and partner, packs the live vertices to the front of its part.

    Forgets what came to nothing; who asks for it meanwhile is not matched either way.  Returns how many are live, and
    how many were matched.
    """
    left = np.uint64(first)
    end = np.uint64(last)
    matched = 0
    for i in range(left, end):
        if i + AHEAD < end:
            prefetch(choice, choice[np.uint64(live[i + AHEAD])])
        v = np.uint64(live[i])
        w = choice[v]
        # Without a branch, as above.
        mutual = choice[np.uint64(w) if w >= 0 else v] == live[i]
        dead = w == NO_HOPE
        partner[v] = w if mutual else NOBODY
        state[v] = MATCHED if mutual else DEAD if dead else state[v]
        choice[v] = w if mutual | dead else NOBODY
        live[left] = v
        left += np.uint64(not (mutual | dead))
        matched += mutual
    return np.int64(left) - first, matched


def check_options(p, select, rounds) -> None:
    """Refuse what the method cannot do, on either device."""
    if not 0 < p < 1:
        raise ValueError(f"p must lie between 0 and 1, got {p!r}")
    if select not in (None, "first", "heaviest"):
        raise ValueError(f"select must be 'first', 'heaviest' or None, got {select!r}")
    if rounds < 0:
        raise ValueError(f"rounds must not be negative, got {rounds!r}")


def solve(graph, partner, *, seed=0, threads=None, p=0.53406, select=None, rounds=256):
    """Match free vertices by rounds of proposals; counts of what was done, among them vertices matched by round.

    threads   workers; None: numba's number of threads
    p         probability of blue
    select    "first" neighbour or "heaviest" edge; None: "heaviest" where the graph has weights
    rounds    at most so many
    """
    check_options(p, select, rounds)
    threads = thread_count() if threads is None else threads
    heaviest = graph.weight is not None if select is None else select == "heaviest"
    ptr, adj = graph.ptr, graph.adj
    weight = graph.keys() if heaviest else np.empty(0, np.int64)
    state = np.zeros(graph.n, np.int8)
    choice = np.full(graph.n, NOBODY, np.int32)
    live = np.arange(graph.n, dtype=np.int32)
    seed = np.uint64(seed % 2**64)
    threshold = np.uint32(min(round(p * 2**32), 2**32 - 1))
    stats = {"edges": 0, "rounds": 0, "threads": threads, "matched": []}

    while len(live) and stats["rounds"] < rounds:
        r = random_factor(seed, np.uint64(stats["rounds"]))
        parts = parts_of(len(live), threads if len(live) >= SMALLEST else 1)
        each(colour_kernel, (live, state, r, threshold), parts)
        for proposing in (True, False):
            looks = each(choose_kernel, (ptr, adj, weight, heaviest, live, state, choice, proposing), parts)
            stats["edges"] += sum(looks)
        done = each(match_kernel, (live, state, choice, partner), parts)
        live = packed(live, parts, [left for left, _ in done])
        stats["rounds"] += 1
        stats["matched"].append(sum(matched for _, matched in done))
    if len(live):
        stats["edges"] += random.match_kernel(ptr, adj, live, partner, (partner >= 0).view(np.uint8))
    return stats


@kernel
def random_factor(seed, i):
    """The r of round i of a seed: odd, else random; both are uint64."""
    return np.uint32(mixed(seed + (i + ONE) * GOLDEN) >> S32 | ONE)
