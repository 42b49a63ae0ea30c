"""Match the points of two frames window by window: many small assignment problems with integer costs in one batch.

The points of a window of the first frame and those of the corresponding window of the second form a complete bipartite
graph, with at most MAX_POINTS points per frame.  All windows are solved as one batch [1].  The cost of a pair is

    DESCRIPTOR_COST * distance of the descriptors  +  COST_PER_PIXEL * distance of the positions, rounded,

and leaving a point unmatched costs UNMATCHED_COST.  The margin of a match is its advantage over any replacement.  A
match with a small margin is doubtful if its window contains many similar points.

Each point of the second frame belongs to one window, so matches are one-to-one.  Points that stay unmatched, for
example because their partner is in another window, are matched in a second batch, with windows shifted by half a side.

[1] Lupinska. "Parallel implementation of flow and matching algorithms." arXiv:1110.6231, 2011.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

import assign
from apps.motion.matches import Matches
from apps.motion.points import Points, check_count, grey_pair, keypoints
from assign.sparse.margins import exact_margins
from gridcut.device import DeviceName
from gridcut.device.result import Result

MAX_POINTS = 30  # per window and frame
WINDOW_SIDE = 48  # pixels
DESCRIPTOR_COST = 1000  # per unit of descriptor distance
COST_PER_PIXEL = 6
UNMATCHED_COST = 550
SHIFTS = (0.0, 0.5)  # of the windows of each batch, in window sides


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WindowMatches(Result):
    """Matches computed window by window.

    Attributes
    ----------
    matches : Matches
        Costs and margins are integers.
    batches : tuple of assign.BatchAssignment, or of tuples of assign.Assignment
        One per shift; `check()` of a batch, or of each assignment, certifies its windows.
    sizes : tuple of ndarray of int, (B, 2)
        Numbers of points of the first and of the second frame in each window of a batch.
    """

    matches: Matches
    batches: tuple
    sizes: tuple


def match_windows(
    first: ArrayLike,
    second: ArrayLike,
    *,
    device: DeviceName = "auto",
    method: str = "auto",
) -> WindowMatches:
    """Match points of two frames within windows.

    Parameters
    ----------
    first, second : ndarray of uint8, (H, W) or (H, W, 3)
        Grey or RGB frames of the same size.
    device : {"auto", "cpu", "cuda"}
        Where the batches are solved.
    method : str
        "auto" solves all windows of a shift as one batch (`assign.solve_batch`).  A method of `assign.solve` solves
        them one after the other, for example "lock_free", algorithm 5.4 of [1].

    Returns
    -------
    WindowMatches

    Raises
    ------
    InputError
        If the frames are not uint8 grey or RGB, differ in size, or have fewer than four points.
    """
    first, second = grey_pair(first, second)
    budget = first.size * MAX_POINTS // (2 * WINDOW_SIDE**2)
    one, two = (_one_per_pixel(keypoints(frame, budget)) for frame in (first, second))
    check_count(one, "first frame")
    check_count(two, "second frame")
    unmatched = np.ones(len(one), bool), np.ones(len(two), bool)
    parts, batches, sizes = [], [], []
    for shift in SHIFTS:
        rows, cols = _windows((one.xy, two.xy), unmatched, shift)
        if not rows:
            continue
        costs = [_costs(one, two, r, c) for r, c in zip(rows, cols, strict=True)]
        # With the unmatched cost subtracted, staying unmatched costs 0 for both rows and columns.
        batch, solved = _solve([c - UNMATCHED_COST for c in costs], device, method)
        row, col, margin = _chosen(costs, solved)
        row, col = np.concatenate(rows)[row], np.concatenate(cols)[col]
        unmatched[0][row], unmatched[1][col] = False, False
        parts.append((row, col, margin))
        batches.append(batch)
        sizes.append(np.array([c.shape for c in costs]))
    row, col, margin = (np.concatenate(p) for p in zip(*parts, strict=True)) if parts else (np.zeros(0, np.int64),) * 3
    cost = _pair_costs(one, two, row, col).astype(np.float64)
    matches = Matches(one.xy[row], two.xy[col], cost, margin.astype(np.float64), np.clip(margin / UNMATCHED_COST, 0, 1))
    return WindowMatches(matches, tuple(batches), tuple(sizes))


def _costs(one, two, rows, cols) -> np.ndarray:
    """Return the costs of all pairs of a window, (R, C) int32."""
    row, col = np.repeat(rows, len(cols)), np.tile(cols, len(rows))
    return _pair_costs(one, two, row, col).reshape(len(rows), len(cols))


def _pair_costs(one, two, row, col) -> np.ndarray:
    similarity = np.einsum("ij,ij->i", one.descriptors[row], two.descriptors[col])
    dissimilarity = np.sqrt(np.maximum(2 - 2 * similarity.astype(np.float64), 0))
    distance = np.linalg.norm(one.xy[row] - two.xy[col], axis=1)
    return np.rint(DESCRIPTOR_COST * dissimilarity + COST_PER_PIXEL * distance).astype(np.int32)


def _windows(positions, unmatched, shift: float):
    """Return the indices of the first MAX_POINTS points of each frame, per window with points of both frames."""
    groups = []
    for xy, is_unmatched in zip(positions, unmatched, strict=True):
        which = np.flatnonzero(is_unmatched)
        window = np.floor(xy[which] / WINDOW_SIDE + shift).astype(np.int64)
        number = window[:, 1] * (1 << 31) + window[:, 0]
        order = np.argsort(number, kind="stable")
        start = np.flatnonzero(np.diff(number[order], prepend=-(1 << 62)))
        parts = np.split(which[order], start[1:])
        groups.append({int(number[order[s]]): part[:MAX_POINTS] for s, part in zip(start, parts, strict=False)})
    shared = sorted(groups[0].keys() & groups[1].keys())
    return [groups[0][k] for k in shared], [groups[1][k] for k in shared]


def _solve(costs, device: DeviceName, method: str):
    """Solve all windows; the results, and the columns, row prices and column prices of each window."""
    if method != "auto":
        found = tuple(assign.solve(cost, max_cost=0, device=device, method=method) for cost in costs)
        columns = [np.full(len(cost), -1, np.int64) for cost in costs]
        for col_of_row, one in zip(columns, found, strict=True):
            col_of_row[one.row] = one.col
        return found, [(col, one.row_price, one.col_price) for col, one in zip(columns, found, strict=True)]
    batch = assign.solve_batch(costs, max_cost=0, device=device)
    shapes = [cost.shape for cost in costs]
    return batch, [
        (batch.col_of_row[b, :rows], batch.row_price[b, :rows], batch.col_price[b, :cols])
        for b, (rows, cols) in enumerate(shapes)
    ]


def _chosen(costs, solved):
    """Return the matched pairs of all windows, numbered consecutively over the windows, and their margins."""
    shapes = np.array([c.shape for c in costs])
    first_row, first_col = (np.r_[0, np.cumsum(shapes[:, side])] for side in (0, 1))
    columns = [np.arange(size) for size in shapes[:, 1]]
    col = np.concatenate([np.tile(first_col[b] + columns[b], shapes[b, 0]) for b in range(len(costs))])
    indptr = np.r_[0, np.cumsum(np.repeat(shapes[:, 1], shapes[:, 0]))]
    matched_col, u, v = (np.concatenate(part) for part in zip(*solved, strict=True))
    row = np.flatnonzero(matched_col >= 0)
    chosen = indptr[row] + matched_col[row]
    gain = np.concatenate([c.ravel() for c in costs]).astype(np.float64) - UNMATCHED_COST
    margin = exact_margins(indptr, col, gain, u.astype(np.float64), v.astype(np.float64), chosen)
    return row, col[chosen], np.rint(margin).astype(np.int64)


def _one_per_pixel(points: Points) -> Points:
    """Keep the first point of each pixel; SIFT returns one per dominant orientation."""
    _, kept = np.unique(np.rint(points.xy).astype(np.int64), axis=0, return_index=True)
    kept = np.sort(kept)
    return Points(points.xy[kept], points.descriptors[kept])
