"""SciPy's functions for assignments: the same arguments, results and exceptions, whose texts callers match on.

The modules of the solvers are imported when they are needed, see assign/compat/small_pairs.py.
"""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from assign.compat.small_pairs import small_pairs

if TYPE_CHECKING:
    import scipy.sparse
    from numpy.typing import ArrayLike, NDArray

__all__ = ["linear_sum_assignment", "min_weight_full_bipartite_matching"]

PLAIN_ROWS = {list, tuple, np.ndarray}  # types of rows that have no mask


def linear_sum_assignment(
    cost_matrix: "ArrayLike", maximize: bool = False
) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Solve the linear assignment problem with the interface of `scipy.optimize.linear_sum_assignment`.

    Parameters
    ----------
    cost_matrix : array_like (n, m)
        Cost of each pair.
    maximize : bool
        If True, maximise the total cost instead.

    Returns
    -------
    row_ind, col_ind : ndarray of int64
        The pairs, by ascending row.  ``cost_matrix[row_ind, col_ind].sum()`` is the minimum (the maximum if
        `maximize`).  If several assignments are optimal, SciPy may return a different one.

    Raises
    ------
    ValueError
        If the matrix does not have two axes, holds NaN or -inf (+inf if `maximize`), or is infeasible.
    TypeError
        If the matrix does not hold numbers, or is a masked array with masked entries.

    See Also
    --------
    solve : prices, sparse costs, unmatched rows, GPUs.

    Notes
    -----
    Integers are exact up to the size at which prices leave int64, and are rounded to float64 beyond, as SciPy does
    with all integers.  Up to about 33 rows and columns, SciPy's own function is called.

    Examples
    --------
    >>> from assign import linear_sum_assignment
    >>> row_ind, col_ind = linear_sum_assignment([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    >>> col_ind
    array([1, 0, 2])
    """
    plain = cost_matrix if type(cost_matrix) is np.ndarray else _as_plain(cost_matrix)
    if plain is not None and plain.dtype.kind in "biuf":
        _check_axes(plain)
        if (found := small_pairs(plain, bool(maximize))) is not None:
            return found
    return _large_assignment(cost_matrix, bool(maximize))


def _large_assignment(cost_matrix: Any, maximize: bool):
    """The same for a matrix of any size and type."""
    from assign.core.infeasible import InfeasibleError
    from assign.solving import solve
    from gridcut.device.arguments import reject_masked

    for part in (cost_matrix, *(cost_matrix if isinstance(cost_matrix, list | tuple) else ())):
        reject_masked("cost_matrix", part)
    cost = np.asarray(cost_matrix)
    if cost.dtype.kind not in "biuf" or cost.dtype.itemsize > 8:  # converted as SciPy does, and with its errors
        is_array = isinstance(cost_matrix, np.ndarray)
        cost = cost.astype(np.float64, casting="safe") if is_array else np.asarray(cost_matrix, np.float64)
    _check_axes(cost)
    if cost.dtype.kind == "f" and not _is_valid(cost, maximize):
        raise ValueError("matrix contains invalid numeric entries")
    if cost.dtype.kind in "iu" and not _fits(cost, cost.shape):
        cost = cost.astype(np.float64)  # as SciPy does for all integers; the largest ones often stand for "forbidden"
    try:
        found = solve(cost, maximize=maximize)
    except InfeasibleError as error:
        raise ValueError("cost matrix is infeasible") from error
    return found.row, found.col


def _check_axes(cost: np.ndarray) -> None:
    if cost.ndim != 2:
        raise ValueError(f"expected a matrix (2-D array), got a {cost.ndim} array")


def _as_plain(matrix: Any) -> np.ndarray | None:
    """A list or an array of another library as an array; None for masked arrays, and for whatever is no array."""
    if isinstance(matrix, list | tuple):
        if not PLAIN_ROWS.issuperset(map(type, matrix)):
            return None
    elif isinstance(matrix, np.ma.MaskedArray) or not hasattr(matrix, "__array__"):
        return None
    return np.asarray(matrix)


def min_weight_full_bipartite_matching(
    biadjacency: "scipy.sparse.sparray | scipy.sparse.spmatrix", maximize: bool = False
) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Find a full matching of minimum weight, as `scipy.sparse.csgraph.min_weight_full_bipartite_matching`.

    A matching is full if it covers every vertex of the smaller side.

    Parameters
    ----------
    biadjacency : sparse matrix or array (n, m) in CSR, CSC or COO format
        Weights of the edges.  Stored zeros are not edges, and a UserWarning says that they are left out; neither are
        weights of +inf (-inf with `maximize`).
    maximize : bool
        If True, maximise the total weight instead.

    Returns
    -------
    row_ind, col_ind : ndarray of int64
        The pairs, by ascending row.  If several matchings are optimal, SciPy may return a different one.

    Raises
    ------
    TypeError
        If `biadjacency` is not a sparse matrix in one of these formats.
    ValueError
        If no full matching exists, or the weights are not numbers, or hold NaN or -inf (+inf with `maximize`).

    See Also
    --------
    solve : prices, stored zeros as edges, unmatched rows.

    Notes
    -----
    Integers are exact as in `linear_sum_assignment`, whereas SciPy rounds them to float64.  With n vertices on the
    smaller side and e edges, O(n e log e) time in the worst case and O(e) memory.

    Examples
    --------
    >>> import scipy.sparse
    >>> from assign import min_weight_full_bipartite_matching
    >>> weights = scipy.sparse.csr_array([[3, 3, 6], [4, 3, 5], [10, 1, 8]])
    >>> min_weight_full_bipartite_matching(weights)[1]
    array([0, 2, 1])
    """
    import scipy.sparse

    from assign.core.infeasible import InfeasibleError
    from assign.solving import solve
    from gridcut.device.sparse import as_scipy, check_matrix

    biadjacency = as_scipy(biadjacency)
    if not scipy.sparse.issparse(biadjacency):
        raise TypeError("graph must be sparse")
    if biadjacency.format not in ("csr", "csc", "coo"):
        raise TypeError("graph must be in CSC, CSR, or COO format.")
    if biadjacency.ndim != 2:
        raise ValueError(f"expected a matrix (2-D array), got a {biadjacency.ndim} array")
    if biadjacency.dtype.kind not in "biuf":
        raise ValueError(f"expected a matrix containing numerical entries, got {biadjacency.dtype}")
    check_matrix("biadjacency", biadjacency)
    rows = _edges_of(biadjacency, maximize)
    if 0 in biadjacency.shape:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    try:
        found = solve(rows, maximize=bool(maximize))
    except InfeasibleError as error:
        raise ValueError("no full matching exists") from error
    return found.row, found.col


def _edges_of(matrix: Any, maximize: bool) -> Any:
    """CSR matrix of the edges: without stored zeros and without infinities that forbid a pair."""
    matrix = matrix.tocsr()
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    weights = matrix.data
    if weights.dtype.kind in "iu" and not _fits(weights, matrix.shape):
        weights = weights.astype(np.float64)
        matrix = type(matrix)((weights, matrix.indices, matrix.indptr), shape=matrix.shape)
    if weights.dtype.kind == "f":
        forbidden = -np.inf if maximize else np.inf
        if np.isnan(weights).any() or (weights == -forbidden).any():
            raise ValueError("matrix contains invalid numeric entries")
        kept = (weights != 0) & (weights != forbidden)
    else:
        kept = weights != 0
    if kept.all():
        return matrix
    if not weights.all():
        warnings.warn("explicit zero weights are removed before matching", UserWarning, stacklevel=3)
    before = np.concatenate(([0], np.cumsum(kept)))
    return type(matrix)((weights[kept], matrix.indices[kept], before[matrix.indptr]), shape=matrix.shape)


def _is_valid(cost: np.ndarray, maximize: bool) -> bool:
    """Whether there is neither NaN nor an infinity of the wrong sign."""
    if not cost.size:
        return True
    worst = -cost.max() if maximize else cost.min()  # NaN, if there is any
    return bool(worst > -np.inf)


def _fits(cost: np.ndarray, shape: tuple[int, ...]) -> bool:
    """Whether prices of these integers fit int64, in a matrix of this shape."""
    from gridcut.device.arguments import INT64_MAX

    largest = max(abs(int(cost.min())), abs(int(cost.max()))) if cost.size else 0
    return cost.dtype != np.uint64 and (sum(shape) + 1) * largest * 4 <= INT64_MAX
