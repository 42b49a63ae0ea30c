"""Interpolate sparse matches to dense flow, with geodesic distances that are long across image edges.

    step length of a pixel = FLAT_LENGTH + EDGE_LENGTH * (gradient of the Lab colours)
    cells                  = the match nearest to each pixel, by path length; computed by raster sweeps, as a chamfer
                             distance transform
    neighbours of a match  = the NEIGHBOURS nearest matches on the adjacency graph of the cells
    motion of a cell       = affine model fitted to those, with weights exp(-length / scale), reweighted against
                             outliers

This is the interpolation of EpicFlow [1] with gradients instead of learned edges, and with a prior on the affine part:
a model of few or collinear matches falls back to their mean motion, and its extrapolation stays bounded.

[1] Revaud, Weinzaepfel, Harchaoui, Schmid. "EpicFlow: edge-preserving interpolation of correspondences for optical
    flow." CVPR 2015.
"""

import cv2
import numpy as np

from apps.optical_flow.channels import channel_sum
from gridcut.device import kernel, run_threads, thread_count

FLAT_LENGTH = 0.3  # step length without contrast
EDGE_LENGTH = 6.0  # additional step length per Lab unit of gradient
SWEEPS = 2
NEIGHBOURS = 40
SCALE_RANK = 15  # the weights' scale is the median length to the neighbour of this rank
REWEIGHTINGS = 2
RESIDUAL_SCALE = 1.0  # pixels: residual at which a match has half its weight
EXPECTED_SLOPE = 0.05  # pixels of motion per pixel
MIN_MATCHES_PER_THREAD = 128
INFINITY = np.float32(1e9)


def fill_flow(lab, first, second, confidence=None, neighbours: int = NEIGHBOURS) -> np.ndarray:
    """Interpolate the motion of matched points to all pixels of a frame.

    Parameters
    ----------
    lab : ndarray of float32, (H, W, 3)
        The first frame in CIE Lab.
    first, second : ndarray (N, 2)
        x, y of matched points in both frames, in pixels; at least one.  Of several in one pixel, one is used.
    confidence : ndarray (N,), optional
        Weights of the matches, 0 to 1.
    neighbours : int
        Number of matches to which each affine model is fitted.

    Returns
    -------
    ndarray of float32, (H, W, 2)
        Motion to the second frame, x and y in pixels.
    """
    height, width = lab.shape[:2]
    x = np.clip(np.rint(first[:, 0]).astype(np.int64), 0, width - 1)
    y = np.clip(np.rint(first[:, 1]).astype(np.int64), 0, height - 1)
    confidence = np.ones(len(first)) if confidence is None else confidence
    # Of several matches in one pixel, keep the most confident one.
    order = np.lexsort((-confidence, y * width + x))
    _, kept = np.unique((y * width + x)[order], return_index=True)
    kept = order[kept]
    x, y, first, motion = x[kept], y[kept], first[kept], (second - first)[kept]
    weight = np.maximum(confidence[kept], 0.05)

    step = step_length(lab)
    distance = np.full((height, width), INFINITY, np.float32)
    cell = np.zeros((height, width), np.int32)
    distance[y, x] = 0.0
    cell[y, x] = np.arange(len(x))
    for _ in range(SWEEPS):
        sweep_kernel(step, 1, distance, cell)
        sweep_kernel(step, -1, distance, cell)
    index, length = _nearest_matches(step, distance, cell, len(x), min(neighbours, len(x)))
    scale = max(float(np.median(length[:, min(SCALE_RANK, length.shape[1]) - 1])), 1e-6)
    models = np.empty((len(x), 6))
    prior = (RESIDUAL_SCALE / EXPECTED_SLOPE) ** 2
    arrays = first.astype(np.float64), motion.astype(np.float64), weight, index, length, scale, prior
    _in_parts(lambda begin, end: fit_kernel(begin, end, *arrays, models), len(x))
    a, b, c, d, e, f = (model[cell] for model in models.T)
    column, row = np.arange(width), np.arange(height)[:, None]
    return np.stack([a + b * column + c * row, d + e * column + f * row], axis=2, dtype=np.float32, casting="same_kind")


def step_length(lab: np.ndarray) -> np.ndarray:
    """Return the step length of each pixel, float32 (H, W), of a frame in Lab."""
    smooth = cv2.GaussianBlur(lab, (0, 0), 1.0)
    square = np.zeros(lab.shape[:2], np.float32)
    for direction in ((1, 0), (0, 1)):
        slope = cv2.Scharr(smooth, -1, *direction, scale=1 / 32)
        square += channel_sum(slope * slope)
    return np.float32(FLAT_LENGTH) + np.float32(EDGE_LENGTH) * np.sqrt(square)


def _nearest_matches(step, distance, cell, count, neighbours):
    """Return indices (N, K) of the K nearest matches of each match, itself first, padded with -1; lengths (N, K)."""
    start, target, length = adjacent_cells(step, distance, cell, count)
    index = np.full((count, neighbours), -1, np.int32)
    found = np.zeros((count, neighbours), np.float32)
    _in_parts(lambda begin, end: nearest_kernel(begin, end, start, target, length, index, found), count)
    return index, found


def _in_parts(work, count: int) -> None:
    """Call work(begin, end) on parts of 0 to `count`, one per thread."""
    threads = min(thread_count(), 1 + count // MIN_MATCHES_PER_THREAD)
    run_threads(lambda k: work(count * k // threads, count * (k + 1) // threads), threads)


@kernel
def sweep_kernel(step, direction, distance, cell):
    """Relax `distance` and `cell` over the four neighbours already visited.

    Direction 1 starts at the top left, -1 at the bottom right.
    """
    H, W = step.shape
    diagonal = np.float32(np.sqrt(2.0))
    half = np.float32(0.5)
    for row in range(H):
        y = row if direction > 0 else H - 1 - row
        for column in range(W):
            x = column if direction > 0 else W - 1 - column
            nearest, owner, own = distance[y, x], cell[y, x], step[y, x]
            for k in range(4):
                v = y if k == 3 else y - direction
                u = x - direction if k == 3 else x - 1 + k
                if v < 0 or v >= H or u < 0 or u >= W:
                    continue
                length = half * (own + step[v, u])
                if k == 0 or k == 2:
                    length *= diagonal
                if distance[v, u] + length < nearest:
                    nearest, owner = distance[v, u] + length, cell[v, u]
            distance[y, x], cell[y, x] = nearest, owner


def adjacent_cells(step: np.ndarray, distance: np.ndarray, cell: np.ndarray, count: int):
    """Return the graph of adjacent cells as CSR: start, target, and length, the shortest path between their matches.

    Two cells are adjacent if they have pixels with a common side.  The neighbours of a cell are in the order of the
    first such sides, by rows.
    """
    is_side = np.zeros((*cell.shape, 2), bool)  # to the right of the pixel, and below
    np.not_equal(cell[:, 1:], cell[:, :-1], out=is_side[:, :-1, 0])
    np.not_equal(cell[1:], cell[:-1], out=is_side[:-1, :, 1])
    side = np.flatnonzero(is_side)
    here = side >> 1
    there = here + np.where(side & 1, cell.shape[1], 1)
    distance, step, cell = distance.ravel(), step.ravel(), cell.ravel()
    path = distance[here] + distance[there] + np.float32(0.5) * (step[here] + step[there])
    one, other = cell[here].astype(np.int64), cell[there]
    pair = np.minimum(one, other) * count + np.maximum(one, other)
    by_pair = np.argsort(pair, kind="stable")
    pair = pair[by_pair]
    group = np.flatnonzero(np.diff(pair, prepend=-1))
    length = np.tile(np.minimum.reduceat(path[by_pair], group) if len(group) else path, 2)
    low, high = np.divmod(pair[group], count)
    source, target = np.concatenate([low, high]), np.concatenate([high, low])
    order = np.lexsort((np.tile(by_pair[group], 2), source))
    start = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(source, minlength=count), out=start[1:])
    return start, target[order].astype(np.int32), length[order]


@kernel
def nearest_kernel(begin, end, start, target, length, index, found):
    """Find the nearest nodes of nodes begin to end of a CSR graph: Dijkstra from each node, stopped after K nodes.

    `index` must be filled with -1.  Its row of a node, and that of `found`, is the queue of the search: sorted by
    length, the first entries final.  A node behind K others is not among the nearest, so the queue needs no more room.
    """
    N, K = index.shape
    shortest = np.empty(N, np.float32)
    seen = np.full(N, -1, np.int32)  # the source for which `shortest` holds
    for source in range(begin, end):
        nodes, keys = index[source], found[source]
        nodes[0], keys[0], n, k = source, np.float32(0.0), 1, 0
        shortest[source], seen[source] = np.float32(0.0), source
        while k < n:
            node, key = nodes[k], keys[k]
            k += 1
            for e in range(start[node], start[node + 1]):
                other = target[e]
                path = key + length[e]
                if n == K and path >= keys[K - 1]:
                    continue
                i = -1
                if seen[other] == source:
                    if path >= shortest[other]:
                        continue
                    i = n - 1
                    while i >= k and nodes[i] != other:
                        i -= 1
                if i < k:  # not in the queue: a new entry, or the one that replaces the last
                    n = min(n + 1, K)
                    i = n - 1
                shortest[other], seen[other] = path, source
                while i > k and keys[i - 1] > path:
                    keys[i], nodes[i] = keys[i - 1], nodes[i - 1]
                    i -= 1
                keys[i], nodes[i] = path, other


@kernel
def fit_kernel(begin, end, first, motion, confidence, index, length, scale, prior, models):
    """Fit the affine motion around matches begin to end.

    models[s] = (a, b, c, d, e, f): u = a + b x + c y, v = d + e x + f y.

    `prior`, in square pixels, is added to the diagonal of the weighted scatter matrix of the points.
    """
    K = index.shape[1]
    initial = np.empty(K)
    weight = np.empty(K)
    for s in range(begin, end):
        count = 0
        while count < K and index[s, count] >= 0:
            initial[count] = np.exp(-length[s, count] / scale) * confidence[index[s, count]]
            weight[count] = initial[count]
            count += 1
        for iteration in range(REWEIGHTINGS + 1):
            total, mx, my, mu, mv = 0.0, 0.0, 0.0, 0.0, 0.0
            for k in range(count):
                j, w = index[s, k], weight[k]
                total += w
                mx += w * first[j, 0]
                my += w * first[j, 1]
                mu += w * motion[j, 0]
                mv += w * motion[j, 1]
            mx, my, mu, mv = mx / total, my / total, mu / total, mv / total
            xx, xy, yy = prior, 0.0, prior
            xu, yu, xv, yv = 0.0, 0.0, 0.0, 0.0
            for k in range(count):
                j, w = index[s, k], weight[k]
                dx, dy = first[j, 0] - mx, first[j, 1] - my
                du, dv = motion[j, 0] - mu, motion[j, 1] - mv
                xx += w * dx * dx
                xy += w * dx * dy
                yy += w * dy * dy
                xu += w * dx * du
                yu += w * dy * du
                xv += w * dx * dv
                yv += w * dy * dv
            determinant = xx * yy - xy * xy
            b, c = (xu * yy - yu * xy) / determinant, (yu * xx - xu * xy) / determinant
            e, f = (xv * yy - yv * xy) / determinant, (yv * xx - xv * xy) / determinant
            a, d = mu - b * mx - c * my, mv - e * mx - f * my
            models[s, 0], models[s, 1], models[s, 2] = a, b, c
            models[s, 3], models[s, 4], models[s, 5] = d, e, f
            if iteration < REWEIGHTINGS:
                for k in range(count):
                    j = index[s, k]
                    off_u = a + b * first[j, 0] + c * first[j, 1] - motion[j, 0]
                    off_v = d + e * first[j, 0] + f * first[j, 1] - motion[j, 1]
                    weight[k] = initial[k] / (1.0 + (off_u * off_u + off_v * off_v) / (RESIDUAL_SCALE * RESIDUAL_SCALE))
