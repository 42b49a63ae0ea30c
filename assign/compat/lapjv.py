"""The function of the package lapjv, with its dual prices: `from assign.compat.lapjv import lapjv`."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assign.solving import solve

__all__ = ["lapjv"]


def lapjv(
    cost_matrix: ArrayLike, verbose: bool = False, force_doubles: bool = False
) -> tuple[NDArray, NDArray, tuple[float, NDArray, NDArray]]:
    """Solve a dense square linear assignment problem, and return the dual prices.

    Parameters
    ----------
    cost_matrix : array_like (n, n)
        Cost of each pair; inf forbids it.
    verbose, force_doubles : bool
        Without effect: nothing is printed, and costs are not rounded to float32.

    Returns
    -------
    row_ind : ndarray of int32 (n,)
        Column of each row.
    col_ind : ndarray of int32 (n,)
        Row of each column.
    (total, u, v) : float, ndarray of float64 (n,), ndarray of float64 (n,)
        Sum of the costs of the pairs, prices of rows, prices of columns: for every pair,
        ``u[row] + v[col] <= cost_matrix[row, col]``, with equality for the pairs of the assignment.

    Raises
    ------
    TypeError
        If the matrix does not hold real numbers.
    ValueError
        If the matrix is not square, is empty or holds NaN or -inf, or if there is no assignment of allowed pairs.

    Examples
    --------
    >>> from assign.compat.lapjv import lapjv
    >>> row_ind, col_ind, (total, u, v) = lapjv([[4, 1], [2, 0]])
    >>> row_ind.tolist(), col_ind.tolist(), total, float(u.sum() + v.sum())
    ([1, 0], [1, 0], 3.0, 3.0)
    """
    matrix = np.asarray(cost_matrix)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError('"cost_matrix" must be a square 2D numpy array')
    if not len(matrix):
        raise ValueError('"cost_matrix"\'s shape is invalid or too large')
    found = solve(matrix)
    partners = found.col_of_row.astype(np.int32), found.row_of_col.astype(np.int32)
    return *partners, (float(found.cost), found.row_price.astype(np.float64), found.col_price.astype(np.float64))
