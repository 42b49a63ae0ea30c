"""Choose the better of two flows at each pixel, by one exact minimum cut.

    E(x) = sum_p D_p(x_p) + SMOOTHNESS_WEIGHT * sum_pq g_pq V(w_p, w_q),     w_p the vector that label x_p picks at p

D measures how badly the second frame, warped by the vector, fits the first frame: colours and gradients, smoothed
over a small window and saturating at MAX_MISFIT.  V = min(|w_p - w_q|, TRUNCATION), and g is small across image edges.
A pair may cost more with equal labels than with different ones, which a cut cannot represent.  The cost of the mixed
labels of such a pair is raised until the term is submodular [1].  The result is the exact minimum of this energy, and
its energy is never above that of either flow.

[1] Lempitsky, Roth, Rother. "FusionFlow: discrete-continuous optimization for optical flow estimation." CVPR 2008.
"""

import cv2
import numpy as np

import gridcut
from apps.optical_flow.channels import absolute_distance, squared_distance
from apps.optical_flow.refine import Level, is_inside, targets

UNIT = 64  # costs are rounded to multiples of 1 / UNIT
SMOOTHNESS_WEIGHT = 2.0
TRUNCATION = 20.0  # pixels
MAX_MISFIT = 10.0  # Lab units
WINDOW_SIGMA = 1.5  # pixels
CONTRAST_SCALE = 5.0  # Lab units
OUTSIDE_SHARE = 0.5  # of MAX_MISFIT: the misfit of a vector that leaves the frame


def fuse(level: Level, first: np.ndarray, second: np.ndarray, device="auto") -> np.ndarray:
    """Return the flow of minimum energy that takes each pixel's vector from `first` or `second`, (H, W, 2) each."""
    here, there = (features_of(lab) for lab in level.lab)
    minimum = fusion_minimum(level, (first, second), [misfit(here, there, flow) for flow in (first, second)], device)
    return np.where(minimum.labels[..., None], first, second)


def fusion_minimum(level: Level, flows, costs, device="auto") -> gridcut.BinaryMinimum:
    """Return the certified minimum; label 1 (True) picks flows[0], label 0 picks flows[1]."""
    lab = level.lab[0]
    unary = np.stack([np.rint(cost * UNIT).astype(np.int64) for cost in costs[::-1]])
    pairwise: dict[tuple[int, ...], np.ndarray] = {}
    for offset in ((0, 1), (1, 0)):
        here = (slice(None, lab.shape[0] - offset[0]), slice(None, lab.shape[1] - offset[1]))
        there = (slice(offset[0], None), slice(offset[1], None))
        contrast = np.sqrt(squared_distance(lab[here], lab[there]))
        weight = UNIT * SMOOTHNESS_WEIGHT * np.exp(-contrast / CONTRAST_SCALE)
        table = np.zeros((2, 2, *lab.shape[:2]), np.int64)  # zero where the pair leaves the frame
        for i, j in np.ndindex(2, 2):
            change = np.minimum(absolute_distance(flows[1 - i][here], flows[1 - j][there]), np.float32(TRUNCATION))
            table[i, j][here] = np.rint(weight * change)
        table[1, 0] += np.maximum(table[0, 0] + table[1, 1] - table[0, 1] - table[1, 0], 0)
        pairwise[offset] = table
    return gridcut.binary_minimum(gridcut.BinaryEnergy(unary, pairwise), device=device)


def features_of(lab: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the compared features: smoothed colours (H, W, 3) and the gradient of the lightness (H, W, 2), float32."""
    smooth = cv2.GaussianBlur(lab, (0, 0), 0.6)
    light = np.ascontiguousarray(smooth[..., 0])
    slopes = [cv2.Scharr(light, -1, *direction, scale=1 / 16) for direction in ((1, 0), (0, 1))]
    return np.float32(0.5) * smooth, cv2.merge(slopes)


def misfit(first: tuple, second: tuple, flow: np.ndarray) -> np.ndarray:
    """Return D of each pixel, float32 (H, W), from the features of both frames."""
    target = targets(flow)
    difference = np.zeros(flow.shape[:2], np.float32)
    for here, there in zip(first, second, strict=True):
        warped = cv2.remap(there, target, None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        difference += absolute_distance(warped, here)
    cost = np.float32(MAX_MISFIT) * (1 - np.exp(-difference / np.float32(MAX_MISFIT)))
    cost[~is_inside(target, flow.shape)] = OUTSIDE_SHARE * MAX_MISFIT
    return cv2.GaussianBlur(cost, (0, 0), WINDOW_SIGMA)
