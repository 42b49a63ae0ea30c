"""The main loop of cost scaling: Min-Cost of Łupińska, algorithm 5.0.

eps starts at the largest cost and is divided by alpha until it is 1 (network.py: the paper's eps < 1 / n).  The caller
supplies Refine, which computes an eps-optimal flow.

A warm start supplies column prices.  The rows take their cheapest free column, one after the other.  If all rows find
one, that flow is eps-optimal for eps = the largest excess of a row over its cheapest column, and eps starts there.
Otherwise, or if this eps exceeds the largest cost, the start is cold.

If floats were rounded too coarsely for the costs that matter, larger costs are cut off and the problem is solved again
(assign/core/ceiling.py).

Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 5.1.
"""

from functools import partial

import numpy as np

from assign.core.ceiling import lower_ceiling
from assign.papers.scaling.network import INFINITY, MAX_COST, Task, load, unload
from assign.papers.scaling.refine import fix_arcs
from gridcut.device import plain_kernel
from gridcut.device.arguments import check_count, check_positive

NO_COLUMN = -1
MAX_UPDATE_EVERY = 2.0**30  # times the number of nodes: more relabels than any Refine performs


@plain_kernel
def greedy_epsilon(network, taken):
    """Largest excess over the cheapest edge if each node of X takes its cheapest free column, z all; or NO_COLUMN."""
    first, head, c, p, x_nodes = network.first, network.head, network.c, network.p, network.x_nodes
    worst = 0
    for x in range(x_nodes):
        least = INFINITY
        cheapest = INFINITY
        highest = -INFINITY
        y = NO_COLUMN
        for a in range(first[x], first[x + 1]):
            reduced = c[a] - p[head[a]]
            least = min(least, reduced)
            if not taken[head[a] - x_nodes]:
                highest = max(highest, reduced)
                if reduced < cheapest:
                    cheapest = reduced
                    y = head[a] - x_nodes
        if y == NO_COLUMN:
            return NO_COLUMN
        taken[y] = True
        worst = max(worst, (highest if network.d[x] > 1 else cheapest) - least)
    return worst


def warm_epsilon(task: Task, start) -> int:
    """Set the columns' prices to those of an earlier solve, and return the eps to start from."""
    network = task.network
    v = np.zeros(len(network.p) - network.x_nodes)
    v[: task.columns] = np.nan_to_num(np.asarray(start[1], np.float64))
    bound = min(MAX_COST, task.largest * 2 * network.x_nodes)
    with np.errstate(over="ignore"):
        v = v * task.multiplier if task.exponent is None else np.ldexp(v, -task.exponent)
    network.p[network.x_nodes :] = np.rint(np.clip(v, -bound, bound)).astype(np.int64)
    eps = greedy_epsilon(network, np.zeros(len(v), np.bool_))
    if 0 <= eps <= task.largest:
        return int(eps)
    network.p[:] = 0
    return task.largest


def refinements(task: Task, refine, rules, eps: int, stats: dict, *, alpha, fix=None, callback=None):
    """Divide eps by alpha and refine until it is 1; yields every eps once its flow is there.

    refine(network, eps, stats) computes an eps-optimal flow; fix(network, threshold) fixes arcs, or None.
    """
    network = task.network
    while True:
        eps = max(1, eps // alpha)
        refine(network, eps, stats)
        if fix is not None and eps > 1:
            stats["arcs_fixed"] += fix(network, 2 * rules.losses(network.x_nodes) * eps)
        stats["refines"] += 1
        if callback is not None:
            callback(dict(stats))
        yield eps
        if eps == 1:
            return


def new_stats(task: Task, counts=()) -> dict:
    """New counters, with those of the method; `unit` is the rounding unit of the costs."""
    counts = dict.fromkeys(("refines", "pushes", "relabels", "price_updates", "arcs_fixed", *counts), 0)
    return {**counts, "unit": 1 if task.exponent is None else 2.0**task.exponent}


def solve_rows(rows, m, refine, rules, *, limit=None, start=None, callback=None, alpha, fix, counts=()):
    """Solve a problem with rows (indptr, indices, cost) by refine(network, eps, stats); returns pairs, u, v, stats."""
    alpha = check_count("alpha", alpha, 2)
    ceiling = np.inf
    while True:
        task = load(*rows, m, limit, rules, alpha, ceiling)
        ceiling = np.inf if task.exponent is None else np.ldexp(float(task.largest), task.exponent)
        stats = new_stats(task, counts)
        eps = task.largest if start is None else warm_epsilon(task, start)
        for _ in refinements(task, refine, rules, eps, stats, alpha=alpha, fix=fix, callback=callback):
            pass
        found = unload(task)
        lower = None if task.exponent is None else lower_ceiling(*rows, m, limit, found[0], stats["unit"])
        if lower is None or lower > ceiling / 2:
            return *found, stats
        ceiling = lower


def solve_sequentially(
    refine, rules, indptr, indices, cost, m, *, alpha=10, price_updates=True, arc_fixing=True, update_every=1.0,
    max_updates=None, **context,
):  # fmt: skip
    """Solve a problem in CSR form on one thread; returns the column of each row (-1: unmatched), u, v, and counters.

    refine         refine(network, eps, stats, price_updates, **rule) of the method, its rule as below
    rules          its definitions of admissible and of eps-optimal
    alpha          divisor of eps before each Refine
    price_updates  algorithm 5.3, again and again
    arc_fixing     remove edges whose flow will not change
    update_every   relabels between two price updates, as a multiple of the number of nodes
    max_updates    maximum number of price updates per Refine; None: unlimited
    """
    most = INFINITY if max_updates is None else check_count("max_updates", max_updates, 0)
    every = min(check_positive("update_every", update_every), MAX_UPDATE_EVERY)
    run = partial(refine, price_updates=price_updates, update_every=every, max_updates=most)
    fix = fix_arcs if arc_fixing else None
    return solve_rows((indptr, indices, cost), m, run, rules, alpha=alpha, fix=fix, **context)
