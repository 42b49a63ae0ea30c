"""Scores of disparities against the ground truth: rates of bad pixels, and the root mean square error.

Scores are computed over all pixels with known ground truth, and over those visible to both cameras.  A pixel is hidden
from the right camera if its match is outside the image, or is also the match of a nearer pixel [1].

[1] Scharstein, Szeliski. "A taxonomy and evaluation of dense two-frame stereo correspondence algorithms." IJCV 2002.
"""

import numpy as np

from apps.common.images import InputError, check_same_size

THRESHOLDS = {"bad_05": 0.5, "bad_10": 1.0, "bad_20": 2.0}  # pixels


def score_disparity(disparity: np.ndarray, truth: np.ndarray, known: np.ndarray) -> dict[str, float]:
    """Compare disparities (H, W) with the ground truth where `known` (H, W, bool); InputError as `check_truth`.

    Returns percentages of pixels with an error above 0.5, 1 and 2 pixels, "bad_05", "bad_10" and "bad_20"; "rms" in
    pixels; the number of "pixels"; and as "visible_..." the same of the pixels that both cameras see.  Rounded to four
    digits.
    """
    check_truth(truth, known, disparity.shape)
    off = np.abs(disparity.astype(np.float64) - truth)
    return _scores("", off[known]) | _scores("visible_", off[visible(truth, known)])


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


def _scores(prefix: str, off: np.ndarray) -> dict[str, float]:
    some = off if off.size else np.zeros(1)
    scores = {name: 100.0 * float((some > limit).mean()) for name, limit in THRESHOLDS.items()}
    scores |= {"rms": float(np.sqrt((some**2).mean())), "pixels": int(off.size)}
    return {prefix + name: round(score, 4) for name, score in scores.items()}
