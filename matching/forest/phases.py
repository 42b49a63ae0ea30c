"""Algorithm 3 of Azad, Buluç, Pothen (IPDPS 2015): forest, augmentation, next frontier, until a phase finds no path.

One thread runs all phases in one kernel, unless the seconds of each step are requested.  Several threads share a level
if its frontier is wide enough to be worth starting threads.  One thread searches each sequence of narrow levels, of
which long paths have thousands.
"""

from numbers import Integral, Real
from time import perf_counter

import numpy as np

from gridcut.device import thread_count
from matching.forest import forest_threads as parallel
from matching.forest.forest import (
    AUGMENTATIONS,
    EDGES_DOWN,
    EDGES_GRAFT,
    EDGES_UP,
    FOUND,
    FREE,
    GRAFTS,
    LENGTH,
    LEVELS,
    LEVELS_UP,
    OPEN,
    PHASES,
    TAIL,
    UNLINKED,
    Problem,
    make_forest,
)
from matching.forest.serial import augment, grow, is_finished, next_frontier, run_phases

UNLIMITED = 2**62
SCANS_PER_VISIT = 16  # scanning this many y takes about as long as visiting one


def maximise(
    graph, row_match, col_match, *, grafting, direction_optimising, alpha, side, threads, wide, by_step
) -> dict:
    """Make the matching maximum; returns stats."""
    if threads is None:
        threads = thread_count()
    for name, value in (("threads", threads), ("wide", wide)):
        if not isinstance(value, Integral) or value < 1:
            raise ValueError(f"{name} must be an integer, 1 or more; got {value!r}")
    if not isinstance(alpha, Real) or not 0 < alpha < np.inf:
        raise ValueError(f"alpha must be a number above 0; got {alpha!r}")
    if side not in ("rows", "columns"):
        raise ValueError(f"side must be 'rows' or 'columns'; got {side!r}")

    start = perf_counter()
    rows = (graph.row_ptr, graph.row_adj)
    columns = (graph.col_ptr, graph.col_adj)
    if side == "rows":
        problem = Problem(*rows, *columns, row_match, col_match)
    else:
        problem = Problem(*columns, *rows, col_match, row_match)
    forest = make_forest(problem)
    alpha = float(alpha)
    both_ways = bool(direction_optimising)
    seconds = {"prepare": perf_counter() - start}

    if threads == 1 and not by_step:
        start = perf_counter()
        run_phases(problem, forest, alpha, both_ways, bool(grafting), UNLIMITED)
        seconds["phases"] = perf_counter() - start
    else:
        run_steps(problem, forest, alpha, both_ways, bool(grafting), int(threads), int(wide), seconds)
    return stats_of(forest, seconds, int(threads))


def run_steps(problem, forest, alpha, both_ways, grafting, threads, wide, seconds):
    """run_phases step by step, with several threads for wide levels."""
    count = forest.count
    seconds |= {"forest": 0.0, "augment": 0.0, "frontier": 0.0}
    pool = parallel.make_pool(problem, forest, threads)
    while count[FREE] > 0 and count[OPEN] > 0:
        times = [perf_counter()]
        head = 0
        while head < count[TAIL]:
            if threads > 1 and count[TAIL] - head >= wide:
                head = parallel.grow_level(pool, head, alpha, both_ways)
            else:
                head = grow(problem, forest, head, alpha, both_ways, UNLIMITED if threads == 1 else wide)
        count[PHASES] += 1
        times.append(perf_counter())
        found = int(count[FOUND])
        in_parallel = threads > 1 and found >= wide
        count[LENGTH] += parallel.augment_all(pool) if in_parallel else augment(problem, forest, 0, found)
        times.append(perf_counter())
        done = is_finished(forest)
        if not done:
            if threads > 1 and (in_parallel or count[UNLINKED] and len(forest.root_y) >= SCANS_PER_VISIT * wide):
                parallel.next_frontier_parallel(pool, alpha, grafting, wide)
            else:
                next_frontier(problem, forest, alpha, grafting)
        times.append(perf_counter())
        for step, first, last in zip(("forest", "augment", "frontier"), times, times[1:], strict=False):
            seconds[step] += last - first
        if done:
            return


def stats_of(forest, seconds, threads):
    """The counts by name."""
    count = forest.count.tolist()
    return {
        "edges": count[EDGES_DOWN] + count[EDGES_UP] + count[EDGES_GRAFT],
        "edges_top_down": count[EDGES_DOWN],
        "edges_bottom_up": count[EDGES_UP],
        "edges_graft": count[EDGES_GRAFT],
        "phases": count[PHASES],
        "levels": count[LEVELS],
        "levels_bottom_up": count[LEVELS_UP],
        "grafts": count[GRAFTS],
        "augmentations": count[AUGMENTATIONS],
        "path_length": count[LENGTH],
        "threads": threads,
        "seconds": seconds,
    }
