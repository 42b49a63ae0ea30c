"""The CPU-GPU hybrid in lockstep: Łupińska, algorithms 4.6 to 4.8.

It runs in `gridcut.max_flow` as a method of this benchmark, so its cuts are certified like any other.
"""

from unittest.mock import patch

import numpy as np

import gridcut
from benchmarks.instances import Problem
from gridcut.core.global_relabel import global_relabel, sink_side_of
from gridcut.core.push_relabel_fifo import count_active
from gridcut.core.push_relabel_rules import goes_down, lifted, push_amount
from gridcut.device import kernel
from gridcut.methods import METHODS, Method

NEVER = 2**62
RESIDUALS_PER_LINE = 32  # 128 bytes of int32: a line of the L1 cache of a GPU


def sink_side(excess, residual, step, height, queue, ceiling):
    """The mask that a method returns; the search for it is not counted."""
    global_relabel(excess, residual, step, height, queue, ceiling)
    mask = np.empty(excess.size, np.uint8)
    sink_side_of(height, ceiling, mask)
    return mask


@kernel
def read(cache, misses, layout, x, arc, y, arcs):
    """Read the residual of arc (x, y) in a layout: "by pixel" 0 or "by pair" 1; counts a miss of a direct-mapped cache.

    By pixel, the residuals of the arcs that leave a pixel are adjacent, as in gridcut/core/grid.py; by pair, those of
    an arc and its reverse, as in section 4.6.
    """
    if cache.shape[1] == 0:
        return
    owner = x if layout == 0 or arc & 1 == 0 else y
    line = (owner * arcs + arc) // RESIDUALS_PER_LINE
    if cache[layout, line % cache.shape[1]] != line:
        cache[layout, line % cache.shape[1]] = line
        misses[layout] += 1


@kernel
def lockstep_kernel(excess, residual, step, height, active, waiting, marks, ceiling, cycle, cache, misses):
    """One launch of algorithm 4.8: every thread does one operation per iteration, `cycle` iterations.

    active, waiting, marks   two lists of active pixels and whether a pixel is in the next one
    cache, misses            of `read`; a cache of no lines: not simulated

    Returns pushes, relabels, and the number of iterations in which some thread had work.
    """
    arcs = len(step)
    count = 0
    for x in range(excess.size):
        marks[x] = 0
        if excess[x] > 0 and height[x] < ceiling:
            active[count] = x
            count += 1
    pushes, relabels, busy = 0, 0, 0
    while busy < cycle and count > 0:
        busy += 1
        coming = 0
        for i in range(count):
            x = active[i]
            lowest = ceiling
            arc = -1
            for k in range(arcs):
                for layout in range(2):
                    read(cache, misses, layout, x, k, x + step[k], arcs)
                if residual[x * arcs + k] > 0 and height[x + step[k]] < lowest:
                    lowest = height[x + step[k]]
                    arc = k
            if goes_down(height[x], lowest):
                y = x + step[arc]
                for layout in range(2):
                    read(cache, misses, layout, x, arc, y, arcs)
                    read(cache, misses, layout, y, arc ^ 1, x, arcs)
                amount = push_amount(excess[x], residual[x * arcs + arc])
                residual[x * arcs + arc] -= amount
                residual[y * arcs + (arc ^ 1)] += amount
                excess[x] -= amount
                excess[y] += amount
                pushes += 1
                if excess[y] > 0 and height[y] < ceiling and marks[y] != busy:
                    marks[y] = busy
                    waiting[coming] = y
                    coming += 1
            else:
                height[x] = lifted(lowest, ceiling)
                relabels += 1
            if excess[x] > 0 and height[x] < ceiling and marks[x] != busy:
                marks[x] = busy
                waiting[coming] = x
                coming += 1
        active, waiting = waiting, active
        count = coming
    return pushes, relabels, busy


def lockstep(excess, residual, step, *, cycle, gap=True, cache_lines=0):
    """Algorithms 4.6 to 4.8 with all threads in lockstep, a legal order of the operations of a GPU; mask and counts.

    A global relabeling precedes the first launch; in algorithm 4.7, heights start as 0.

    gap          pixels that the search does not reach get the height |V|, as in section 4.6; False: they keep theirs,
                 as in algorithm 4.8, and their excess counts no more for the end of the loop
    cache_lines  lines of the simulated cache; "misses": by layout of `read`
    spinning     iterations of launches in which no thread had work: a thread reads its excess `cycle` times regardless
    """
    size = excess.size
    ceiling = size + 1
    cache, misses = np.full((2, cache_lines), -1, np.int64), np.zeros(2, np.int64)
    height, queue, active, waiting, marks = (np.empty(size, np.int32) for _ in range(5))
    height[:] = 1
    stats = {"pushes": 0, "relabels": 0, "launches": 0, "busy": 0}
    while True:
        before = height.copy()
        global_relabel(excess, residual, step, height, queue, ceiling)
        if not count_active(excess, height, ceiling):
            break
        if not gap:
            unreached = height == ceiling
            height[unreached] = before[unreached]
        pushes, relabels, busy = lockstep_kernel(
            excess, residual, step, height, active, waiting, marks, ceiling, cycle, cache, misses
        )
        stats["pushes"] += int(pushes)
        stats["relabels"] += int(relabels)
        stats["busy"] += int(busy)
        stats["launches"] += 1
    stats["misses"] = misses
    stats["spinning"] = stats["launches"] * cycle - stats["busy"]
    return sink_side(excess, residual, step, height, queue, ceiling), stats


def counts_of(problem: Problem, value: int, solver=None, method: str = "push_relabel", **parameters) -> dict:
    """The counts of a certified solve of `value` by a method, or by `solver`, one of the functions above."""

    def run(grid, callback):
        return solver(grid.excess, grid.residual, grid.step, **parameters)

    given = {"experiment": Method(cpu=lambda: run)}
    with patch.dict(METHODS, given if solver else {}):
        arguments = {"method": "experiment"} if solver else {"method": method, **parameters}
        cut = gridcut.max_flow(problem.source, problem.sink, problem.edges, device="cpu", **arguments)
        cut.check()
    if cut.value != value:
        raise AssertionError(f"{method} {parameters}: value {cut.value}, expected {value}")
    return {**cut.stats, "operations": cut.stats["pushes"] + cut.stats["relabels"]}


def crop(problem: Problem, side: int) -> Problem:
    """The middle of a problem."""
    part = tuple(slice((n - min(side, n)) // 2, (n + min(side, n)) // 2) for n in problem.source.shape)
    edges = {offset: capacity[part].copy() for offset, capacity in problem.edges.items()}
    return Problem(problem.source[part].copy(), problem.sink[part].copy(), edges)
