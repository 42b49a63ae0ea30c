"""lapx's further solvers of dense matrices, which differ from `lapjvx` in options, integer types and errors only.

lapjvc            any shape; NaN and infinities forbid pairs; as many pairs as possible, and their sum
lapjvs, lapjvsa   any shape unless extend_cost=False; ValueError if an allowed assignment does not exist
lapjvr, lapjvh    as lapjvx, with cost_limit; ValueError if an allowed assignment does not exist
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assign.compat.lap.lap_functions import arranged, lapjvx, lapjvx_batch


def lapjvc(cost: ArrayLike, return_cost: bool = True) -> tuple:
    """Solve a dense problem of any shape in which NaN, inf and -inf forbid pairs.

    Parameters
    ----------
    cost : array_like (n, m)
        Cost of each pair.
    return_cost : bool, default True
        If True, return the total cost first.

    Returns
    -------
    total : float
        Sum of the costs of the pairs, also if rows or columns could not be matched.
    rows, cols : ndarray of int32 (K,)
        As many allowed pairs as possible, by ascending row.

    Raises
    ------
    RuntimeError
        If the matrix does not have two axes.
    TypeError
        If it does not hold real numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from assign.compat.lap import lapjvc
    >>> lapjvc(np.array([[np.nan, 4.0], [1.0, 2.0]]))
    (5.0, array([0, 1], dtype=int32), array([1, 0], dtype=int32))
    """
    matrix = np.asarray(cost)
    if matrix.ndim != 2:
        raise RuntimeError("Number of dimensions must be two")
    if matrix.dtype.kind == "f":
        matrix = np.where(np.isfinite(matrix), matrix, np.inf)
    row, col = lapjvx(matrix, extend_cost=True, return_cost=False)
    row = row.astype(np.int32)
    return (float(matrix[row, col].sum(dtype=np.float64)), row, col) if return_cost else (row, col)


def lapjvs(
    cost: ArrayLike,
    extend_cost: bool | None = None,
    return_cost: bool = True,
    jvx_like: bool = True,
    prefer_float32: bool = True,
) -> tuple:
    """Solve a dense problem of any shape.

    Parameters
    ----------
    cost : array_like (n, m)
        Cost of each pair; +inf forbids it.
    extend_cost : bool or None, default None
        If False, the matrix must be square.
    return_cost : bool, default True
        If True, return the total cost first.
    jvx_like : bool, default True
        Whether to return the pairs instead of the partners of rows and columns.
    prefer_float32 : bool
        Without effect: costs keep their precision.

    Returns
    -------
    total : float
        Sum of the costs of the pairs.
    rows, cols : ndarray of int64 (K,)
        The pairs, by ascending row.  With `jvx_like=False`: x (n,) and y (m,), the column of each row and the row of
        each column, or -1.

    Raises
    ------
    TypeError
        If the matrix does not hold real numbers.
    ValueError
        If the matrix does not have two axes, holds NaN or -inf, or has no assignment of allowed pairs; with
        `extend_cost=False` also if it is not square.
    """
    matrix = np.asarray(cost)
    if matrix.ndim != 2:
        raise ValueError("cost must be a 2D array")
    _check_square(matrix.shape, extend_cost)
    total, row, col = _pairs(matrix, True, math.inf)
    if not jvx_like:
        x, y = np.full(matrix.shape[0], -1), np.full(matrix.shape[1], -1)
        x[row], y[col] = col, row
        row, col = x, y
    return (total, row, col) if return_cost else (row, col)


def lapjvsa(
    cost: ArrayLike, extend_cost: bool | None = None, return_cost: bool = True, prefer_float32: bool = True
) -> tuple | NDArray:
    """Like `lapjvs`, but return the pairs as one array (K, 2) of int64."""
    return arranged("pairs", return_cost, *lapjvs(cost, extend_cost))


def lapjvr(
    cost: ArrayLike,
    extend_cost: bool = False,
    cost_limit: float = math.inf,
    return_cost: bool = True,
    *,
    precision: str = "native",
    output: str = "indices",
) -> tuple | NDArray:
    """Solve a dense problem like `lapjvx`, but raise an error if there is no assignment of allowed pairs.

    Parameters
    ----------
    cost, extend_cost, cost_limit, return_cost
        As in `lapjv`.
    precision : {"native", "float32", "float64"}
        Without effect: costs keep their precision.
    output : {"indices", "pairs"}
        Whether to return the pairs as two arrays or as one of shape (K, 2).

    Returns
    -------
    total : float
        Sum of the costs of the pairs.
    rows, cols : ndarray of int64 (K,)
        The pairs, by ascending row.

    Raises
    ------
    TypeError, ValueError
        As in `lapjv`; a ValueError also if there is no assignment of allowed pairs and no `cost_limit`.
    """
    _check_options(precision, output)
    return arranged(output, return_cost, *_pairs(cost, extend_cost, cost_limit))


lapjvh = lapjvr  # in lapx another program for the same problem


def lapjvs_batch(
    costs: ArrayLike,
    extend_cost: bool = False,
    return_cost: bool = True,
    n_threads: int | None = 0,
    prefer_float32: bool = True,
) -> tuple:
    """`lapjvs` for each matrix of an array (B, n, m): total costs (B,), and lists of rows and columns."""
    if np.ndim(costs) == 3:
        _check_square(np.shape(costs), extend_cost)
    return arranged("indices", return_cost, *_lists(costs, extend_cost, math.inf, n_threads))


def lapjvsa_batch(
    costs: ArrayLike,
    extend_cost: bool = False,
    return_cost: bool = True,
    n_threads: int | None = 0,
    prefer_float32: bool = True,
) -> tuple | list[NDArray]:
    """Like `lapjvs_batch`, but return the pairs of each problem as one array (K, 2) of int64."""
    return arranged("pairs", return_cost, *lapjvs_batch(costs, extend_cost, True, n_threads))


def lapjvr_batch(
    costs: ArrayLike,
    extend_cost: bool = False,
    cost_limit: float = math.inf,
    return_cost: bool = True,
    n_threads: int | None = 0,
    *,
    precision: str = "native",
    output: str = "indices",
) -> tuple | list[NDArray]:
    """`lapjvr` for each matrix of an array (B, n, m): total costs (B,), and lists of rows and columns, or of pairs."""
    _check_options(precision, output)
    return arranged(output, return_cost, *_lists(costs, extend_cost, cost_limit, n_threads))


lapjvh_batch = lapjvr_batch


def _pairs(cost: Any, extend_cost: bool, cost_limit: float) -> tuple[float, NDArray, NDArray]:
    total, row, col = lapjvx(cost, extend_cost, cost_limit)
    if total == math.inf:
        raise ValueError("Cost matrix is infeasible")
    return total, row, col.astype(np.int64)


def _lists(costs: Any, extend_cost: bool, cost_limit: float, n_threads: int | None) -> tuple[NDArray, list, list]:
    totals, rows, cols = lapjvx_batch(costs, extend_cost, cost_limit, True, n_threads)
    infeasible = np.flatnonzero(totals == math.inf)
    if len(infeasible):
        raise ValueError(f"Cost matrix is infeasible at batch index {infeasible[0]}")
    return totals, rows, cols


def _check_square(shape: tuple[int, ...], extend_cost: bool | None) -> None:
    if extend_cost is not None and not extend_cost and shape[-1] != shape[-2]:
        raise ValueError("extend_cost=False requires a square cost matrix")


def _check_options(precision: str, output: str) -> None:
    if precision not in ("native", "float32", "float64"):
        raise ValueError("precision must be 'native', 'float32', or 'float64'")
    if output not in ("indices", "pairs"):
        raise ValueError("output must be 'indices' or 'pairs'")
