"""What is hidden in the second frame, where it goes, and the way back.

Each pixel of the first frame lands on one of the second.  Where several land on one, the pixel whose colour fits best
owns the place.  A pixel whose place is owned by one that moves otherwise is hidden behind it.  Nothing in the second
frame says how a hidden pixel moves; it takes the motion of the nearest pixel that is seen, near along paths that cross
no edge (`apps.flow.fill`), which lies on its own side of the edge.
"""

import numpy as np

from apps.flow.fill import INFINITY, SWEEPS, step_length, sweep_kernel
from apps.flow.refine import Level, warp
from gridcut.device import kernel

OCCLUDER_DIFFERENCE = 2.0  # pixels by which the motions of two pixels at one place differ when one hides the other
HIDDEN_MARGIN = 2  # pixels round what is hidden that are not believed either
MISFIT_SIGMA = 1.0  # pixels, of the misfit of the colours
CONSISTENT_PIXELS = 1.0  # pixels by which the way back may miss, plus CONSISTENT_SHARE of the motion
CONSISTENT_SHARE = 0.05


def owners(level: Level, flow: np.ndarray) -> np.ndarray:
    """Index (row * width + column) of the pixel that owns each place of the second frame, -1 for none; int32 (H, W)."""
    import cv2

    seen, _ = warp(level.lab[1], flow)
    off = seen - level.lab[0]
    misfit = cv2.GaussianBlur(np.sqrt(np.einsum("hwc,hwc->hw", off, off)), (0, 0), MISFIT_SIGMA)
    owner = np.full(flow.shape[:2], -1, np.int32)
    owner_kernel(flow, misfit, owner)
    return owner


def hidden_pixels(flow: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Where something else comes to lie in front; bool (H, W).  Single pixels are noise and do not count."""
    import cv2

    mask = np.zeros(owner.shape, np.uint8)
    hidden_kernel(flow, owner, np.float32(OCCLUDER_DIFFERENCE), mask)
    return cv2.medianBlur(mask, 5) > 0


def fill_hidden(level: Level, flow: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The flow with the motion of hidden pixels, and of a margin round them, taken from the nearest seen pixel."""
    import cv2

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
    return flow.reshape(-1, 2)[nearest]


def is_consistent(level: Level, flow: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Where following the flow and then the way back ends near the start; bool (H, W).

    The way back is searched by DIS from the flow reversed.
    """
    import cv2

    first, second = (np.uint8(np.clip(grey, 0, 255) + 0.5) for grey in level.grey)
    search = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    back, inside = warp(search.calc(second, first, reversed_flow(flow, owner)), flow)
    miss = np.hypot(*cv2.split(flow + back))
    return inside & (miss <= CONSISTENT_PIXELS + CONSISTENT_SHARE * np.hypot(*cv2.split(flow)))


def reversed_flow(flow: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """A flow from the second frame back: each place moves as its owner came, places without one as those round it."""
    import cv2

    known = owner >= 0
    back = np.where(known[..., None], -flow.reshape(-1, 2)[owner], np.float32(0))
    share = cv2.GaussianBlur(known.astype(np.float32), (0, 0), 3.0)[..., None]
    around = cv2.GaussianBlur(back, (0, 0), 3.0) / np.maximum(share, np.float32(1e-3))
    return np.where(known[..., None], back, around)


@kernel
def owner_kernel(flow, misfit, owner):
    """Write each pixel where it lands unless one that fits better is there."""
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
    """1 in `mask` where a pixel's place is owned by one whose motion differs by more than `otherwise`."""
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
