"""Scores of a flow against the ground truth.

EPE      length of the difference vector, pixels
AAE      angle between (u, v, 1) and the true (u, v, 1), degrees
R1..R5   share of pixels with EPE above 1, 3, 5 pixels, percent
Fl       share with EPE above 3 pixels and above 5 % of the true length, percent (KITTI's Fl-all)
"""

from typing import NamedTuple

import numpy as np

from apps.common.images import InputError, check_same_size


class FlowScores(NamedTuple):
    """Scores over the `pixels` pixels where the ground truth is known; see the module docstring."""

    epe: float
    aae: float
    r1: float
    r3: float
    r5: float
    fl: float
    pixels: int

    def rounded(self) -> dict:
        """The scores by name, rounded to 4 digits, for JSON."""
        return {name: round(value, 4) for name, value in self._asdict().items()}


def score_flow(flow: np.ndarray, truth: np.ndarray, valid: np.ndarray | None = None) -> FlowScores:
    """Compare a flow with the ground truth, (H, W, 2) each, where `valid` (H, W) is True (default: everywhere).

    Raises InputError if the sizes differ or no pixel is known.
    """
    check_same_size(truth[..., 0], flow.shape[:2], "--truth", "the frames are")
    valid = np.ones(truth.shape[:2], bool) if valid is None else np.asarray(valid, bool)
    if not valid.any():
        raise InputError("--truth: every pixel is unknown; pass a ground truth with known pixels")
    found, true = flow[valid].astype(np.float64), truth[valid].astype(np.float64)
    error = np.linalg.norm(found - true, axis=1)
    length = np.linalg.norm(true, axis=1)
    dot = 1 + (found * true).sum(axis=1)
    cosine = dot / np.sqrt((1 + (found * found).sum(axis=1)) * (1 + length * length))
    angle = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    return FlowScores(
        epe=float(error.mean()),
        aae=float(angle.mean()),
        **{f"r{limit}": 100 * float((error > limit).mean()) for limit in (1, 3, 5)},
        fl=100 * float(((error > 3) & (error > 0.05 * length)).mean()),
        pixels=int(valid.sum()),
    )
