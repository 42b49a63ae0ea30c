"""Geodesic distances from the strokes of each label, along paths that avoid crossing edges of an image.

The length of a step between neighbours p, q is  sqrt(|p - q|^2 + |I_p - I_q|^2), so a path through uniform colour is
short and a path across an edge is long [1].  All distances are propagated together in forward and backward raster scans
(a chamfer transform), which relax each pixel over the half of its neighbours that precede it, those in other lines a
whole line at a time.  SWEEPS pairs of scans leave small errors only in maze-like images.

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
    distance = np.full((count, *marks.shape), UNREACHED)
    where = np.nonzero(marks >= 0)
    distance[(marks[where], *where)] = 0.0
    away = relaxed(lab, distance)
    first = second = np.full(marks.shape, np.inf, np.float32)
    for near in away:
        second = np.minimum(second, np.maximum(first, near))
        first = np.minimum(first, near)
    for near in away:
        other = np.where(near == first, second, first)
        near[...] = np.maximum((near - other) / np.maximum(near + other, np.float32(1e-6)), 0.0)
    return away


def relaxed(image: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """The lengths of the shortest paths from where initial lengths (L, H, W) begin; UNREACHED where there is none.

    image   float32 (H, W, channels)
    """
    steps = np.array([(-1, -1), (-1, 0), (-1, 1), (0, -1)])
    square = np.float32(np.square(steps).sum(axis=1))
    # Of an image with closed sides, the neighbours of a line that is not closed are lines, too.
    rim = ((0, 0), (1, 1), (1, 1))
    closed = UNREACHED * np.pad(np.zeros(distance.shape[1:], bool), 1, constant_values=True)
    planes = np.pad(np.moveaxis(image, -1, 0), rim).reshape(image.shape[-1], -1)
    found = np.pad(distance, rim, constant_values=UNREACHED)
    behind = steps @ np.array(closed.strides) // closed.itemsize
    for direction in (1, -1) * SWEEPS:
        sweep_kernel(planes, closed, square, behind, direction, found.reshape(len(found), -1))
    return found[:, 1:-1, 1:-1]


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
def sweep_kernel(image, closed, square, behind, direction, distance):
    """Relax `distance` (L, n) over the neighbours visited before; `direction` is 1 from the first pixel, else -1.

    The neighbours of pixel p are at p + behind[k], the last one in its own line; on the way back at p - behind[k].
    `square` is the square of a step's length between equal colours of `image` (C, n).  `closed`, of the image's shape,
    is UNREACHED at its rim, and else 0.
    """
    width, last = closed.shape[-1], len(behind) - 1
    lines, first = closed.size // width, -behind[0] // width
    walls, length = closed.ravel(), np.empty(width - 2, np.float32)
    for number in range(first, lines - first):
        start = (number if direction > 0 else lines - 1 - number) * width + 1
        stop = start + width - 2
        for k in range(last + 1):
            shift = direction * behind[k]
            length[:] = square[k]
            for c in range(len(image)):
                here, there = image[c, start:stop], image[c, start + shift : stop + shift]
                for x in range(width - 2):
                    change = here[x] - there[x]
                    length[x] += change * change
            wall = walls[start:stop]
            for x in range(width - 2):
                length[x] = np.sqrt(length[x]) + wall[x]
            for label in range(len(distance)):
                here, there = distance[label, start:stop], distance[label, start + shift : stop + shift]
                if k < last:
                    for x in range(width - 2):
                        here[x] = min(here[x], there[x] + length[x])
                else:
                    nearest = UNREACHED
                    for i in range(width - 2):
                        x = i if direction > 0 else width - 3 - i
                        nearest = min(here[x], nearest + length[x])
                        here[x] = nearest


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
