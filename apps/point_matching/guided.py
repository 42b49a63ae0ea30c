"""Match two images by exact assignment: by descriptors alone, then guided by a geometric model.

    first_matches      candidates are nearest descriptors in both directions; leaving a position unmatched costs a share
                       of the distance of its fifth nearest; only matches with a margin are kept, as in a global ratio
                       test
    guided_by_plane    candidates are pairs near the homography, with points detected again in the second image warped
                       to the first view; the threshold decreases from round to round
    guided_by_lines    candidates are pairs near their epipolar lines whose motion is similar to neighbouring matches

Points on one pixel are one position with several descriptors; a position is matched once.
"""

import numpy as np

from apps.motion.agreement import LocalMotion
from apps.motion.candidates import nearest_descriptors
from apps.motion.linking import link_positions
from apps.motion.matches import Matches
from apps.motion.points import Points
from apps.point_matching.geometry import Geometry, apply, epipolar_distance, fit, transfer_distance
from apps.point_matching.views import seen_from_first

CANDIDATES = 5  # nearest descriptors per point
UNMATCHED_SHARE = 0.85  # of the distance of the last of them: cost of leaving a position unmatched
MIN_MARGIN = 0.05  # minimum margin of a first match
MARGIN_SCALE = 0.2  # margin at which the confidence is 1 - 1 / e
COARSE_THRESHOLDS = (10.0, 6.0)  # pixels: inlier thresholds of the rounds before the last
WIDE_THRESHOLD, FEW_INLIERS = 25.0, 60  # pixels of an extra first round for homographies with few inliers; inliers
PLANE_UNMATCHED_COST = 0.8  # cost of leaving a position unmatched: descriptor distance plus weighted deviation
LINES_UNMATCHED_COST = 0.55  # the same along epipolar lines, which exclude fewer pairs
DEVIATION_WEIGHT = 0.3  # cost of a pair at the inlier threshold, in addition to its descriptor distance
MOTION_SHARE = 0.02  # of its motion by which a match may deviate from its neighbours, in addition to the threshold
ROUNDS = 2  # of matching along epipolar lines


def first_matches(first: Points, second: Points, device="auto", pairs=None) -> Matches:
    """Match by descriptors alone, one-to-one, and drop matches without a margin.  `pairs`: see `nearest_pairs`."""
    row, col, dissimilarity, farthest = pairs or nearest_pairs(first, second)
    links = link_positions(first.xy, second.xy, row, col, dissimilarity, UNMATCHED_SHARE * farthest, device)
    kept = links.margin > MIN_MARGIN
    pair, margin = links.pair[kept], links.margin[kept]
    return _matches(first.xy[row[pair]], second.xy[col[pair]], dissimilarity[pair], margin)


def nearest_pairs(first: Points, second: Points):
    """Return the CANDIDATES nearest descriptors of each point, in both directions.

    The result is row, column and distance of each pair, and per row the distance of its last candidate.
    """
    there, distance = nearest_descriptors(first.descriptors, second.descriptors, CANDIDATES)
    back, back_distance = nearest_descriptors(second.descriptors, first.descriptors, CANDIDATES)
    row = np.concatenate([np.repeat(np.arange(len(first)), there.shape[1]), back.ravel()])
    col = np.concatenate([there.ravel(), np.repeat(np.arange(len(second)), back.shape[1])])
    return row, col, np.concatenate([distance.ravel(), back_distance.ravel()]), distance[:, -1]


def guided_by_plane(images, points, geometry: Geometry, threshold, device):
    """Match again near a homography, with points of the second image detected in its warp to the first view."""
    grey, other = images
    first = points[0]
    wide = (WIDE_THRESHOLD,) if geometry.inliers < FEW_INLIERS else ()
    for width in [*(t for t in wide + COARSE_THRESHOLDS if t > threshold), threshold]:
        second = seen_from_first(grey.shape, other, geometry.matrix)
        back = apply(np.linalg.inv(geometry.matrix), second.xy)
        row, col, off = _pairs_near(first.xy, back, width)
        dissimilarity = _dissimilarity(first.descriptors, second.descriptors, row, col)
        cost = dissimilarity + DEVIATION_WEIGHT * (off / width) ** 2
        links = link_positions(first.xy, second.xy, row, col, cost, PLANE_UNMATCHED_COST, device)
        pair = links.pair
        found = _matches(first.xy[row[pair]], second.xy[col[pair]], cost[pair], links.margin)
        better = fit(found.first, found.second, "homography", float(other.size), refit=True)
        geometry = better or geometry
    return _within(found, geometry, threshold)


def guided_by_lines(points, pairs, found: Matches, geometry: Geometry, threshold, area, device):
    """Match again among the nearest descriptors, near epipolar lines, with motions similar to neighbouring matches.

    An epipolar line does not constrain the position along it; the motion of the neighbours does.
    """
    first, second = points
    row, col, dissimilarity, _ = pairs
    motion = second.xy[col] - first.xy[row]
    allowed = threshold + MOTION_SHARE * np.linalg.norm(motion, axis=1)
    found = found.select(epipolar_distance(geometry.matrix, found.first, found.second) < threshold)
    for _ in range(ROUNDS):
        off = epipolar_distance(geometry.matrix, first.xy[row], second.xy[col])
        near = np.flatnonzero((off < threshold) & (dissimilarity < LINES_UNMATCHED_COST))
        if len(found):
            here, place = np.unique(row[near], return_inverse=True)
            deviation = (
                LocalMotion(found.first, found.motion).at(first.xy[here]).deviation(motion[near], place) / allowed[near]
            )
            near, deviation = near[deviation < 1], deviation[deviation < 1]
        else:
            deviation = np.zeros(len(near))
        cost = dissimilarity[near] + DEVIATION_WEIGHT * ((off[near] / threshold) ** 2 + deviation**2)
        links = link_positions(first.xy, second.xy, row[near], col[near], cost, LINES_UNMATCHED_COST, device)
        pair = near[links.pair]
        found = _matches(first.xy[row[pair]], second.xy[col[pair]], cost[links.pair], links.margin)
        geometry = fit(found.first, found.second, "fundamental", area) or geometry
    return _within(found, geometry, threshold)


def _within(found: Matches, geometry: Geometry, threshold: float) -> tuple[Matches, Geometry]:
    measure = transfer_distance if geometry.model == "homography" else epipolar_distance
    return found.select(measure(geometry.matrix, found.first, found.second) <= threshold), geometry


def _pairs_near(first, second, threshold: float):
    from scipy.spatial import cKDTree

    near = cKDTree(first).sparse_distance_matrix(cKDTree(second), threshold, output_type="ndarray")
    return near["i"].astype(np.int64), near["j"].astype(np.int64), near["v"]


def _dissimilarity(first, second, row, col) -> np.ndarray:
    """Return the descriptor distance of each pair."""
    similarity = np.empty(len(row))
    for start in range(0, len(row), 1 << 16):
        part = slice(start, start + (1 << 16))
        similarity[part] = np.einsum("ij,ij->i", first[row[part]], second[col[part]])
    return np.sqrt(np.maximum(2 - 2 * similarity, 0))


def _matches(first, second, cost, margin) -> Matches:
    confidence = 1 - np.exp(-margin / MARGIN_SCALE)
    return Matches(first, second, cost, margin, confidence)
