"""Cost scaling whose Refine is lock-free push-relabel, on threads: Łupińska, algorithm 5.4.

Returns an optimal assignment and prices that certify it.  Threads take active nodes from a shared queue.  Only the
thread that took a node pushes from it and relabels it, until the node has no excess.  A node sends a unit along its
*lowest* residual edge, and is relabeled only if that edge is not admissible, so reading an outdated price is safe: an
edge whose reduced cost is temporarily below -eps (lemma 5.5) carries a unit to the node at its head, which sends the
unit back first.

Arrays as in network.py; those that other threads read or write:
  u_f[a]         edge a = (x, y): only the thread at x decreases it, only the thread at y increases it, with the mate
  e[x]           changed atomically; other threads only add to it
  p[x]           written only by the thread at x
  waiting[0]     units that have not reached a node with a deficit; 0: the pseudoflow is a flow
  ring, ends     the set S of active nodes

The set S is a lock-free queue [3] with many writers and many readers.  A node is inserted exactly when a push raises
its excess from 0 to 1.  The thread that removes the node operates on it until its excess is 0.  So a node is never in
the queue twice, nor held by two threads, and a ring with one slot per node cannot overflow.  A thread may be suspended
after it reserved a slot and before it fills it, while other threads advance around the whole ring.  Therefore each
slot stores its round, and no thread fills or reads a slot in the wrong round.

Arrays, K = len(ring) + 1
  ring[ticket % len(ring)]   round * K: empty;  round * K + node + 1: filled in this round
  ends[HEAD]                 tickets taken by readers, by compare-and-swap;   ends[TAIL]  by writers, by atomic addition

Deviates from [1]: a few threads replace one thread per node.  The push that a relabel makes admissible follows without
another search.  z, which has many units (network.py), pushes along every admissible edge it scans.  A round
ends when f is a flow or a thread has done `cycle` operations.  After the first round of each Refine, prices are updated
if f is not a flow yet, and arcs are fixed when it is, as their rule requires (section 5.5 does both after the first
round).  The result is checked for eps-optimality; edges that violate it are saturated, and a single thread, which has
no races, finishes the Refine.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, sections 5.3 to 5.5.
[2] Hong. "A lock-free multi-threaded algorithm for the maximum flow problem." IPDPS 2008.
[3] Vyukov. "Bounded MPMC queue." 2010, in a form for integers; Michael, Scott. "Simple, fast, and practical
    non-blocking and blocking concurrent queue algorithms." PODC 1996 (there with a list instead of a ring).

O(n^2 m min(log(nC), m log n)) operations; memory 34 bytes per pair.
"""

import numpy as np

from assign.papers.scaling.network import INFINITY
from assign.papers.scaling.refine import (
    MIN_PRICE,
    UNMODIFIED,
    empty,
    fix_arcs,
    raise_price_range,
    saturate,
    update_prices,
)
from assign.papers.scaling.scale import solve_rows
from gridcut.device import atomic_add, atomic_cas, atomic_load, atomic_store, plain_kernel, run_threads, thread_count
from gridcut.device.arguments import check_count

HEAD, TAIL = 0, 16  # in different cache lines
EMPTY = -1
RULES = UNMODIFIED
COUNTS = ("rounds", "repairs")
SPIN_LIMIT = 20_000  # polls of an empty ring before a thread returns; about 20 microseconds
RUNNING, DONE, PRICE_TOO_LOW = range(3)  # values of stop[0]; DONE also after an exception in a thread


@plain_kernel
def put(ring, ends, node):
    """Insert a node at the tail."""
    ticket = atomic_add(ends, TAIL, 1)
    slot = ticket % len(ring)
    empty = ticket // len(ring) * (len(ring) + 1)
    while atomic_load(ring, slot) != empty:  # the reader of the previous round has not emptied the slot yet
        pass
    atomic_store(ring, slot, empty + node + 1)


@plain_kernel
def take(ring, ends):
    """Remove and return the node at the head, or EMPTY."""
    while True:
        head = atomic_load(ends, HEAD)
        if head >= atomic_load(ends, TAIL):
            return EMPTY
        if atomic_cas(ends, HEAD, head, head + 1) == head:
            slot = head % len(ring)
            empty = head // len(ring) * (len(ring) + 1)
            found = atomic_load(ring, slot)
            while found <= empty:  # the writer has reserved the slot but not filled it yet
                found = atomic_load(ring, slot)
            atomic_store(ring, slot, empty + len(ring) + 1)
            return found - empty - 1


@plain_kernel
def put_active(e, ring, ends):
    """Insert all active nodes into an empty queue; returns their total excess."""
    waiting = 0
    for x in range(len(e)):
        if e[x] > 0:
            put(ring, ends, x)
            waiting += e[x]
    return waiting


def make_queue(nodes: int):
    """(ring, ends) of an empty queue."""
    return np.zeros(max(nodes, 1), np.int64), np.zeros(2 * TAIL, np.int64)


@plain_kernel
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


@plain_kernel
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
    indptr, indices, cost, m, *, threads=None, alpha=10, cycle=500_000, price_updates=True, arc_fixing=True, **context
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
    fix = fix_arcs if arc_fixing else None

    def run(network, eps, stats):
        refine(network, eps, stats, price_updates, threads, cycle)

    return solve_rows((indptr, indices, cost), m, run, RULES, alpha=alpha, fix=fix, counts=COUNTS, **context)
