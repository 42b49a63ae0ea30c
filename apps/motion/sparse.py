"""Sparse matches of two frames: proposals for each point, then one exact assignment.

    seeds       SIFT points of both frames linked by their descriptors, those kept that move as their neighbours do
    points      the seeds, and corners between them
    proposals   where trackers say each point went, from rest and through the motion of the seeds
    matches     proposals priced by their log odds of being wrong and linked one-to-one at least total price

Seeds carry large motion, turns and changes of scale; proposals bring every point there to a fraction of a pixel.
Columns of the assignment are the pixels of the second frame: no two matches end on one of them.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import cv2
import numpy as np

from apps.common.clock import Clock
from apps.common.images import InputError
from apps.motion.agreement import ExpectedMotion, LocalMotion, agrees_with_neighbours
from apps.motion.candidates import nearest_descriptors, proposals
from apps.motion.linking import link
from apps.motion.matches import Matches
from apps.motion.odds import cornerness, log_odds, nearest_other_proposal, probability
from apps.motion.points import MIN_POINTS, SPACING, Points, corners, grey_pair, grid, keypoints, patches
from gridcut.device import DeviceName

PIXELS_PER_POINT = 80  # pixels a point, by default
MIN_BUDGET, MAX_BUDGET = 1000, 20000  # points, by default
MAX_SEEDS = 3000  # SIFT points of each frame
MAX_SEED_PIXELS = 400_000  # pixels; larger frames are reduced to it for the seeds
MAX_CANDIDATES = 4  # descriptors of the second frame that may match one of the first
MAX_RATIO = 0.95  # what a seed may cost, against the most alike descriptor elsewhere in the frame
MIN_MARGIN = 0.15  # least that a seed must be better by than what could replace it
SAME_POINT_RADIUS = 5.0  # pixels: nearer points are the same place seen at another scale
UNMATCHED_COST = -2.5  # of staying unmatched, log odds: pairs are wanted that are right with at least 92 %
# Where there are no seeds, proposals serve as such that two trackers make within MAX_TRACKER_DISTANCE pixels and that correlate.
MAX_TRACKER_DISTANCE = 0.5
MIN_CORRELATION = 0.8


@dataclass(frozen=True, slots=True, eq=False)
class Stages:
    """What the stages of `match_stages` made.

    Attributes
    ----------
    seeds : Matches
    points : ndarray (N, 2)
        Points of the first frame that were to be matched.
    place, found : ndarray (N, S, 2) and (N, S)
        What `candidates.proposals` said.
    odds : ndarray (N, S)
        Log odds of being wrong; inf where nothing was found.
    matches : Matches
    seconds : dict
        By stage: "seeds", "points", "proposals", "odds", "assignment", "agreement".
    """

    seeds: Matches
    points: np.ndarray
    position: np.ndarray
    found: np.ndarray
    odds: np.ndarray
    matches: Matches
    seconds: dict


def match_frames(first, second, **settings) -> Matches:
    """Match points of two frames one-to-one; takes what `match_stages` takes and returns its matches."""
    return match_stages(first, second, **settings).matches


def match_stages(
    first,
    second,
    *,
    points: str | np.ndarray = "corners",
    budget: int | None = None,
    linker: str = "assignment",
    unmatched_cost: float = UNMATCHED_COST,
    prior: Matches | None = None,
    device: DeviceName = "auto",
) -> Stages:
    """Match points of two frames one-to-one, and show how.

    Parameters
    ----------
    first, second : ndarray of uint8, (H, W) or (H, W, 3)
        Grey or RGB frames of one size.
    points : {"corners", "grid"} or array_like (N, 2)
        What is matched: seeds and corners between them; a regular grid; or points of your own.
    budget : int, optional
        Most corners, about as many points of a grid; by default one for each PIXELS_PER_POINT pixels.
    linker : str
        One of `linking.LINKERS`.
    unmatched_cost : float
        Log odds of being wrong above which a point rather stays unmatched: lower for fewer and surer matches.
    prior : Matches, optional
        Matches known already, taken as seeds: those of the frames before, say.
    device : {"auto", "cpu", "cuda"}
        Where the assignment is solved.

    Returns
    -------
    Stages
        `matches` has log odds as cost, probabilities of being right as confidence.  It may be empty where the frames
        do not show the same scene.

    Raises
    ------
    InputError
        Frames of another kind, of different sizes, or with fewer than four points.
    ValueError
        An unknown linker, device or kind of points.
    """
    clock = Clock()
    first, second = grey_pair(first, second)
    budget = int(np.clip(first.size // PIXELS_PER_POINT, MIN_BUDGET, MAX_BUDGET)) if budget is None else budget
    if prior is None:
        seeds = seed_matches(first, second, linker=linker, device=device)
    else:
        seeds = prior
    clock.charge("seeds")
    points = _points(first, seeds, points, budget)
    if len(points) < MIN_POINTS:
        raise InputError(f"the first frame has {len(points)} points to match; pass frames with more texture")
    clock.charge("points")
    motion = LocalMotion(seeds.first, seeds.motion) if len(seeds) >= MIN_POINTS else None
    position, found = proposals(first, second, points, None if motion is None else motion.dense(first.shape))
    clock.charge("proposals")
    if motion is None:
        motion = _motion_without_seeds(first, second, points, position, found)
    if motion is None:
        odds = np.full(found.shape, np.inf)
    else:
        odds = proposal_odds(first, second, points, position, found, motion.at(points, others=True))
    clock.charge("odds")
    matches = link_proposals(points, position, odds, linker=linker, unmatched_cost=unmatched_cost, device=device)
    clock.charge("assignment")
    matches = matches.select(agrees_with_neighbours(matches.first, matches.motion))
    clock.charge("agreement")
    return Stages(seeds, points, position, found, odds, matches, clock.seconds)


def seed_matches(
    first: np.ndarray, second: np.ndarray, *, linker: str = "assignment", device: DeviceName = "auto"
) -> Matches:
    """Match SIFT points of two uint8 grey frames one-to-one.

    A pair costs its descriptors' distance over the distance to the most alike descriptor elsewhere, and a point stays
    unmatched at MAX_RATIO.  Matches without a margin are dropped: the ratio test, but decided for all points together.
    Points that SIFT puts on one pixel are one place, which may be matched once.
    """
    scale = min(1.0, (MAX_SEED_PIXELS / first.size) ** 0.5)
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(_keypoints, (first, second), (scale, scale))
    index, distance = nearest_descriptors(one.descriptors, two.descriptors, MAX_CANDIDATES + 2)
    count = min(MAX_CANDIDATES, index.shape[1])
    if not count:
        return _no_matches()
    rows = np.arange(len(index))
    there = two.xy[index]
    elsewhere = np.linalg.norm(there - there[:, :1], axis=2) > SAME_POINT_RADIUS
    elsewhere[:, -1] = True
    cost = distance[:, :count] / np.maximum(distance[rows, elsewhere.argmax(axis=1)], 1e-9)[:, None]
    row, col = np.repeat(rows, count), index[:, :count].ravel()
    (here, n), (to, m) = _pixels(one.xy), _pixels(two.xy)
    links = link(here[row], to[col], cost.ravel(), (n, m), MAX_RATIO, linker, device)
    kept = links.margin >= MIN_MARGIN
    pair, margin = links.pair[kept], links.margin[kept]
    row, col, cost = row[pair], col[pair], cost.ravel()[pair]
    seeds = Matches(one.xy[row], two.xy[col], cost, margin, 1 - cost / MAX_RATIO)
    return seeds.select(agrees_with_neighbours(seeds.first, seeds.motion))


def proposal_odds(first, second, points, position, found, expected: ExpectedMotion) -> np.ndarray:
    """Log odds of being wrong (N, S) of proposals place (N, S, 2), given the motion expected at the points; inf where
    nothing was found.
    """
    separation = nearest_other_proposal(position, found)
    odds = np.full(found.shape, np.inf)
    first_patches, corner = patches(first, points), cornerness(first, points)
    turned = np.eye(2) + expected.linear
    for source in range(found.shape[1]):
        k = np.flatnonzero(found[:, source])
        there = position[k, source]
        # The expected turn and scale may be wrong, so the patch is also tried as it is.
        correlation = (first_patches[k] * patches(second, there)).sum(axis=1)
        correlation = np.maximum(correlation, (first_patches[k] * patches(second, there, linear=turned[k])).sum(axis=1))
        deviation = expected.deviation(there - points[k], k)
        odds[k, source] = log_odds(deviation, separation[k, source], np.maximum(1 - correlation, 0), corner[k])
    return odds


def link_proposals(
    points,
    position,
    odds,
    *,
    linker: str = "assignment",
    unmatched_cost: float = UNMATCHED_COST,
    device: DeviceName = "auto",
) -> Matches:
    """Choose among the proposals place (N, S, 2) with log odds (N, S) one-to-one."""
    row, source = np.nonzero(odds < unmatched_cost)
    there, cost = position[row, source], odds[row, source]
    col, columns = _pixels(there)
    links = link(row, col, cost, (len(points), columns), unmatched_cost, linker, device)
    pair = links.pair
    return Matches(points[row[pair]], there[pair], cost[pair], links.margin, probability(cost[pair]))


def _points(grey, seeds: Matches, kind, budget: int) -> np.ndarray:
    """Points of the first frame to match; corners lie between the surest seeds, one a square of SPACING pixels."""
    if not isinstance(kind, str):
        return _checked_points(kind, grey.shape)
    if kind not in ("corners", "grid"):
        raise ValueError(f"points must be 'corners', 'grid' or an array (N, 2); got {kind!r}")
    if kind == "grid":
        return grid(grey.shape, (grey.size / max(budget, 1)) ** 0.5, border=SPACING)
    square = np.floor(seeds.first / SPACING).astype(np.int64)
    order = np.argsort(-seeds.confidence, kind="stable")
    _, kept = np.unique(square[order], axis=0, return_index=True)
    points = seeds.first[np.sort(order[kept])][:budget]
    return np.concatenate([points, corners(grey, budget - len(points), taken=points)])


def _checked_points(points, shape) -> np.ndarray:
    points = np.asarray(points, np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise InputError(f"points must be an array (N, 2) of x, y in pixels, got shape {points.shape}")
    if not ((points >= 0) & (points <= (shape[1] - 1, shape[0] - 1))).all():
        raise InputError(f"points must lie in the first frame, 0 ... {shape[1] - 1} by 0 ... {shape[0] - 1}")
    return points


def _pixels(xy) -> tuple[np.ndarray, int]:
    """The pixel that each point (N, 2) lies on, numbered, and how many there are."""
    pixel = np.rint(xy).astype(np.int64)
    _, position = np.unique(pixel[:, 1] * (1 << 31) + pixel[:, 0], return_inverse=True)
    return position, int(position.max(initial=-1)) + 1


def _keypoints(grey, scale) -> Points:
    if scale == 1.0:
        return keypoints(grey, MAX_SEEDS)
    small = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    found = keypoints(small, MAX_SEEDS)
    # Pixels are squares: the centre of pixel 0 of the small frame is not that of the large one.
    ratio = np.array([grey.shape[1] / small.shape[1], grey.shape[0] / small.shape[0]])
    return Points((found.xy + 0.5) * ratio - 0.5, found.descriptors, found.size, found.angle)


def _motion_without_seeds(first, second, points, position, found) -> LocalMotion | None:
    """The motion of points for which two trackers propose one place that looks the same, where neighbours agree."""
    separation = nearest_other_proposal(position, found)
    best = separation.argmin(axis=1)
    reliable = np.flatnonzero(separation.min(axis=1) < MAX_TRACKER_DISTANCE)
    position = position[reliable, best[reliable]]
    correlation = (patches(first, points[reliable]) * patches(second, position)).sum(axis=1)
    reliable, position = reliable[correlation > MIN_CORRELATION], position[correlation > MIN_CORRELATION]
    motion = position - points[reliable]
    good = agrees_with_neighbours(points[reliable], motion)
    return LocalMotion(points[reliable][good], motion[good]) if good.sum() >= MIN_POINTS else None


def _no_matches() -> Matches:
    return Matches(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0), np.zeros(0), np.zeros(0))
