"""solve_boxes: assign boxes to boxes by their overlap or the distance of their centres, without the matrix of costs."""

import time
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from assign.assignment import Assignment
from assign.core.arrays import as_array, check_sides
from assign.core.given import BOX_METRICS, GivenBoxes, centres
from assign.core.problem import check_limit
from assign.points import solve_points
from assign.solving import solve

MAX_COORDINATE = 1e150  # areas of larger boxes might exceed float64


def solve_boxes(x: ArrayLike, y: ArrayLike, metric: str = "iou", *, max_cost: ArrayLike | None = None) -> Assignment:
    """Assign the boxes of two sets to each other at minimum total cost, exact up to rounding.

    Parameters
    ----------
    x, y : array_like (n, 4) and (m, 4)
        Boxes (left, top, right, bottom), with right >= left and bottom >= top.  Every box of the smaller set is
        matched, unless `max_cost` is given.
    metric : {"iou", "giou", "centre"}
        The cost of a pair: 1 minus the intersection over union, 1 minus the generalised one [1]_, or the Euclidean
        distance of the centres.  Two boxes without area have an intersection over union of 0.
    max_cost : number or array_like (n,), optional
        Cost of leaving a box of `x` unmatched.  No pair that costs more is matched.

    Returns
    -------
    Assignment
        As returned by `assign.solve` for the matrix of all costs.  `check()` certifies the prices against every pair.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, shape or range.

    See Also
    --------
    solve_points : for points, with other distances.

    Notes
    -----
    Pairs of boxes that do not overlap all cost 1 with "iou", so only overlapping pairs are solved, as a sparse
    problem; the same holds for a `max_cost` of at most 1.  Memory is then O(n + m + overlapping pairs), and the time to
    find them O((n + m) log(n + m)) plus the pairs whose horizontal extents overlap.  All other cases with these metrics
    use the matrix.

    References
    ----------
    .. [1] Rezatofighi et al. "Generalized intersection over union: a metric and a loss for bounding box regression."
       CVPR 2019.

    Examples
    --------
    >>> found = solve_boxes([[0, 0, 2, 2], [5, 5, 7, 7]], [[5, 5, 7, 6], [0, 0, 2, 2], [9, 9, 10, 10]], max_cost=0.7)
    >>> found.col, found.cost
    (array([1, 0]), 0.5)
    """
    begin = time.perf_counter()
    if metric not in BOX_METRICS:
        raise ValueError(f"metric must be one of {', '.join(map(repr, BOX_METRICS))}; got {metric!r}")
    given = GivenBoxes(x, y, metric, max_cost)
    x, y = _boxes("x", x), _boxes("y", y)
    check_sides("x and y", (len(x), len(y)))
    if metric == "centre":
        return replace(solve_points(centres(x), centres(y), max_cost=max_cost, device="cpu"), _given=given)
    from assign.sparse.overlaps import all_costs, overlaps

    limit = check_limit(max_cost, len(x))
    generalised = metric == "giou"
    if limit is None and not generalised:
        found = _completed(x, y)
    elif limit is not None and limit.max(initial=0) <= 1:
        found = solve((*overlaps(x, y, generalised), (len(x), len(y))), max_cost=limit, device="cpu")
    else:
        cost = np.empty((len(x), len(y)))
        all_costs(x, y, generalised, cost)
        found = solve(cost, max_cost=limit, device="cpu")
    stats = {**found.stats, "seconds": {"solve": time.perf_counter() - begin}}
    return replace(found, stats=stats, _given=given)


def _completed(x, y) -> Assignment:
    """All boxes of the smaller set matched: the overlapping pairs first, the rest with any partners at cost 1.

    A pair without overlap costs as much as staying unmatched at a cost of 1, whatever the partner.  Prices that certify
    the overlapping pairs with that limit are at most 1 for rows and at most 0 for columns, so they certify all pairs.
    """
    from assign.sparse.overlaps import overlaps

    transposed = len(x) > len(y)
    x, y = (y, x) if transposed else (x, y)
    found = solve((*overlaps(x, y, False), (len(x), len(y))), max_cost=1.0, device="cpu")
    partner = found.col_of_row
    alone = np.flatnonzero(partner < 0)
    partner[alone] = np.flatnonzero(found.row_of_col < 0)[: len(alone)]
    row, col, cost = np.arange(len(x)), partner, found.cost + float(len(alone))
    if not transposed:
        return replace(found, row=row, col=col, cost=cost)
    order = np.argsort(col)
    row, col = col[order], row[order]
    return replace(found, row=row, col=col, cost=cost, row_price=found.col_price, col_price=found.row_price)


def _boxes(name: str, value) -> np.ndarray:
    array = as_array(name, value)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold numbers, got dtype {array.dtype}")
    if array.ndim != 2 or array.shape[1] != 4:
        raise ValueError(f"{name} must have the shape (boxes, 4), got {array.shape}")
    array = np.array(array, np.float64, order="C")  # a copy: kernels would be compiled once more for read-only arrays
    if not (np.abs(array) <= MAX_COORDINATE).all():
        raise ValueError(f"{name} must hold finite coordinates of at most {MAX_COORDINATE:.0e}")
    wrong = np.flatnonzero((array[:, 2:] < array[:, :2]).any(axis=1))
    if len(wrong):
        raise ValueError(
            f"{name} must hold boxes (left, top, right, bottom) with right >= left and bottom >= top; "
            f"box {wrong[0]} is {array[wrong[0]].tolist()}"
        )
    return array
