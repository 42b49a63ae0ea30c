"""Link points of two frames one-to-one, given the costs of candidate pairs, by an exact assignment.

Candidates are sparse: pair k links row[k] to col[k] at cost[k].  Leaving a row unmatched has a cost; leaving a column
unmatched is free.  The selected pairs minimise the total cost of pairs and unmatched rows; dual prices certify this.

The margin of a pair is the cost increase of the optimum without it (`assign.sparse.margins`).  It is a global ratio
test [1]: a pair competes with every set of pairs that could replace it.

[1] Lowe. "Distinctive image features from scale-invariant keypoints." IJCV 60(2), 2004.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

import assign
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
        Cost increase of the optimum without each pair, or a lower bound on it.
    total : float
        Cost of the pairs and of the unmatched rows, which the assignment minimises.
    assignment : assign.Assignment
        The solved problem, with negated gains as costs; `assignment.check()` certifies that the pairs are optimal.
    """

    pair: np.ndarray
    margin: np.ndarray
    total: float
    assignment: assign.Assignment


def link(
    row: ArrayLike,
    col: ArrayLike,
    cost: ArrayLike,
    shape: tuple[int, int],
    unmatched_cost: ArrayLike,
    device: DeviceName = "auto",
    *,
    exact_margin: bool = True,
) -> Links:
    """Select the pairs of minimum total cost from candidates.

    Parameters
    ----------
    row, col : ndarray of int, (K,)
        Points of the first and of the second frame; of duplicate pairs the cheapest is used.
    cost : ndarray of float, (K,)
    shape : (int, int)
        Number of rows and columns.
    unmatched_cost : float or ndarray (rows,)
        Cost of leaving a row unmatched.
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
        If the device is unknown.
    RuntimeError
        If the device is not available.
    """
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
    indptr = np.searchsorted(row, np.arange(shape[0] + 1))
    gain = cost - unmatched_cost[row]
    resolve(device)
    found = assign.solve((indptr, col, gain, shape), max_cost=0.0, device="cpu")
    chosen = np.searchsorted(row * shape[1] + col, found.row * shape[1] + found.col)
    if exact_margin:
        margin = exact_margins(indptr, col, gain, found.row_price, found.col_price, chosen)
    else:
        margin = _price_margin(row, col, gain, found.row_price, found.col_price, chosen)
    total = float(cost[chosen].sum() + unmatched_cost.sum() - unmatched_cost[row[chosen]].sum())
    return Links(order[chosen], margin, total, found)


def link_positions(first, second, row, col, cost, unmatched_cost, device: DeviceName = "auto") -> Links:
    """Link positions (N, 2) and (M, 2), as `link`; points on one pixel, such as SIFT's orientations, are one row."""
    (here, rows), (there, cols) = pixels_of(first), pixels_of(second)
    if np.ndim(unmatched_cost):
        lowest = np.full(rows, np.inf)
        np.minimum.at(lowest, here, unmatched_cost)
        unmatched_cost = lowest
    return link(here[row], there[col], cost, (rows, cols), unmatched_cost, device)


def pixels_of(xy: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the index of each point's pixel among the distinct pixels of points (N, 2), and their number."""
    pixel = np.rint(xy).astype(np.int64)
    _, position = np.unique(pixel[:, 1] * (1 << 31) + pixel[:, 0], return_inverse=True)
    return position, int(position.max(initial=-1)) + 1


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
