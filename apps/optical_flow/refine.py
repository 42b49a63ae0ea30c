"""Refine a flow from coarse to fine: a variational step and a median filter on each level.

The pyramid has small scale steps.  On each level OpenCV's variational refinement [1] balances constancy of grey values
and gradients with smoothness.  It starts from the given flow, so a flow filled from sparse matches adds motion that is
too large for the pyramid alone.  On the finer levels a colour-weighted median (`apps.optical_flow.median`) then
determines the location of motion edges.

[1] Brox, Bruhn, Papenberg, Weickert. "High accuracy optical flow estimation based on a theory for warping." ECCV 2004.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np

from apps.motion.matches import Matches
from apps.optical_flow.channels import resized
from apps.optical_flow.frame import FrameLevel
from apps.optical_flow.median import confidence_of, weighted_median

SMOOTHNESS_WEIGHT = 2.0
BRIGHTNESS_WEIGHT = 0.3  # of grey values
GRADIENT_WEIGHT = 5 / 3
ITERATIONS = 6, 10  # fixed-point iterations, and SOR iterations of each
MEDIAN_LEVELS = 12  # finest levels, of which every second has the weighted median; the others have a 5 x 5 median


class Proposals(NamedTuple):
    """Two flows of which the better one is chosen at each pixel, and how that is refined.

    matches    those of the result
    levels     of the two frames, finest first
    flow       at the size of the level `fused`
    filled     the other flow, of any size; None: there is none
    fused, refined, checked   numbers of levels: where the flows are fused, the first one of refinement, and where
               hidden pixels are filled and the backward flow is estimated
    how        further arguments of `apps.optical_flow.refine.refine`
    """

    matches: Matches
    levels: list
    flow: np.ndarray
    filled: np.ndarray | None
    fused: int
    refined: int
    checked: int
    how: tuple = ()


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """The two frames at one size: grey (0..255) and Lab, float32."""

    grey: tuple
    lab: tuple

    @property
    def shape(self):
        return self.grey[0].shape


def paired(first: list[FrameLevel], second: list[FrameLevel]) -> list[Level]:
    """Return the levels of two frames of the same size, in the order of the levels of each."""
    return [Level(*zip(*frames, strict=True)) for frames in zip(first, second, strict=True)]


def is_weighted(number: int) -> bool:
    """Whether a level, counted from the finest, has the weighted median: on every second one nearly as accurate."""
    return number < MEDIAN_LEVELS and number % 2 == 0


def refine(
    levels: list[Level],
    flow: np.ndarray | None,
    coarsest: int,
    finest: int = 0,
    weighted: Callable[[int], bool] = is_weighted,
    iterations: tuple[int, int] = ITERATIONS,
) -> np.ndarray:
    """Refine `flow`, of any size (None: no motion), on levels[coarsest], ..., levels[finest]; float32.

    `weighted` chooses the levels with the weighted median by their numbers; `iterations` are those of `variational`.
    """
    for number in range(coarsest, finest - 1, -1):
        level = levels[number]
        flow = np.zeros((*level.shape, 2), np.float32) if flow is None else resized(flow, level.shape)
        flow = variational(level, flow, iterations)
        flow = filtered(level, flow) if weighted(number) else unweighted_median(flow)
    return flow


def variational(level: Level, flow: np.ndarray, iterations: tuple[int, int] = ITERATIONS) -> np.ndarray:
    """Return `flow` after one variational refinement; `iterations` of the fixed point, and of SOR in each."""
    step = cv2.VariationalRefinement.create()
    step.setAlpha(SMOOTHNESS_WEIGHT)
    step.setDelta(BRIGHTNESS_WEIGHT)
    step.setGamma(GRADIENT_WEIGHT)
    step.setFixedPointIterations(iterations[0])
    step.setSorIterations(iterations[1])
    return step.calc(*level.grey, flow.copy())


def filtered(level: Level, flow: np.ndarray) -> np.ndarray:
    """Filter a flow by the median weighted by colour and confidence."""
    warped, inside = warp(level.lab[1], flow)
    return weighted_median(flow, level.lab[0], confidence_of(flow, level.lab[0], warped, inside))


def unweighted_median(flow: np.ndarray) -> np.ndarray:
    return cv2.merge([cv2.medianBlur(component, 5) for component in cv2.split(flow)])


def warp(frame: np.ndarray, flow: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Warp a frame by the flow, out(p) = frame(p + flow(p)); also return a mask of p + flow(p) inside the frame."""
    target = targets(flow)
    warped = cv2.remap(frame, target, None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return warped, is_inside(target, frame.shape)


def targets(flow: np.ndarray) -> np.ndarray:
    """Return p + flow(p), x and y, of each pixel p; float32 (H, W, 2)."""
    height, width = flow.shape[:2]
    target = np.empty((height, width, 2), np.float32)
    np.add(flow[..., 0], np.arange(width, dtype=np.float32), out=target[..., 0])
    np.add(flow[..., 1], np.arange(height, dtype=np.float32)[:, None], out=target[..., 1])
    return target


def is_inside(target: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Mark the points (H, W, 2) inside a frame of shape (height, width, ...); bool (H, W)."""
    return cv2.inRange(target, (0, 0), (shape[1] - 1, shape[0] - 1)) > 0
