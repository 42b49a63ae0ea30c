"""Lock-free push-relabel on threads: Hong's algorithm, Łupińska, algorithm 4.5.

Returns the pixels that can still reach the sink once no excess can.  Every pixel belongs to one thread, and only this
thread pushes from the pixel and relabels it; threads never wait for one another.  A pixel pushes to its *lowest*
residual neighbour, and is relabeled only if that one is not lower, so using an outdated height of a neighbour is safe.

Arrays (ceiling = cells + 1)          paper [1]
  excess[p]      changed atomically    e(x);  other threads only add to it
  residual[a]    changed atomically    c_f(x, y);  only the thread of x takes from it
  height[p]      written by its owner  h(x)
  ring, tail     see below        active pixels

Deviates from [1]: a few threads process many pixels each, and take active ones from rings instead of polling all;
heights start as distances; excess disconnected from the sink stays in its pixel (`Cut.flow` returns it) instead of
rising above the source; after `global_every` * n relabels all threads stop and one of them runs a global relabeling,
as in algorithm 4.8.  When the threads stop, an arc may fall by more than one (algorithm 4.8 cancels those).  With new
distances it is valid again, but the proof that heights only increase does not hold.  So from round FALLBACK_ROUND on a
single thread finishes, with which no such arc can arise.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 4.4.
[2] Hong. "A lock-free multi-threaded algorithm for the maximum flow problem." IPDPS 2008.

[1] states O(V^2 E) operations for the algorithm without global relabeling; no bound is proved for this program before
round FALLBACK_ROUND.  Memory 12 bytes per pixel.
"""

import numpy as np

from gridcut.core.grid import Grid, index_type
from gridcut.core.push_relabel_steps import global_relabel, goes_down, lifted, push_amount, sink_side_of
from gridcut.device import atomic_add, atomic_load, atomic_store, plain_kernel, run_threads, thread_count
from gridcut.device.arguments import MAX_THREADS, check_count, check_positive

# Queues of active pixels between threads: one ring per worker, with many writers and its owner as the only reader.
#
# Worker i owns the cells i * share ... (i + 1) * share - 1, and only worker i discharges them.  A cell is posted by
# the thread whose atomic addition changes its excess from not positive to positive, and again by its owner while
# excess is left.  So it is never in a ring twice, and a ring of `share` slots cannot overflow.
#
# Arrays
#   ring[i * share + ...]   cell + 1;  0: empty
#   tail[i * SPACING]       slots reserved so far, by atomic addition;  head: slots read, by the owner only

SPACING = 16  # entries, so that counters of different workers are in different cache lines


@plain_kernel
def post(ring, tail, share, cell):
    """Append a cell to the ring of its owner."""
    owner = cell // share
    slot = atomic_add(tail, owner * SPACING, 1)
    atomic_store(ring, owner * share + slot % share, cell + 1)


@plain_kernel
def take(ring, worker, share, head):
    """The cell at slot `head` of the worker's ring; the slot must have been reserved."""
    at = worker * share + head % share
    cell = atomic_load(ring, at)
    while cell == 0:  # the writer has reserved the slot and not stored the cell yet
        cell = atomic_load(ring, at)
    atomic_store(ring, at, 0)
    return cell - 1


@plain_kernel
def post_active(excess, height, ceiling, ring, tail, share):
    """Post all pixels with excess that are connected to the sink; returns their number."""
    ring[:] = 0
    tail[:] = 0
    active = 0
    for p in range(excess.size):
        if excess[p] > 0 and height[p] < ceiling:
            post(ring, tail, share, p)
            active += 1
    return active


def make_rings(size: int, workers: int, number):
    """(ring, tail, share) for `size` cells."""
    share = -(-size // workers)
    return np.zeros(share * workers, number), np.zeros(workers * SPACING, np.int64), share


FALLBACK_ROUND = 200
SPIN_LIMIT = 20_000  # reads of an empty ring before a thread ends; about 20 microseconds


@plain_kernel
def lock_free_kernel(excess, residual, step, height, ring, tail, share, worker, stop, ceiling, budget):
    """Discharge a worker's pixels until its ring stays empty or after `budget` relabels."""
    arcs = len(step)
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
        here = height[x]
        left = atomic_load(excess, x)
        while left > 0 and here < ceiling:
            lowest = ceiling
            arc = -1
            for k in range(arcs):
                if atomic_load(residual, x * arcs + k) > 0:
                    h = atomic_load(height, x + step[k])
                    if h < lowest:
                        lowest = h
                        arc = k
            if goes_down(here, lowest):
                y = x + step[arc]
                amount = push_amount(left, atomic_load(residual, x * arcs + arc))
                atomic_add(residual, x * arcs + arc, -amount)
                atomic_add(residual, y * arcs + (arc ^ 1), amount)
                left = atomic_add(excess, x, -amount) - amount
                before = atomic_add(excess, y, amount)
                pushes += 1
                if before <= 0 and before + amount > 0:
                    post(ring, tail, share, y)
            else:
                here = lifted(lowest, ceiling)
                atomic_store(height, x, here)
                relabels += 1
                if here < ceiling:
                    post(ring, tail, share, x)
                break
    atomic_store(stop, 0, 1)
    return pushes, relabels


def run_round(excess, residual, step, height, rings, ceiling, budget, threads):
    """Run all threads until their rings stay empty or the budget is used; the numbers of pushes and relabels."""
    ring, tail, share = rings
    stop = np.zeros(1, np.int64)

    def work(i):
        return lock_free_kernel(
            excess, residual, step, height, ring, tail, share, i, stop, ceiling, max(1, budget // threads)
        )

    done = run_threads(work, threads, abort=stop)
    return sum(pushes for pushes, _ in done), sum(relabels for _, relabels in done)


def solve(grid: Grid, *, threads=None, global_every=1.0, callback=None):
    """Solve in place; the mask of the sink side, and stats.

    threads       number of workers; None: numba's number of threads
    global_every  relabels between two global relabelings, as a multiple of the number of cells
    """
    excess, residual, step = grid.excess, grid.residual, grid.step
    threads = check_count("threads", thread_count() if threads is None else threads, 1, MAX_THREADS)
    global_every = check_positive("global_every", global_every)
    size = excess.size
    number = index_type(size)
    ceiling = number(size + 1)  # of the type of the heights, with which the kernel compares it
    height: np.ndarray = np.empty(size, number)
    budget = max(1, int(min(global_every * size, 2**62)))
    stats = {"pushes": 0, "relabels": 0, "global_relabels": 0, "threads": threads}
    rings = make_rings(size, threads, number)
    while True:
        global_relabel(excess, residual, step, height, rings[0], ceiling)
        stats["global_relabels"] += 1
        if callback is not None:
            callback(dict(stats))
        if stats["global_relabels"] == FALLBACK_ROUND:
            threads = 1
            rings = make_rings(size, threads, number)
        if post_active(excess, height, ceiling, *rings) == 0:
            break
        pushes, relabels = run_round(excess, residual, step, height, rings, ceiling, budget, threads)
        stats["pushes"] += int(pushes)
        stats["relabels"] += int(relabels)
    sink_side = np.empty(size, np.uint8)
    sink_side_of(height, ceiling, sink_side)
    return sink_side, stats
