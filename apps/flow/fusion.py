"""Choose the better of two flows at each pixel, by one exact cut.

    E(x) = sum_p D_p(x_p) + WEIGHT * sum_pq g_pq V(w_p, w_q),     w_p the vector that label x_p picks at p

D is how badly the second frame, seen through the vector, fits the first: colours and gradients, smoothed over a small
window, growing no further than LIMIT.  V = min(|w_p - w_q|, JUMP), and g is small across edges of the picture.  A pair
whose labels agree may cost more than one whose labels differ; such a term is no part of a cut, so its mixed labels are
raised until it is [1].  The cut is then the exact minimum of this energy, and the choice never costs more than either
flow alone.

[1] Lempitsky, Roth, Rother. "FusionFlow: discrete-continuous optimization for optical flow estimation." CVPR 2008.
"""

import numpy as np

import gridcut
from apps.flow.refine import Level, warp

UNIT = 64  # costs are rounded to multiples of 1 / UNIT
WEIGHT = 2.0
JUMP = 20.0  # pixels
LIMIT = 10.0  # Lab units
WINDOW = 1.5  # pixels, standard deviation
EDGE = 5.0  # Lab units
OUTSIDE = 0.5  # of LIMIT, where a vector leaves the frame


def fuse(level: Level, first: np.ndarray, second: np.ndarray, device="auto") -> np.ndarray:
    """The flow of least energy among all that take each pixel's vector from `first` or `second`, (H, W, 2) each."""
    features = [features_of(lab) for lab in level.lab]
    cut = fusion_cut(level, (first, second), [misfit(*features, flow) for flow in (first, second)], device)
    return np.where(cut.labels[..., None], first, second)


def fusion_cut(level: Level, flows, costs, device="auto"):
    """The certified cut; True picks flows[0]."""
    lab = level.lab[0]
    keep_first, keep_second = (np.rint(cost * UNIT).astype(np.int64) for cost in costs)
    # Capacities: source -> p is what the second label costs, p -> sink the first.
    source, sink = keep_second.copy(), keep_first.copy()
    edges = {}
    for offset in ((0, 1), (1, 0)):
        here = (slice(None, lab.shape[0] - offset[0]), slice(None, lab.shape[1] - offset[1]))
        there = (slice(offset[0], None), slice(offset[1], None))
        contrast = np.sqrt(((lab[here] - lab[there]) ** 2).sum(axis=2))
        weight = UNIT * WEIGHT * np.exp(-contrast / EDGE)

        def term(i, j, here=here, there=there, weight=weight):
            change = np.minimum(np.abs(flows[i][here] - flows[j][there]).sum(axis=2), JUMP)
            return np.rint(weight * change).astype(np.int64)

        same_first, same_second, mixed, other = term(0, 0), term(1, 1), term(0, 1), term(1, 0)
        # Each pair's term is one cost if here takes the second flow, one if there does, and one on (first, second).
        excess = np.maximum(same_first + same_second - mixed - other, 0)
        mixed = mixed + excess
        source[here] += other - same_first
        source[there] += same_second - other
        across = mixed + other - same_first - same_second
        edges[offset] = np.zeros(lab.shape[:2], np.int64)
        edges[offset][here] = across
        edges[(-offset[0], -offset[1])] = np.zeros(lab.shape[:2], np.int64)
    least = np.minimum(source, sink)
    return gridcut.max_flow(source - least, sink - least, edges, device=device)


def features_of(lab: np.ndarray) -> np.ndarray:
    """What is compared: smoothed colours and the gradient of the lightness, float32 (H, W, 5)."""
    import cv2

    smooth = cv2.GaussianBlur(lab, (0, 0), 0.6)
    light = np.ascontiguousarray(smooth[..., 0])
    slopes = [cv2.Scharr(light, -1, *direction, scale=1 / 16) for direction in ((1, 0), (0, 1))]
    return np.dstack([0.5 * smooth, *slopes])


def misfit(first: np.ndarray, second: np.ndarray, flow: np.ndarray) -> np.ndarray:
    """D of each pixel, float32 (H, W), from the features of both frames."""
    import cv2

    colours, inside = warp(second[..., :3], flow)
    slopes, _ = warp(second[..., 3:], flow)
    off = np.abs(colours - first[..., :3]).sum(axis=2) + np.abs(slopes - first[..., 3:]).sum(axis=2)
    cost = np.float32(LIMIT) * (1 - np.exp(-off / np.float32(LIMIT)))
    cost[~inside] = OUTSIDE * LIMIT
    return cv2.GaussianBlur(cost, (0, 0), WINDOW)
