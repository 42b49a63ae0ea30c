"""The functions of lap, which lapx continues: the same arguments, results and exceptions.

    lap      assign.compat.lap                          returns
    lapjv    one dense matrix                           (cost,) x, y: partner of each row and column, or -1
    lapjvx   the same                                   (cost,) rows, cols: the pairs
    lapmod   one sparse square matrix                   (cost,) x, y

With a finite `cost_limit`, a pair that costs more is never chosen, and the sum over the pairs of (cost - cost_limit) is
minimal.  For costs clipped to the limit, every assignment of the smaller side has that cost, up to a constant, so a
small problem needs no larger matrix than its own.  lap adds one row per column and one column per row instead.

Where lap and this module differ: +inf forbids a pair, whereas lap may return it.  If a row (or, of more rows than
columns, a column) has no allowed partner left, it gets -1, as few as possible do, and the cost is inf as in lap.  NaN
and -inf are errors here, and undefined there.  Integers are exact.  If several assignments are optimal, lap may
return another one.
"""

import math
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from assign.compat.small_pairs import small_pairs

if TYPE_CHECKING:
    from assign.assignment import Assignment

__all__ = [
    "FP_1",
    "FP_2",
    "FP_DYNAMIC",
    "LARGE",
    "lapjv",
    "lapjvx",
    "lapmod",
]

__version__ = "0.11.1"  # of lapx, whose functions these are
LARGE, FP_1, FP_2, FP_DYNAMIC = 1_000_000, 1, 2, 3  # constants of lap, which have no influence here


def lapjv(cost: ArrayLike, extend_cost: bool = False, cost_limit: float = np.inf, return_cost: bool = True) -> tuple:
    """Solve a dense linear assignment problem with the interface of `lap.lapjv`.

    Parameters
    ----------
    cost : array_like (n, m)
        Cost of each pair; +inf forbids it.
    extend_cost : bool, default False
        Whether the matrix need not be square.
    cost_limit : float, default inf
        If finite, no pair may cost more, and rows and columns may stay unmatched; the matrix need not be square.
    return_cost : bool, default True
        If True, return the total cost first.

    Returns
    -------
    total : float
        Sum of the costs of the pairs; inf if a forbidden pair could not be avoided.
    x : ndarray of int32 (n,)
        Column of each row, or -1.
    y : ndarray of int32 (m,)
        Row of each column, or -1.

    Raises
    ------
    TypeError
        If the matrix does not hold real numbers.
    ValueError
        If the matrix does not have two axes, or is not square although neither `extend_cost` nor `cost_limit` permits
        that; if it holds NaN or -inf, or `cost_limit` is NaN or -inf.

    Examples
    --------
    >>> from assign.compat.lap import lapjv
    >>> lapjv([[1.0, 9.0, 7.0], [8.0, 9.0, 2.0]], cost_limit=5)
    (3.0, array([0, 2], dtype=int32), array([ 0, -1,  1], dtype=int32))
    """
    matrix = _matrix(cost)
    _check_shape(matrix.shape, extend_cost, cost_limit)
    row, col = _pairs(matrix, cost_limit)
    x, y = np.full(matrix.shape[0], -1, np.int32), np.full(matrix.shape[1], -1, np.int32)
    x[row], y[col] = col, row
    return (_total(matrix, row, col, cost_limit), x, y) if return_cost else (x, y)


def lapjvx(cost: ArrayLike, extend_cost: bool = False, cost_limit: float = np.inf, return_cost: bool = True) -> tuple:
    """Like `lapjv`, but return the pairs as two arrays, rows (K,) and columns (K,), as SciPy does."""
    matrix = _matrix(cost)
    _check_shape(matrix.shape, extend_cost, cost_limit)
    row, col = _pairs(matrix, cost_limit)
    found = row.astype(np.int64, copy=False), col.astype(np.int32)
    return (_total(matrix, row, col, cost_limit), *found) if return_cost else found


def lapmod(
    n: int,
    cc: ArrayLike,
    ii: ArrayLike,
    kk: ArrayLike,
    fast: bool = True,
    return_cost: bool = True,
    fp_version: int = FP_DYNAMIC,
) -> tuple:
    """Solve a sparse linear assignment problem with the interface of `lap.lapmod`.

    Parameters
    ----------
    n : int
        Number of rows, and of columns.
    cc : array_like (k,)
        Costs of the allowed pairs, row by row.  Unlike lap's, they may be negative, and of any size.
    ii : array_like of int (n + 1,)
        Where each row starts in `cc`, and the end.
    kk : array_like of int (k,)
        Column of each cost, ascending in each row.
    fast, fp_version : bool, int
        Without effect: they choose among lap's programs.
    return_cost : bool, default True
        If True, return the total cost first.

    Returns
    -------
    total, x, y
        As in `lapjv`.

    Raises
    ------
    ValueError
        If the arrays do not describe such a matrix, or costs are not finite.
    """
    n, costs, starts, columns = _sparse(n, cc, ii, kk)
    x, y = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    found = _solved((starts, columns, costs, (n, n)), None, costs, n)
    x[found.row], y[found.col] = found.col, found.row
    if not return_cost:
        return x, y
    return float(found.cost) if len(found.row) == n else math.inf, x, y


def _matrix(cost: Any) -> np.ndarray:
    matrix = np.asarray(cost)
    if matrix.ndim != 2:
        raise ValueError("2-dimensional array expected")
    return _numbers(matrix)


def _numbers(array: np.ndarray) -> np.ndarray:
    """The same costs in a dtype that the solvers accept."""
    if array.dtype.kind not in "biuf":
        raise TypeError(f"cost must hold real numbers, got dtype {array.dtype}")
    return array.astype(np.float64) if array.dtype == np.uint64 or array.dtype.itemsize > 8 else array


def _check_shape(shape: tuple[int, ...], extend_cost: bool, cost_limit: float) -> None:
    if math.isnan(cost_limit) or cost_limit == -math.inf:
        raise ValueError("cost_limit must be finite or positive infinity")
    if shape[-1] != shape[-2] and 0 not in shape[-2:] and not extend_cost and cost_limit == math.inf:
        raise ValueError(
            "Square cost array expected. If cost is intentionally non-square, pass extend_cost=True or set a finite "
            "cost_limit."
        )


def _pairs(matrix: np.ndarray, limit: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the pairs, by ascending row."""
    n, m = matrix.shape
    if not n or not m:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    pairs = _small_pairs(matrix, limit)
    if pairs is not None:
        return pairs
    found = _solved(matrix, None if limit == math.inf else limit, matrix, min(n, m))
    return found.row, found.col


def _solved(cost: Any, limit: float | None, numbers: np.ndarray, pairs: int) -> "Assignment":
    """The assignment of a matrix of any form, with `numbers`; as few as possible of `pairs` are missing."""
    from assign.core.infeasible import InfeasibleError
    from assign.solving import solve

    try:
        return solve(cost, max_cost=limit)
    except InfeasibleError:
        return solve(cost, max_cost=_enough(numbers[np.isfinite(numbers)], pairs))


def _small_pairs(matrix: np.ndarray, limit: float) -> tuple[np.ndarray, np.ndarray] | None:
    """The same for a small matrix, by costs clipped to the limit; None: not possible."""
    clipped = matrix
    if limit < math.inf:
        clipped = np.minimum(matrix, np.float64(limit))  # in float64, as lap calculates
    try:
        found = small_pairs(clipped)
    except ValueError as error:
        if "infeasible" in str(error):
            return _small_pairs(matrix, _enough(matrix[np.isfinite(matrix)], min(matrix.shape)))
        return None  # NaN and -inf, for which `solve` has a text
    if found is None:
        return None
    row, col = found
    if limit < math.inf:
        kept = matrix[row, col] <= limit
        row, col = row[kept], col[kept]
    return row, col


def _enough(costs: np.ndarray, pairs: int) -> float:
    """A cost of leaving a row unmatched that is worth avoiding whatever the other pairs cost."""
    largest = float(np.abs(costs.astype(np.float64)).max()) if costs.size else 0.0
    return math.ceil(2.0 * (pairs + 1) * (largest + 1.0))


def _total(matrix: np.ndarray, row: np.ndarray, col: np.ndarray, limit: float) -> float:
    if limit == math.inf and len(row) < min(matrix.shape):
        return math.inf
    return float(matrix[row, col].sum(dtype=np.int64 if matrix.dtype.kind in "iu" else np.float64))


def _sparse(n: Any, cc: Any, ii: Any, kk: Any) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """The checked arguments of `lapmod`, with lap's errors."""
    n, costs, starts, columns = index(n), np.asarray(cc), np.asarray(ii), np.asarray(kk)
    if n <= 0:
        raise ValueError("Cost matrix must have a positive number of rows.")
    if any(array.ndim != 1 for array in (costs, starts, columns)):
        raise ValueError("cc, ii, and kk must be 1-dimensional arrays.")
    if len(starts) != n + 1:
        raise ValueError("ii must contain n + 1 row pointers.")
    if len(costs) != len(columns):
        raise ValueError("cc and kk must have the same length.")
    if starts.dtype.kind not in "iu" or (columns.dtype.kind not in "iu" and len(columns)):
        raise ValueError("Row pointers and column indices must be integers.")
    if starts[0] != 0 or starts[-1] != len(costs) or (starts[1:] < starts[:-1]).any():
        raise ValueError("ii must start at 0, end at len(cc), and be nondecreasing.")
    if not len(columns):
        raise ValueError("Cost matrix must have at least one entry.")
    columns = columns.astype(np.int64)
    if not 0 <= columns.min() <= columns.max() < n:
        raise ValueError("Column indices must be in the range [0, n).")
    same_row = np.ones(max(len(columns) - 1, 0), bool)
    inner = starts[(starts > 0) & (starts < len(columns))].astype(np.int64)
    same_row[inner - 1] = False
    if (np.diff(columns)[same_row] <= 0).any():
        raise ValueError("Column indices must be strictly increasing within each row.")
    costs = _numbers(costs)
    if costs.dtype.kind == "f" and not np.isfinite(costs).all():
        raise ValueError("Cost matrix values must be finite.")
    return n, costs, starts.astype(np.int64), columns
