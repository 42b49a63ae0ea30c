"""Link points of two frames one-to-one, given the costs of candidate pairs.

Candidates are sparse: pair k links row[k] to col[k] at cost[k].  Leaving a row unmatched has a cost; leaving a column
unmatched is free.  Six linkers select from the candidates that cost less than leaving their row unmatched.  The gain of
a pair is the unmatched cost of its row minus its own cost.

    assignment   the pairs of minimum total cost (selected pairs + unmatched rows); exact, certified by dual prices
    greedy       pairs in order of decreasing gain, if both points are still unmatched
    mutual       pairs that are the best of their row and of their column
    nearest      the best pair of each row; a column may be linked several times
    cardinality  a maximum matching that extends the mutual pairs by augmenting paths; exact
    bottleneck   a maximum matching under the highest threshold on the gain that admits one; exact

The margin of a pair of the assignment is the cost increase of the optimum without it (`assign.sparse.margins`).  It is
a global ratio test [1]: a pair competes with every set of pairs that could replace it.  The margin of the other linkers
compares a pair with the next best candidate of its row.

[1] Lowe. "Distinctive image features from scale-invariant keypoints." IJCV 60(2), 2004.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

import assign
import matching
from apps.motion import LINKERS
from assign.sparse.margins import exact_margins
from gridcut.device import DeviceName, resolve
from gridcut.device.result import Result


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Links(Result):
    """Pairs selected from the candidates.

    Attributes
    ----------
    pair : ndarray of int64, (k,)
        Indices of the selected candidates, rows ascending.
    margin : ndarray of float64, (k,)
        Cost increase without each pair; see the module docstring.
    total : float
        Cost of the pairs and of the unmatched rows, which the assignment minimises.
    assignment : assign.Assignment or None
        The solved problem, with negated gains as costs; `assignment.check()` certifies that the pairs are optimal.
    """

    pair: np.ndarray
    margin: np.ndarray
    total: float
    assignment: assign.Assignment | None = None


def link(
    row: ArrayLike,
    col: ArrayLike,
    cost: ArrayLike,
    shape: tuple[int, int],
    unmatched_cost: ArrayLike,
    linker: str = "assignment",
    device: DeviceName = "auto",
    *,
    exact_margin: bool = True,
) -> Links:
    """Select pairs from candidates.

    Parameters
    ----------
    row, col : ndarray of int, (K,)
        Points of the first and of the second frame; of duplicate pairs the cheapest is used.
    cost : ndarray of float, (K,)
    shape : (int, int)
        Number of rows and columns.
    unmatched_cost : float or ndarray (rows,)
        Cost of leaving a row unmatched.
    linker : str
        One of LINKERS.
    device : {"auto", "cpu", "cuda"}
        Checked for availability.  Sparse assignments are solved on the CPU on every device, in milliseconds.
    exact_margin : bool, default True
        False replaces the margins of the assignment by a lower bound that its prices give, which takes a tenth of the
        time: the least slack of the row's other candidates plus that of the column's.

    Returns
    -------
    Links

    Raises
    ------
    ValueError
        If the linker or the device is unknown.
    RuntimeError
        If the device is not available.
    """
    if linker not in LINKERS:
        raise ValueError(f"linker must be one of {', '.join(map(repr, LINKERS))}; got {linker!r}")
    row, col = np.asarray(row, np.int64), np.asarray(col, np.int64)
    cost = np.asarray(cost, np.float64)
    unmatched_cost = np.broadcast_to(np.asarray(unmatched_cost, np.float64), (shape[0],))
    kept = np.flatnonzero(cost < unmatched_cost[row])
    key = row[kept] * shape[1] + col[kept]
    order = kept[np.argsort(key, kind="stable")]
    if len(order) and not (np.diff(row[order] * shape[1] + col[order]) > 0).all():
        order = kept[np.lexsort((cost[kept], key))]
        order = order[np.diff(row[order] * shape[1] + col[order], prepend=-1) != 0]
    row, col, cost = row[order], col[order], cost[order]
    found = None
    if linker == "assignment":
        indptr = np.searchsorted(row, np.arange(shape[0] + 1))
        gain = cost - unmatched_cost[row]
        resolve(device)
        found = assign.solve((indptr, col, gain, shape), max_cost=0.0, device="cpu")
        chosen = _positions(row, col, found.row, found.col, shape[1])
        if exact_margin:
            margin = exact_margins(indptr, col, gain, found.row_price, found.col_price, chosen)
        else:
            margin = _price_margin(row, col, gain, found.row_price, found.col_price, chosen)
    else:
        chosen = CHOOSERS[linker](row, col, cost, shape, unmatched_cost)
        margin = _row_margin(row, cost, unmatched_cost, chosen)
    total = float(cost[chosen].sum() + unmatched_cost.sum() - unmatched_cost[row[chosen]].sum())
    return Links(order[chosen], margin, total, found)


def _positions(row, col, chosen_row, chosen_col, columns: int) -> np.ndarray:
    """Return the positions of pairs in candidates sorted by row and column."""
    return np.searchsorted(row * columns + col, np.asarray(chosen_row) * columns + np.asarray(chosen_col))


def _nearest(row, col, cost, shape, unmatched_cost) -> np.ndarray:
    return _first_of(row, np.lexsort((col, cost, row)))


def _mutual(row, col, cost, shape, unmatched_cost) -> np.ndarray:
    # The best row of a column has the largest gain, since unmatched costs may differ between rows.
    best = _first_of(row, np.lexsort((col, cost, row)))
    back = _first_of(col, np.lexsort((row, cost - unmatched_cost[row], col)))
    return np.intersect1d(best, back)


def _greedy(row, col, cost, shape, unmatched_cost) -> np.ndarray:
    is_free_row, is_free_col = np.ones(shape[0], bool), np.ones(shape[1], bool)
    chosen = []
    order = np.lexsort((col, row, cost - unmatched_cost[row]))
    for k, i, j in zip(order.tolist(), row[order].tolist(), col[order].tolist(), strict=True):
        if is_free_row[i] and is_free_col[j]:
            is_free_row[i] = is_free_col[j] = False
            chosen.append(k)
    return np.sort(np.array(chosen, np.int64))


def _cardinality(row, col, cost, shape, unmatched_cost) -> np.ndarray:
    mutual = _mutual(row, col, cost, shape, unmatched_cost)
    start = np.full(shape[0], -1, np.int32)
    start[row[mutual]] = col[mutual]
    graph = np.searchsorted(row, np.arange(shape[0] + 1)), col, shape
    found = matching.maximum(graph, start=start, device="cpu")
    found.check()
    return _positions(row, col, *found.pairs, shape[1])


def _bottleneck(row, col, cost, shape, unmatched_cost) -> np.ndarray:
    found = matching.bottleneck(
        scipy.sparse.coo_array((cost - unmatched_cost[row], (row, col)), shape=shape), device="cpu"
    )
    found.check()
    return _positions(row, col, *found.matching.pairs, shape[1])


CHOOSERS = {
    "greedy": _greedy,
    "mutual": _mutual,
    "nearest": _nearest,
    "cardinality": _cardinality,
    "bottleneck": _bottleneck,
}


def _first_of(key, order) -> np.ndarray:
    """Return the first index of each key from `order`, which is sorted by key."""
    if not len(order):
        return order
    return np.sort(order[np.r_[True, np.diff(key[order]) != 0]])


def _price_margin(row, col, gain, row_price, col_price, chosen) -> np.ndarray:
    """Return a lower bound on the cost increase without each pair.

    The cost of an assignment is the sum of the prices plus the slacks of its pairs and of all that is unmatched.
    Without the pair (i, j), row i and column j are each in another pair, or unmatched: two further slacks.
    """
    slack = np.maximum(gain - row_price[row] - col_price[col], 0.0)
    slack[chosen] = np.inf
    row_slack, col_slack = np.maximum(-row_price, 0.0), np.maximum(-col_price, 0.0)
    np.minimum.at(row_slack, row, slack)
    np.minimum.at(col_slack, col, slack)
    return row_slack[row[chosen]] + col_slack[col[chosen]]


def _row_margin(row, cost, unmatched_cost, chosen) -> np.ndarray:
    others = cost.copy()
    others[chosen] = np.inf
    second = unmatched_cost.copy()
    np.minimum.at(second, row, others)
    return np.maximum(second[row[chosen]] - cost[chosen], 0.0)
