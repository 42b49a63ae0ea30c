"""Follow given points through frames: `follow`, and the prediction of `cutmatch track --predict image`.

step        the points, and corners between them, are found in the next frame by one exact assignment
            (`apps.motion.sparse`): first by trackers from zero motion; with SIFT points if these find few
check       a point is seen if it is among those, tracks back to where it was, and moves as its neighbours
anchor      its position is then tracked again from the frame where it was first seen, so that errors do not add up
            from frame to frame; if it looks different by now, this frame becomes the one it is tracked from
carry       a point that is not seen moves on with its neighbours; it is seen again where its anchor is found and tracks
            back
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import ArrayLike

from apps.common.arguments import check_number
from apps.common.images import InputError, check_same_size, to_bytes, to_rgb
from apps.motion.agreement import LocalMotion
from apps.motion.points import MIN_POINTS, corners, patches
from apps.motion.sparse import find_points, seed_matches
from apps.tracking.detect import to_grey
from apps.tracking.tracking import Detections, Tracks
from gridcut.device import DeviceName
from gridcut.device.result import Result

STATES = ("seen", "occluded", "left", "lost")
SEEN, OCCLUDED, LEFT, LOST = range(4)
MEMORY = 20  # frames for which a point may be occluded
HELPERS, HELPER_SPACING = 300, 12  # corners that are followed for a step, and pixels between them
MIN_FOUND = 0.5  # of the points, below which SIFT points of both frames are matched as well
LUCAS_KANADE = {"winSize": (15, 15), "minEigThreshold": 1e-5}
MAX_RETURN = 1.0  # pixels: forward-backward error
MAX_CORRECTION = 1.5  # pixels, by which the anchor may move a point
MAX_SEARCH = 4.0  # pixels around a carried point in which its anchor is searched
MIN_CORRELATION = 0.8  # of the patches around a point in its anchor and in this frame
MIN_REAPPEARANCE = 0.5  # the same of an occluded point that is seen again
MAX_ODDS = -1.5  # log odds of a step that is wrong; most of these do not track back


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trajectories(Result):
    """Where N points are in T frames.

    Attributes
    ----------
    position : ndarray of float64, (T, N, 2)
        x, y in pixels; of an occluded point where its neighbours carry it, NaN of a point that left or is lost.
    state : ndarray of uint8, (T, N)
        0 seen; 1 occluded: not seen, carried on; 2 left the frame; 3 lost: occluded for too many frames.
        `STATES` has the names.
    confidence : ndarray of float64, (T, N)
        Probability that the step to this frame is right, 0 to 1; 0 where the point is not seen.
    margin : ndarray of float64, (T, N)
        What the assignment of the step would cost more without the point's link, in log odds: near 0 if another
        position is as good.  NaN where the point is not seen.
    """

    position: np.ndarray
    state: np.ndarray
    confidence: np.ndarray
    margin: np.ndarray

    def tracks(self) -> Tracks:
        """The points of all frames but those that left or are lost, as tracks; `state` and `confidence` are columns."""
        shown = self.state < LEFT
        frame, point = np.nonzero(shown)
        extra = {"state": np.array(STATES)[self.state[shown]], "confidence": self.confidence[shown]}
        number = np.cumsum(shown.ravel()).reshape(shown.shape) - 1
        linked = shown[1:] & shown[:-1]
        link = np.column_stack([number[:-1][linked], number[1:][linked]])
        detections = Detections(frame, self.position[shown], extra)
        return Tracks(detections, point, link, self.margin[1:][linked])

    def to_pandas(self) -> Any:
        """The table of `tracks()`, as `Tracks.to_pandas`: frame, x, y, state, confidence, particle, link_margin."""
        return self.tracks().to_pandas()


def follow(
    frames: Iterable[ArrayLike], points: ArrayLike, *, memory: int = MEMORY, device: DeviceName = "auto"
) -> Trajectories:
    """Follow points of the first frame through the others.

    Parameters
    ----------
    frames : iterable of array_like, (H, W), (H, W, 3) or (H, W, 4)
        Two or more grey, RGB or RGBA images of the same size; unsigned integers, or floats in [0, 1].
    points : array_like, (N, 2)
        x, y in pixels of the first frame; (0, 0) is the centre of the top left pixel.
    memory : int, default 20
        Number of frames for which a point may be occluded; then it is lost.
    device : {"auto", "cpu", "cuda"}
        Checked for availability; these sparse assignments are solved on the CPU on every device.

    Returns
    -------
    Trajectories
        `position` (T, N, 2), `state`, `confidence` and `margin` (T, N).

    Raises
    ------
    InputError
        If the points are not finite, not of shape (N, 2) or outside the first frame; if frames differ in size.
    """
    check_number(memory, "memory", integer=True)
    if memory < 0:
        raise InputError(f"memory must be 0 or more frames, got {memory}")
    rows = list(_followed(frames, points, memory, device))
    if not rows:
        raise InputError("frames is empty; pass two frames or more")
    return Trajectories(*map(np.stack, zip(*rows, strict=True)))


def _followed(frames, points, memory: int, device) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield positions, states, confidences and margins of each frame."""
    last, anchors = None, {}
    for number, frame in enumerate(frames):
        grey = to_bytes(to_grey(to_rgb(frame, f"frame {number}")))
        if last is None:
            position = check_points(points, grey.shape)
            count = len(position)
            state, unseen = np.zeros(count, np.uint8), np.zeros(count, np.int64)
            confidence, margin = np.ones(count), np.full(count, np.nan)
            anchor, origin = np.zeros(count, np.int64), position
        else:
            check_same_size(grey, last.shape, f"frame {number}", "the first is")
            confidence, margin = np.zeros(count), np.full(count, np.nan)
            alive = np.flatnonzero(state < LEFT)
            moved, probability, gap = step(last, grey, position[alive], state[alive] == SEEN, device)
            seen = np.zeros(count, bool)
            seen[alive] = probability > 0
            position, origin, anchor = position.copy(), origin.copy(), anchor.copy()
            position[alive], confidence[alive], margin[alive] = moved, probability, gap
            for key in np.unique(anchor[alive]):
                of = alive[anchor[alive] == key]
                there, alike = anchored(anchors[key], grey, origin[of], position[of])
                shift = np.linalg.norm(there - position[of], axis=1)
                held = seen[of] & (shift < MAX_CORRECTION) & (alike > MIN_CORRELATION)
                again = ~seen[of] & (shift < MAX_SEARCH) & (alike > MIN_REAPPEARANCE)
                position[of[held | again]] = there[held | again]
                confidence[of[again]] = alike[again]
                anchor[of[seen[of] & ~held]] = number
                seen[of[again]] = True
            origin[anchor == number] = position[anchor == number]
            inside = ((position >= 0) & (position <= (grey.shape[1] - 1, grey.shape[0] - 1))).all(axis=1)
            unseen = np.where(seen, 0, unseen + 1)
            now = np.where(seen, SEEN, np.where(unseen > memory, LOST, OCCLUDED))
            state = np.where(state < LEFT, np.where(inside, now, LEFT), state).astype(np.uint8)
            gone = state >= LEFT
            position[gone], confidence[gone], margin[gone] = np.nan, 0, np.nan
        anchors[number] = last = grey
        anchors = {key: anchors[key] for key in {number, *anchor[state < LEFT].tolist()}}
        yield position, state, confidence, margin


def step(first: np.ndarray, second: np.ndarray, points: np.ndarray, seen: np.ndarray, device: DeviceName = "auto"):
    """Move points (N, 2) of the first uint8 grey frame to the second.

    Returns positions (N, 2), probabilities (N,) of being right, which are 0 for points that are not found or not `seen`
    (N,) before and move with their neighbours, and margins (N,), NaN for those.
    """
    probability, margin = np.zeros(len(points)), np.full(len(points), np.nan)
    own = np.flatnonzero(seen)
    tried = np.concatenate([points[own], corners(first, HELPERS, HELPER_SPACING, taken=points[own])])
    if len(tried) < MIN_POINTS or first.min() == first.max() or second.min() == second.max():
        return points, probability, margin
    which, matches = find_points(first, second, tried, None, device, MAX_ODDS)
    if len(which) < MIN_FOUND * len(tried):
        seeded = find_points(first, second, tried, seed_matches(first, second, device=device), device, MAX_ODDS)
        which, matches = max((which, matches), seeded, key=lambda found: len(found[0]))
    if not len(which):
        return points, probability, margin
    local = LocalMotion(matches.first, matches.motion, matches.confidence)
    back, _ = lucas_kanade(second, first, matches.second, matches.first, levels=1)
    kept = np.linalg.norm(back - matches.first, axis=1) < MAX_RETURN
    position = points + local.at(points).motion
    is_own = kept & (which < len(own))
    found = own[which[is_own]]
    position[found] = matches.second[is_own]
    probability[found], margin[found] = matches.confidence[is_own], matches.margin[is_own]
    return position, probability, margin


def anchored(first: np.ndarray, second: np.ndarray, origin: np.ndarray, position: np.ndarray):
    """Track points (N, 2) from `origin` in the first frame, near `position` in the second.

    Returns their positions, and the correlations (N,) of the patches there, 0 where a point does not track back.
    """
    if not len(origin):
        return position, np.zeros(0)
    there, found = lucas_kanade(first, second, origin, position)
    back, _ = lucas_kanade(second, first, there, origin)
    alike = (patches(first, origin) * patches(second, there)).sum(axis=1)
    return there, np.where(found & (np.linalg.norm(back - origin, axis=1) < MAX_RETURN), alike, 0)


def lucas_kanade(first, second, start: np.ndarray, guess: np.ndarray, levels: int = 0):
    """Track points (N, 2) from `start` in the first frame, near `guess` in the second: positions, and whether found."""
    ends = (np.ascontiguousarray(end, np.float32) for end in (start, guess.copy()))
    there, found, _ = cv2.calcOpticalFlowPyrLK(
        first, second, *ends, flags=cv2.OPTFLOW_USE_INITIAL_FLOW, maxLevel=levels, **LUCAS_KANADE
    )
    return np.where(found > 0, there, guess).astype(np.float64), found.ravel() > 0


def check_points(points: ArrayLike, shape: tuple[int, int]) -> np.ndarray:
    """Return points as float64 (N, 2); InputError if one is not finite or outside a frame of shape (H, W)."""
    try:
        points = np.array(points, np.float64)
    except (TypeError, ValueError):
        raise InputError("points must be numbers (N, 2), x and y of each point") from None
    if points.ndim != 2 or points.shape[1] != 2:
        raise InputError(f"points must be (N, 2), x and y of each point; got shape {points.shape}")
    inside = ((points >= 0) & (points <= (shape[1] - 1, shape[0] - 1))).all(axis=1)
    if not inside.all():
        wrong = int(np.flatnonzero(~inside)[0])
        raise InputError(
            f"points: number {wrong} is at {points[wrong].tolist()}, outside the first frame of {shape[1]}x{shape[0]} "
            "pixels; pass x, y of points inside"
        )
    return points


class Follower:
    """Moves points with a sequence of frames; called with increasing frame numbers and points (n, 2)."""

    def __init__(self, sequence):
        self.frames = enumerate(sequence)
        self.number, self.grey = -1, None

    def __call__(self, number: int, points: np.ndarray) -> np.ndarray:
        """Track points of the frame of the previous call to frame `number`, through all frames in between."""
        while self.number < number:
            try:
                self.number, frame = next(self.frames)
            except StopIteration:
                return points
            grey = to_bytes(to_grey(frame))
            if self.grey is not None and len(points):
                points = step(self.grey, grey, points, np.ones(len(points), bool))[0]
            self.grey = grey
        return points
