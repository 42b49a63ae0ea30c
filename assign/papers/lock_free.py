"""Cost scaling whose Refine is lock-free push-relabel, on threads: Łupińska, algorithm 5.4.

Returns an optimal assignment and prices that certify it.  Threads take active nodes from a shared
queue.  Only the thread that took a node pushes from it and relabels it, until the node has no excess.  A node sends a
unit along its *lowest* residual edge, and is relabeled only if that edge is not admissible, so reading an outdated
price is safe: an edge whose reduced cost is temporarily below -eps (lemma 5.5) carries a unit to the node at its head,
which sends the unit back first.

Arrays as in network.py; those that other threads read or write:
  u_f[a]         edge a = (x, y): only the thread at x decreases it, only the thread at y increases it, with the mate
  e[x]           changed atomically; other threads only add to it
  p[x]           written only by the thread at x
  waiting[0]     units that have not reached a node with a deficit; 0: the pseudoflow is a flow
  ring, ends     the set S of active nodes, see shared_queue.py

Deviates from [1]: a few threads replace one thread per node.  The push that a relabel makes admissible follows without
another search.  z, which has many units (network.py), pushes along every admissible edge it scans.  A round
ends when f is a flow or a thread has done `cycle` operations.  After the first round of each Refine, prices are updated
if f is not a flow yet, and arcs are fixed when it is, as their rule requires (section 5.5 does both after the first
round).  The result is checked for eps-optimality; edges that violate it are saturated, and a single thread, which has
no races, finishes the Refine.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, sections 5.3 to 5.5.
[2] Hong. "A lock-free multi-threaded algorithm for the maximum flow problem." IPDPS 2008.

O(n^2 m min(log(nC), m log n)) operations; memory 34 bytes per pair.
"""

import numpy as np

from assign.papers.scaling.arc_fixing import fix_arcs
from assign.papers.scaling.network import INFINITY
from assign.papers.scaling.price_update import update_prices
from assign.papers.scaling.refine import MIN_PRICE, empty, raise_price_range, saturate
from assign.papers.scaling.rules import UNMODIFIED
from assign.papers.scaling.scale import solve_rows
from assign.papers.scaling.shared_queue import EMPTY, make_queue, put, put_active, take
from gridcut.device import atomic_add, atomic_cas, atomic_load, atomic_store, kernel, run_threads, thread_count
from gridcut.device.arguments import check_count

RULES = UNMODIFIED
COUNTS = ("rounds", "repairs")
SPIN_LIMIT = 20_000  # polls of an empty ring before a thread returns; about 20 microseconds
RUNNING, DONE, PRICE_TOO_LOW = range(3)  # values of stop[0]; DONE also after an exception in a thread


@kernel
def push(network, waiting, ring, ends, x, a):
    """Lines 13 to 16: push a unit along edge a; returns the remaining excess of x."""
    y = network.head[a]
    # Make the reverse edge residual before the unit arrives, so that an active node always has a residual edge.
    atomic_store(network.u_f, a, 0)
    atomic_store(network.u_f, network.mate[a], 1)
    left = atomic_add(network.e, x, -1) - 1
    before = atomic_add(network.e, y, 1)
    if before < 0:
        atomic_add(waiting, 0, -1)
    elif before == 0:
        put(ring, ends, y)
    return left


@kernel
def lock_free_kernel(network, eps, waiting, stop, ring, ends, cycle):
    """Algorithm 5.4 for one node after another, until f is a flow, no node is active, or after `cycle` operations."""
    first, last, head, _, c, u_f, _, e, p, x_nodes = network
    idle = 0
    pushes = 0
    relabels = 0
    while atomic_load(stop, 0) == RUNNING:
        x = take(ring, ends)
        if x == EMPTY:
            idle += 1
            if idle > SPIN_LIMIT or atomic_load(waiting, 0) == 0:
                return pushes, relabels
            continue
        idle = 0
        left = atomic_load(e, x)
        while left > 0 and cycle > 0:
            price = atomic_load(p, x)
            least = INFINITY
            lowest = -1
            for a in range(first[x], last[x]):
                if atomic_load(u_f, a) == 1:
                    partly = c[a] - atomic_load(p, head[a])
                    if left > 1 and x < x_nodes and partly < -price:
                        left = push(network, waiting, ring, ends, x, a)
                        pushes += 1
                    elif partly < least:
                        least = partly
                        lowest = a
            if least >= -price:
                price = -(least + eps)
                if price < MIN_PRICE:
                    atomic_store(stop, 0, PRICE_TOO_LOW)
                    return pushes, relabels
                atomic_store(p, x, price)
                relabels += 1
            left = push(network, waiting, ring, ends, x, lowest)
            pushes += 1
            cycle -= 1
        if cycle == 0:
            atomic_cas(stop, 0, RUNNING, DONE)
    return pushes, relabels


def run_round(network, eps, stats, threads, cycle) -> bool:
    """Run all threads for one round; returns whether f is a flow."""
    ring, ends = make_queue(len(network.p))
    waiting = np.full(1, put_active(network.e, ring, ends), np.int64)
    stop = np.zeros(1, np.int64)
    for pushes, relabels in run_threads(
        lambda i: lock_free_kernel(network, eps, waiting, stop, ring, ends, cycle), threads, abort=stop
    ):
        stats["pushes"] += pushes
        stats["relabels"] += relabels
    stats["rounds"] += 1
    if stop[0] == PRICE_TOO_LOW:
        raise_price_range()
    return waiting[0] == 0


def refine(network, eps, stats, price_updates=True, threads=1, cycle=500_000):
    """Compute an eps-optimal flow."""
    stats["threads"] = threads
    _, _, low, _ = RULES.at(eps)
    empty(network, low)
    done = run_round(network, eps, stats, threads, cycle)
    if not done and price_updates:
        stats["price_updates"] += update_prices(network, RULES, eps)
    while not done or saturate(network, low):
        if done:
            threads = 1
            stats["repairs"] += 1
        done = run_round(network, eps, stats, threads, cycle)


def solve(
    indptr,
    indices,
    cost,
    m,
    *,
    limit=None,
    start=None,
    callback=None,
    threads=None,
    alpha=10,
    cycle=500_000,
    price_updates=True,
    arc_fixing=True,
):
    """Solve a problem in CSR form; returns the column of each row (-1: unmatched), u, v, and counters.

    threads        number of threads; None: numba's number of threads
    alpha          divisor of eps before each Refine
    cycle          maximum number of operations per thread in one round
    price_updates  algorithm 5.3 after the first round of each Refine, if it left nodes active
    arc_fixing     remove edges whose flow will not change
    """
    if threads is None:
        threads = thread_count()
    threads, cycle = check_count("threads", threads), check_count("cycle", cycle)
    return solve_rows(
        (indptr, indices, cost),
        m,
        lambda network, eps, stats: refine(network, eps, stats, price_updates, threads, cycle),
        RULES,
        limit=limit,
        start=start,
        callback=callback,
        alpha=alpha,
        fix=fix_arcs if arc_fixing else None,
        counts=COUNTS,
    )
