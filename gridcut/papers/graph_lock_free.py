"""Lock-free push-relabel on a sparse graph, on threads: Hong's algorithm, Łupińska, algorithm 4.5.

Returns the nodes that can still reach the sink once no excess can.  As gridcut/papers/lock_free.py, for arcs in lists.
Every node belongs to one thread, and only this thread pushes from the node and relabels it; threads never wait for one
another.  A node pushes to its *lowest* residual neighbours, and is relabeled only if these are not lower, so using an
outdated height of a neighbour is safe.

Arrays (n nodes; ceiling = n + 1)     paper [1]
  excess[x]       changed atomically   e(x);  other threads only add to it
  arcs[a + 2]     changed atomically   c_f(x, y);  only the thread of x takes from it;  y = arcs[a]
  height[x]       written by its owner h(x)
  ring, tail      see mailbox.py       active nodes

While threads run, the copy arcs[a + 3] of the residual capacity of the reverse arc is not kept; it is restored at the
end.

Deviates from [1] as on the grid: a few threads process many nodes each, and take active ones from rings instead of
polling all; heights start as distances; excess disconnected from the sink stays in its node instead of rising above the
source; after `global_every` * n relabels all threads stop and one of them runs a global relabeling, as in algorithm
4.8.  From round FALLBACK_ROUND on a single thread finishes, for the reason given there.

A row of a graph may be long.  Lines 4-9 therefore find the lowest height once, and lines 11-15 are then executed for
every neighbour that still has this height.  Heights only increase while threads run, so such a neighbour is still a
lowest one of those that lines 4-9 have read.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 4.4.
[2] Hong. "A lock-free multi-threaded algorithm for the maximum flow problem." IPDPS 2008.

O(n^2 m) operations; memory 12 bytes per node.
"""

import numpy as np

from gridcut.core.push_relabel_rules import goes_down, lifted, push_amount
from gridcut.device import atomic_add, atomic_load, atomic_store, kernel, run_threads, thread_count
from gridcut.device.arguments import MAX_THREADS, check_count, check_positive
from gridcut.graph.residual_graph import ResidualGraph
from gridcut.papers.graph_global_relabel import global_relabel
from gridcut.papers.mailbox import SPACING, make_rings, post, post_active, take

FALLBACK_ROUND = 200
SPIN_LIMIT = 20_000  # reads of an empty ring before a thread ends; about 20 microseconds


@kernel
def graph_lock_free_kernel(first, arcs, excess, height, ring, tail, share, worker, stop, ceiling, budget):
    """Discharge a worker's nodes until its ring stays empty or after `budget` relabels."""
    head = 0
    idle = 0
    pushes = 0
    relabels = 0
    while relabels < budget and atomic_load(stop, 0) == 0:
        if atomic_load(tail, worker * SPACING) == head:
            idle += 1
            if idle > SPIN_LIMIT:
                return pushes, relabels
            continue
        idle = 0
        x = take(ring, worker, share, head)
        head += 1
        end = first[x + 1]
        here = np.int64(height[x])
        left = np.int64(atomic_load(excess, x))
        while left > 0 and here < ceiling:
            lowest = np.int64(ceiling)
            nearest = end
            for a in range(first[x], end, 4):
                if atomic_load(arcs, a + 2) > 0:
                    h = np.int64(atomic_load(height, arcs[a]))
                    if h < lowest:
                        lowest = h
                        nearest = a
            if goes_down(here, lowest):
                for a in range(nearest, end, 4):
                    y = arcs[a]
                    room = np.int64(atomic_load(arcs, a + 2))
                    if room > 0 and atomic_load(height, y) == lowest:
                        amount = push_amount(left, room)
                        atomic_add(arcs, a + 2, -amount)
                        atomic_add(arcs, arcs[a + 1] + 2, amount)
                        left = np.int64(atomic_add(excess, x, -amount)) - amount
                        before = np.int64(atomic_add(excess, y, amount))
                        pushes += 1
                        if before <= 0 and before + amount > 0:
                            post(ring, tail, share, y)
                        if left == 0:
                            break
            else:
                here = lifted(lowest, ceiling)
                atomic_store(height, x, here)
                relabels += 1
                if here < ceiling:
                    post(ring, tail, share, x)
                break
    atomic_store(stop, 0, 1)
    return pushes, relabels


@kernel
def copy_reverse_residuals(arcs):
    """Restore the copies of the residual capacities of all reverse arcs."""
    for a in range(0, arcs.size, 4):
        arcs[a + 3] = arcs[arcs[a + 1] + 2]


def run_round(graph, height, rings, ceiling, budget, threads):
    """Run all threads until their rings stay empty or the budget is used; the numbers of pushes and relabels."""
    ring, tail, share = rings
    stop = np.zeros(1, np.int64)

    def work(i):
        lists = graph.first, graph.arcs, graph.excess, height, ring, tail, share
        return graph_lock_free_kernel(*lists, i, stop, ceiling, max(1, budget // threads))

    done = run_threads(work, threads, abort=stop)
    return sum(pushes for pushes, _ in done), sum(relabels for _, relabels in done)


def solve(graph: ResidualGraph, *, threads=None, global_every=1.0) -> tuple[np.ndarray, dict]:
    """Solve in place; the mask of the sink side, and stats.

    threads       number of workers; None: numba's number of threads
    global_every  relabels between two global relabelings, as a multiple of the number of nodes
    """
    threads = check_count("threads", thread_count() if threads is None else threads, 1, MAX_THREADS)
    global_every = check_positive("global_every", global_every)
    size = graph.nodes
    ceiling = size + 1
    height = np.empty(size, np.int32)  # at most 2^31 - 1 by MAX_NODES
    budget = max(1, int(min(global_every * size, 2**62)))
    stats = {"pushes": 0, "relabels": 0, "global_relabels": 0, "threads": threads}
    rings = make_rings(size, threads, np.int32)
    while True:
        active = global_relabel(graph.first, graph.arcs, graph.excess, height, rings[0], ceiling)
        stats["global_relabels"] += 1
        if active == 0:
            copy_reverse_residuals(graph.arcs)
            return height < ceiling, stats
        if stats["global_relabels"] == FALLBACK_ROUND:
            threads = 1
            rings = make_rings(size, threads, np.int32)
        post_active(graph.excess, height, ceiling, *rings)
        pushes, relabels = run_round(graph, height, rings, ceiling, budget, threads)
        stats["pushes"] += int(pushes)
        stats["relabels"] += int(relabels)
