"""Push-relabel on threads with asynchronous global relabeling: Hong and He 2011; Łupińska, section 4.5.

Returns the pixels that can still reach the sink once no excess can.  All threads except one run the lock-free
push-relabel of lock_free.py.  The remaining thread concurrently recomputes heights by repeated backward searches
(waves), without stopping the others.  Both kinds of threads write heights.  Each height therefore contains the number
of the last wave that visited the pixel, and is changed by compare-and-swap only:

  label[p] = wave * 2^WAVE_SHIFT + height

  a wave           sets a pixel that it reaches to its own number and the maximum of the old height and the distance;
                   at its end, it sets the pixels that it did not reach to height ceiling
  a relabel        keeps the wave number, and fails if a wave has changed the label in the meantime
  a push x -> y    waits while wave(x) > wave(y): a push from a pixel that the wave has visited to one that it has not
                   would open an arc that the wave does not see

The last rule is tested and the push is made in two separate steps, so a wave may still miss a pixel.  The result does
not depend on it: when no thread has an active pixel left, an exact search starts again, and pixels that were wrongly
set to the ceiling get their distance.  From round FALLBACK_ROUND on the sequential algorithm finishes, which bounds the
number of rounds.

Arrays (ceiling = cells + 1)
  excess, residual   as in lock_free.py;   ring, tail: lock_free.py
  label[p]           above;  queue: the wave's breadth-first order
  relabels[i * SPACING]   relabels by worker i;  running[0]: number of running workers;  stop[0]: set after an error

Deviates from [1]: between rounds the exact search may lower heights, waves only increase them; excess disconnected
from the sink stays in its pixel (`Cut.flow` returns it) instead of flowing back to the source.

[1] Hong, He. "An asynchronous multithreaded algorithm for the maximum network flow problem with nonblocking
    global relabeling heuristic." IEEE TPDS 22(6), 2011.
[2] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 4.5.

No bound on the operations is proved before round FALLBACK_ROUND.  Memory 16 bytes per pixel.
"""

import time

import numpy as np

from gridcut.core import push_relabel_steps
from gridcut.core.grid import Grid, index_type
from gridcut.core.push_relabel_steps import global_relabel, goes_down, lifted, push_amount, sink_side_of
from gridcut.device import (
    atomic_add,
    atomic_cas,
    atomic_load,
    plain_kernel,
    run_threads,
    thread_count,
)
from gridcut.device.arguments import MAX_THREADS, check_count, check_positive
from gridcut.papers.lock_free import SPACING, make_rings, post, post_active, take

FALLBACK_ROUND = 200
SPIN_LIMIT = 20_000  # reads of an empty ring before a thread ends; about 20 microseconds
SLEEP_SECONDS = 2e-4  # between two tests of the wave thread whether a wave is due
WAVE_SHIFT = 40
HEIGHT_BITS = 2**WAVE_SHIFT - 1


@plain_kernel
def discharge_kernel(excess, residual, step, label, ring, tail, share, worker, relabels, running, stop, ceiling):
    """Discharge a worker's pixels until its ring stays empty; returns the number of pushes."""
    arcs = len(step)
    head = 0
    idle = 0
    pushes = 0
    while idle <= SPIN_LIMIT and atomic_load(stop, 0) == 0:
        if atomic_load(tail, worker * SPACING) == head:
            idle += 1
            continue
        idle = 0
        x = take(ring, worker, share, head)
        head += 1
        left = atomic_load(excess, x)
        while left > 0:
            seen = atomic_load(label, x)
            here = seen & HEIGHT_BITS
            if here >= ceiling:
                break
            lowest = np.int64(ceiling)
            arc = -1
            must_wait = False
            for k in range(arcs):
                if atomic_load(residual, x * arcs + k) > 0:
                    other = atomic_load(label, x + step[k])
                    h = other & HEIGHT_BITS
                    if h < ceiling and (other >> WAVE_SHIFT) < (seen >> WAVE_SHIFT):
                        must_wait = True
                    elif h < lowest:
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
                if not must_wait:
                    here = lifted(lowest, ceiling)
                    if atomic_cas(label, x, seen, seen - (seen & HEIGHT_BITS) + here) == seen:
                        atomic_add(relabels, worker * SPACING, 1)
                if here < ceiling:
                    post(ring, tail, share, x)
                break
    atomic_add(running, 0, -1)
    return pushes


@plain_kernel
def mark_and_lift(label, cell, wave, distance):
    """Mark a cell by a wave and lift it to a distance; False if the wave had marked the cell before."""
    old = atomic_load(label, cell)
    while (old >> WAVE_SHIFT) < wave:
        new = (wave << WAVE_SHIFT) + max(old & HEIGHT_BITS, distance)
        found = atomic_cas(label, cell, old, new)
        if found == old:
            return True
        old = found
    return False


@plain_kernel
def wave_kernel(excess, residual, step, label, queue, wave, ceiling):
    """One backward breadth-first search from the sink while other threads push; increases labels."""
    arcs = len(step)
    tail = 0
    for p in range(excess.size):
        if atomic_load(excess, p) < 0 and mark_and_lift(label, p, wave, 1):
            queue[tail] = p
            tail += 1
    front = 0
    distance = 1
    while front < tail:
        level = tail
        distance += 1
        while front < level:
            x = queue[front]
            front += 1
            for k in range(arcs):
                y = x + step[k]
                if atomic_load(residual, y * arcs + (k ^ 1)) > 0 and mark_and_lift(label, y, wave, distance):
                    queue[tail] = y
                    tail += 1
    for p in range(excess.size):
        if (atomic_load(label, p) & HEIGHT_BITS) < ceiling:
            mark_and_lift(label, p, wave, ceiling)


def run_round(excess, residual, step, label, rings, queue, ceiling, every, workers, after_wave):
    """Run workers and waves concurrently until no worker runs; the numbers of pushes, relabels and waves."""
    ring, tail, share = rings
    relabels = np.zeros(workers * SPACING, np.int64)
    running = np.array([workers], np.int64)
    stop = np.zeros(1, np.int64)

    def work(i):
        return discharge_kernel(excess, residual, step, label, ring, tail, share, i, relabels, running, stop, ceiling)

    def make_waves():
        waves = 0
        due = every
        while running[0] > 0 and stop[0] == 0:
            if relabels.sum() < due:
                time.sleep(SLEEP_SECONDS)
                continue
            due = relabels.sum() + every
            waves += 1
            wave_kernel(excess, residual, step, label, queue, waves, ceiling)
            after_wave()
        return waves

    done = run_threads(lambda i: make_waves() if i == workers else work(i), workers + 1, abort=stop)
    return sum(done[:workers]), int(relabels.sum()), done[workers]


def solve(grid: Grid, *, threads=None, global_every=1.0, callback=None):
    """Solve in place; the mask of the sink side, and stats.

    threads       total number of threads, including the one that runs the waves; at least 2; None: numba's number
    global_every  relabels between the starts of two waves, as a multiple of the number of cells
    """
    excess, residual, step = grid.excess, grid.residual, grid.step
    threads = max(2, thread_count()) if threads is None else threads
    threads = check_count("threads", threads, 2, MAX_THREADS, why="one of them relabels")
    global_every = check_positive("global_every", global_every)
    size = excess.size
    number = index_type(size)
    ceiling = np.int64(size + 1)
    label = np.empty(size, np.int64)
    queue: np.ndarray = np.empty(size, number)
    rings = make_rings(size, threads - 1, number)
    every = max(1, int(min(global_every * size, 2**62)))
    stats = {"pushes": 0, "relabels": 0, "global_relabels": 0, "waves": 0, "threads": threads}

    def report():
        if callback is not None:
            callback(dict(stats))

    while True:
        global_relabel(excess, residual, step, label, queue, ceiling)
        stats["global_relabels"] += 1
        report()
        if post_active(excess, label, ceiling, *rings) == 0:
            break
        if stats["global_relabels"] == FALLBACK_ROUND:
            sink_side, rest = push_relabel_steps.solve(excess, residual, step, callback=callback)
            return sink_side, {name: stats[name] + rest.get(name, 0) for name in stats}
        done = run_round(excess, residual, step, label, rings, queue, ceiling, every, threads - 1, report)
        for name, count in zip(("pushes", "relabels", "waves"), done, strict=True):
            stats[name] += int(count)
    sink_side = np.empty(size, np.uint8)
    sink_side_of(label, ceiling, sink_side)
    return sink_side, stats
