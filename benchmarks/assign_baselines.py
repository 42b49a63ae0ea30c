"""Other programs for the assignment problem, each with costs in a form that suits it, prepared before the clock starts.

The solvers below return a callable that returns the optimal cost, or None for an instance that the baseline does not
support.
"""

import time

import numpy as np
import scipy.sparse

from benchmarks.baselines import Baseline

EXACT_FLOAT32 = 2**24
LARGEST_FOR_ORTOOLS = 2000  # rows of a dense matrix: it holds every pair as an arc of a graph
LARGEST_FOR_LAPMOD = 10**6  # it rejects larger costs
SLOW = 3.0  # a variant of lapx that is this many times slower than the best so far is not run twice


def scipy_solver(cost):
    if scipy.sparse.issparse(cost):
        from scipy.sparse.csgraph import min_weight_full_bipartite_matching

        low = int(cost.data.min()) - 1  # a stored 0 would be an absent entry
        graph = scipy.sparse.csr_array((cost.data.astype(np.float64) - low, cost.indices, cost.indptr), cost.shape)

        def run():
            row, col = min_weight_full_bipartite_matching(graph)
            return float(graph[row, col].sum()) + low * len(row)

        return run
    from scipy.optimize import linear_sum_assignment

    numbers = cost.astype(np.float64)

    def run():
        row, col = linear_sum_assignment(numbers)
        return numbers[row, col].sum()

    return run


def ortools_solver(cost):
    """Filling the graph is timed, since there is no other interface."""
    from ortools.graph.python import linear_sum_assignment

    if not scipy.sparse.issparse(cost):
        n, m = cost.shape
        if n != m or n > LARGEST_FOR_ORTOOLS:
            return None
        row, col = (a.ravel().astype(np.int32) for a in np.indices(cost.shape))
        values = cost.ravel().astype(np.int64)
    else:
        row = np.repeat(np.arange(cost.shape[0], dtype=np.int32), np.diff(cost.indptr))
        col, values = cost.indices.astype(np.int32), cost.data.astype(np.int64)

    def run():
        solver = linear_sum_assignment.SimpleLinearSumAssignment()
        solver.add_arcs_with_cost(row, col, values)
        if solver.solve() != solver.OPTIMAL:
            raise AssertionError("OR-tools found no optimum")
        return solver.optimal_cost()

    return run


def lapx_variants(cost) -> dict:
    """All of lapx's solvers for one instance, by name."""
    import lap

    if scipy.sparse.issparse(cost):
        if cost.data.max(initial=0) >= LARGEST_FOR_LAPMOD:
            return {}
        n = cost.shape[0]
        values, indptr, indices = cost.data.astype(np.float64), cost.indptr.astype(np.int32), cost.indices
        return {"lapmod": lambda: lap.lapmod(n, values, indptr, indices)[0]}
    extend = cost.shape[0] != cost.shape[1]
    double = cost.astype(np.float64)

    def of(function, numbers, **options):
        def run():
            return function(numbers, **options)[0]

        return run

    found = {
        "lapjv": of(lap.lapjv, double, extend_cost=extend),
        "lapjvx": of(lap.lapjvx, double, extend_cost=extend),
        "lapjvs": of(lap.lapjvs, double, prefer_float32=False),
        "lapjvr": of(lap.lapjvr, double, extend_cost=extend),
        "lapjvh": of(lap.lapjvh, double, extend_cost=extend),
    }
    if np.abs(cost).max(initial=0) < EXACT_FLOAT32:
        single = cost.astype(np.float32)
        found["lapjvs f32"] = of(lap.lapjvs, single)
        found["lapjvr f32"] = of(lap.lapjvr, single, extend_cost=extend)
        found["lapjvh f32"] = of(lap.lapjvh, single, extend_cost=extend)
    return found


def timed_lapx(cost, expected, names=None, repeats=2):
    """The fastest of lapx's variants (of those of `names`) on this instance, by one or two runs each, and its seconds.

    Two None if it has none.  Raises AssertionError for a cost other than `expected`.
    """
    seconds = {}
    for name, run in lapx_variants(cost).items():
        if names and name not in names:
            continue
        for _ in range(repeats):
            begin = time.perf_counter()
            found = run()
            seconds[name] = min(seconds.get(name, np.inf), time.perf_counter() - begin)
            if found != expected:
                raise AssertionError(f"lapx {name} found {found}, not {expected}")
            if seconds[name] > SLOW * min(seconds.values()):
                break
    best = min(seconds, key=seconds.get, default=None)
    return best, seconds.get(best)


# `run` returns a callable for an instance, of lapx one for each variant.
BASELINES = {
    "SciPy": Baseline("scipy", "scipy", scipy_solver),
    "lapx": Baseline("lap", "lapx", lapx_variants),
    "OR-tools": Baseline("ortools", "ortools", ortools_solver),
}
