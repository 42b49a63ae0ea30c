"""The fast path from one small matrix, or a rectangle of floats, to its result: no Problem, one compiled call.

A call of `assign.solve` with default options costs about 100 microseconds in the validation and the steps that large
problems need, more than the solution of a hundred rows.  Here Python looks at type, shape and layout only;
assign/dense/jonker_volgenant.py validates the values while it reads them.  Whatever is not a valid, feasible and
ordinary problem is left to the general path, which reports errors and knows all options.

The compiled call may stop early and hand its state over to the lists of assign/dense/dense.py:

    rows                  budget of the call   it stops for                          then
    from MIN_LIST_ROWS    SEARCH_SCANS * n     its share of free rows, or the scans  the lists proceed
    fewer                 BY_FREE_ROWS         its share of free rows                the lists, if sorting gives prices
    fewer, a second call  UNLIMITED            nothing
"""

import time

import numpy as np

from assign.assignment import Assignment
from assign.core.given import Given
from assign.core.infeasible import InfeasibleError
from assign.core.problem import DTYPES, WIDER, matrix_of
from assign.dense.jonker_volgenant import (
    BY_FREE_ROWS,
    HANDED_OVER,
    MAX_COSTS,
    REJECTED,
    SEARCH_SCANS,
    UNLIMITED,
    memory_for,
    solve_matrix,
)
from assign.dense.sorting import seems_sortable

MIN_LIST_ROWS = 320  # below, and up to half as many more of integers, lists are faster only with prices from sorting
# dtype -> the dtype the kernel is compiled for, and that of prices
NUMBERS = {t: (t, np.dtype(np.int64 if t.kind == "i" else np.float64)) for t in DTYPES}
NUMBERS |= {np.dtype(name): NUMBERS[np.dtype(wide)] for name, wide in WIDER.items()}


def solve_small_matrix(cost, maximize: bool, begin: float) -> Assignment | None:
    """The Assignment of a small matrix or a rectangle, or None if it needs the general path.

    begin   the perf_counter() from which time is measured
    """
    matrix = matrix_of("cost", cost) if type(cost) is list else cost
    found = pairs_and_prices(matrix, maximize, begin)
    if found is None:
        return None
    row, col, total, u, v, checked, stats = found
    method = "shortest_paths" if stats else "jonker_volgenant"
    stats["seconds"] = {"check": checked - begin, "solve": time.perf_counter() - checked}
    return Assignment(row, col, total, u, v, "cpu", method, stats, Given(cost, None, None, maximize))


def pairs_and_prices(matrix, maximize: bool, begin: float = 0.0):
    """Rows, columns, total, prices of rows and columns, the time when the search began, and counters of further steps.

    None: the general path.
    """
    if type(matrix) is not np.ndarray or matrix.ndim != 2:
        return None
    n, m = matrix.shape
    numbers = NUMBERS.get(matrix.dtype)
    if numbers is None or not n * m:
        return None
    dtype, kind = numbers
    if n * m > MAX_COSTS and (n == m or dtype.kind == "i"):
        return None
    if matrix.dtype is not dtype:
        matrix = matrix.astype(dtype)
    transposed = n > m or (n == m and not matrix.flags.c_contiguous and matrix.flags.f_contiguous)
    if transposed:
        matrix, n, m = matrix.T, m, n
    if not matrix.flags.carray:  # writeable, too: the kernel is compiled for one type of array
        matrix = matrix.copy()
    row, col, u, v = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, kind), np.empty(m, kind)
    checked = time.perf_counter()
    sign, stats = -1 if maximize else 1, {}
    lists_are_faster = n >= (MIN_LIST_ROWS if dtype.kind == "f" else MIN_LIST_ROWS * 3 // 2)
    budget = SEARCH_SCANS * n if lists_are_faster else BY_FREE_ROWS
    status, total = solve_matrix(matrix, sign, budget, transposed, memory_for(n, m), row, col, u, v)
    if status == HANDED_OVER and not lists_are_faster and not seems_sortable(matrix):
        status, total = solve_matrix(matrix, sign, UNLIMITED, transposed, memory_for(n, m), row, col, u, v)
    if status == REJECTED:
        return None
    if status == HANDED_OVER:
        from assign.dense import dense

        try:
            minimised = matrix if sign > 0 else np.negative(matrix, dtype=kind)
            col, u, v, stats = dense.proceed(minimised, sign * v, col, int(total))
        except InfeasibleError:  # its rows may be the caller's columns
            return None
        row, col, u, v = np.arange(n), col.astype(np.int64), sign * u, sign * v
        total = matrix[row, col].sum(dtype=kind).item()
        if transposed:
            order = col.argsort()
            row, col = col[order], order
    if transposed:
        u, v = v, u
    return row, col, total, u, v, checked, stats
