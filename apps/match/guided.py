"""Matches of two pictures by an exact assignment: by looks alone, then guided by a geometry.

    first_matches      nearest descriptors both ways; a place may stay unmatched at a share of what its fifth nearest
                       costs, and only matches with a margin are kept: the ratio test, made global
    guided_by_plane    pairs near where a homography puts them, the second picture's points found anew as the first
                       camera would see it; the threshold narrows from round to round
    guided_by_lines    pairs near their epipolar lines that move as the matches round them

Points of one pixel are one place with several descriptors: a place is matched once.
"""

import numpy as np

from apps.match.geometry import Geometry, apply, epipolar_distance, fit, transfer_distance
from apps.match.views import seen_from_first
from apps.motion.agreement import LocalMotion
from apps.motion.candidates import nearest_descriptors
from apps.motion.linking import link
from apps.motion.matches import Matches
from apps.motion.points import Points

CANDIDATES = 5  # descriptors looked at from each point
UNMATCHED_SHARE = 0.85  # of the distance of the last of them: what leaving a place unmatched costs
MIN_MARGIN = 0.05  # least that a first match must be better by
MARGIN_SCALE = 0.2  # margin at which the confidence is 1 - 1 / e
COARSE_THRESHOLDS = (10.0, 6.0)  # pixels, of the rounds before the last
WIDE_THRESHOLD, FEW_INLIERS = 25.0, 60  # a homography of fewer matches than this may be as far off away from them
PLANE_UNMATCHED_COST = (
    0.8  # distance of descriptors and from the geometry together that leaving a place unmatched costs
)
LINES_UNMATCHED_COST = 0.55  # the same along epipolar lines, which rule out less
DEVIATION_WEIGHT = 0.3  # price of a pair on the rim of the threshold
MOTION_SHARE = 0.02  # of its motion that a match may stray from its neighbours', on top of the threshold
ROUNDS = 2  # of matching along epipolar lines


def first_matches(first: Points, second: Points, linker="assignment", device="auto", pairs=None) -> Matches:
    """Matches by looks alone, one-to-one, those without a margin left out.  `pairs` of `nearest_pairs`."""
    row, col, dissimilarity, farthest = pairs or nearest_pairs(first, second)
    pair, margin = _link_positions(
        first.xy, second.xy, row, col, dissimilarity, UNMATCHED_SHARE * farthest, linker, device
    )
    kept = margin > MIN_MARGIN
    pair, margin = pair[kept], margin[kept]
    return _matches(first.xy[row[pair]], second.xy[col[pair]], dissimilarity[pair], margin)


def nearest_pairs(first: Points, second: Points):
    """Pairs of a point and one of the CANDIDATES to it in looks, both ways: row, col and distance of each; and for each
    row the distance of the last of its nearest.
    """
    there, distance = nearest_descriptors(first.descriptors, second.descriptors, CANDIDATES)
    back, back_distance = nearest_descriptors(second.descriptors, first.descriptors, CANDIDATES)
    row = np.concatenate([np.repeat(np.arange(len(first)), there.shape[1]), back.ravel()])
    col = np.concatenate([there.ravel(), np.repeat(np.arange(len(second)), back.shape[1])])
    return row, col, np.concatenate([distance.ravel(), back_distance.ravel()]), distance[:, -1]


def guided_by_plane(images, points, geometry: Geometry, threshold, linker, device):
    """Points of the second picture found anew as the first camera would see it; the threshold narrows."""
    grey, other = images
    first = points[0]
    wide = (WIDE_THRESHOLD,) if geometry.inliers < FEW_INLIERS else ()
    for width in [*(t for t in wide + COARSE_THRESHOLDS if t > threshold), threshold]:
        second = seen_from_first(grey.shape, other, geometry.matrix)
        back = apply(np.linalg.inv(geometry.matrix), second.xy)
        row, col, off = _pairs_near(first.xy, back, width)
        dissimilarity = _dissimilarity(first.descriptors, second.descriptors, row, col)
        cost = dissimilarity + DEVIATION_WEIGHT * (off / width) ** 2
        pair, margin = _link_positions(first.xy, second.xy, row, col, cost, PLANE_UNMATCHED_COST, linker, device)
        found = _matches(first.xy[row[pair]], second.xy[col[pair]], cost[pair], margin)
        better = fit(found.first, found.second, "homography", float(other.size), refit=True)
        geometry = better or geometry
    return _within(found, geometry, threshold)


def guided_by_lines(points, pairs, found: Matches, geometry: Geometry, threshold, area, linker, device):
    """Pairs near their epipolar lines that move as the matches round them, among the nearest descriptors.

    The line says nothing of the place along it; the neighbours do.
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
        pair, margin = _link_positions(
            first.xy, second.xy, row[near], col[near], cost, LINES_UNMATCHED_COST, linker, device
        )
        found = _matches(first.xy[row[near[pair]]], second.xy[col[near[pair]]], cost[pair], margin)
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
    """Distances of descriptors, pair by pair."""
    similarity = np.empty(len(row))
    for start in range(0, len(row), 1 << 16):
        part = slice(start, start + (1 << 16))
        similarity[part] = np.einsum("ij,ij->i", first[row[part]], second[col[part]])
    return np.sqrt(np.maximum(2 - 2 * similarity, 0))


def _link_positions(first, second, row, col, cost, unmatched_cost, linker, device):
    """Link places rather than points: SIFT may put several points, turned differently, on one pixel."""
    here, rows = _positions(first)
    there, cols = _positions(second)
    if np.ndim(unmatched_cost):
        lowest = np.full(rows, np.inf)
        np.minimum.at(lowest, here, unmatched_cost)
        unmatched_cost = lowest
    found = link(here[row], there[col], cost, (rows, cols), unmatched_cost, linker, device)
    return found.pair, found.margin


def _positions(xy: np.ndarray) -> tuple[np.ndarray, int]:
    pixel = np.rint(xy).astype(np.int64)
    _, place = np.unique(pixel[:, 1] * (1 << 24) + pixel[:, 0], return_inverse=True)
    return place, int(place.max(initial=-1)) + 1


def _matches(first, second, cost, margin) -> Matches:
    confidence = 1 - np.exp(-margin / MARGIN_SCALE)
    return Matches(first, second, cost, margin, confidence)
