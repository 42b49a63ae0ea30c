"""The pairs of a small dense matrix without prices, for the functions of other libraries.

SciPy itself solves matrices of a dozen or two of rows, for which it is the fastest.  The modules of this project are
imported after that, so that a program with such matrices only never imports numba.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

MAX_SCANS = 16_000  # costs that SciPy reads at most, k * n * m with k = min(n, m); assign.small is faster above
MAX_SQUARES = 2.0**80  # sum of squares of int64, of which SciPy's float64 sums remain exact up to MAX_SCANS


def small_pairs(matrix: np.ndarray, maximize: bool = False) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Rows, ascending, and columns of an optimal assignment; None for a large matrix or one without an assignment."""
    n, m = matrix.shape
    if 0 < (n if n < m else m) * n * m <= MAX_SCANS and (exact := _exact_in_scipy(matrix)) is not None:
        try:
            return _scipy_function()(exact, maximize)
        except ValueError:
            return None
    from assign.small import pairs_and_prices

    found = pairs_and_prices(matrix, maximize)
    return None if found is None else found[:2]


def _exact_in_scipy(matrix: np.ndarray) -> np.ndarray | None:
    """The matrix, or the same numbers in float64, if SciPy solves it exactly; else None."""
    kind, size = matrix.dtype.kind, matrix.dtype.itemsize
    if kind == "f":
        return matrix if size <= 8 else None
    if kind in "biu" and size <= 4:
        return matrix
    if kind != "i":
        return None
    floats = matrix.astype(np.float64)
    return floats if np.vdot(floats, floats) <= MAX_SQUARES else None


@cache
def _scipy_function():
    from scipy.optimize import linear_sum_assignment

    return linear_sum_assignment
