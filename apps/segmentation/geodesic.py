"""Geodesic distances from the strokes of each label, along paths that avoid crossing edges of an image or a volume.

The length of a step between neighbours p, q is  sqrt(|p - q|^2 + |I_p - I_q|^2), with |p - q| in the sides of a pixel,
so a path through uniform colour is short and a path across an edge is long [1].  All distances are propagated together
in forward and backward raster scans (a chamfer transform), which relax each pixel over the half of its neighbours that
precede it.  SWEEPS pairs of scans leave small errors only in maze-like images.

[1] Criminisi, Sharp, Blake. "GeoS: geodesic image segmentation." ECCV 2008.
    Price, Morse, Cohen. "Geodesic graph cut for interactive image segmentation." CVPR 2010.
"""

import itertools

import numpy as np

from apps.segmentation.grid_cut import pairs
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
    distance = np.full((2, *is_object.shape), UNREACHED)
    if start is not None:
        distance[1] = np.minimum(start, UNREACHED)
    distance[0, is_object] = distance[1, is_background] = 0.0
    to_object, to_background = relaxed(lab, distance)
    return (to_object - to_background) / np.maximum(to_object + to_background, np.float32(1e-6))


def geodesic_excess(lab: np.ndarray, marks: np.ndarray, count: int) -> np.ndarray:
    """max(0, (d_l - d_others) / (d_l + d_others)) of geodesic distances from the seeds; float32 (count, H, W).

    `marks` int16 (H, W) is the place of a seed's label, below 0 without a seed.
    """
    away = seed_distances(lab, marks, count)
    first = second = np.full(marks.shape, np.inf, np.float32)
    for near in away:
        second = np.minimum(second, np.maximum(first, near))
        first = np.minimum(first, near)
    for near in away:
        other = np.where(near == first, second, first)
        near[...] = np.maximum((near - other) / np.maximum(near + other, np.float32(1e-6)), 0.0)
    return away


def seed_distances(
    image: np.ndarray, marks: np.ndarray, count: int, spacing=None, taking_part: np.ndarray | None = None
) -> np.ndarray:
    """Distances (count, *grid), float32, from the seeds of each label; arguments as of `relaxed`.

    marks         place of the label of each seed (*grid), below 0 without a seed
    """
    distance = np.full((count, *marks.shape), UNREACHED)
    where = np.nonzero(marks >= 0)
    distance[(marks[where], *where)] = 0.0
    return relaxed(image, distance, spacing, taking_part)


def relaxed(image: np.ndarray, distance: np.ndarray, spacing=None, taking_part: np.ndarray | None = None) -> np.ndarray:
    """The lengths of the shortest paths from where initial lengths (L, *grid) begin; UNREACHED where there is none.

    image         float32 (*grid, channels), of up to three axes besides the channels
    spacing       sides of a pixel; default: 1
    taking_part   bool (*grid), False for excluded pixels, which have no neighbours; default: all take part
    """
    sides = np.ones(distance.ndim - 1) if spacing is None else np.asarray(spacing, float)
    steps = [step for step in itertools.product(*[(-1, 0, 1)] * len(sides)) if step < (0,) * len(sides)]
    length = np.full((*distance.shape[1:], len(steps)), UNREACHED)
    for k, step in enumerate(steps):
        here, there = pairs(image, step)
        change = here - there
        square = np.einsum("...c,...c->...", change, change) + np.float32(np.square(step * sides).sum())
        if taking_part is not None:
            square[~np.logical_and(*pairs(taking_part, step))] = UNREACHED**2
        pairs(length[..., k], step)[0][...] = np.sqrt(square)
    strides = np.array(length.strides[:-1]) // length.strides[-2]
    found = np.ascontiguousarray(np.moveaxis(distance, 0, -1)).reshape(-1, len(distance))
    for _ in range(SWEEPS):
        sweep_kernel(length.reshape(-1, len(steps)), steps @ strides, 1, found)
        sweep_kernel(length.reshape(-1, len(steps)), steps @ strides, -1, found)
    return np.moveaxis(found, -1, 0).reshape(distance.shape)


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
def sweep_kernel(length, behind, direction, distance):
    """Relax `distance` (n, L) over the neighbours visited before; `direction` is 1 from the first pixel, else -1.

    The neighbours of pixel p are at p + behind[k], or on the way back at p - behind[k]; length[p, k] is that of the
    step from p to the former, UNREACHED without one.
    """
    n, count = length.shape
    for i in range(n):
        here = i if direction > 0 else n - 1 - i
        for label in range(distance.shape[1]):
            nearest = distance[here, label]
            for k in range(count):
                late = here if direction > 0 else here - behind[k]
                if late < n and length[late, k] < UNREACHED:
                    nearest = min(nearest, distance[here + direction * behind[k], label] + length[late, k])
            distance[here, label] = nearest


@kernel
def barrier_kernel(lab, step, start, low, high, distance):
    """As `sweep_kernel` in an image, for a path's barrier: its maximum minus its minimum, summed over channels.

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
