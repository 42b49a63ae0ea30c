"""Scores of disparities against the ground truth: rates of bad pixels, and the root mean square error.

Scores are computed over all pixels with known ground truth, and over those visible to both cameras.  A pixel is hidden
from the right camera if its match is outside the image, or is also the match of a nearer pixel [1].

[1] Scharstein, Szeliski. "A taxonomy and evaluation of dense two-frame stereo correspondence algorithms." IJCV 2002.
"""

from typing import NamedTuple

import numpy as np

from apps.common.images import InputError, check_same_size

THRESHOLDS = (0.5, 1.0, 2.0)  # pixels


class DisparityScores(NamedTuple):
    """Scores over `pixels` pixels, and as `visible_...` over the `visible_pixels` that both cameras see.

    `bad_05`, `bad_10`, `bad_20`: percentage of pixels with an error above 0.5, 1 and 2 pixels; `rms` in pixels.
    """

    bad_05: float
    bad_10: float
    bad_20: float
    rms: float
    pixels: int
    visible_bad_05: float
    visible_bad_10: float
    visible_bad_20: float
    visible_rms: float
    visible_pixels: int

    def rounded(self) -> dict:
        """The scores by name, rounded to 4 digits, for JSON."""
        return {name: round(value, 4) for name, value in self._asdict().items()}


def score_disparity(disparity: np.ndarray, truth: np.ndarray, known: np.ndarray) -> DisparityScores:
    """Compare disparities (H, W) with the ground truth where `known` (H, W, bool); InputError as `check_truth`."""
    check_truth(truth, known, disparity.shape)
    off = np.abs(disparity.astype(np.float64) - truth)
    return DisparityScores(*_rates(off[known]), *_rates(off[visible(truth, known)]))


def check_truth(truth: np.ndarray, known: np.ndarray, shape) -> None:
    """Raise InputError unless the ground truth has the images' height and width and a known pixel."""
    check_same_size(truth, shape, "--truth", "the images are")
    if not known.any():
        raise InputError("--truth: every pixel is unknown (0, NaN or infinite); pass a ground truth with known pixels")


def visible(truth: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Mark pixels (H, W) of the left image that the right camera sees, according to the true disparities."""
    height, width = truth.shape
    y, x = np.nonzero(known)
    depth = truth[y, x]
    there = np.rint(x - depth).astype(np.int64)
    inside = (there >= 0) & (there < width)
    nearest = np.full((height, width), -np.inf)
    np.maximum.at(nearest, (y[inside], there[inside]), depth[inside])
    seen = np.zeros((height, width), bool)
    # On slanted surfaces, neighbours of slightly different disparity share a match without hiding each other.
    seen[y[inside], x[inside]] = depth[inside] >= nearest[y[inside], there[inside]] - 1
    return seen


def _rates(off):
    bad = [100.0 * float((off > limit).mean()) if off.size else 0.0 for limit in THRESHOLDS]
    rms = float(np.sqrt((off**2).mean())) if off.size else 0.0
    return *bad, rms, int(off.size)
