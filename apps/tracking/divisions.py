"""Divisions: tracks that start beside a track which goes on become the second daughter of its cell.

Between two frames, each track that starts in the later one is a row, each detection of the earlier one that is linked
to it is a column.  A pair within the search range costs the square of its distance, plus `cost` squared search ranges;
leaving the new track as it is costs one squared search range, as everywhere.  An assignment of all frames together has
the minimum sum [1], and gives a cell two daughters at most.

The track of a cell that divides ends there, and both daughters are new tracks with it as their parent.

[1] Jaqaman et al. "Robust single-particle tracking in live-cell time-lapse sequences." Nature Methods 5, 2008: splits.
"""

import numpy as np
from scipy.spatial import cKDTree

from apps.motion.linking import link
from apps.tracking.global_links import tracks_of
from gridcut.device import DeviceName


def divided(steps, position: np.ndarray, links: np.ndarray, search_range: float, cost: float, device: DeviceName):
    """Detections of cells that divide, and the first one of their second daughter (K,) each.

    steps   (frame, indices of its detections), by ascending frame
    links   detections linked, earlier and later (L, 2)
    """
    later = np.full(len(position), -1)
    later[links[:, 0]] = links[:, 1]
    is_start = np.ones(len(position), bool)
    is_start[links[:, 1]] = False
    parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    for (before, seen), (frame, found) in zip(steps, steps[1:], strict=False):
        mothers, starts = seen[np.isin(later[seen], found)], found[is_start[found]]
        if frame == before + 1 and len(mothers) and len(starts):
            near = cKDTree(position[starts]).query_ball_tree(cKDTree(position[mothers]), search_range)
            parts.append(
                (np.repeat(starts, [len(one) for one in near]), mothers[np.concatenate(near).astype(np.int64)])
            )
    start, mother = map(np.concatenate, zip(*parts, strict=True))
    square = ((position[start] - position[mother]) ** 2).sum(axis=1)
    limit = search_range**2 * (1 + 1e-9)
    shape = len(position), len(position)
    chosen = link(start, mother, square + cost * search_range**2, shape, limit, device=device, exact_margin=False).pair
    return mother[chosen], start[chosen]


def family_tracks(links: np.ndarray, order: np.ndarray, mother: np.ndarray, second: np.ndarray):
    """The track of each detection, and the parent of each track or -1, if cells `mother` have a `second` daughter."""
    is_divided = np.zeros(len(order), bool)
    is_divided[mother] = True
    ends = is_divided[links[:, 0]]
    track = tracks_of(links[~ends], order)
    parent = np.full(int(track.max(initial=-1)) + 1, -1)
    parent[track[links[ends, 1]]] = track[links[ends, 0]]
    parent[track[second]] = track[mother]
    return track, parent
