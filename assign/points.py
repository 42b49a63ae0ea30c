"""solve_points: assign points to points at minimum total distance, without the matrix of distances."""

import time
from collections.abc import Callable
from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike

from assign.assignment import Assignment
from assign.core.curve import extent
from assign.core.given import GivenPoints
from assign.core.problem import METRICS, HandedOver, as_array, check_limit, check_sides, prices_of
from assign.core.start import fitted
from assign.methods import GPU_MIN_ROWS
from gridcut.device import DeviceName, resolve
from gridcut.device.arguments import check_callback

# Extents of the points for which squared distances, and sums of them, are normal floats.
MIN_EXTENT, MAX_EXTENT = 1e-140, 1e140

# Numbers of pairs up to which the CPU solves the matrix of distances: of any points, and of those whose near pairs say
# little about an optimum, so that 15 to 120 rounds add pairs (on a line, or if the first steps show it).
MATRIX_COSTS, MAX_MATRIX_COSTS = 1 << 22, 1 << 25
MAX_ROUNDS = 3  # in which almost every row lacks as many pairs as a round adds
GPU_MAX_POINTS = 10_000  # of sets that overlap, above which the CPU is faster
ANY_START_COSTS = 600**2  # up to this number, the matrix is faster than rounds from start prices


def solve_points(
    x: ArrayLike,
    y: ArrayLike,
    metric: str = "euclidean",
    *,
    max_cost: ArrayLike | None = None,
    start: Assignment | tuple[ArrayLike, ArrayLike] | None = None,
    device: DeviceName = "auto",
    callback: Callable[[dict], object] | None = None,
) -> Assignment:
    """Assign the points of two sets to each other at minimum total distance, exact up to rounding.

    Parameters
    ----------
    x, y : array_like (n, d) and (m, d)
        Coordinates.  Every point of the smaller set is matched.
    metric : {"euclidean", "sqeuclidean", "cityblock"}
        The distance that is summed.
    max_cost : number or array_like (n,), optional
        Cost of leaving a point of `x` unmatched.  No pair with a larger distance is matched.
    start : Assignment, or a pair of arrays (n,) and (m,), optional
        Prices of an earlier, similar problem, such as the previous frame.
    device : {"auto", "cpu", "cuda"}
        "auto" uses a GPU, if one is available, for 2000 to 10 000 points, and for more if the sets are apart;
        "cityblock" runs on the CPU only.
    callback : callable, optional
        Called periodically with a dict of counters; on the CPU, after every round of at most 16 bids per point, and
        after the searches.  An exception raised by the callback stops the solve.

    Returns
    -------
    Assignment
        As returned by `assign.solve` for the matrix of all distances.  `check()` certifies the prices against every
        pair.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, shape or range.
    RuntimeError
        If the requested device is not available.

    See Also
    --------
    solve : for any cost matrix.

    Notes
    -----
    Memory is O((n + m) d) plus a few nearest points per point.  The CPU solves a sparse problem of near pairs, and
    adds pairs whose prices violate optimality until there are none; all pairs are checked, most of them one block of
    points at a time.  Of up to 2048 points per set, it solves the matrix; and up to 256 MiB if all points are matched,
    but lie on a line, are seldom each other's nearest, or lack near pairs in three rounds.
    The GPU recomputes distances wherever it needs them.

    References
    ----------
    .. [1] Volgenant. "Linear and semi-assignment problems: a core oriented approach." Computers and Operations
       Research 23, 1996.

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
        raise ValueError(f"x and y must have the same number of coordinates, got {x.shape[1]} and {y.shape[1]}")
    n, m = len(x), len(y)
    check_sides("x and y", (n, m))
    largest = largest_distance(x, y, metric)
    limit = check_limit(max_cost, n)
    limit = None if limit is None else limit.astype(np.float64)
    prices = None if start is None else tuple(a.astype(np.float64) for a in prices_of(start, (n, m)))
    transposed = n > m
    if transposed:
        if limit is not None and limit.min() != limit.max():
            raise ValueError("max_cost per point requires the smaller set as x; exchange x and y, or pass one number")
        # A single limit for x becomes one for y: prices of x are then too low by it, and those of y too high.
        level = 0.0 if limit is None else limit[0]
        limit = None if limit is None else np.full(m, level)
        x, y = y, x
        prices = None if prices is None else (prices[1] + level, prices[0] - level)
    prices = fitted(prices, (len(x), len(y)), largest, limit is not None)
    ran_on = resolve(device)
    if device == "auto" and not _prefer_gpu(x, y, metric, limit is None):
        ran_on = "cpu"
    if ran_on == "cuda" and metric == "cityblock":
        raise RuntimeError("metric 'cityblock' does not run on device='cuda'; use device='auto'")
    if not min(n, m):
        u = np.zeros(len(x)) if limit is None else limit
        col_of_row, v, stats, method = np.full(len(x), -1, np.int32), np.zeros(len(y)), {}, "nearest"
    elif ran_on == "cpu":
        col_of_row, u, v, stats, method = _on_cpu(x, y, metric, limit, prices, callback)
    else:
        from assign.dense import dense_cuda
        from gridcut.device.arrays import to_host

        method = "auction"
        options = {"squared": metric == "sqeuclidean", "limit": limit, "start": prices, "callback": callback}
        *found, stats = dense_cuda.solve_points(x, y, **options)
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


def _on_cpu(x, y, metric: str, limit, prices, callback):
    """Column of each row, prices u and v, counters, and the method."""
    is_free = limit is None and prices is None
    if len(x) * len(y) > matrix_costs(x.shape[1], limit is None, prices is not None):
        from assign.sparse import nearest

        options = {"limit": limit, "start": prices, "callback": callback}
        options["rounds"] = MAX_ROUNDS if is_free and len(x) * len(y) <= MAX_MATRIX_COSTS else None
        with suppress(HandedOver):
            return *nearest.solve_points(x, y, metric, **options), "nearest"
    from scipy.spatial.distance import cdist

    from assign.solving import solve

    found = solve(cdist(x, y, metric), max_cost=limit, device="cpu", callback=callback)
    return found.col_of_row, found.row_price, found.col_price, found.stats, found.method


def _prefer_gpu(x, y, metric: str, all_matched: bool) -> bool:
    """Whether a GPU is faster: for few points, or for sets that hardly overlap, whose near pairs say little.

    It passes over all pairs.  Squared distances of sets of one size cost the CPU the same wherever the sets are.
    """
    if metric == "cityblock" or len(x) < GPU_MIN_ROWS:
        return False
    if len(x) <= GPU_MAX_POINTS:
        return True
    near_pairs_matter = not all_matched or (metric == "sqeuclidean" and len(x) == len(y))
    return not near_pairs_matter and bool((abs(x.mean(0) - y.mean(0)) > x.std(0) + y.std(0)).any())


def matrix_costs(dimensions: int, all_matched: bool, has_start: bool) -> int:
    """Number of pairs up to which the CPU solves the matrix."""
    if has_start:
        return ANY_START_COSTS
    return MAX_MATRIX_COSTS if dimensions == 1 and all_matched else MATRIX_COSTS


def pair_distances(x, y, metric: str) -> np.ndarray:
    """distances[k] = distance of x[k] and y[k]."""
    difference = x - y
    if metric == "cityblock":  # einsum: a tenth of the time of sum(axis=1) over few coordinates
        return np.einsum("kc->k", np.abs(difference))
    squares = np.einsum("kc,kc->k", difference, difference)
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
    """Upper bound of all distances between x and y; raises ValueError if float64 cannot hold the distances."""
    if not len(x) or not len(y):
        return 0.0
    with np.errstate(over="ignore"):
        low, high = extent(x, y)
        gaps = high - low
        largest = float(pair_distances(gaps[None], np.zeros((1, len(gaps))), metric)[0])
        total = largest * (len(x) + len(y))
    span = float(gaps.max())
    if not total < np.inf or not largest < np.inf:
        raise ValueError(
            f"x and y span {span:.3g}, and sums of metric {metric!r} over that exceed float64; "
            f"divide the coordinates by a constant, so that they span at most {MAX_EXTENT:.0e}"
        )
    if metric != "cityblock" and 0 < span < MIN_EXTENT:
        raise ValueError(
            f"x and y span only {span:.3g}, whose square float64 cannot hold; multiply the coordinates "
            f"by a constant, so that they span at least {MIN_EXTENT:.0e}"
        )
    return largest
