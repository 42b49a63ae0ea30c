"""Link points of two frames one-to-one, from the prices of candidate pairs.

Candidates are sparse: pair k would link row[k] to col[k] at cost[k].  A row may stay unmatched at its price; a column
may for nothing.  Six linkers choose among the same candidates, those dearer than their row's price left out:

    assignment   the set of pairs of least total cost (pairs chosen + prices of rows left), exact; proved by prices
    greedy       pairs by falling gain (price - cost), each if both its points are still free
    mutual       pairs that are the best of their row and of their column
    nearest      the best pair of each row; columns may be taken several times
    cardinality  as many pairs as there can be: the mutual ones, lengthened by augmenting paths; exact
    bottleneck   as many under the highest gate on the gain that lets so many through; exact

The margin of a pair is what the best set without it would cost more (`margins`): the ratio test [1] made global, since
the rival of a pair is all that could replace it.  Other linkers prove nothing about sets; their margin compares with
the next best candidate of the row.

[1] Lowe. "Distinctive image features from scale-invariant keypoints." IJCV 60(2), 2004.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse

import assign
import matching
from apps.motion.margins import exact_margins
from gridcut.device import DeviceName, resolve

LINKERS = ("assignment", "greedy", "mutual", "nearest", "cardinality", "bottleneck")


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Pairs chosen from candidates.

    Attributes
    ----------
    pair : ndarray of int64, (k,)
        Indices of the candidates chosen, rows ascending.
    margin : ndarray of float64, (k,)
    total : float
        Cost of the pairs and prices of the rows left unmatched: what the assignment makes least.
    assignment : assign.Assignment or None
        Of the candidates' costs less the prices of their rows, staying unmatched at 0; `assignment.check()` proves the
        pairs best.
    """

    pair: np.ndarray
    margin: np.ndarray
    total: float
    assignment: assign.Assignment | None = None


def link(row, col, cost, shape, unmatched_cost, linker: str = "assignment", device: DeviceName = "auto") -> Links:
    """Choose pairs among candidates.

    Parameters
    ----------
    row, col : ndarray of int, (K,)
        Points of the first and of the second frame; a pair may occur several times, the cheapest counts.
    cost : ndarray of float, (K,)
    shape : (int, int)
        Number of rows and columns.
    unmatched_cost : float or ndarray (rows,)
        What it costs to leave a row unmatched.
    linker : str
        One of LINKERS.
    device : {"auto", "cpu", "cuda"}
        Refused if it cannot be had.  The assignment is solved on the CPU all the same, in milliseconds: there is no
        faster way for sparse costs on a GPU.

    Returns
    -------
    Links

    Raises
    ------
    ValueError
        An unknown linker or device.
    RuntimeError
        A device that is not there.
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
        margin = exact_margins(indptr, col, gain, found.row_price, found.col_price, chosen)
    else:
        chosen = CHOOSERS[linker](row, col, cost, shape, unmatched_cost)
        margin = _row_margin(row, cost, unmatched_cost, chosen)
    total = float(cost[chosen].sum() + unmatched_cost.sum() - unmatched_cost[row[chosen]].sum())
    return Links(order[chosen], margin, total, found)


def _positions(row, col, chosen_row, chosen_col, columns: int) -> np.ndarray:
    """Where pairs stand among candidates sorted by row and column."""
    return np.searchsorted(row * columns + col, np.asarray(chosen_row) * columns + np.asarray(chosen_col))


def _nearest(row, col, cost, shape, unmatched_cost) -> np.ndarray:
    return _first_of(row, np.lexsort((col, cost, row)))


def _mutual(row, col, cost, shape, unmatched_cost) -> np.ndarray:
    # A column's best row is the one that gains most, as prices may differ between rows.
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
    """Of an order by key, the first of each key."""
    if not len(order):
        return order
    return np.sort(order[np.r_[True, np.diff(key[order]) != 0]])


def _row_margin(row, cost, unmatched_cost, chosen) -> np.ndarray:
    others = cost.copy()
    others[chosen] = np.inf
    second = unmatched_cost.copy()
    np.minimum.at(second, row, others)
    return np.maximum(second[row[chosen]] - cost[chosen], 0.0)
