"""The pairs of a small dense matrix without prices, for the functions of other libraries.

SciPy itself solves matrices of up to some thirty rows, for which it is the fastest.  The arguments alone decide, so
that results do not depend on what was solved before.  SciPy's compiled function is loaded without the rest of
scipy.optimize, which takes as long as numba.
"""

import os
import sys
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec

import numpy as np
from numpy.typing import NDArray

MAX_SCANS = 36_000  # costs that SciPy reads at most, k * n * m with k = min(n, m); assign.direct is faster above
MAX_SQUARES = 2.0**80  # sum of squares of int64, of which SciPy's float64 sums remain exact


def small_pairs(matrix: np.ndarray, maximize: bool = False) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Rows, ascending, and columns of an optimal assignment; None for a large matrix.

    Raises SciPy's ValueError for a matrix without an assignment, and for NaN and infinities of the wrong sign; of
    matrices that SciPy does not solve, the result is None then.
    """
    n, m = matrix.shape
    scans = (n if n < m else m) * n * m
    if scans <= MAX_SCANS and (exact := _exact_in_scipy(matrix)) is not None:
        if not scans:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return _scipy_function()(exact, maximize)
    from assign.direct import pairs_and_prices

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
    """SciPy's compiled function itself: its name in scipy.optimize may refer to a function of this project."""
    module = sys.modules.get("scipy.optimize._lsap")
    if module is None and (scipy := find_spec("scipy")) is not None:
        folders = [os.path.join(folder, "optimize") for folder in scipy.submodule_search_locations or ()]
        found = PathFinder.find_spec("scipy.optimize._lsap", folders)
        if found is not None and found.loader is not None:
            module = module_from_spec(found)
            found.loader.exec_module(module)
    if module is not None and hasattr(module, "linear_sum_assignment"):
        return module.linear_sum_assignment
    from scipy.optimize import linear_sum_assignment  # a version with another name for that module

    return linear_sum_assignment
