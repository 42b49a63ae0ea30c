"""Algorithm 5.2 of Łupińska with other rules for the global price updates of a Refine.

The solver runs in `assign.solve` as a method of this benchmark, so its results are certified like any other.
"""

from functools import partial

import numpy as np

from assign.methods import Implementation, Method, compressed
from assign.papers.cost_scaling import RULES
from assign.papers.scaling.price_update import update_prices
from assign.papers.scaling.refine import INFINITY, discharge, empty, raise_price_range
from assign.papers.scaling.scale import solve_sequentially

UNLIMITED = 2**62


def refine(network, eps, stats, price_updates=True, *, every, most):
    """Compute an eps-optimal flow with at most `most` price updates, after every `every` * V relabels."""
    bounds = RULES.at(eps)
    empty(network, bounds[2])
    queue = np.empty(len(network.p), np.int32)
    updates = 0
    while True:
        budget = max(1, int(every * len(network.p))) if updates < most else INFINITY
        active, pushes, relabels = discharge(network, queue, *bounds, budget)
        stats["pushes"] += pushes
        stats["relabels"] += relabels
        if active < 0:
            raise_price_range()
        if active == 0:
            return
        stats["price_updates"] += update_prices(network, RULES, eps)
        updates += 1


def method(every: float, most: int) -> Method:
    """The entry of `assign.methods.METHODS`."""

    def solve(costs, limit, start, callback, **parameters):
        form = partial(refine, every=every, most=most)
        given = {"limit": limit, "start": start, "callback": callback}
        return solve_sequentially(form, RULES, *compressed(costs), **given, **parameters)

    found = Implementation(solve, ("alpha",))
    return Method(dense_cpu=found, sparse_cpu=found, scales_costs=True)
