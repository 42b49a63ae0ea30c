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
from gridcut.device import kernel

OCCLUDER_DIFFERENCE = 2.0  # pixels: minimum motion difference to the pixel in front
HIDDEN_MISFIT = 7.5  # of `apps.optical_flow.fusion.misfit`, at most 10: minimum at a hidden pixel
HIDDEN_MARGIN = 2  # pixels around hidden pixels whose motion is replaced as well
MISFIT_SIGMA = 1.0  # pixels: smoothing of the colour difference
CONSISTENT_PIXELS = 1.0  # pixels: allowed forward-backward error, plus CONSISTENT_SHARE of the motion
CONSISTENT_SHARE = 0.05


def owners(level: Level, flow: np.ndarray) -> np.ndarray:
    """Return the owner (row * width + column) of each pixel of the second frame, -1 if none; int32 (H, W)."""
    seen, _ = warp(level.lab[1], flow)
    difference = cv2.GaussianBlur(np.sqrt(squared_distance(seen, level.lab[0])), (0, 0), MISFIT_SIGMA)
    owner = np.full(flow.shape[:2], -1, np.int32)
    owner_kernel(flow, difference, owner)
    return owner


def hidden_pixels(level: Level, flow: np.ndarray) -> np.ndarray:
    """Mark pixels that are hidden in the second frame; bool (H, W).  A median filter removes isolated pixels."""
    here, there = (features_of(lab) for lab in level.lab)
    mask = (misfit(here, there, flow) > HIDDEN_MISFIT).astype(np.uint8)
    hidden_kernel(flow, owners(level, flow), np.float32(OCCLUDER_DIFFERENCE), mask)
    return cv2.medianBlur(mask, 5) > 0


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


@kernel
def owner_kernel(flow, misfit, owner):
    """Write each pixel's index to its target unless a pixel with a smaller misfit owns it."""
    H, W = misfit.shape
    for y in range(H):
        for x in range(W):
            u = int(np.rint(x + flow[y, x, 0]))
            v = int(np.rint(y + flow[y, x, 1]))
            if u < 0 or u >= W or v < 0 or v >= H:
                continue
            other = owner[v, u]
            if other < 0 or misfit[y, x] < misfit[other // W, other % W]:
                owner[v, u] = y * W + x


@kernel
def hidden_kernel(flow, owner, difference, mask):
    """Set `mask` to 1 where the owner of a pixel's target has a motion that differs by more than `difference`."""
    H, W = mask.shape
    for y in range(H):
        for x in range(W):
            u = int(np.rint(x + flow[y, x, 0]))
            v = int(np.rint(y + flow[y, x, 1]))
            if u < 0 or u >= W or v < 0 or v >= H:
                continue
            other = owner[v, u]
            p, q = other // W, other % W
            if max(abs(flow[p, q, 0] - flow[y, x, 0]), abs(flow[p, q, 1] - flow[y, x, 1])) > difference:
                mask[y, x] = 1
