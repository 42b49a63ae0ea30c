"""Polygons with holes as single rings, for formats that have no holes.

Each hole is joined to the ring above it by two coinciding vertical lines: one leads into the hole, the other one back.

    +-------+-------+      They enclose no area, so even-odd filling and nonzero filling give the same pixels as the
    |       |       |      polygon with holes.  Lines between columns of pixels also leave pycocotools exact, which
    |   +---+---+   |      rasterises a polygon by its crossings with the columns.
    |   | hole  |   |
    |   +-------+   |
    +---------------+
"""

import numpy as np

from apps.common.outlines import Polygon


def single_ring(polygon: Polygon) -> np.ndarray:
    """The polygon as one ring of corners (n, 2), the first one not repeated; its outer ring if it has no holes."""
    if not polygon.holes:
        return polygon.outer
    rings = [polygon.outer, *(_from_top(hole) for hole in polygon.holes)]
    branches = _branches(rings)
    # The ring above a hole has a higher top, so the branches of a hole are complete before the hole itself is joined.
    for ring in sorted(range(1, len(rings)), key=lambda ring: -int(rings[ring][0, 1])):
        rings[ring] = _joined(rings, ring, branches)
    return _joined(rings, 0, branches)


def _from_top(hole):
    """The hole starting with its topmost corner, the leftmost one of these."""
    return np.roll(hole, -int(np.lexsort((hole[:, 0], hole[:, 1]))[0]), axis=0)


def _branches(rings) -> dict[int, list[tuple]]:
    """For each ring the holes to join to it: (side, distance from the side's first corner, corner x, y, hole)."""
    corners = np.concatenate(rings).astype(np.int64)
    following = np.concatenate([np.roll(ring, -1, axis=0) for ring in rings]).astype(np.int64)
    begins = np.cumsum([0, *map(len, rings[:-1])])
    sides = np.flatnonzero(corners[:, 1] == following[:, 1])  # horizontal ones
    x, ends_x = np.sort(np.stack([corners[sides, 0], following[sides, 0]]), axis=0)
    # Horizontal sides pixel by pixel, in order of columns and from top to bottom in each.
    lengths = ends_x - x
    side_of = np.repeat(sides, lengths)
    columns = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths) + np.repeat(x, lengths)
    height = int(corners[:, 1].max()) + 1
    keys = columns * height + corners[side_of, 1]
    order = np.argsort(keys)
    tops = corners[begins[1:]]
    # The last side above the hole's top in the column on the right of its first corner.
    above = side_of[order[np.searchsorted(keys[order], tops[:, 0] * height + tops[:, 1]) - 1]]
    ring_of = np.searchsorted(begins, above, side="right") - 1
    distances = np.abs(corners[above, 0] - tops[:, 0])
    found: dict[int, list[tuple]] = {}
    for hole, (ring, side, distance) in enumerate(zip(ring_of, above - begins[ring_of], distances, strict=True), 1):
        corner = (int(tops[hole - 1, 0]), int(corners[above[hole - 1], 1]))
        found.setdefault(int(ring), []).append((int(side), int(distance), corner, hole))
    return found


def _joined(rings, ring: int, branches) -> np.ndarray:
    """A ring with all its branches inserted."""
    corners, pieces, start = rings[ring], [], 0
    for side, _, corner, hole in sorted(branches.get(ring, ())):
        pieces += [corners[start : side + 1], [corner], rings[hole], rings[hole][:1], [corner]]
        start = side + 1
    whole = np.concatenate([*pieces, corners[start:]]).astype(np.int32)
    return whole[(whole != np.roll(whole, 1, axis=0)).any(axis=1)]  # a branch may start at a corner of the ring
