"""The linker "global": link the detections of all frames together, at minimum total cost.

Every detection has at most one link to an earlier and one to a later detection, up to `memory` + 1 frames away and
within the search range.  A link costs its squared distance, plus GAP_COST * search_range^2 for the first frame that it
skips, and again whenever their number doubles.  The last detection of a track costs search_range^2, which covers the
start of another track, too.  This is a flow of minimum cost in which every detection has a capacity of 1 and must be
used [1].  Since a link excludes only links with the same earlier or the same later detection, it is an assignment: the
row of a detection is its end, the column its start.  One sparse assignment of all detections therefore finds the
optimum, and its prices certify it; a shortest-path search visits only the tracks that a new link changes.

[1] Zhang, Li, Nevatia. "Global data association for multi-object tracking using network flows." CVPR 2008.
"""

from collections import deque
from collections.abc import Iterable
from math import log2

import numpy as np
from scipy.spatial import cKDTree

GAP_COST = 0.2  # in squared search ranges; half of it, or none, made more wrong links than frame by frame


def pairs_of_frames(steps: Iterable, position: np.ndarray, search_range: float, memory: int):
    """All pairs that may be linked: earlier and later detections, and costs.

    steps   (frame, indices of its detections), by ascending frame
    """
    earlier: deque = deque(maxlen=memory + 1)  # of the last frames: number, detections, and a tree of their positions
    parts: list = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
    for frame, found in steps:
        tree = cKDTree(position[found], leafsize=4)  # few points are in range: 1.6 times faster than with 16
        for before, seen, tree_before in earlier:
            gap = int(frame - before) - 1
            if gap > memory:
                continue
            near = tree_before.sparse_distance_matrix(tree, search_range, output_type="ndarray")
            row, col = seen[near["i"]], found[near["j"]]
            square = ((position[row] - position[col]) ** 2).sum(axis=1)
            parts.append((row, col, square + gap_cost(gap) * search_range**2))
        earlier.append((frame, found, tree))
    return tuple(map(np.concatenate, zip(*parts, strict=True)))


def gap_cost(frames: int) -> float:
    """The cost of skipping some frames, in squared search ranges."""
    return GAP_COST * (1 + log2(frames)) if frames else 0.0


def tracks_of(link: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The track of each detection, from all links (L, 2); tracks are numbered by their first detection in `order`."""
    first = np.arange(len(order))
    first[link[:, 1]] = link[:, 0]
    while True:
        before = first[first]
        if (before == first).all():
            break
        first = before
    number = np.empty(len(order), np.int64)
    starts = order[first[order] == order]
    number[starts] = np.arange(len(starts))
    return number[first]
