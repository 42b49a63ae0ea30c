"""Dense disparities of a rectified pair by graph cuts: one integer label per pixel.

The energy of a labelling d of the left image is

    E(d) = sum_p C_p(d_p)  +  sum_pq w_pq min(|d_p - d_q|, TRUNCATE),
    w_pq = smoothness * (MIN_WEIGHT_SHARE + (1 - MIN_WEIGHT_SHARE) * contrast weight)

with C from apps.stereo_matching.costs, over 4 neighbours.  The contrast
weight decreases from 1 across image edges [1, 2].  The right image is labelled in the same way, from the same costs
read along the other diagonal.  On the CPU, each pixel may take the labels near those of a first labelling in its
surroundings (apps.stereo_matching.disparity_bands), and large pairs are labelled at a reduced size first
(apps.stereo_matching.coarse_to_fine).  Pixels where the two labellings disagree are hidden or wrong, and are filled
(apps.stereo_matching.stereo_occlusion).

Sub-pixel values are the minimum of a parabola through the costs of absolute differences of each label and its two
neighbours, averaged over SUPPORT_SIDE x SUPPORT_SIDE pixels, followed by a bilateral filter.  Birchfield and Tomasi's
costs do not distinguish positions between pixels.

[1] Boykov, Veksler, Zabih. "Fast approximate energy minimization via graph cuts." PAMI 23(11), 2001.
[2] Szeliski et al. "A comparative study of energy minimization methods for Markov random fields with smoothness-based
    priors." PAMI 30(6), 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

import gridcut
from apps.common.arguments import check_number
from apps.common.certified import Certified
from apps.common.clock import Clock
from apps.common.images import InputError, check_same_size, to_rgb
from apps.common.row_blocks import in_parallel
from apps.stereo_matching import SMOOTHNESS
from apps.stereo_matching.coarse_to_fine import contrast_weights, enlarged, halved, refine
from apps.stereo_matching.costs import disparity_costs, mirrored_costs, region_costs
from apps.stereo_matching.disparity_bands import band, first_labels
from apps.stereo_matching.disparity_range import guess_max_disparity
from apps.stereo_matching.stereo_occlusion import filled, is_consistent
from gridcut.device import DeviceName, resolve
from gridcut.device.result import GridResult

MIN_SIDE = 8  # pixels
TRUNCATE = 5  # steps: the cost of a step of the disparity grows up to this
MAX_COSTS = 40_000_000  # pixels times labels; larger pairs are halved first, and refined in tiles
COST_ROWS = 16  # rows whose costs are computed together for the sub-pixel values
SUPPORT_SIDE = 9  # pixels
BILATERAL_DIAMETER = 9  # pixels, of the filter of the sub-pixel values
BILATERAL_SIGMA = 1.0  # pixels of disparity


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Disparity(Certified, GridResult):
    """Disparities of the left image of a pair.

    Attributes
    ----------
    disparity : ndarray of float32, (H, W)
        Shift to the left, in pixels, from each pixel to its match in the right image; hidden pixels are filled.
    valid : ndarray of bool, (H, W)
        True where the disparities of the right image agree; elsewhere the disparity is filled from neighbours.
    max_disparity : int
        Largest disparity searched.
    solved : tuple
        The solver's results (gridcut's Labelling) for the left and the right image, with `energy`, `device`, `stats`
        and `check()`.  Of a large pair, on the CPU, those of the reduced images.
    seconds : dict
        Seconds: "total", and "compile", those of compiling kernels.
    """

    disparity: np.ndarray
    valid: np.ndarray
    max_disparity: int
    solved: tuple
    seconds: dict

    def _figure(self):
        from apps.common.figures import coloured
        from apps.stereo_matching.disparity_figures import COLOURS, ends_of

        return coloured(self.disparity, *ends_of(self.disparity), COLOURS)


def stereo(
    left: ArrayLike,
    right: ArrayLike,
    *,
    max_disparity: int | None = None,
    smoothness: float = SMOOTHNESS,
    subpixel: bool = False,
    device: DeviceName = "auto",
) -> Disparity:
    """Compute the disparity map of a rectified image pair by graph cuts.

    Parameters
    ----------
    left, right : array_like, (H, W), (H, W, 3) or (H, W, 4)
        Grey, RGB or RGBA images of the same size, rectified; unsigned integers, or floats in [0, 1].
    max_disparity : int, optional
        Largest disparity to search, in pixels, below the width; estimated from matched points if absent.
    smoothness : float, default 13
        Cost of a one-pixel disparity step between neighbours of equal colour, in grey levels; at most 1000.  Larger
        steps cost up to five times as much.
    subpixel : bool, default False
        Refine the disparities to fractions of a pixel.
    device : {"auto", "cpu", "cuda"}, default "auto"
        Where the cuts are solved.  "auto" uses a GPU if one is available.

    Returns
    -------
    Disparity
        `disparity` float32 (H, W) in pixels, `valid` bool (H, W), the solver's results, `seconds`.

    Raises
    ------
    InputError
        A ValueError with a one-line message for the user: different sizes, exchanged images, or a parameter out of
        range.

    Notes
    -----
    Time grows with the number of pixels times the number of disparities, and memory is 32 bytes for each, up to 4e7 of
    them.  On the CPU, a larger pair is halved until there are no more.  The labels of the reduced images are then
    improved in the larger ones, in tiles and among the labels nearby; this takes 150 bytes per pixel, and the result
    may differ from that of a labelling of the whole.

    References
    ----------
    .. [1] Boykov, Veksler, Zabih. "Fast approximate energy minimization via graph cuts." PAMI 23(11), 2001.
    .. [2] Birchfield, Tomasi. "A pixel dissimilarity measure that is insensitive to image sampling." PAMI 20(4), 1998.
    """
    clock = Clock()
    rgb, right_rgb = _pair(left, right)
    check_number(smoothness, "smoothness")
    if max_disparity is not None:
        check_number(max_disparity, "max_disparity", integer=True)
    if not (np.isfinite(smoothness) and 0 < smoothness <= 1000):
        raise InputError(f"smoothness must be above 0 and at most 1000 grey levels, got {smoothness}")
    width = rgb.shape[1]
    if max_disparity is None:
        max_disparity = guess_max_disparity(rgb, right_rgb)
    elif not 1 <= max_disparity < width:
        raise InputError(f"max_disparity must be 1 to {width - 1} (the width minus one), got {max_disparity}")
    labels, solved = _labellings(rgb, right_rgb, max_disparity, smoothness, resolve(device))
    values = labels[0].astype(np.float32)
    if subpixel:
        values = refined(labels[0], neighbour_costs(labels[0], rgb, right_rgb, max_disparity), max_disparity)
    valid = is_consistent(*labels)
    values = filled(values, valid, rgb)
    return Disparity(values, valid, max_disparity, solved, clock.total())


def _labellings(left, right, max_disparity: int, smoothness: float, device: DeviceName) -> tuple[list, tuple]:
    """Label both images; return the labels, and the solver's results: on the CPU, of a large pair that of reduced ones.

    A GPU expands every label everywhere.
    """
    height, width = left.shape[:2]
    in_tiles, views = device == "cpu", ((left, right, True), (right, left, False))
    steps = np.abs(np.subtract.outer(np.arange(max_disparity + 1), np.arange(max_disparity + 1)))
    differences = np.minimum(steps, TRUNCATE)
    if in_tiles and height * width * (max_disparity + 1) > MAX_COSTS and min(height, width) >= 2 * MIN_SIDE:
        reduced, solved = _labellings(halved(left), halved(right), (max_disparity + 1) // 2, smoothness, device)
        found = [enlarged(labels, (height, width), max_disparity) for labels in reduced]

        def improve(i):
            refine(found[i], *views[i], smoothness, differences)

        in_parallel([partial(improve, i) for i in range(2)], 2)
        return found, solved

    costs = disparity_costs(left, right, max_disparity + 1)

    def label(i):
        unary = costs if i == 0 else mirrored_costs(costs)
        weights = contrast_weights(views[i][0], smoothness)
        first = near = None
        if in_tiles:
            first = first_labels(unary, weights, min(TRUNCATE, max_disparity))
            near = band(first, unary)
        return gridcut.alpha_expansion(
            unary, weights, differences, start=first, allowed=near, restarts=0, device=device
        )

    solved = tuple(in_parallel([partial(label, i) for i in range(2)], 2))
    return [one.labels for one in solved], solved


def neighbour_costs(labels: np.ndarray, left: np.ndarray, right: np.ndarray, max_disparity: int) -> np.ndarray:
    """Return the costs of absolute differences, float32 (3, H, W), of each label and its two neighbours."""
    three = np.empty((3, *labels.shape), np.float32)
    for first in range(0, len(labels), COST_ROWS):
        rows = slice(first, min(first + COST_ROWS, len(labels)))
        part = labels[rows]
        near = range(max(0, int(part.min()) - 1), min(max_disparity, int(part.max()) + 1) + 1)
        costs = region_costs(left, right, True, rows, slice(0, labels.shape[1]), near, absolute=True)
        neighbours = np.clip(part + np.arange(-1, 2)[:, None, None], 0, max_disparity) - near[0]
        three[:, rows] = np.take_along_axis(costs, neighbours, axis=0)
    return three


def refined(labels: np.ndarray, three: np.ndarray, max_disparity: int) -> np.ndarray:
    """Shift labels by up to half a pixel, to the minimum of a parabola through the costs of `neighbour_costs`."""
    import cv2

    before, here, after = (cv2.blur(plane, (SUPPORT_SIDE, SUPPORT_SIDE)) for plane in three)
    curvature = before + after - 2 * here
    slope = 0.5 * (before - after)
    step = np.where(curvature > 0, np.clip(slope / np.where(curvature > 0, curvature, 1), -0.5, 0.5), 0)
    step[(labels == 0) | (labels == max_disparity)] = 0
    return cv2.bilateralFilter(
        (labels + step).astype(np.float32), BILATERAL_DIAMETER, BILATERAL_SIGMA, BILATERAL_DIAMETER / 2
    )


def _pair(left, right):
    left, right = to_rgb(left, "left"), to_rgb(right, "right")
    check_same_size(right, left.shape, "right", "left is")
    if min(left.shape[:2]) < MIN_SIDE:
        raise InputError(f"the images are {left.shape[1]}x{left.shape[0]} pixels; pass at least {MIN_SIDE}x{MIN_SIDE}")
    for name, rgb in (("left", left), ("right", right)):
        if (rgb == rgb[0, 0]).all():
            raise InputError(f"{name} has no texture: one colour throughout; pass an image with content")
    return left, right
