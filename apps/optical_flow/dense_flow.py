"""Dense flow of two frames: sparse matches by exact assignment, propagated, filled, refined and fused.

match       link points of both frames one-to-one (apps.motion.sparse, or apps.motion.windows)
propagate   match a dense grid of seeds, starting from the motion of the matches (apps.optical_flow.propagate)
fill        interpolate the matches at half size, without crossing image edges (apps.optical_flow.fill)
coarse      refine the fill from an eighth of the size to half of it (apps.optical_flow.refine)
fuse        choose the better of the fill and the refined flow at each pixel, by an exact cut (fusion.py):
            refinement loses small objects, the fill keeps them
fine        refine the fused flow up to full size
hidden      give pixels hidden in the second frame the motion of their own side of the edge, before and after the fine
            refinement (occlusion.py)
consistency estimate the backward flow, starting from the reversed flow; the flow is valid where the two agree

Frames of more than MAX_PIXELS (`apps.optical_flow.frame`) are reduced first, and the flow is enlarged.  The fast flow
need not: its finest level is reduced already.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import ArrayLike

from apps.common.clock import Clock
from apps.common.images import InputError, check_same_size, to_rgb
from apps.common.reused_memory import keep_freed_memory
from apps.motion.matches import Matches
from apps.optical_flow import LINKERS
from apps.optical_flow.channels import resized
from apps.optical_flow.frame import Frame, for_both, while_preparing
from gridcut.device import DeviceName, run_threads, thread_count
from gridcut.device.result import GridResult

if TYPE_CHECKING:
    from apps.optical_flow.refine import Proposals

MIN_SIDE = 16
FUSION_LEVEL = 7  # level at which proposals are fused: 0.9^7 = 0.48 of the size
COARSEST_LEVEL = 20  # level at which refinement of the fill starts
PROPAGATED_CONFIDENCE = 0.3  # confidence of a propagated match
INITIAL_NEIGHBOURS = 8  # neighbours per match in the fill from which propagation starts
MIN_MATCHES = 3  # below this, propagation starts without a fill


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Flow(GridResult):
    """Dense flow from a first frame to a second.

    Attributes
    ----------
    flow : ndarray of float32, (H, W, 2)
        Motion in pixels, x to the right and y down: the point p of the first frame is at p + flow[p] in the second.
    valid : ndarray of bool, (H, W)
        True where the backward flow agrees; False on pixels that are hidden in the second frame, leave it, or are
        uncertain.
    matches : Matches
        The sparse matches from which the flow was computed.
    seconds : dict
        Seconds: "total", and "compile", those of compiling kernels.
    """

    flow: np.ndarray
    valid: np.ndarray
    matches: Matches
    seconds: dict = field(default_factory=dict)

    def _figure(self):
        from apps.optical_flow.flow_figures import flow_figure

        return flow_figure(self.flow, self.valid)


def flow(
    first: ArrayLike,
    second: ArrayLike,
    *,
    linker: str = LINKERS[0],
    method: str = "auto",
    fast: bool = False,
    device: DeviceName = "auto",
) -> Flow:
    """Compute the dense optical flow from one image to another.

    Parameters
    ----------
    first, second : array_like, (H, W), (H, W, 3) or (H, W, 4)
        Grey, RGB or RGBA images of the same size; unsigned integers, or floats in [0, 1].
    linker : {"assignment", "windows"}, default "assignment"
        How sparse matches are computed: by one exact assignment (`apps.motion.sparse`), or by a small assignment
        problem per window (`apps.motion.windows`).
    method : str, default "auto"
        How the problems of windows are solved: "auto" as one batch, a method of `assign.solve` one after the other.
    fast : bool, default False
        Compute a less accurate flow in about a seventh of the time (`apps.optical_flow.fast_flow`); not with windows.
    device : {"auto", "cpu", "cuda"}, default "auto"
        Where the fusion cut, and with windows the assignments, are solved.  "auto" uses a GPU if one is available.

    Returns
    -------
    Flow
        `flow` float32 (H, W, 2) in pixels, x to the right and y down; `valid` bool (H, W); `matches`; `seconds`.

    Raises
    ------
    InputError
        If the frames differ in size, are smaller than 16 pixels a side, or have too little texture; if `fast` is
        combined with windows, or `method` with another linker; if `linker` is unknown.
    ValueError
        If `method` is unknown.
    """
    frames = Frame(to_rgb(first, "first frame")), Frame(to_rgb(second, "second frame"))
    return flow_of_frames(*frames, linker=linker, method=method, fast=fast, device=device)


def flow_of_frames(
    first: Frame,
    second: Frame,
    *,
    linker: str,
    fast: bool,
    device: DeviceName,
    method: str = "auto",
) -> Flow:
    """Return the flow of two frames, which may be shared with other pairs; see `flow` for the arguments and errors."""
    from apps.motion.candidates import PADDED_SIDE
    from apps.optical_flow.fusion import fuse
    from apps.optical_flow.occlusion import fill_hidden, hidden_pixels, is_consistent, owners
    from apps.optical_flow.refine import refine

    check_sizes(first, second)
    check_linker(linker, fast, method)
    how = {"linker": linker, "method": method, "fast": fast, "device": device}
    if min(first.shape) < PADDED_SIDE:
        return _padded_flow(first.rgb, second.rgb, **how)
    if not fast and first.reduced is not None:
        return _reduced_flow(first, second, **how)
    keep_freed_memory()
    clock = Clock()
    if fast:
        from apps.optical_flow.fast_flow import proposals

        found = proposals(first, second, device)
    else:
        found = _proposals(first, second, linker, method, device)
    level, motion = found.levels[found.fused], found.flow
    if found.filled is not None:
        motion = fuse(level, motion, resized(found.filled, level.shape), device)
        if not fast:
            motion = fill_hidden(level, motion, hidden_pixels(level, motion))
    motion = refine(found.levels, motion, found.refined, found.checked, *found.how)
    level = found.levels[found.checked]
    is_hidden = hidden_pixels(level, motion)
    motion = fill_hidden(level, motion, is_hidden)
    valid = is_consistent(level, motion, owners(level, motion)) & ~is_hidden
    if found.checked or level.shape != first.shape:
        motion = resized(refine(found.levels, motion, found.checked - 1, 0, *found.how), first.shape)
        valid = cv2.resize(valid.view(np.uint8), first.shape[::-1], interpolation=cv2.INTER_NEAREST) > 0
    return Flow(motion, valid, found.matches, clock.total())


def _proposals(first: Frame, second: Frame, linker, method, device) -> Proposals:
    """The fill of the matches, and the flow refined from it, at half the size."""
    from apps.optical_flow.refine import Proposals, paired, refine

    def match():
        return _sparse_matches(first, second, linker, method, device)

    # Matching has long stages on one thread, in which another one prepares what propagation and refinement need.
    matches = while_preparing(match, first, second)
    levels = paired(first.levels, second.levels)
    coarsest = len(levels) - 1
    middle = min(FUSION_LEVEL, coarsest)
    filled = _fill(first, second, levels[middle], matches)
    motion = refine(levels, filled, min(COARSEST_LEVEL, coarsest), middle)
    return Proposals(matches, levels, motion, filled, middle, max(middle - 1, 0), 0)


def _sparse_matches(first: Frame, second: Frame, linker: str, method: str, device) -> Matches:
    """Match two frames by one assignment, or window by window."""
    if linker == "windows":
        from apps.motion.agreement import agrees_with_neighbours
        from apps.motion.windows import match_windows

        found = match_windows(first.bytes, second.bytes, device=device, method=method).matches
        return found.select(agrees_with_neighbours(found.first, found.motion))
    from apps.motion.sparse import match_points

    points = tuple(for_both(lambda frame: frame.seed_points, first, second))
    return match_points(first.bytes, second.bytes, seed_points=points, device=device)


def _padded_flow(first, second, **given) -> Flow:
    """Compute the flow of frames with a short side, on frames padded by repeating their borders."""
    from apps.motion.candidates import padded
    from apps.optical_flow.refine import warp

    height, width = first.shape[:2]
    found = flow(padded(first), padded(second), **given)
    cropped = np.ascontiguousarray(found.flow[:height, :width])
    _, inside = warp(second, cropped)
    ends = found.matches.first, found.matches.second
    inside_frame = np.all([(end <= (width - 1, height - 1)).all(axis=1) for end in ends], axis=0)
    return Flow(cropped, found.valid[:height, :width] & inside, found.matches.select(inside_frame), found.seconds)


def _reduced_flow(first: Frame, second: Frame, **given) -> Flow:
    """Compute the flow of frames of many pixels on reduced ones, and enlarge it."""
    ratio = np.array(first.shape[::-1]) / np.array(first.reduced.shape[::-1])
    found = flow_of_frames(first.reduced, second.reduced, **given)
    valid = cv2.resize(found.valid.view(np.uint8), first.shape[::-1], interpolation=cv2.INTER_NEAREST) > 0
    return Flow(resized(found.flow, first.shape), valid, found.matches.scaled(ratio, ratio), found.seconds)


def _fill(one: Frame, two: Frame, level, matches: Matches) -> np.ndarray:
    """Return the flow, at the size of `level`, filled from the sparse matches and from those found by propagation."""
    from apps.optical_flow.fill import fill_flow
    from apps.optical_flow.propagate import propagate

    scale = np.array(level.shape[::-1]) / np.array(one.shape[::-1])

    def reduced(points):
        return (points + 0.5) * scale - 0.5

    guesses: list[np.ndarray | None] = [None, None]
    if len(matches) >= MIN_MATCHES:
        ends = reduced(matches.first), reduced(matches.second)

        def guess(direction):
            one, two = ends[:: 1 - 2 * direction]
            return fill_flow(level.lab[direction], one, two, matches.confidence, INITIAL_NEIGHBOURS)

        guesses = run_threads(guess, 2) if thread_count() > 1 else [guess(0), guess(1)]
    first, second = propagate(one.descriptors, two.descriptors, one.shape, *guesses)
    if len(first) + len(matches) == 0:
        return np.zeros((*level.shape, 2), np.float32)
    first, second = np.concatenate([matches.first, first]), np.concatenate([matches.second, second])
    confidence = np.concatenate([matches.confidence, np.full(len(first) - len(matches), PROPAGATED_CONFIDENCE)])
    filled = fill_flow(level.lab[0], reduced(first), reduced(second), confidence)
    return filled


def check_linker(linker: str, fast: bool, method: str = "auto", dashes: str = "") -> None:
    """Raise InputError for an unknown linker, `fast` with windows and a method without; `dashes` precede options."""
    if linker not in LINKERS:
        raise InputError(f"{dashes}linker must be {' or '.join(map(repr, LINKERS))}; got {linker!r}")
    if fast and linker == "windows":
        raise InputError(
            f"{dashes}fast links a grid of seeds and has no windows; pass another linker, or omit {dashes}fast"
        )
    if method != "auto" and linker != "windows":
        raise InputError(f"{dashes}method solves the problems of windows; pass linker windows, or omit {dashes}method")


def check_sizes(first: Frame, second: Frame, names: tuple[str, str] = ("the first", "the second")) -> None:
    """Raise InputError if the sizes of two frames differ or are too small."""
    check_same_size(second.rgb, first.rgb.shape, f"frames: {names[1]}", f"{names[0]} is")
    if min(first.shape) < MIN_SIDE:
        height, width = first.shape
        raise InputError(f"frames are {width}x{height} pixels; pass frames of at least {MIN_SIDE}x{MIN_SIDE}")
