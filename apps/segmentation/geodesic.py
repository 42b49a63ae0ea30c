"""Geodesic distances of pixels from the strokes of either kind, along paths that avoid crossing image edges.

The length of a step between neighbours p, q is  sqrt(|p - q|^2 + |Lab_p - Lab_q|^2), so a path through uniform colour
is short and a path across an edge is long [1].  Both distances are propagated together in forward and backward raster
scans (a chamfer transform).  SWEEPS pairs of scans leave small errors only in maze-like images.

[1] Criminisi, Sharp, Blake. "GeoS: geodesic image segmentation." ECCV 2008.
    Price, Morse, Cohen. "Geodesic graph cut for interactive image segmentation." CVPR 2010.
"""

import numpy as np

from gridcut.device import kernel

SWEEPS = 2
BARRIER_SWEEPS = 2
UNREACHED = np.float32(1e9)


def geodesic_preference(
    lab: np.ndarray, is_object: np.ndarray, is_background: np.ndarray, start: np.ndarray | None = None
) -> np.ndarray:
    """(d_obj - d_bg) / (d_obj + d_bg) in [-1, 1], float32 (H, W): -1 at object strokes, 1 at background strokes.

    `start` (H, W): initial lengths of further paths from the background, UNREACHED or more where there are none.
    0 everywhere if one kind of stroke is missing, and there is no `start`.
    """
    if not is_object.any() or not (is_background.any() or start is not None):
        return np.zeros(is_object.shape, np.float32)
    distance = np.full((*is_object.shape, 2), UNREACHED)
    distance[is_object, 0] = 0.0
    if start is not None:
        distance[:, :, 1] = np.minimum(start, UNREACHED)
    distance[is_background, 1] = 0.0
    for _ in range(SWEEPS):
        sweep_kernel(lab, 1, distance)
        sweep_kernel(lab, -1, distance)
    to_object, to_background = distance[:, :, 0], distance[:, :, 1]
    return (to_object - to_background) / np.maximum(to_object + to_background, np.float32(1e-6))


def geodesic_excess(lab: np.ndarray, marks: np.ndarray, count: int) -> np.ndarray:
    """max(0, (d_l - d_others) / (d_l + d_others)) of geodesic distances from the seeds; float32 (count, H, W).

    `marks` int16 (H, W) is the place of a seed's label, below 0 without a seed.
    """
    distance = np.full((*marks.shape, count), UNREACHED)
    y, x = np.nonzero(marks >= 0)
    distance[y, x, marks[y, x]] = 0.0
    for _ in range(SWEEPS):
        sweep_all_kernel(lab, 1, distance)
        sweep_all_kernel(lab, -1, distance)
    away = np.moveaxis(distance, 2, 0).copy()
    first = second = np.full(marks.shape, np.inf, np.float32)
    for near in away:
        second = np.minimum(second, np.maximum(first, near))
        first = np.minimum(first, near)
    for near in away:
        other = np.where(near == first, second, first)
        near[...] = np.maximum((near - other) / np.maximum(near + other, np.float32(1e-6)), 0.0)
    return away


def depth_in_box(lab: np.ndarray, is_background: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Rank of each pixel of a box by its minimum barrier distance: 0 at the background, 1 at the largest distance.

    `start` (H, W): initial length of paths that start at a pixel inside the box, UNREACHED elsewhere; paths from the
    background start with 0.  Ranks are distributed uniformly over the box, independent of contrast.  float32 (H, W).
    """
    return ranks_inside(barrier_distance(lab, is_background, start), is_background)


def barrier_distance(lab: np.ndarray, is_source: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Minimum barrier distance of each pixel from the sources, bool (H, W); `start` as in `depth_in_box`."""
    distance = np.where(is_source, np.float32(0.0), start.astype(np.float32))
    low, high = lab.copy(), lab.copy()
    for _ in range(BARRIER_SWEEPS):
        barrier_kernel(lab, 1, start, low, high, distance)
        barrier_kernel(lab, -1, start, low, high, distance)
    return distance


def ranks_inside(distance: np.ndarray, is_background: np.ndarray) -> np.ndarray:
    """Ranks of the distances of all pixels but the background's, from 0 to 1; 0 at the background; float32 (H, W)."""
    depth = np.zeros(is_background.shape, np.float32)
    inside = distance[~is_background]
    rank = np.empty(inside.size, np.float32)
    ranks = np.linspace(0.0, 1.0, inside.size, dtype=np.float32)
    ranks[-1:] = 1.0  # also for a single pixel
    rank[np.argsort(inside, kind="stable")] = ranks
    depth[~is_background] = rank
    return depth


@kernel
def sweep_kernel(lab, step, distance):
    """Relax `distance` over the four neighbours visited before; `step` is 1 from the top left, -1 in reverse order."""
    H, W, _ = lab.shape
    for row in range(H):
        y = row if step > 0 else H - 1 - row
        for column in range(W):
            x = column if step > 0 else W - 1 - column
            nearest_object = distance[y, x, 0]
            nearest_background = distance[y, x, 1]
            for k in range(4):
                v = y if k == 3 else y - step
                u = x - step if k == 3 else x - 1 + k
                if v < 0 or v >= H or u < 0 or u >= W:
                    continue
                square = np.float32(2.0) if k == 0 or k == 2 else np.float32(1.0)
                for c in range(3):
                    change = lab[y, x, c] - lab[v, u, c]
                    square += change * change
                length = np.sqrt(square)
                nearest_object = min(nearest_object, distance[v, u, 0] + length)
                nearest_background = min(nearest_background, distance[v, u, 1] + length)
            distance[y, x, 0] = nearest_object
            distance[y, x, 1] = nearest_background


@kernel
def sweep_all_kernel(lab, step, distance):
    """As `sweep_kernel` for any number of distances, (H, W, L)."""
    H, W, L = distance.shape
    for row in range(H):
        y = row if step > 0 else H - 1 - row
        for column in range(W):
            x = column if step > 0 else W - 1 - column
            here = distance[y, x]
            for k in range(4):
                v = y if k == 3 else y - step
                u = x - step if k == 3 else x - 1 + k
                if v < 0 or v >= H or u < 0 or u >= W:
                    continue
                square = np.float32(2.0) if k == 0 or k == 2 else np.float32(1.0)
                for c in range(3):
                    change = lab[y, x, c] - lab[v, u, c]
                    square += change * change
                length, before = np.sqrt(square), distance[v, u]
                for label in range(L):
                    here[label] = min(here[label], before[label] + length)


@kernel
def barrier_kernel(lab, step, start, low, high, distance):
    """As `sweep_kernel` for a path's barrier: its maximum minus its minimum value, summed over channels.

    `low` and `high` (H, W, 3) store the extremes of the best path found so far.
    """
    H, W, C = lab.shape
    for row in range(H):
        y = row if step > 0 else H - 1 - row
        for column in range(W):
            x = column if step > 0 else W - 1 - column
            for k in range(4):
                v = y if k == 3 else y - step
                u = x - step if k == 3 else x - 1 + k
                if v < 0 or v >= H or u < 0 or u >= W or distance[v, u] >= UNREACHED:
                    continue
                barrier = np.float32(0.0)
                before = np.float32(0.0)
                for c in range(C):
                    before += high[v, u, c] - low[v, u, c]
                    barrier += max(high[v, u, c], lab[y, x, c]) - min(low[v, u, c], lab[y, x, c])
                # The initial length of the path is part of every length along it.
                length = barrier + max(np.float32(0.0), distance[v, u] - before)
                if length < distance[y, x]:
                    distance[y, x] = length
                    for c in range(C):
                        high[y, x, c] = max(high[v, u, c], lab[y, x, c])
                        low[y, x, c] = min(low[v, u, c], lab[y, x, c])
