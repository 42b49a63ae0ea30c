"""Match the points of two frames window by window, with integer costs: many small assignment problems, one call.

Each window of the first frame and where it is expected in the second hold some points each; every point of the one may
match every point of the other.  These complete bipartite graphs, with at most MAX_POINTS points a side, are all solved as
one batch [1].  A pair costs

    DESCRIPTOR_COST * distance of the descriptors  +  COST_PER_PIXEL * distance from the place expected, rounded

and a point stays unmatched at UNMATCHED_COST, in the same units.  The margin of a match says how much better it is than what
could replace it; matches with little are to be doubted where windows hold many points that look alike.

A point of the second frame belongs to one window only, so matches are one-to-one.  Points whose partner lies across a
border are left over; they are matched in a second batch, with windows shifted by half their side.

[1] Lupinska. "Parallel implementation of flow and matching algorithms." arXiv:1110.6231, 2011.
"""

from dataclasses import dataclass

import numpy as np

import assign
from apps.common.images import InputError
from apps.motion.agreement import LocalMotion
from apps.motion.margins import exact_margins
from apps.motion.matches import Matches
from apps.motion.points import MIN_POINTS, Points, grey_pair, keypoints
from gridcut.device import DeviceName

MAX_POINTS = 30  # points a side of a window
WINDOW_SIDE = 48  # pixels
DESCRIPTOR_COST = 1000  # cost of descriptors at distance 1
COST_PER_PIXEL = 6
UNMATCHED_COST = 550
SHIFTS = (0.0, 0.5)  # of the windows, in sides, batch after batch


@dataclass(frozen=True, slots=True, eq=False)
class WindowMatches:
    """Matches found window by window.

    Attributes
    ----------
    matches : Matches
        Costs and margins are integers.
    batches : tuple of assign.BatchAssignment
        One for each shift; `check()` of each proves every window.
    sizes : tuple of ndarray of int, (B, 2)
        Points of the first and of the second frame in each window of a batch.
    """

    matches: Matches
    batches: tuple
    sizes: tuple


def match_windows(
    first,
    second,
    *,
    side: int = WINDOW_SIDE,
    prior: Matches | None = None,
    unmatched_cost: int = UNMATCHED_COST,
    points: tuple[Points, Points] | None = None,
    device: DeviceName = "auto",
) -> WindowMatches:
    """Match points of two frames within windows.

    Parameters
    ----------
    first, second : ndarray of uint8, (H, W) or (H, W, 3)
        Grey or RGB frames of one size.
    side : int
        Of the square windows, pixels; motion beyond what `prior` expects must be smaller.
    prior : Matches, optional
        Matches of an earlier frame or another method, whose motion is expected; rest by default.
    unmatched_cost : int
        Of staying unmatched.
    points : (Points, Points), optional
        Points of both frames; SIFT points by default.
    device : {"auto", "cpu", "cuda"}

    Returns
    -------
    Windowed

    Raises
    ------
    InputError
        Frames of another kind, of different sizes, or with fewer than four points.
    """
    first, second = grey_pair(first, second)
    if not 8 <= side:
        raise InputError(f"windows must have a side of 8 pixels or more, got {side}")
    if points is None:
        budget = first.size * MAX_POINTS // (2 * side * side)
        points = keypoints(first, budget), keypoints(second, budget)
    one, two = (_one_per_pixel(p) for p in points)
    for name, found in (("first", one), ("second", two)):
        if len(found) < MIN_POINTS:
            raise InputError(f"the {name} frame has {len(found)} points to match; pass frames with more texture")
    expected = _expected_motion(one.xy, prior.first, prior.motion) if prior else np.zeros_like(one.xy)
    back_expected = _expected_motion(two.xy, prior.second, -prior.motion) if prior else np.zeros_like(two.xy)
    unmatched = np.ones(len(one), bool), np.ones(len(two), bool)
    parts, batches, sizes = [], [], []
    for shift in SHIFTS:
        rows, cols = _windows((one.xy, two.xy + back_expected), unmatched, side, shift)
        if not rows:
            continue
        costs = [_costs(one, two, expected, r, c) for r, c in zip(rows, cols, strict=True)]
        # Less the price: staying unmatched costs 0 on either side, however many points a window has.
        batch = assign.solve_batch([c - unmatched_cost for c in costs], max_cost=0, device=device)
        row, col, margin = _chosen(costs, batch, unmatched_cost)
        row, col = np.concatenate(rows)[row], np.concatenate(cols)[col]
        unmatched[0][row], unmatched[1][col] = False, False
        parts.append((row, col, margin))
        batches.append(batch)
        sizes.append(np.array([c.shape for c in costs]))
    row, col, margin = (np.concatenate(p) for p in zip(*parts, strict=True)) if parts else (np.zeros(0, np.int64),) * 3
    cost = _pair_costs(one, two, expected, row, col).astype(np.float64)
    matches = Matches(one.xy[row], two.xy[col], cost, margin.astype(np.float64), np.clip(margin / unmatched_cost, 0, 1))
    return WindowMatches(matches, tuple(batches), tuple(sizes))


def _costs(one, two, expected, rows, cols) -> np.ndarray:
    """Of all pairs of a window, (R, C) int32."""
    row, col = np.repeat(rows, len(cols)), np.tile(cols, len(rows))
    return _pair_costs(one, two, expected, row, col).reshape(len(rows), len(cols))


def _pair_costs(one, two, expected, row, col) -> np.ndarray:
    similarity = np.einsum("ij,ij->i", one.descriptors[row], two.descriptors[col])
    dissimilarity = np.sqrt(np.maximum(2 - 2 * similarity.astype(np.float64), 0))
    distance = np.linalg.norm(one.xy[row] + expected[row] - two.xy[col], axis=1)
    return np.rint(DESCRIPTOR_COST * dissimilarity + COST_PER_PIXEL * distance).astype(np.int32)


def _windows(positions, unmatched, side: float, shift: float):
    """Indices of the points of each window that has some of both frames: at most MAX_POINTS of each, the first ones."""
    groups = []
    for xy, is_unmatched in zip(positions, unmatched, strict=True):
        which = np.flatnonzero(is_unmatched)
        window = np.floor(xy[which] / side + shift).astype(np.int64)
        number = window[:, 1] * (1 << 31) + window[:, 0]
        order = np.argsort(number, kind="stable")
        start = np.flatnonzero(np.diff(number[order], prepend=-(1 << 62)))
        parts = np.split(which[order], start[1:])
        groups.append({int(number[order[s]]): part[:MAX_POINTS] for s, part in zip(start, parts, strict=False)})
    shared = sorted(groups[0].keys() & groups[1].keys())
    return [groups[0][k] for k in shared], [groups[1][k] for k in shared]


def _chosen(costs, batch, unmatched_cost: int):
    """Matched pairs of all windows, rows and columns numbered on from window to window, and their margins."""
    shapes = np.array([c.shape for c in costs])
    first_row, first_col = (np.r_[0, np.cumsum(shapes[:, side])] for side in (0, 1))
    columns = [np.arange(size) for size in shapes[:, 1]]
    col = np.concatenate([np.tile(first_col[b] + columns[b], shapes[b, 0]) for b in range(len(costs))])
    indptr = np.r_[0, np.cumsum(np.repeat(shapes[:, 1], shapes[:, 0]))]
    u = np.concatenate([batch.row_price[b, : shapes[b, 0]] for b in range(len(costs))])
    v = np.concatenate([batch.col_price[b, : shapes[b, 1]] for b in range(len(costs))])
    matched_col = np.concatenate([batch.col_of_row[b, : shapes[b, 0]] for b in range(len(costs))])
    row = np.flatnonzero(matched_col >= 0)
    chosen = indptr[row] + matched_col[row]
    gain = np.concatenate([c.ravel() for c in costs]).astype(np.float64) - unmatched_cost
    margin = exact_margins(indptr, col, gain, u.astype(np.float64), v.astype(np.float64), chosen)
    return row, col[chosen], np.rint(margin).astype(np.int64)


def _expected_motion(xy, positions, motion) -> np.ndarray:
    return LocalMotion(positions, motion).at(xy).motion if len(positions) else np.zeros_like(xy)


def _one_per_pixel(points: Points) -> Points:
    """SIFT has several points at one place where several directions stand out; the first is kept."""
    _, kept = np.unique(np.rint(points.xy).astype(np.int64), axis=0, return_index=True)
    kept = np.sort(kept)
    return Points(points.xy[kept], points.descriptors[kept], points.size[kept], points.angle[kept])
