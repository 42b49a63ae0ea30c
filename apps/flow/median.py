"""Weighted median filter of a flow at motion edges, over confident neighbours of similar colour.

Near a motion edge, each component of a pixel's flow becomes the median over a window, with weights

    max(0, 1 - (distance in Lab)^2 / 4 COLOUR_SCALE^2)^2 * exp(-(distance in px)^2 / 2 SPATIAL_SIGMA^2) * confidence.

The confidence of a pixel is low where its colour differs from the one at its target, and where the flow converges, as
at occlusions.  Motion edges therefore move to image edges, and pixels hidden in the second frame take the motion of
the surface they belong to [1].

[1] Sun, Roth, Black. "Secrets of optical flow estimation and their principles." CVPR 2010.
"""

import numpy as np

from gridcut.device import kernel, run_threads, thread_count

RADIUS = 7  # pixels, of the window
ROW_STEP = 2  # only every second row of the window is read
COLOUR_SCALE = 7.0  # Lab units
SPATIAL_SIGMA = 7.0  # pixels
EDGE_THRESHOLD = 0.2  # pixels: deviation from the mean of MEAN_SIDE x MEAN_SIDE pixels that marks a motion edge
MEAN_SIDE = 5  # pixels
EDGE_RADIUS = 5  # pixels: distance from an edge up to which pixels are filtered
CONVERGENCE_SIGMA = 0.3  # pixels per pixel
RESIDUAL_SIGMA = 15.0  # Lab units
MEDIAN_TOLERANCE = np.float32(0.01)  # pixels: the bisection for the median stops at this width
WEIGHT_UNIT = 2**16  # integer weight that stands for 1


def weighted_median(flow: np.ndarray, lab: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """Filter a flow, float32 (H, W, 2), near its edges; `lab` (H, W, 3) is the frame, confidence (H, W) is 0 to 1."""
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
        # Interleaved rows, since edges are not spread evenly over the frame.
        median_kernel(*planes, confidence, mask, low, high, spatial_weight, worker, workers, filtered)

    run_threads(work, workers)
    return filtered


def near_edges(flow: np.ndarray) -> np.ndarray:
    """Mark pixels within EDGE_RADIUS of a flow vector that deviates from its local mean by more than EDGE_THRESHOLD.

    Returns bool (H, W).  An affine motion equals its local mean, so rotation and scaling have no edges.
    """
    import cv2

    off = np.abs(flow - cv2.blur(flow, (MEAN_SIDE, MEAN_SIDE)))
    window = np.ones((2 * EDGE_RADIUS + 1, 2 * EDGE_RADIUS + 1), np.uint8)
    return cv2.dilate((off[..., 0] + off[..., 1] > EDGE_THRESHOLD).astype(np.uint8), window) > 0


def confidence_of(flow: np.ndarray, lab: np.ndarray, warped: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Return the confidence of each pixel's flow, 0.01 to 1, float32 (H, W).

    `warped` is the second frame warped by the flow; `inside` marks targets inside the frame.
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
    """Filter rows first, first + step, ...; `lab` and `flow` are planes (C, H, W).

    `low` and `high` are the minimum and maximum of the flow in each window.

    Weights are integers and are summed in simple loops, which the compiler vectorises.
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
            whole = np.int64(0)
            for k in range(n):
                whole += weight[k]
            half = whole // 2
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
