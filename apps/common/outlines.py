"""Exact outlines of masks: polygons along the sides of pixels, which contain exactly the pixels of the mask.

Pixel (x, y) is the square from the corner (x, y) to (x + 1, y + 1).  `cv2.findContours` connects the centres of pixels
instead; its polygons lose half a pixel on every side.

Each polygon is a part of the mask whose pixels are connected through their sides.  Its rings follow the cracks between
the part and other pixels, with the part on the right of the direction of travel as displayed:

    > v        one pixel: the ring runs right along the upper side, down, left and up;
    ^ <        holes are run in the opposite sense.

Where two pixels of a part touch only at a corner, the ring turns left, towards the other pixel.  A part is connected,
so the two background pixels of that corner belong to different regions, and each ring passes a corner at most once:
rings are simple, touch each other at single corners only, and form a valid polygon.  Other parts count as background.

The signed area of a ring, the sum of (x[i] y[i+1] - x[i+1] y[i]) / 2, is positive for the outer ring, as GeoJSON
requires, and negative for holes.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device import kernel

# Directions of travel, clockwise as displayed: right, down, left, up.
STEP_X = (1, 0, -1, 0)
STEP_Y = (0, 1, 0, -1)


class Polygon(NamedTuple):
    """A connected part of a mask: int32 corners (n, 2) as x, y; the first corner is not repeated at the end."""

    outer: np.ndarray
    holes: tuple[np.ndarray, ...]


def polygons_of(mask: np.ndarray) -> list[Polygon]:
    """The exact outlines of a bool mask (H, W): one polygon per part, in raster order of their first pixels.

    Corners are located only where the outline turns.
    """
    import cv2

    corner, mask = _cropped(mask)
    _, parts = cv2.connectedComponents(mask, connectivity=4, ltype=cv2.CV_32S)
    rings = count = 0
    for fill in (False, True):  # the first pass finds the sizes
        part_of, ends, corners = np.empty(rings, np.int32), np.empty(rings, np.int64), np.empty((count, 2), np.int32)
        rings, count = trace_kernel(parts, np.zeros(mask.shape, np.bool_), fill, part_of, ends, corners)
    outer: dict[int, np.ndarray] = {}
    holes: dict[int, list[np.ndarray]] = {}
    for part, ring in zip(part_of.tolist(), np.split(corners + corner, ends[:-1]) if rings else (), strict=True):
        # The first ring of a part in raster order starts at its first pixel, which is not in a hole.
        if part in outer:
            holes[part].append(ring)
        else:
            outer[part], holes[part] = ring, []
    return [Polygon(outer[part], tuple(holes[part])) for part in outer]


def _cropped(mask):
    """The upper left corner of a mask's bounding box, int32 x, y, and the mask inside it, uint8."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not rows.size:
        return np.zeros(2, np.int32), np.zeros((1, 1), np.uint8)
    inside = mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    return np.array([columns[0], rows[0]], np.int32), np.ascontiguousarray(inside, np.uint8)


@kernel
def trace_kernel(parts, visited, fill, part_of, ends, corners):
    """Trace all rings of labelled parts, 0 for background; return the numbers of rings and corners.

    parts     (H, W), int32
    visited   (H, W), all False; upper sides of pixels that a ring has passed
    fill      whether to write the results: the part of each ring, the end of its corners, and the corners
    """
    height, width = parts.shape
    rings = count = 0
    for first_y in range(height):
        for first_x in range(width):
            part = parts[first_y, first_x]
            if part == 0 or visited[first_y, first_x] or (first_y > 0 and parts[first_y - 1, first_x] == part):
                continue
            # Every ring runs right somewhere, and its first such side in raster order starts at a corner of the ring.
            x, y, direction = first_x, first_y, 0
            while True:
                if direction == 0:
                    if visited[y, x]:
                        break
                    visited[y, x] = True
                x += STEP_X[direction]
                y += STEP_Y[direction]
                # The two pixels ahead, on the left and on the right of the direction of travel.
                if direction == 0:
                    left_x, left_y, right_x, right_y = x, y - 1, x, y
                elif direction == 1:
                    left_x, left_y, right_x, right_y = x, y, x - 1, y
                elif direction == 2:
                    left_x, left_y, right_x, right_y = x - 1, y, x - 1, y - 1
                else:
                    left_x, left_y, right_x, right_y = x - 1, y - 1, x, y - 1
                turn = 1
                if 0 <= left_x < width and 0 <= left_y < height and parts[left_y, left_x] == part:
                    turn = 3
                elif 0 <= right_x < width and 0 <= right_y < height and parts[right_y, right_x] == part:
                    turn = 0
                if turn:
                    if fill:
                        corners[count, 0] = x
                        corners[count, 1] = y
                    count += 1
                    direction = (direction + turn) % 4
            if fill:
                part_of[rings] = part
                ends[rings] = count
            rings += 1
    return rings, count
