"""solve_points: the assignment of points to points at the least total distance, without the matrix of distances."""

import time

import numpy as np

from assign.assignment import Assignment
from assign.core.arrays import as_array, check_sides, prices_of
from assign.core.given import GivenPoints
from assign.core.problem import check_limit
from assign.core.start import fitted
from assign.methods import GPU_MIN_ROWS
from gridcut.device import DeviceName, resolve
from gridcut.device.arguments import check_callback

METRICS = ("euclidean", "sqeuclidean", "cityblock")
# Extents of the points whose squares, and sums of them over many points, are ordinary floats.
MIN_EXTENT, MAX_EXTENT = 1e-140, 1e140


def solve_points(
    x,
    y,
    metric: str = "euclidean",
    *,
    max_cost=None,
    start=None,
    device: DeviceName = "auto",
    callback=None,
) -> Assignment:
    """The assignment of two sets of points with the least sum of distances, exact up to rounding.

    Parameters
    ----------
    x, y : array_like (n, d) and (m, d)
        Coordinates; every point of the smaller set is matched.
    metric : {"euclidean", "sqeuclidean", "cityblock"}
    max_cost : number or array_like (n,), optional
        What it costs to leave a point of `x` unmatched; no pair farther apart than that is matched.
    start : Assignment, or a pair of arrays (n,) and (m,), optional
        Prices of an earlier, similar problem, such as the frame before.
    device : {"auto", "cpu", "cuda"}
        "auto" takes a GPU, when there is one, for many points; "cityblock" runs on the CPU only.
    callback : callable, optional
        Called now and then with a dict of counts; may raise to stop.

    Returns
    -------
    Assignment
        As of `assign.solve` for the matrix of all distances, prices included, which `check()` proves against every
        pair.

    Raises
    ------
    TypeError, ValueError
        Arguments of the wrong kind, shape or range.
    RuntimeError
        A device that cannot be had.

    Notes
    -----
    Memory is O((n + m) d) and a few nearest points for each.  The CPU solves a sparse problem of near pairs and adds
    pairs that its prices show to be missing, until none is; all pairs are looked at, most of them a block at a time.
    The GPU computes distances again wherever it needs them.

    References
    ----------
    Volgenant. "Linear and semi-assignment problems: a core oriented approach." Computers and Operations Research 23,
    1996.

    Examples
    --------
    >>> solve_points([[0.0, 0.0], [5.0, 0.0]], [[5.0, 1.0], [0.0, 2.0]]).col
    array([1, 0])
    """
    begin = time.perf_counter()
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(map(repr, METRICS))}; got {metric!r}")
    check_callback(callback)
    given = GivenPoints(x, y, metric, max_cost)
    x, y = _points("x", x), _points("y", y)
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"x and y must have as many coordinates, got {x.shape[1]} and {y.shape[1]}")
    n, m = len(x), len(y)
    check_sides("x and y", (n, m))
    largest = largest_distance(x, y, metric)
    limit = check_limit(max_cost, n)
    limit = None if limit is None else limit.astype(np.float64)
    prices = None if start is None else tuple(a.astype(np.float64) for a in prices_of(start, (n, m)))
    transposed = n > m
    if transposed:
        if limit is not None and limit.min() != limit.max():
            raise ValueError("max_cost for each point needs the smaller set as x; exchange x and y, or pass one number")
        # One limit for all of x is made one for y: prices of x are then too low by it, those of y too high.
        level = 0.0 if limit is None else limit[0]
        limit = None if limit is None else np.full(m, level)
        x, y = y, x
        prices = None if prices is None else (prices[1] + level, prices[0] - level)
    prices = fitted(prices, (len(x), len(y)), largest, limit is not None)
    ran_on = resolve(device)
    if device == "auto" and (metric == "cityblock" or min(n, m) < GPU_MIN_ROWS):
        ran_on = "cpu"
    if ran_on == "cuda" and metric == "cityblock":
        raise RuntimeError("metric 'cityblock' does not run on device='cuda'; use device='auto'")
    if not min(n, m):
        u = np.zeros(len(x)) if limit is None else limit
        col_of_row, v, stats, method = np.full(len(x), -1, np.int32), np.zeros(len(y)), {}, "nearest"
    elif ran_on == "cpu":
        from assign.sparse.nearest import solve_points as solve

        method = "nearest"
        col_of_row, u, v, stats = solve(x, y, metric, limit=limit, start=prices, callback=callback)
    else:
        from assign.dense.dense_cuda import solve_points as solve
        from gridcut.device.arrays import to_host

        method = "auction"
        options = {"squared": metric == "sqeuclidean", "limit": limit, "start": prices, "callback": callback}
        *found, stats = solve(x, y, **options)
        col_of_row, u, v = map(to_host, found)
    row = np.flatnonzero(col_of_row >= 0)
    col = col_of_row[row].astype(np.int64)
    paid = pair_distances(x[row], y[col], metric)
    stats = {**stats, "seconds": {"solve": time.perf_counter() - begin}}

    if transposed:
        order = np.argsort(col)
        shown = v + level, u - level
        return Assignment(col[order], row[order], float(paid.sum()), *shown, ran_on, method, stats, given)
    return Assignment(row, col, float(paid.sum()), u, v, ran_on, method, stats, given)


def pair_distances(x, y, metric: str) -> np.ndarray:
    """Distances of points from points, one by one."""
    difference = x - y
    if metric == "cityblock":
        return np.abs(difference).sum(axis=1)
    squares = (difference * difference).sum(axis=1)
    return np.sqrt(squares) if metric == "euclidean" else squares


def _points(name: str, value) -> np.ndarray:
    array = as_array(name, value)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold numbers, got dtype {array.dtype}")
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"{name} must have the shape (points, coordinates), got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite coordinates")
    return np.ascontiguousarray(array, np.float64)


def largest_distance(x, y, metric: str) -> float:
    """No distance of a point of x from one of y is larger; ValueError where distances have no floats."""
    if not len(x) or not len(y):
        return 0.0
    with np.errstate(over="ignore"):
        gaps = np.maximum(x.max(axis=0), y.max(axis=0)) - np.minimum(x.min(axis=0), y.min(axis=0))
        largest = float(pair_distances(gaps[None], np.zeros((1, len(gaps))), metric)[0])
        total = largest * (len(x) + len(y))
    extent = float(gaps.max())
    if not total < np.inf or not largest < np.inf:
        raise ValueError(
            f"x and y reach over {extent:.3g}, and sums of metric {metric!r} over that are beyond float64; "
            f"divide the coordinates by a constant, so that they stay within {MAX_EXTENT:.0e}"
        )
    if metric != "cityblock" and 0 < extent < MIN_EXTENT:
        raise ValueError(
            f"x and y reach over no more than {extent:.3g}, whose square float64 cannot hold; multiply the coordinates "
            f"by a constant, so that they reach over {MIN_EXTENT:.0e} at least"
        )
    return largest
