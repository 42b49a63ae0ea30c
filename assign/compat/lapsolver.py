"""lapsolver's `solve_dense`: `import assign.compat.lapsolver as lapsolver`."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assign.compat.lap import lapjvc

__all__ = ["solve_dense"]


def solve_dense(costs: ArrayLike) -> tuple[NDArray, NDArray]:
    """Solve a dense linear assignment problem in which NaN and infinities forbid pairs.

    Parameters
    ----------
    costs : array_like (n, m)
        Cost of each pair.

    Returns
    -------
    rows, cols : ndarray of int64 (K,)
        As many allowed pairs as possible, and of those the cheapest, by ascending row.

    Raises
    ------
    TypeError
        If the costs are not real numbers.
    RuntimeError
        If the array does not have two axes.

    Examples
    --------
    >>> import numpy as np
    >>> from assign.compat.lapsolver import solve_dense
    >>> rows, cols = solve_dense([[5, 9, np.nan], [10, np.nan, 2], [8, 7, 4]])
    >>> rows.tolist(), cols.tolist()
    ([0, 1, 2], [0, 2, 1])
    """
    rows, cols = lapjvc(costs, return_cost=False)
    return rows.astype(np.int64), cols.astype(np.int64)
