"""Weighted median of a flow: what the neighbours of like colour that can be trusted say, at the edges of the motion.

Near an edge of the motion the flow of a pixel becomes the median over a window, component by component, with weights

    max(0, 1 - (distance in Lab)^2 / 4 COLOUR_SCALE^2)^2 * exp(-(distance in pixels)^2 / 2 SPATIAL_SIGMA^2) * confidence.

The confidence of a pixel falls where its colour is not found where it moves to, and where the flow converges, as
it does where one thing goes behind another.  So edges of the motion move to edges of the picture, and pixels hidden in
the second frame take the motion of what they belong to [1].

[1] Sun, Roth, Black. "Secrets of optical flow estimation and their principles." CVPR 2010.
"""

import numpy as np

from gridcut.device import kernel, run_threads, thread_count

RADIUS = 7
ROW_STEP = 2  # every second row of the window is looked at
COLOUR_SCALE = 7.0  # Lab units
SPATIAL_SIGMA = 7.0  # pixels
EDGE_THRESHOLD = 0.2  # pixels off the mean of MEAN_SIDE x MEAN_SIDE pixels that make an edge of the motion
MEAN_SIDE = 5
EDGE_RADIUS = 5  # pixels from an edge within which the median is taken
CONVERGENCE_SIGMA = 0.3  # pixels per pixel
RESIDUAL_SIGMA = 15.0  # Lab units
MEDIAN_TOLERANCE = np.float32(0.01)  # pixels: how exactly the median is found
WEIGHT_UNIT = 2**16  # what a weight of 1 is rounded from


def weighted_median(flow: np.ndarray, lab: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """Flow (H, W, 2), float32, of a frame in Lab (H, W, 3), filtered where it has edges; confidence (H, W) in 0..1."""
    import cv2

    mask = near_edges(flow)
    planes = [np.ascontiguousarray(np.moveaxis(pixels, 2, 0), np.float32) for pixels in (lab, flow)]
    window = np.ones((2 * RADIUS + 1, 2 * RADIUS + 1), np.uint8)
    low, high = (np.stack([extreme(plane, window) for plane in planes[1]]) for extreme in (cv2.erode, cv2.dilate))
    offsets = np.arange(-RADIUS, RADIUS + 1) ** 2
    spatial_weight = (WEIGHT_UNIT * np.exp(-(offsets[:, None] + offsets) / (2 * SPATIAL_SIGMA * SPATIAL_SIGMA))).astype(
        np.float32
    )
    filtered = flow.copy()
    workers = min(thread_count(), len(flow))

    def work(worker):
        # Rows in turn, since edges are not spread evenly over the frame.
        median_kernel(*planes, confidence, mask, low, high, spatial_weight, worker, workers, filtered)

    run_threads(work, workers)
    return filtered


def near_edges(flow: np.ndarray) -> np.ndarray:
    """Where the flow, within EDGE_RADIUS pixels, is off the mean round it by more than EDGE_THRESHOLD; bool (H, W).

    An even slope is its own mean, so motion that only turns or scales has no edges.
    """
    import cv2

    off = np.abs(flow - cv2.blur(flow, (MEAN_SIDE, MEAN_SIDE)))
    window = np.ones((2 * EDGE_RADIUS + 1, 2 * EDGE_RADIUS + 1), np.uint8)
    return cv2.dilate((off[..., 0] + off[..., 1] > EDGE_THRESHOLD).astype(np.uint8), window) > 0


def confidence_of(flow: np.ndarray, lab: np.ndarray, warped: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """How far each pixel's flow can be trusted, in 0.01..1, float32 (H, W).

    `warped` is the second frame seen through the flow, `inside` where that lies within it.
    """
    import cv2

    divergence = cv2.Sobel(flow[..., 0], -1, 1, 0, ksize=3, scale=1 / 8)
    divergence += cv2.Sobel(flow[..., 1], -1, 0, 1, ksize=3, scale=1 / 8)
    off = warped - lab
    residual = np.einsum("hwc,hwc->hw", off, off)
    exponent = np.minimum(divergence, 0) ** 2 / (2 * CONVERGENCE_SIGMA**2) + residual / (2 * RESIDUAL_SIGMA**2)
    return np.maximum(np.exp(-exponent) * np.where(inside, 1.0, 0.1), 0.01).astype(np.float32)


@kernel
def median_kernel(lab, flow, confidence, mask, low, high, spatial_weight, first, step, filtered):
    """Rows first, first + step, ...; planes (C, H, W) in, `low` and `high` the extremes of the flow in each window.

    Weights are whole numbers and sums of them plain loops, which the compiler can turn into vector instructions.
    """
    H, W = mask.shape
    R = (spatial_weight.shape[0] - 1) // 2
    value = np.empty(spatial_weight.size, np.float32)
    weight = np.empty(spatial_weight.size, np.int32)
    per_square = np.float32(1.0 / (4.0 * COLOUR_SCALE * COLOUR_SCALE))
    for y in range(first, H, step):
        top, bottom = y - ROW_STEP * (min(R, y) // ROW_STEP), y + ROW_STEP * (min(R, H - 1 - y) // ROW_STEP) + 1
        for x in range(W):
            if not mask[y, x]:
                continue
            left, right = max(0, x - R), min(W, x + R + 1)
            L, A, B = lab[0, y, x], lab[1, y, x], lab[2, y, x]
            columns = right - left
            n = columns * ((bottom - 1 - top) // ROW_STEP + 1)
            for j in range(top, bottom, ROW_STEP):
                row = (j - top) // ROW_STEP * columns
                for i in range(columns):
                    dl, da, db = lab[0, j, left + i] - L, lab[1, j, left + i] - A, lab[2, j, left + i] - B
                    similarity = max(np.float32(1.0) - (dl * dl + da * da + db * db) * per_square, np.float32(0.0))
                    location_weight = spatial_weight[j - y + R, left + i - x + R] * confidence[j, left + i]
                    weight[row + i] = np.int32(similarity * similarity * location_weight)
            half = weight[:n].sum() // 2
            for c in range(2):
                for j in range(top, bottom, ROW_STEP):
                    row = (j - top) // ROW_STEP * columns
                    for i in range(columns):
                        value[row + i] = flow[c, j, left + i]
                lower, upper = low[c, y, x], high[c, y, x]
                while upper - lower > MEDIAN_TOLERANCE:
                    middle = np.float32(0.5) * (lower + upper)
                    total = np.int32(0)
                    for k in range(n):
                        total = np.int32(total + (weight[k] if value[k] <= middle else np.int32(0)))
                    if total <= half:
                        lower = middle
                    else:
                        upper = middle
                filtered[y, x, c] = np.float32(0.5) * (lower + upper)
