"""Colour, propose, respond, match: algorithms 3 and 4 of Fagginger Auer and Bisseling, on threads.

Returns a maximal matching. In each round every unmatched vertex becomes blue or red at random; blue vertices propose to
a red neighbour, red ones respond to one of the proposals, and pairs that chose each other are matched. Vertices without
an unmatched neighbour are dead. Within a step all vertices are independent, so the matching depends on the seed and not
on the number of threads.

Rules by which a blue vertex chooses among its red neighbours (`select`):

  "first"      the first one in its list, which ascends.  Vertices with low numbers get most proposals, so a round
               matches fewer vertices than (2) in [1] expects
  "random"     the first one from a random entry of its list on, in each round another.  In [1] vertices are renumbered
               at random and lists keep their order, so that a first neighbour is a random one
  "heaviest"   the one along the heaviest edge

A red vertex responds to its first, or heaviest, proposer; which one it is does not change how many are matched.

Arrays (n vertices)                                     paper [1]
  state[v]     BLUE, RED, DEAD or MATCHED               pi(v)
  choice[v]    the vertex that v chose in this round;   sigma(v); NO_VERTEX also between rounds
               NO_VERTEX; NO_LIVE_NEIGHBOUR             infinity; dead
  partner[v]   partner, or -1                           pi(v), there min(v, partner of v)
  active[i]    the vertices that are blue or red        V in lines 7, 12, 21 and 28

Deviates from [1]: rounds visit only the vertices that are still unmatched. Choices without a match are cleared, so a
red vertex tests only which neighbours chose it, not which are blue. r of a round is the splitmix64 of the seed and the
round. After `rounds` rounds, algorithm 1 matches the remaining vertices in index order (this never happened with
p = 0.53406).

[1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
    Algorithms 3 and 4; p in section 3.1.

O(n + m) expected time per round, with fewer vertices each round; 13 bytes per vertex.
"""

import numpy as np

from gridcut.device import kernel, plain_kernel, thread_count
from gridcut.device.intrinsics import prefetch
from matching.general import one_sided
from matching.general.colour import colour_sums
from matching.general.one_sided import PREFETCH_DISTANCE
from matching.general.order import CHUNK, NO_VERTEX, ONE, packed, parts_of, random_entry, random_factor, run_on_parts

BLUE, RED, DEAD, MATCHED = (np.int8(i) for i in range(4))
NO_LIVE_NEIGHBOUR = -2
SELECT = {"first": 0, "heaviest": 1, "random": 2}
FIRST, HEAVIEST, RANDOM = (np.int32(rule) for rule in SELECT.values())
PARALLEL_MIN_VERTICES = 10_000  # active vertices; below, starting threads costs more than it saves


@kernel
def colour_kernel(active, state, r, threshold, first, last):
    """Lines 7 to 10; writes state."""
    sums, workspace = np.empty(CHUNK, np.uint32), np.empty((5, CHUNK), np.uint32)
    for begin in range(first, last, CHUNK):
        batch = active[begin : min(begin + CHUNK, last)]
        colour_sums(batch, r, sums, workspace)
        for i in range(np.uint64(batch.size)):
            state[np.uint64(batch[i])] = BLUE if sums[i] < threshold else RED


@plain_kernel
def is_eligible(state, choice, v, w, proposing):
    """Whether v may choose w: blue vertices any red one, red vertices those that chose them."""
    return state[w] == RED if proposing else np.uint64(choice[w]) == v


@kernel
def choose_kernel(ptr, adj, weight, rule, r, active, state, choice, proposing, first, last):
    """Lines 12 to 19 (proposing) or 21 to 26 (responding); writes choice, returns the number of entries scanned.

    Responding: the thread of a red v compares choice[w] with v for its neighbours w. Another thread may be storing
    choice[w] if w is red; before and after that store choice[w] is not v, since red vertices choose blue ones or none.
    """
    edges = 0
    mine = BLUE if proposing else RED
    heaviest = rule == HEAVIEST
    rotated = rule == RANDOM and proposing
    chunk = np.empty(CHUNK, np.int32)
    for begin in range(first, last, CHUNK):
        # Branch-free, since colours cannot be predicted.
        count = np.uint64(0)
        for i in range(np.uint64(begin), np.uint64(min(begin + CHUNK, last))):
            chunk[count] = active[i]
            count += np.uint64(state[np.uint64(active[i])] == mine)
        for i in range(count):
            if i + PREFETCH_DISTANCE < count:
                u = np.uint64(chunk[i + PREFETCH_DISTANCE])
                k = np.uint64(ptr[u])
                prefetch(adj, k + random_entry(u, r, np.uint64(ptr[u + ONE]) - k) if rotated else k)
            v = np.uint64(chunk[i])
            start, end = np.uint64(ptr[v]), np.uint64(ptr[v + ONE])
            middle = start + random_entry(v, r, end - start) if rotated else start
            best = end
            # The entries from `middle` on, then those before it.
            low, high = middle, end
            for _ in range(2):
                k = low
                while k < high and (heaviest or best == end):
                    if is_eligible(state, choice, v, np.uint64(adj[k]), proposing):
                        if best == end or heaviest and weight[k] > weight[best]:
                            best = k
                    k += ONE
                edges += k - low
                low, high = start, middle
            if best < end:
                choice[v] = adj[best]
            else:
                k = start
                while k < end and state[np.uint64(adj[k])] > RED:
                    k += ONE
                choice[v] = NO_VERTEX if k < end else NO_LIVE_NEIGHBOUR
    return edges


@plain_kernel
def match_kernel(active, state, choice, partner, first, last):
    """Lines 28 to 33; writes state and partner, and packs the active vertices to the front of the part.

    Choices without a match are cleared: a thread that reads choice[w] before or after that store finds no mutual
    choice. Returns the number of active vertices, and the number that were matched.
    """
    kept = np.uint64(first)
    end = np.uint64(last)
    matched = 0
    for i in range(kept, end):
        if i + PREFETCH_DISTANCE < end:
            prefetch(choice, choice[np.uint64(active[i + PREFETCH_DISTANCE])])
        v = np.uint64(active[i])
        w = choice[v]
        # Branch-free, as above.
        is_mutual = choice[np.uint64(w) if w >= 0 else v] == active[i]
        is_dead = w == NO_LIVE_NEIGHBOUR
        partner[v] = w if is_mutual else NO_VERTEX
        state[v] = MATCHED if is_mutual else DEAD if is_dead else state[v]
        choice[v] = w if is_mutual | is_dead else NO_VERTEX
        active[kept] = v
        kept += np.uint64(not (is_mutual | is_dead))
        matched += is_mutual
    return np.int64(kept) - first, matched


def rule_of(select: str | None, weighted: bool) -> np.int32:
    """FIRST, HEAVIEST or RANDOM; None: HEAVIEST for a graph with weights, else FIRST."""
    return np.int32(SELECT[("heaviest" if weighted else "first") if select is None else select])


def solve(graph, partner, *, seed=0, threads=None, p=0.53406, select=None, rounds=256):
    """Match unmatched vertices by rounds of proposals; returns counts of the work done, with matched vertices by round.

    threads   number of threads; None: numba's number of threads
    p         probability of blue
    select    "first" neighbour, "random" neighbour or "heaviest" edge; None: "heaviest" if the graph has weights,
              else "first"
    rounds    maximum number of rounds
    """
    threads = thread_count() if threads is None else threads
    rule = rule_of(select, graph.weight is not None)
    ptr, adj = graph.ptr, graph.adj
    weight = graph.keys() if rule == HEAVIEST else np.empty(0, np.int64)
    state = np.zeros(graph.n, np.int8)
    choice = np.full(graph.n, NO_VERTEX, np.int32)
    active = np.arange(graph.n, dtype=np.int32)
    seed = np.uint64(seed % 2**64)
    threshold = np.uint32(min(round(p * 2**32), 2**32 - 1))
    stats = {"edges": 0, "rounds": 0, "threads": threads, "matched": []}

    while len(active) and stats["rounds"] < rounds:
        r = random_factor(seed, np.uint64(stats["rounds"]))
        parts = parts_of(len(active), threads if len(active) >= PARALLEL_MIN_VERTICES else 1)
        run_on_parts(colour_kernel, (active, state, r, threshold), parts)
        for proposing in (True, False):
            edges = run_on_parts(choose_kernel, (ptr, adj, weight, rule, r, active, state, choice, proposing), parts)
            stats["edges"] += sum(edges)
        done = run_on_parts(match_kernel, (active, state, choice, partner), parts)
        active = packed(active, parts, [left for left, _ in done])
        stats["rounds"] += 1
        stats["matched"].append(sum(matched for _, matched in done))
    if len(active):
        taken, numbers = (partner >= 0).view(np.uint8), (one_sided.NO_WEIGHTS, active, partner)
        stats["edges"] += one_sided.match_kernel(ptr, adj, *numbers, taken, one_sided.FIRST)
    return stats
