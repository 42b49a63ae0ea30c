"""solve: the linear assignment problem, from costs to pairs and prices."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assign.assignment import Assignment, pack
from assign.core.given import Given
from assign.core.infeasible import InfeasibleError
from assign.core.problem import INT64_MAX, HandedOver, Problem, check_problem, largest_limit
from assign.core.start import fitted, start_of
from assign.direct import solve_small_matrix
from assign.methods import CPU_FIRST, Choice, choose, is_dense_only
from gridcut.device import DeviceName
from gridcut.device.arguments import check_callback


def solve(
    cost: Any,
    *,
    maximize: bool = False,
    max_cost: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    start: Assignment | tuple[ArrayLike, ArrayLike] | None = None,
    device: DeviceName = "auto",
    method: str = "auto",
    callback: Callable[[dict], object] | None = None,
    **parameters: Any,
) -> Assignment:
    """Solve the linear assignment problem exactly.

    The result includes dual prices that certify its optimality::

                 columns
               0   1   2         cost[i, j] = row_price[i] + col_price[j] + slack[i, j],
        rows 0 4  (1)  3         with slack >= 0 everywhere and slack == 0 on the chosen pairs ( ):
             1 (2) 0   5         no other assignment can cost less
             2 3   2  (2)

    Parameters
    ----------
    cost : array_like (n, m), a SciPy sparse matrix, or a tuple (indptr, indices, cost, shape)
        Cost of each pair, for any n and m.  Every row or column of the shorter side is matched.  In sparse costs, the
        stored pairs are allowed, whatever their value, and all others are forbidden.  In float matrices, +inf forbids
        a pair (-inf if `maximize`).
    maximize : bool
        If True, maximise the total cost instead.
    max_cost : number or array_like (n,), optional
        Cost of leaving a row unmatched (with `maximize`, the profit).  Rows and columns may then stay unmatched, and
        no pair that costs more is chosen.  A cost matrix with `max_cost` is always feasible.
    mask : array_like of bool (n, m), optional
        True for the allowed pairs of a dense matrix.
    start : Assignment, or a pair of arrays (n,) and (m,), optional
        Row and column prices of an earlier, similar problem, to start from.  They need not be feasible.
    device : {"auto", "cpu", "cuda"}
        "auto" uses a GPU for large matrices if one is available, for square ones on the host only where the first
        steps on the CPU show that it is faster; "cpu" and "cuda" select that device or raise.
    method : str
        "auto" for the fastest method, or a key of `assign.methods.METHODS`.  docs/algorithms/assign.md says which one
        it is.
    callback : callable, optional
        Called periodically with a dict of counters; for sparse costs, after every round of at most 16 bids per row,
        and after the searches.  An exception raised by the callback stops the solve.
    **parameters
        Parameters of a named method, for example ``alpha=5`` for "cost_scaling".

    Returns
    -------
    Assignment
        ``row``, ``col``, ``cost``, ``row_price``, ``col_price``; ``check()`` certifies them.

    Raises
    ------
    TypeError
        If an argument has the wrong type, or the method does not accept a parameter.
    ValueError
        If shapes do not match, costs hold NaN or infinities of the wrong sign, or integers are so large that prices
        might not fit int64.
    InfeasibleError
        A ValueError: if the forbidden pairs leave no assignment; ``rows`` and ``cols`` show why.
    RuntimeError
        If the requested device is not available.
    MemoryError
        If the problem does not fit into GPU memory.

    See Also
    --------
    solve_batch : many small problems in one call.
    solve_points : distances between two point sets, without the matrix.
    linear_sum_assignment : SciPy's interface.

    Notes
    -----
    Costs are int32, int64, float32 or float64; bool, int8, int16, uint8, uint16, uint32 and float16 are widened,
    and so is uint64 if its numbers fit int64.
    Integers are exact.  Floats are processed as float64, and a result is optimal up to
    `assign.core.certificate.tolerance`.  The result keeps references to `cost`, `mask` and `max_cost`, which `check`
    reads.  Arrays on a GPU (CuPy, PyTorch, numba) are read in place; pairs and prices are returned as GPU arrays of
    the same library.

    The time depends on the method; it is O(n^2 m) in the worst case for "auto".  Memory in addition to the costs is
    O(n + m) times the list length for dense costs, and O(number of stored pairs) for sparse costs.

    References
    ----------
    .. [1] Burkard, Dell'Amico, Martello. "Assignment Problems." SIAM, 2009.

    The file of each method cites the source of its algorithm.

    Examples
    --------
    >>> a = solve([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    >>> a.cost, a.col
    (5, array([1, 0, 2]))
    """
    begin = time.perf_counter()
    if mask is max_cost is start is callback is None and not parameters and is_default(maximize, device, method):
        found = solve_small_matrix(cost, maximize, begin)
        if found is not None:
            return found
    check_callback(callback)
    keep_dense = mask is not None and is_dense_only(method)
    problem = check_problem(cost, mask=mask, maximize=maximize, max_cost=max_cost, keep_dense=keep_dense)
    given = Given(cost, mask, max_cost, bool(maximize))
    chosen = choose(device, method, problem, parameters)
    library = problem.library
    if library and not chosen.stays_on_device:
        problem = check_problem(problem.given.host(), mask=None, maximize=maximize, max_cost=None)
    prices = start_of(start, problem)
    if chosen.method.scales_costs:
        check_scaled(problem, chosen.name)
    checked = time.perf_counter()
    attempts: tuple[Choice, ...] = (CPU_FIRST, chosen) if chosen.cpu_first else (chosen,)
    if 0 in problem.costs.shape:
        solved, attempts = _empty(problem, given, chosen.device, chosen.name), ()
    for attempt in attempts:
        if attempt.stays_on_device:
            from assign.solving_cuda import solve_on_device

            return solve_on_device(problem, given, attempt.name, attempt.solve, parameters, callback, prices, begin)
        near = fitted(prices, problem.costs.shape, problem.largest_cost, problem.limit is not None)
        try:
            col_of_row, u, v, stats = attempt.solve(problem.costs, problem.limit, near, callback, **parameters)
        except HandedOver:
            continue
        except InfeasibleError as error:
            raise (error.transposed() if problem.transposed else error) from None
        stats = {**stats, "seconds": {"check": checked - begin, "solve": time.perf_counter() - checked}}
        solved = pack(problem, given, col_of_row, u, v, attempt.device, attempt.name, stats)
        break
    if library:
        from assign.solving_cuda import with_library_arrays

        solved = with_library_arrays(solved, library)
    return solved


def is_default(maximize, device, method) -> bool:
    """Whether a problem may take the fast path (assign/direct.py) as far as these arguments are concerned."""
    is_automatic = type(device) is type(method) is str and method == "auto" and device in ("auto", "cpu")
    return is_automatic and type(maximize) is bool


def check_scaled(problem: Problem, name: str) -> None:
    """Raise ValueError if costs times the number of nodes might leave int64, for methods that scale costs."""
    cost = problem.costs.cost
    assert isinstance(cost, np.ndarray)  # methods that scale costs run on the host
    if cost.dtype.kind == "f" or not cost.size:
        return
    largest = max(abs(int(cost.min())), abs(int(cost.max())), largest_limit(problem.limit))
    nodes = sum(problem.costs.shape) + 1
    if nodes * nodes * 4 * largest > INT64_MAX:
        bound = INT64_MAX // (4 * nodes * nodes)
        raise ValueError(
            f"method {name!r} requires |cost| <= {bound} for a matrix of this size, got {largest}; use method='auto'"
        )


def _empty(problem: Problem, given: Given, device: str, name: str) -> Assignment:
    """The result if there are no rows or no columns."""
    n, m = problem.costs.shape
    kind = np.int64 if problem.costs.cost.dtype.kind == "i" else np.float64
    u = np.zeros(n, kind) if problem.limit is None else problem.limit.astype(kind)
    stats = {"seconds": {"check": 0.0, "solve": 0.0}}
    return pack(problem, given, np.full(n, -1, np.int32), u, np.zeros(m, kind), device, name, stats)
