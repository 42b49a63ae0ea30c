"""solve: the linear assignment problem, from costs to pairs and prices."""

import time

import numpy as np

from assign.assignment import Assignment
from assign.core.given import Given
from assign.core.infeasible import InfeasibleError
from assign.core.problem import INT64_MAX, Problem, check_problem, largest_limit
from assign.core.start import fitted, start_of
from assign.methods import choose
from assign.packing import pack
from gridcut.device import DeviceName
from gridcut.device.arguments import check_callback, refuse_masked


def solve(
    cost,
    *,
    maximize: bool = False,
    max_cost=None,
    mask=None,
    start=None,
    device: DeviceName = "auto",
    method: str = "auto",
    callback=None,
    **parameters,
) -> Assignment:
    """The cheapest one-to-one assignment of rows to columns, exact, with the prices that prove it.

    ::

                 columns
               0   1   2         cost[i, j] = row_price[i] + col_price[j] + what the pair costs too much,
        rows 0 4  (1)  3         which is 0 for the pairs chosen and never negative:
             1 (2) 0   5         no other assignment can be cheaper
             2 3   2  (2)

    Parameters
    ----------
    cost : array_like (n, m), a SciPy sparse matrix, or a tuple (indptr, indices, cost, shape)
        Cost of each pair, any n and m: every row or column of the shorter side is matched.  In sparse costs the
        pairs that are stored are allowed, whatever their value, and all others forbidden.  In float matrices +inf
        forbids a pair (-inf when maximising).
    maximize : bool
        The dearest assignment instead.
    max_cost : number or array_like (n,), optional
        What it costs to leave a row unmatched (when maximising: what it earns).  Rows and columns then stay unmatched
        where that is better, and no pair that costs more is chosen.  A matrix with this is never infeasible.
    mask : ndarray of bool (n, m), optional
        Pairs that are allowed in a dense matrix.
    start : Assignment, or a pair of arrays (n,) and (m,), optional
        Prices of an earlier, similar problem to start from.  They need not fit.
    device : {"auto", "cpu", "cuda"}
        An explicit device is obeyed or refused; "auto" takes a GPU, when there is one, for large matrices.
    method : str
        "auto", the fastest there is, or one of `assign.methods.METHODS`.
    callback : callable, optional
        Called now and then with a dict of counts; may raise to stop.
    **parameters
        Of the named method, e.g. ``alpha=5`` for "cost_scaling".

    Returns
    -------
    Assignment
        ``row``, ``col``, ``cost``, ``row_price``, ``col_price``, ``check()``.

    Raises
    ------
    TypeError
        An argument of the wrong kind, or a parameter the method does not take.
    ValueError
        Wrong shapes; NaN; infinities of the wrong sign; integers so large that prices might not fit int64.
    InfeasibleError
        A ValueError: forbidden pairs leave no assignment; ``rows`` and ``cols`` show why.
    RuntimeError
        A device that cannot be had.
    MemoryError
        The GPU is too small.

    Notes
    -----
    Costs are int32, int64, float32 or float64; bool, int8, int16, uint8, uint16, uint32 and float16 are widened.
    Integers are exact.  Floats are computed with as float64; a result is optimal up to
    `assign.core.certificate.tolerance`. The result keeps references to `cost`, `mask` and `max_cost`, from which it
    proves itself. Arrays on a GPU (CuPy, PyTorch, numba) are read where they lie, and pairs and prices come back as
    arrays of their library.

    Time is that of the method, O(n^2 m) at worst for "auto"; memory beyond the costs is O(n + m) times a small
    number of nearest columns for dense costs, O(arcs) for sparse ones.

    References
    ----------
    Burkard, Dell'Amico, Martello. "Assignment Problems." SIAM 2009.
    Each method's file names the source of its algorithm.

    Examples
    --------
    >>> a = solve([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    >>> a.cost, a.col
    (5, array([1, 0, 2]))
    """
    begin = time.perf_counter()
    check_callback(callback)
    problem = check_problem(cost, mask=mask, maximize=maximize, max_cost=max_cost)
    given = Given(cost, mask, max_cost, bool(maximize))
    chosen = choose(device, method, problem, parameters)
    solver = chosen.implementation
    library = problem.library
    if library and not solver.stays_on_device:
        problem = check_problem(problem.given.host(), mask=None, maximize=maximize, max_cost=None)
    prices = start_of(start, problem)
    if chosen.method.scales_costs:
        check_scaled(problem, chosen.name)
    checked = time.perf_counter()
    if 0 in problem.costs.shape:
        found = _empty(problem, given, chosen.device, chosen.name)
    elif solver.stays_on_device:
        from assign.solving_cuda import solve_on_device

        return solve_on_device(problem, given, chosen.name, solver.solve, parameters, callback, prices, begin)
    else:
        prices = fitted(prices, problem.costs.shape, problem.largest_cost, problem.limit is not None)
        try:
            col_of_row, u, v, stats = solver.solve(problem.costs, problem.limit, prices, callback, **parameters)
        except InfeasibleError as error:
            raise (error.transposed() if problem.transposed else error) from None
        stats = {**stats, "seconds": {"check": checked - begin, "solve": time.perf_counter() - checked}}
        found = pack(problem, given, col_of_row, u, v, chosen.device, chosen.name, stats)
    if library:
        from assign.solving_cuda import with_library_arrays

        found = with_library_arrays(found, library)
    return found


def check_scaled(problem: Problem, name: str) -> None:
    """Methods that scale costs need them smaller."""
    cost = problem.costs.cost
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
    """No rows or no columns: nothing to match."""
    n, m = problem.costs.shape
    kind = np.int64 if problem.costs.cost.dtype.kind == "i" else np.float64
    u = np.zeros(n, kind) if problem.limit is None else problem.limit.astype(kind)
    stats = {"seconds": {"check": 0.0, "solve": 0.0}}
    return pack(problem, given, np.full(n, -1, np.int32), u, np.zeros(m, kind), device, name, stats)


def linear_sum_assignment(cost_matrix, maximize=False):
    """SciPy's function of this name: the same arguments, results and errors.

    Parameters
    ----------
    cost_matrix : array_like (n, m)
    maximize : bool

    Returns
    -------
    row_ind, col_ind : ndarray of int64
        The pairs, rows ascending; ``cost_matrix[row_ind, col_ind].sum()`` is the least there is (the largest if
        `maximize`).  Where several are, SciPy may return another one.

    Raises
    ------
    ValueError
        The matrix has not two axes, holds NaN or -inf (+inf if `maximize`), or is infeasible.
    TypeError
        It does not hold numbers.
    """
    for part in (cost_matrix, *(cost_matrix if isinstance(cost_matrix, list | tuple) else ())):
        refuse_masked("cost_matrix", part)
    cost = np.asarray(cost_matrix)
    if cost.ndim != 2:
        raise ValueError(f"expected a matrix (2-D array), got a {cost.ndim} array")
    if cost.dtype.kind in "iu" and cost.size and not _fits(cost):
        cost = cost.astype(np.float64)  # as SciPy does with all integers; the largest are in use for "forbidden"
    try:
        found = solve(cost, maximize=bool(maximize))
    except InfeasibleError as error:
        raise ValueError("cost matrix is infeasible") from error
    return found.row, found.col


def _fits(cost: np.ndarray) -> bool:
    """Whether integers are small enough for prices of int64."""
    largest = max(abs(int(cost.min())), abs(int(cost.max())))
    return cost.dtype != np.uint64 and (sum(cost.shape) + 1) * largest * 4 <= INT64_MAX
