"""Dense disparities of a rectified pair: one label a pixel, by graph cuts.

The labelling d of the left picture costs

    E(d) = sum_p C_p(d_p)  +  sum_pq w_pq V(d_p, d_q),      w_pq = smoothness * (MIN_WEIGHT_SHARE + (1 - MIN_WEIGHT_SHARE) * fall of contrast)

with C from apps.stereo.costs, V a distance of apps.common.labelling, over 4 neighbours; edges where the picture changes
are cheap to cut [1, 2].  The right picture is labelled in the same way from the same costs, read along the other
diagonal; where the two disagree the pixel is hidden or wrong, and is filled (apps.stereo.stereo_occlusion).

Sub-pixel: around each label the `absolute` costs (Birchfield and Tomasi's say nothing between pixels), averaged over
SUPPORT_SIDE pixels a side, are followed by a parabola to their least value; a bilateral filter evens out what is left.

[1] Boykov, Veksler, Zabih. "Fast approximate energy minimization via graph cuts." PAMI 23(11), 2001.
[2] Szeliski et al. "A comparative study of energy minimization methods for Markov random fields with smoothness-based
    priors." PAMI 30(6), 2008.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

import gridcut
from apps.common.arguments import check_number
from apps.common.clock import Clock
from apps.common.images import InputError, to_rgb
from apps.common.labelling import label_distances, labelling
from apps.stereo.costs import COSTS, UNIT, disparity_costs, mirrored_costs
from apps.stereo.disparity_range import guess_max_disparity
from apps.stereo.stereo_occlusion import filled, is_consistent

SMOOTHNESS = 13.0  # grey levels: weight of a step of one label between pixels of one colour
SMOOTHNESS_TERM, TRUNCATE = "linear", 5
MIN_WEIGHT_SHARE = 0.2  # share of the weight that the strongest contrast leaves
MIN_SIDE = 8  # pixels
SUPPORT_SIDE = 9
BILATERAL_DIAMETER, BILATERAL_SIGMA = (
    9,
    1.0,
)  # pixels across, and pixels of disparity: the bilateral filter of sub-pixel values


@dataclass(frozen=True, slots=True)
class Disparity:
    """Disparities of the left picture of a pair.

    Attributes
    ----------
    disparity : ndarray of float32, (H, W)
        Pixels to the left that each pixel is found at on the right; everywhere, hidden pixels filled.
    valid : ndarray of bool, (H, W)
        Where the right picture's disparities say the same; elsewhere the disparity is a guess from beside.
    max_disparity : int
        Largest disparity looked for.
    solved : tuple
        The solver's results (gridcut's Labelling) for the left and, unless the check was left out, the right picture,
        with `energy`, `device`, `stats` and `check()`.
    seconds : dict
        Seconds by stage.
    """

    disparity: np.ndarray
    valid: np.ndarray
    max_disparity: int
    solved: tuple
    seconds: dict


def disparities(
    left,
    right,
    *,
    max_disparity: int | None = None,
    cost: str = COSTS[0],
    smoothness: float = SMOOTHNESS,
    smoothness_term: str = SMOOTHNESS_TERM,
    truncate: int = TRUNCATE,
    consistency_check: bool = True,
    subpixel: bool = False,
    device: str = "auto",
) -> Disparity:
    """Disparities of a rectified pair; see `apps.stereo.stereo_command.stereo`, which documents the parameters."""
    clock = Clock()
    left, right = _pair(left, right)
    if cost not in COSTS:
        raise InputError(f"--cost must be one of {', '.join(COSTS)}, got {cost!r}")
    check_number(smoothness, "smoothness")
    check_number(truncate, "truncate", whole=True)
    if max_disparity is not None:
        check_number(max_disparity, "max_disparity", whole=True)
    if not (np.isfinite(smoothness) and 0 < smoothness <= 1000):
        raise InputError(f"--smoothness must be above 0 and at most 1000 grey levels, got {smoothness}")
    width = left.shape[1]
    if max_disparity is None:
        max_disparity = guess_max_disparity(left, right)
    elif not 1 <= max_disparity < width:
        raise InputError(f"--max-disparity must lie between 1 and {width - 1}, the width less one, got {max_disparity}")
    clock.charge("range")
    costs = disparity_costs(left, right, max_disparity + 1, cost)
    differences = label_distances(max_disparity + 1, smoothness_term, truncate)
    clock.charge("costs")

    def label(view):
        rgb, unary = view
        return labelling(unary, contrast_weights(rgb, smoothness), differences, device=device)

    if consistency_check:
        with ThreadPoolExecutor(2) as pool:  # the kernels let go of the interpreter
            found = list(pool.map(label, ((left, costs), (right, mirrored_costs(costs)))))
    else:
        found = [label((left, costs))]
    clock.charge("cuts")
    labels = found[0].labels
    if subpixel:
        costs = costs if cost == "absolute" else disparity_costs(left, right, len(costs), "absolute")
        values = refined(labels, costs)
    else:
        values = labels.astype(np.float32)
    clock.charge("subpixel")
    valid = is_consistent(labels, found[1].labels) if consistency_check else np.ones(labels.shape, bool)
    values = filled(values, valid, left)
    clock.charge("hidden")
    return Disparity(values, valid, max_disparity, tuple(found), clock.total())


def default_max_disparity(left, right) -> int:
    """The largest disparity that `disparities` looks for where none is given; InputError as for the pair there."""
    return guess_max_disparity(*_pair(left, right))


def contrast_weights(rgb: np.ndarray, smoothness: float) -> dict:
    """Weights int32 of the 4 neighbours, less across edges of the picture."""
    edges = gridcut.contrast_edges(np.float32(255) * rgb, 1.0, 4, dtype=np.float32)
    return {
        o: np.int32(np.rint(smoothness * UNIT * (MIN_WEIGHT_SHARE + (1 - MIN_WEIGHT_SHARE) * fall)))
        for o, fall in edges.items()
    }


def refined(labels: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Labels moved by up to half a pixel to where a parabola through their neighbours' costs is least."""
    import cv2

    neighbours = np.clip(labels + np.arange(-1, 2)[:, None, None], 0, len(costs) - 1)
    three = np.take_along_axis(costs, neighbours, axis=0).astype(np.float32)
    before, here, after = (cv2.blur(plane, (SUPPORT_SIDE, SUPPORT_SIDE)) for plane in three)
    curvature = before + after - 2 * here
    slope = 0.5 * (before - after)
    step = np.where(curvature > 0, np.clip(slope / np.where(curvature > 0, curvature, 1), -0.5, 0.5), 0)
    step[(labels == 0) | (labels == len(costs) - 1)] = 0
    return cv2.bilateralFilter(
        (labels + step).astype(np.float32), BILATERAL_DIAMETER, BILATERAL_SIGMA, BILATERAL_DIAMETER / 2
    )


def _pair(left, right):
    left, right = to_rgb(left, "left"), to_rgb(right, "right")
    if left.shape != right.shape:
        raise InputError(
            f"left is {left.shape[1]}x{left.shape[0]} pixels, right {right.shape[1]}x{right.shape[0]}; "
            "pass a rectified pair of one size"
        )
    if min(left.shape[:2]) < MIN_SIDE:
        raise InputError(f"pictures are {left.shape[1]}x{left.shape[0]} pixels; {MIN_SIDE} a side is the least")
    for name, rgb in (("left", left), ("right", right)):
        if (rgb == rgb[0, 0]).all():
            raise InputError(f"{name} has no texture: one colour throughout; pass a picture with content")
    return left, right
