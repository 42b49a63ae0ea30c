"""Occlusion: pixels hidden in the second frame, their motion, and forward-backward consistency.

The flow maps each pixel of the first frame to a pixel of the second.  If several pixels map to the same one, the pixel
with the smallest colour difference owns it.  A pixel is hidden if the owner of its target moves differently, or if its
target hardly looks like it: what a fast object covers is matched to what it uncovers, which has no other owner.  The
second frame does not determine the motion of a hidden pixel; it takes the motion of the nearest visible pixel by the
geodesic distance of `apps.optical_flow.fill`, which is on the same side of the image edge.
"""

import cv2
import numpy as np

from apps.optical_flow.channels import squared_distance, vectors_at
from apps.optical_flow.fill import INFINITY, SWEEPS, step_length, sweep_kernel
from apps.optical_flow.fusion import features_of, misfit
from apps.optical_flow.refine import Level, warp

OCCLUDER_DIFFERENCE = 2.0  # pixels: minimum motion difference to the pixel in front
HIDDEN_MISFIT = 7.5  # of `apps.optical_flow.fusion.misfit`, at most 10: minimum at a hidden pixel
HIDDEN_MARGIN = 2  # pixels around hidden pixels whose motion is replaced as well
MISFIT_SIGMA = 1.0  # pixels: smoothing of the colour difference
CONSISTENT_PIXELS = 1.0  # pixels: allowed forward-backward error, plus CONSISTENT_SHARE of the motion
CONSISTENT_SHARE = 0.05
NO_OWNER = np.int64(2**63 - 1)


def owners(level: Level, flow: np.ndarray) -> np.ndarray:
    """Return the owner (row * width + column) of each pixel of the second frame, -1 if none; int32 (H, W)."""
    seen, _ = warp(level.lab[1], flow)
    difference = cv2.GaussianBlur(np.sqrt(squared_distance(seen, level.lab[0])), (0, 0), MISFIT_SIGMA)
    key = difference.view(np.int32).astype(np.int64) << 32 | np.arange(difference.size).reshape(difference.shape)
    least = np.full(difference.size + 1, NO_OWNER)  # the last one is of targets outside the frame
    np.minimum.at(least, ends_of(flow).ravel(), key.ravel())
    return np.where(least == NO_OWNER, -1, least & 0xFFFFFFFF)[:-1].astype(np.int32).reshape(difference.shape)


def ends_of(flow: np.ndarray) -> np.ndarray:
    """Return the pixel (row * width + column) of the second frame to which each pixel moves, -1 outside; (H, W)."""
    height, width = flow.shape[:2]
    x, y = np.rint(np.arange(width) + flow[..., 0]), np.rint(np.arange(height)[:, None] + flow[..., 1])
    is_inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    return np.where(is_inside, y * width + x, -1).astype(np.int64)


def hidden_pixels(level: Level, flow: np.ndarray) -> np.ndarray:
    """Mark pixels that are hidden in the second frame; bool (H, W).  A median filter removes isolated pixels."""
    here, there = (features_of(lab) for lab in level.lab)
    ends = ends_of(flow)
    apart = np.abs(vectors_at(flow, owners(level, flow).ravel()[ends]) - flow).max(axis=2)
    is_hidden = (misfit(here, there, flow) > HIDDEN_MISFIT) | ((apart > OCCLUDER_DIFFERENCE) & (ends >= 0))
    return cv2.medianBlur(is_hidden.view(np.uint8), 5) > 0


def fill_hidden(level: Level, flow: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the flow with hidden pixels, and a margin around them, filled from the nearest visible pixel."""
    window = np.ones((2 * HIDDEN_MARGIN + 1, 2 * HIDDEN_MARGIN + 1), np.uint8)
    excluded = cv2.dilate(mask.astype(np.uint8), window) > 0
    if excluded.all() or not excluded.any():
        return flow
    step = step_length(level.lab[0])
    distance = np.where(excluded, INFINITY, np.float32(0))
    nearest = np.arange(mask.size, dtype=np.int32).reshape(mask.shape)
    for _ in range(SWEEPS):
        sweep_kernel(step, 1, distance, nearest)
        sweep_kernel(step, -1, distance, nearest)
    return vectors_at(flow, nearest)


def is_consistent(level: Level, flow: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Mark pixels where the forward flow followed by the backward flow ends near the start; bool (H, W).

    The backward flow is estimated by DIS, initialised with the reversed flow.
    """
    first, second = (np.uint8(np.clip(grey, 0, 255) + 0.5) for grey in level.grey)
    search = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    back, inside = warp(search.calc(second, first, reversed_flow(flow, owner)), flow)
    miss, length = (cv2.magnitude(*cv2.split(vectors)) for vectors in (flow + back, flow))
    return inside & (miss <= CONSISTENT_PIXELS + CONSISTENT_SHARE * length)


def reversed_flow(flow: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Return a backward flow: the negated motion of each pixel's owner, smoothly extended to pixels without owner."""
    unknown = owner < 0
    back = -vectors_at(flow, owner)
    back[unknown] = 0
    share = cv2.GaussianBlur((~unknown).astype(np.float32), (0, 0), 3.0)
    around = cv2.GaussianBlur(back, (0, 0), 3.0)
    back[unknown] = around[unknown] / np.maximum(share[unknown], np.float32(1e-3))[:, None]
    return back
