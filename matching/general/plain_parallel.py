"""Greedy matching by proposals without tricks: algorithms 3 and 4 of Fagginger Auer and Bisseling, in plain Python.

Read this first. `parallel.py` (threads) and `parallel_cuda.py` (GPU) compute the same matching for the same seed, and
tests compare all three. A round:

    colour     every active vertex becomes blue or red, at random (line 7 to 10)
    propose    a blue vertex chooses a red neighbour; without an active neighbour it is dead (line 12 to 19)
    respond    a red vertex chooses one of the blue vertices that chose it, likewise (line 21 to 26)
    match      two vertices that chose each other are matched (line 28 to 33)

In each step, a vertex reads only values that earlier steps have written, so all vertices of a step can be processed in
parallel: a blue vertex reads colours, a red vertex the choices of blue vertices, and the last step choices only.

The other two files add lists of the active vertices, chunks without unpredictable branches, a warp per long neighbour
list, and a single launch for all rounds.

[1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
    Algorithms 3 and 4.

O(n + m) expected time per round.
"""

import numpy as np

from matching.general.colour import colour_sum
from matching.general.order import random_entry, random_factor


def match(ptr, adj, weight=None, *, seed=0, p=0.53406, select="first", rounds=256):
    """Compute a maximal matching; returns the partner of each vertex, or -1.

    ptr, adj   adjacency lists: the neighbours of v are adj[ptr[v]:ptr[v + 1]]
    weight     of the entries of adj: a vertex chooses its heaviest edge; None: by `select`
    select     "first": a blue vertex chooses its first red neighbour; "random": the first from a random entry on
    """
    partner = [-1] * (len(ptr) - 1)
    active = set(range(len(partner)))
    for i in range(rounds):
        if not active:
            break
        blue = blue_vertices(active, seed, i, p)
        r = np.uint32(random_factor(np.uint64(seed), np.uint64(i))) if select == "random" else None
        chosen = {v: best(v, active - blue, ptr, adj, weight, r) for v in sorted(blue)}
        for v in sorted(active - blue):
            proposals = {w for w in blue if chosen[w] == v}
            chosen[v] = best(v, proposals, ptr, adj, weight)
        dead = {v for v in active if not active.intersection(adj[ptr[v] : ptr[v + 1]])}
        matched = {v for v in active if chosen[v] is not None and chosen[chosen[v]] == v}
        for v in matched:
            partner[v] = int(chosen[v])
        active -= matched | dead
    for v in sorted(active):  # algorithm 1, for the vertices that remain after `rounds` rounds
        unmatched = [w for w in adj[ptr[v] : ptr[v + 1]] if partner[w] < 0]
        if partner[v] < 0 and unmatched:
            partner[v], partner[unmatched[0]] = int(unmatched[0]), v
    return partner


def blue_vertices(active, seed, i, p):
    """The active vertices that are blue in a round (algorithm 4)."""
    r = random_factor(np.uint64(seed), np.uint64(i))
    threshold = min(round(p * 2**32), 2**32 - 1)
    return {v for v in active if int(colour_sum(np.uint32(v + 1), np.uint32(r))) < threshold}


def best(v, eligible, ptr, adj, weight, r=None):
    """The first eligible neighbour of v, or with weights the one along the heaviest edge; None if there is none.

    r   of this round, if the first is sought from a random entry on
    """
    order = list(range(ptr[v], ptr[v + 1]))
    if r is not None and order:
        middle = int(random_entry(v, r, len(order)))
        order = order[middle:] + order[:middle]
    entries = [k for k in order if adj[k] in eligible]
    if not entries:
        return None
    return adj[entries[0] if weight is None else max(entries, key=lambda k: weight[k])]
