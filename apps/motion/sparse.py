"""Sparse matches of two frames: proposals for each point, then one exact assignment.

    seeds       SIFT points of both frames linked by their descriptors, kept if consistent with their neighbours
    points      the seeds, and corners between them
    proposals   positions at which trackers find each point, from zero motion and from the motion of the seeds
    matches     the one-to-one set of proposals with the minimum sum of log odds of being wrong

Seeds provide large motion, rotation and changes of scale; proposals are accurate to a fraction of a pixel.  The columns
of the assignment are the pixels of the second frame, so no two matches end on the same pixel.
"""

from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np
from numpy.typing import ArrayLike

from apps.motion.agreement import ExpectedMotion, LocalMotion, agrees_with_neighbours
from apps.motion.candidates import nearest_descriptors, proposals
from apps.motion.linking import link, link_positions, pixels_of
from apps.motion.matches import Matches
from apps.motion.odds import cornerness, log_odds, nearest_other_proposal, probability
from apps.motion.points import MIN_POINTS, SPACING, Points, check_count, corners, grey_pair, keypoints, patches
from gridcut.device import DeviceName, run_threads, thread_count

PIXELS_PER_POINT = 80  # density of points
MIN_POINTS_PER_THREAD = 512  # of those whose proposals are rated
MIN_BUDGET, MAX_BUDGET = 1000, 20000  # limits of the number of points
MAX_SEEDS = 3000  # SIFT points per frame
MAX_SEED_PIXELS = 400_000  # larger frames are reduced to this size for the seeds
MAX_CANDIDATES = 4  # per descriptor of the first frame
MAX_RATIO = 0.95  # of a seed's distance to that of the most similar descriptor elsewhere in the frame
MIN_MARGIN = 0.15  # of a seed
SAME_POINT_RADIUS = 5.0  # pixels: nearer points are the same point at another scale
UNMATCHED_COST = -2.5  # log odds: accepted pairs are right with a probability of at least 92 %
# Without seeds, the expected motion is that of proposals on which two trackers agree and whose patches correlate.
MAX_TRACKER_DISTANCE = 0.5  # pixels
MIN_CORRELATION = 0.8


def match_points(
    first: ArrayLike,
    second: ArrayLike,
    *,
    seed_points: tuple[Points, Points] | None = None,
    device: DeviceName = "auto",
) -> Matches:
    """Match points of two frames one-to-one.

    Parameters
    ----------
    first, second : ndarray of uint8, (H, W) or (H, W, 3)
        Grey or RGB frames of the same size.
    seed_points : (Points, Points), optional
        The SIFT points of both frames, if they are known (`seed_points_of`).
    device : {"auto", "cpu", "cuda"}
        Checked for availability; these sparse assignments are solved on the CPU on every device.

    Returns
    -------
    Matches
        With log odds as cost and probabilities of being right as confidence.  It may be empty if the frames do not
        show the same scene.

    Raises
    ------
    InputError
        If the frames are not uint8 grey or RGB, differ in size, or have fewer than four points.
    ValueError
        If the device is unknown.
    """
    first, second = grey_pair(first, second)
    seeds = seed_matches(first, second, seed_points, device=device)
    points = _points(first, seeds)
    check_count(points, "first frame")
    matches = find_points(first, second, points, seeds, device)[1]
    return matches.select(agrees_with_neighbours(matches.first, matches.motion))


def find_points(
    first, second, points, seeds: Matches | None, device: DeviceName = "auto", unmatched_cost: float = UNMATCHED_COST
):
    """Find points (N, 2) of the first uint8 grey frame in the second; return indices (k,) of those found, and Matches.

    The expected motion is that of the seeds; with fewer than MIN_POINTS of them, that on which the trackers agree.
    """
    motion = LocalMotion(seeds.first, seeds.motion) if seeds is not None and len(seeds) >= MIN_POINTS else None
    position, found = proposals(first, second, points, None if motion is None else motion.dense(first.shape))
    if motion is None:
        motion = _motion_without_seeds(first, second, points, position, found)
    if motion is None:
        odds = np.full(found.shape, np.inf)
    else:
        odds = proposal_odds(first, second, points, position, found, motion.at(points, others=True))
    return link_proposals(points, position, odds, unmatched_cost, device)


def seed_matches(
    first: np.ndarray,
    second: np.ndarray,
    found: tuple[Points, Points] | None = None,
    *,
    device: DeviceName = "auto",
) -> Matches:
    """Match SIFT points of two uint8 grey frames one-to-one; the points may be given (`found`).

    The cost of a pair is its descriptor distance over the distance to the most similar descriptor elsewhere; leaving a
    point unmatched costs MAX_RATIO.  Matches with a margin below MIN_MARGIN are dropped, as in a global ratio test.
    Points on one pixel are one position, which is matched once.
    """
    if found is None:
        with ThreadPoolExecutor(2) as pool:
            one, two = pool.map(seed_points_of, (first, second))
    else:
        one, two = found
    index, distance = nearest_descriptors(one.descriptors, two.descriptors, MAX_CANDIDATES + 2)
    count = min(MAX_CANDIDATES, index.shape[1])
    if not count:
        return Matches(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0), np.zeros(0), np.zeros(0))
    rows = np.arange(len(index))
    there = two.xy[index]
    elsewhere = np.linalg.norm(there - there[:, :1], axis=2) > SAME_POINT_RADIUS
    elsewhere[:, -1] = True
    cost = distance[:, :count] / np.maximum(distance[rows, elsewhere.argmax(axis=1)], 1e-9)[:, None]
    row, col = np.repeat(rows, count), index[:, :count].ravel()
    links = link_positions(one.xy, two.xy, row, col, cost.ravel(), MAX_RATIO, device)
    kept = links.margin >= MIN_MARGIN
    pair, margin = links.pair[kept], links.margin[kept]
    row, col, cost = row[pair], col[pair], cost.ravel()[pair]
    seeds = Matches(one.xy[row], two.xy[col], cost, margin, 1 - cost / MAX_RATIO)
    return seeds.select(agrees_with_neighbours(seeds.first, seeds.motion))


def proposal_odds(first, second, points, position, found, expected: ExpectedMotion) -> np.ndarray:
    """Return the log odds (N, S) that proposals (N, S, 2) are wrong, given the expected motion at the points.

    The log odds of failed trackers are inf.
    """
    separation = nearest_other_proposal(position, found)
    odds = np.full(found.shape, np.inf)
    corner, turned = cornerness(first, points), np.eye(2) + expected.linear
    count, threads = len(points), min(thread_count(), 1 + len(points) // MIN_POINTS_PER_THREAD)

    def rate(thread):
        part = slice(count * thread // threads, count * (thread + 1) // threads)
        first_patches = patches(first, points[part])
        for source in range(found.shape[1]):
            k = np.flatnonzero(found[part, source])
            one, k = first_patches[k], k + part.start
            there = position[k, source]
            # The expected rotation and scale may be wrong, so the patch is also compared without them.
            correlation = (one * patches(second, there)).sum(axis=1)
            correlation = np.maximum(correlation, (one * patches(second, there, linear=turned[k])).sum(axis=1))
            deviation = expected.deviation(there - points[k], k)
            odds[k, source] = log_odds(deviation, separation[k, source], np.maximum(1 - correlation, 0), corner[k])

    run_threads(rate, threads)
    return odds


def link_proposals(points, position, odds, unmatched_cost: float = UNMATCHED_COST, device: DeviceName = "auto"):
    """Select proposals (N, S, 2) with log odds (N, S) one-to-one; return indices (k,) of their points, and Matches."""
    row, source = np.nonzero(odds < unmatched_cost)
    there, cost = position[row, source], odds[row, source]
    col, columns = pixels_of(there)
    links = link(row, col, cost, (len(points), columns), unmatched_cost, device)
    pair = links.pair
    return row[pair], Matches(points[row[pair]], there[pair], cost[pair], links.margin, probability(cost[pair]))


def _points(grey, seeds: Matches) -> np.ndarray:
    """Return points of the first frame to match: the best seed per square of SPACING pixels, and corners between."""
    budget = int(np.clip(grey.size // PIXELS_PER_POINT, MIN_BUDGET, MAX_BUDGET))
    square = np.floor(seeds.first / SPACING).astype(np.int64)
    order = np.argsort(-seeds.confidence, kind="stable")
    _, kept = np.unique(square[order], axis=0, return_index=True)
    points = seeds.first[np.sort(order[kept])][:budget]
    return np.concatenate([points, corners(grey, budget - len(points), taken=points)])


def seed_points_of(grey: np.ndarray, max_pixels: int = MAX_SEED_PIXELS) -> Points:
    """Return the SIFT points of a uint8 grey frame, which is reduced to at most `max_pixels` pixels."""
    scale = (max_pixels / grey.size) ** 0.5
    if scale >= 1.0:
        return keypoints(grey, MAX_SEEDS)
    small = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    found = keypoints(small, MAX_SEEDS)
    # Pixels are squares: the centres of pixel 0 of both frames differ.
    ratio = np.array([grey.shape[1] / small.shape[1], grey.shape[0] / small.shape[0]])
    return Points((found.xy + 0.5) * ratio - 0.5, found.descriptors)


def _motion_without_seeds(first, second, points, position, found) -> LocalMotion | None:
    """Fit the motion to proposals on which two trackers and the patches agree, if neighbours are consistent."""
    separation = nearest_other_proposal(position, found)
    best = separation.argmin(axis=1)
    reliable = np.flatnonzero(separation.min(axis=1) < MAX_TRACKER_DISTANCE)
    position = position[reliable, best[reliable]]
    correlation = (patches(first, points[reliable]) * patches(second, position)).sum(axis=1)
    reliable, position = reliable[correlation > MIN_CORRELATION], position[correlation > MIN_CORRELATION]
    motion = position - points[reliable]
    good = agrees_with_neighbours(points[reliable], motion)
    return LocalMotion(points[reliable][good], motion[good]) if good.sum() >= MIN_POINTS else None
