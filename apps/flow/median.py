"""Weighted median of a flow: what the neighbours of like colour that can be trusted say, at the edges of the motion.

Near an edge of the motion the flow of a pixel becomes the median over a window, component by component, with weights

    max(0, 1 - (distance in Lab)^2 / 4 COLOUR^2)^2 * exp(-(distance in pixels)^2 / 2 SPACE^2) * confidence.

The confidence of a pixel falls where its colour is not found where it moves to, and where the flow converges, as
it does where one thing goes behind another.  So edges of the motion move to edges of the picture, and pixels hidden in
the second frame take the motion of what they belong to [1].

[1] Sun, Roth, Black. "Secrets of optical flow estimation and their principles." CVPR 2010.
"""

import numpy as np

from gridcut.device import kernel, run_threads, thread_count

RADIUS = 7
ROWS = 2  # every second row of the window is looked at
COLOUR = 7.0  # Lab units
SPACE = 7.0  # pixels
EDGE = 0.2  # pixels off the mean of ROUND x ROUND pixels that make an edge of the motion
ROUND = 5
REACH = 5  # pixels from an edge within which the median is taken
CONVERGENCE = 0.3  # pixels per pixel
RESIDUAL = 15.0  # Lab units
CLOSE = np.float32(0.01)  # pixels: how exactly the median is found
WHOLE = 2**16  # what a weight of 1 is rounded from


def weighted_median(flow: np.ndarray, lab: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """Flow (H, W, 2), float32, of a frame in Lab (H, W, 3), filtered where it has edges; confidence (H, W) in 0..1."""
    import cv2

    where = near_edges(flow)
    planes = [np.ascontiguousarray(np.moveaxis(pixels, 2, 0), np.float32) for pixels in (lab, flow)]
    window = np.ones((2 * RADIUS + 1, 2 * RADIUS + 1), np.uint8)
    low, high = (np.stack([tool(plane, window) for plane in planes[1]]) for tool in (cv2.erode, cv2.dilate))
    offsets = np.arange(-RADIUS, RADIUS + 1) ** 2
    by_place = (WHOLE * np.exp(-(offsets[:, None] + offsets) / (2 * SPACE * SPACE))).astype(np.float32)
    filtered = flow.copy()
    workers = min(thread_count(), len(flow))

    def work(worker):
        # Rows in turn, since edges are not spread evenly over the frame.
        median_kernel(*planes, confidence, where, low, high, by_place, worker, workers, filtered)

    run_threads(work, workers)
    return filtered


def near_edges(flow: np.ndarray) -> np.ndarray:
    """Where the flow, within REACH pixels, is off the mean round it by more than EDGE; bool (H, W).

    An even slope is its own mean, so motion that only turns or scales has no edges.
    """
    import cv2

    off = np.abs(flow - cv2.blur(flow, (ROUND, ROUND)))
    window = np.ones((2 * REACH + 1, 2 * REACH + 1), np.uint8)
    return cv2.dilate((off[..., 0] + off[..., 1] > EDGE).astype(np.uint8), window) > 0


def confidence_of(flow: np.ndarray, lab: np.ndarray, warped: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """How far each pixel's flow can be trusted, in 0.01..1, float32 (H, W).

    `warped` is the second frame seen through the flow, `inside` where that lies within it.
    """
    import cv2

    spread = cv2.Sobel(flow[..., 0], -1, 1, 0, ksize=3, scale=1 / 8)
    spread += cv2.Sobel(flow[..., 1], -1, 0, 1, ksize=3, scale=1 / 8)
    off = warped - lab
    residual = np.einsum("hwc,hwc->hw", off, off)
    exponent = np.minimum(spread, 0) ** 2 / (2 * CONVERGENCE**2) + residual / (2 * RESIDUAL**2)
    return np.maximum(np.exp(-exponent) * np.where(inside, 1.0, 0.1), 0.01).astype(np.float32)


@kernel
def median_kernel(lab, flow, confidence, where, low, high, by_place, first, step, filtered):
    """Rows first, first + step, ...; planes (C, H, W) in, `low` and `high` the extremes of the flow in each window.

    Weights are whole numbers and sums of them plain loops, which the compiler can turn into vector instructions.
    """
    H, W = where.shape
    R = (by_place.shape[0] - 1) // 2
    value = np.empty(by_place.size, np.float32)
    weight = np.empty(by_place.size, np.int32)
    per_square = np.float32(1.0 / (4.0 * COLOUR * COLOUR))
    for y in range(first, H, step):
        top, bottom = y - ROWS * (min(R, y) // ROWS), y + ROWS * (min(R, H - 1 - y) // ROWS) + 1
        for x in range(W):
            if not where[y, x]:
                continue
            left, right = max(0, x - R), min(W, x + R + 1)
            L, A, B = lab[0, y, x], lab[1, y, x], lab[2, y, x]
            columns = right - left
            n = columns * ((bottom - 1 - top) // ROWS + 1)
            for j in range(top, bottom, ROWS):
                row = (j - top) // ROWS * columns
                for i in range(columns):
                    dl, da, db = lab[0, j, left + i] - L, lab[1, j, left + i] - A, lab[2, j, left + i] - B
                    alike = max(np.float32(1.0) - (dl * dl + da * da + db * db) * per_square, np.float32(0.0))
                    near = by_place[j - y + R, left + i - x + R] * confidence[j, left + i]
                    weight[row + i] = np.int32(alike * alike * near)
            half = weight[:n].sum() // 2
            for c in range(2):
                for j in range(top, bottom, ROWS):
                    row = (j - top) // ROWS * columns
                    for i in range(columns):
                        value[row + i] = flow[c, j, left + i]
                below, above = low[c, y, x], high[c, y, x]
                while above - below > CLOSE:
                    middle = np.float32(0.5) * (below + above)
                    total = np.int32(0)
                    for k in range(n):
                        total = np.int32(total + (weight[k] if value[k] <= middle else np.int32(0)))
                    if total <= half:
                        below = middle
                    else:
                        above = middle
                filtered[y, x, c] = np.float32(0.5) * (below + above)
