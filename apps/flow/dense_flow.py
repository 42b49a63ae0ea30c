"""Dense flow of two frames: exact sparse matches, propagated, filled, refined and fused.

match       points of both frames linked one-to-one (apps.motion.sparse)
propagate   what the matches know spreads to a grid of seeds (apps.flow.propagate)
fill        each pixel moves as the matches near it do, at half size (apps.flow.fill)
coarse      the fill refined from an eighth of the size to half of it (apps.flow.refine)
fuse        of that and the fill, at each pixel what explains the second frame better, by an exact cut
            (apps.flow.fusion): refinement loses small things, the fill does not
fine        the fused flow refined to full size
hidden      what the second frame hides takes the motion of its own side (apps.flow.occlusion)
consistency the way back, searched from the flow reversed: where the two agree, the flow is valid
"""

from dataclasses import dataclass, field

import numpy as np

from apps.common.clock import Clock
from apps.common.images import InputError, to_bytes, to_rgb
from apps.motion.matches import Matches, check_matches

MIN_SIDE = 16
FUSION_LEVEL = 7  # level at which proposals are fused: 0.9^7 = 0.48 of the size
COARSEST_LEVEL = 20  # level at which the fill is taken up
PROPAGATED_CONFIDENCE = 0.3  # confidence of a propagated match
INITIAL_NEIGHBOURS = 8  # neighbours of a match in the fill that propagation starts from
MIN_MATCHES = 3  # matches below which there is no fill


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """Dense flow from a first frame to a second.

    Attributes
    ----------
    flow : ndarray of float32, (H, W, 2)
        Motion in pixels, x to the right and y down: what is at p in the first frame is at p + flow[p] in the second.
    valid : ndarray of bool, (H, W)
        Where the way back agrees: False on pixels that are hidden in the second frame or leave it, or are in doubt.
    matches : Matches
        The sparse matches it started from.
    seconds : dict
        Of each stage, and their total.
    """

    flow: np.ndarray
    valid: np.ndarray
    matches: Matches
    seconds: dict = field(default_factory=dict)


def dense_flow(first, second, matches: Matches | None = None, *, linker: str = "assignment", device="auto") -> Flow:
    """Flow from `first` to `second`: grey, RGB or RGBA pictures of one size, integers or floats in [0, 1].

    `matches` are found when None, with the named linker (`apps.motion.linking`).  Raises InputError for frames of
    different sizes, frames below 16 pixels a side, and frames with too little texture to match anything.
    """
    from apps.flow.fusion import fuse
    from apps.flow.occlusion import fill_hidden, hidden_pixels, is_consistent, owners
    from apps.flow.refine import pyramid, refine, resized
    from apps.motion.candidates import PADDED_SIDE

    first, second = check_frames(first, second)
    if matches is not None:
        check_matches(matches, first.shape[:2])
    if min(first.shape[:2]) < PADDED_SIDE:
        return _padded_flow(first, second, matches, linker, device)
    clock = Clock()
    if matches is None:
        matches = _sparse_matches(to_bytes(first), to_bytes(second), linker, device)
    clock.charge("match")
    levels = pyramid(first, second)
    middle, coarsest = min(FUSION_LEVEL, len(levels) - 1), len(levels) - 1
    filled = _fill(levels[0], levels[middle], matches, clock)
    flow = refine(levels, filled, min(COARSEST_LEVEL, coarsest), middle)
    clock.charge("coarse")
    flow = fuse(levels[middle], flow, resized(filled, levels[middle].shape), device)
    clock.charge("fuse")
    flow = refine(levels, flow, max(middle - 1, 0))
    clock.charge("fine")
    is_hidden = hidden_pixels(flow, owners(levels[0], flow))
    flow = fill_hidden(levels[0], flow, is_hidden)
    clock.charge("hidden")
    valid = is_consistent(levels[0], flow, owners(levels[0], flow)) & ~is_hidden
    clock.charge("consistency")
    return Flow(flow, valid, matches, clock.total())


def _sparse_matches(first, second, linker: str, device) -> Matches:
    """Match two uint8 frames with a linker of `apps.motion.linking`, or window by window ("windows")."""
    if linker == "windows":
        from apps.motion.agreement import agrees_with_neighbours
        from apps.motion.windows import match_windows

        found = match_windows(first, second, device=device).matches
        return found.select(agrees_with_neighbours(found.first, found.motion))
    from apps.motion.sparse import match_frames

    return match_frames(first, second, linker=linker, device=device)


def _padded_flow(first, second, matches, linker, device) -> Flow:
    """The flow of frames with a short side, found on frames with their borders repeated."""
    from apps.flow.refine import warp
    from apps.motion.candidates import padded

    height, width = first.shape[:2]
    found = dense_flow(padded(first), padded(second), matches, linker=linker, device=device)
    flow = np.ascontiguousarray(found.flow[:height, :width])
    _, inside = warp(second, flow)
    ends = found.matches.first, found.matches.second
    inside_frame = np.all([(end <= (width - 1, height - 1)).all(axis=1) for end in ends], axis=0)
    return Flow(flow, found.valid[:height, :width] & inside, found.matches.select(inside_frame), found.seconds)


def _fill(fine, level, matches: Matches, clock) -> np.ndarray:
    """The flow, at the size of `level`, filled from sparse matches and those that propagation finds from them."""
    from apps.flow.fill import fill_flow
    from apps.flow.propagate import propagate

    scale = np.array(level.shape[::-1]) / np.array(fine.shape[::-1])

    def reduced(points):
        return (points + 0.5) * scale - 0.5

    guesses = [None, None]
    if len(matches) >= MIN_MATCHES:
        ends = reduced(matches.first), reduced(matches.second)
        directions = zip(level.lab, (ends, ends[::-1]), strict=True)
        guesses = [fill_flow(lab, *points, matches.confidence, INITIAL_NEIGHBOURS) for lab, points in directions]
        clock.charge("fill")
    first, second = propagate(*fine.grey, *guesses)
    clock.charge("propagate")
    if len(first) + len(matches) == 0:
        return np.zeros((*level.shape, 2), np.float32)
    first, second = np.concatenate([matches.first, first]), np.concatenate([matches.second, second])
    confidence = np.concatenate([matches.confidence, np.full(len(first) - len(matches), PROPAGATED_CONFIDENCE)])
    filled = fill_flow(level.lab[0], reduced(first), reduced(second), confidence)
    clock.charge("fill")
    return filled


def check_frames(first, second) -> tuple[np.ndarray, np.ndarray]:
    """Both frames as float32 RGB in [0, 1]; InputError if they do not go together."""
    first, second = to_rgb(first, "first frame"), to_rgb(second, "second frame")
    if first.shape != second.shape:
        raise InputError(
            f"frames differ in size: the first is {first.shape[1]}x{first.shape[0]} pixels, the second "
            f"{second.shape[1]}x{second.shape[0]}; pass two frames of one size"
        )
    if min(first.shape[:2]) < MIN_SIDE:
        raise InputError(
            f"frames are {first.shape[1]}x{first.shape[0]} pixels; {MIN_SIDE} a side is the least there can be"
        )
    return first, second
