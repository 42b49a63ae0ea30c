"""Geodesic distances from the seeds of several labels, in images and volumes with any number of channels.

The length of a step between neighbours p, q is  sqrt(|p - q|^2 + |I_p - I_q|^2), with |p - q| in the sides of a pixel.
As in apps.segmentation.geodesic, distances are propagated by forward and backward raster scans; a scan relaxes each
pixel over the half of its neighbours that precede it.  Pixels that are excluded have no neighbours.

Source: Criminisi, Sharp, Blake. "GeoS: geodesic image segmentation." ECCV 2008.
"""

import itertools

import numpy as np

from apps.segmentation.geodesic import SWEEPS, UNREACHED
from gridcut.device import kernel


def seed_distances(image: np.ndarray, marks: np.ndarray, count: int, spacing, taking_part: np.ndarray) -> np.ndarray:
    """Distances (count, D, H, W), float32, from the seeds of each label; UNREACHED where there is no path.

    image         float32 (D, H, W, channels)
    marks         label of each seed (D, H, W), -1 elsewhere
    taking_part   bool (D, H, W), False for excluded pixels
    """
    axes = [(-1, 0, 1) if size > 1 else (0,) for size in marks.shape]
    before = np.array([step for step in itertools.product(*axes) if step < (0, 0, 0)], np.int64).reshape(-1, 3)
    squares = ((before * np.asarray(spacing, float)) ** 2).sum(axis=1).astype(np.float32)
    distances = np.full((count, *marks.shape), UNREACHED, np.float32)
    for label, distance in enumerate(distances):
        distance[marks == label] = 0.0
        for _ in range(SWEEPS):
            scan(image, taking_part, before, squares, 1, distance)
            scan(image, taking_part, before, squares, -1, distance)
    return distances


@kernel
def scan(image, taking_part, before, squares, step, distance):
    """Relax `distance` over the neighbours visited before; `step` is 1 from the first pixel, -1 in reverse order."""
    D, H, W, channels = image.shape
    for i in range(D * H * W):
        flat = i if step > 0 else D * H * W - 1 - i
        x = flat % W
        y = flat // W % H
        z = flat // (W * H)
        if not taking_part[z, y, x]:
            continue
        nearest = distance[z, y, x]
        for k in range(before.shape[0]):
            c, b, a = z + step * before[k, 0], y + step * before[k, 1], x + step * before[k, 2]
            if c < 0 or c >= D or b < 0 or b >= H or a < 0 or a >= W or not taking_part[c, b, a]:
                continue
            square = squares[k]
            for channel in range(channels):
                change = image[z, y, x, channel] - image[c, b, a, channel]
                square += change * change
            nearest = min(nearest, distance[c, b, a] + np.sqrt(square))
        distance[z, y, x] = nearest
