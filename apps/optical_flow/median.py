"""Weighted median filter of a flow at motion edges, over confident neighbours of similar colour.

Near a motion edge, each component of a pixel's flow becomes the median over a window, with weights

    max(0, 1 - (distance in Lab)^2 / 4 COLOUR_SCALE^2)^2 * exp(-(distance in px)^2 / 2 SPATIAL_SIGMA^2) * confidence.

The confidence of a pixel is low where its colour differs from the one at its target, and where the flow converges, as
at occlusions.  Motion edges therefore move to image edges, and pixels hidden in the second frame take the motion of
the surface they belong to [1].

[1] Sun, Roth, Black. "Secrets of optical flow estimation and their principles." CVPR 2010.
"""

import cv2
import numpy as np

from apps.optical_flow.channels import squared_distance
from gridcut.device import inner_kernel, kernel, run_threads, thread_count

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
# A window is read as ROWS rows of SPAN pixels: a whole number of vectors, of which the last column has no weight.
FIRST_ROW = RADIUS % ROW_STEP
ROWS = 2 * (RADIUS // ROW_STEP) + 1
SPAN = 2 * RADIUS + 2


def weighted_median(flow: np.ndarray, lab: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """Filter a flow, float32 (H, W, 2), near its edges; `lab` (H, W, 3) is the frame, confidence (H, W) is 0 to 1."""
    mask = near_edges(flow)
    flow_planes = [np.ascontiguousarray(flow[..., i]) for i in range(2)]
    window = np.ones((2 * RADIUS + 1, 2 * RADIUS + 1), np.uint8)
    low, high = (np.stack([extreme(plane, window) for plane in flow_planes]) for extreme in (cv2.erode, cv2.dilate))
    lab_planes = [np.ascontiguousarray(lab[..., i], np.float32) for i in range(3)]
    padded = [np.stack([_padded(plane) for plane in planes]) for planes in (lab_planes, flow_planes)]
    padded_confidence = _padded(confidence.astype(np.float32))
    offsets = np.arange(-RADIUS, RADIUS + 1) ** 2
    spatial_weight = np.zeros((2 * RADIUS + 1, SPAN), np.float32)
    spatial_weight[:, :-1] = WEIGHT_UNIT * np.exp(-(offsets[:, None] + offsets) / (2 * SPATIAL_SIGMA * SPATIAL_SIGMA))
    filtered = flow.copy()
    workers = min(thread_count(), len(flow))

    def work(worker):
        # Interleaved rows, since edges are not spread evenly over the frame.
        median_kernel(*padded, padded_confidence, mask, low, high, spatial_weight, worker, workers, filtered)

    run_threads(work, workers)
    return filtered


def _padded(plane: np.ndarray) -> np.ndarray:
    """Surround a plane by zeros, so that every window is inside; a confidence of 0 gives them no weight."""
    return cv2.copyMakeBorder(plane, RADIUS, RADIUS, RADIUS, RADIUS + 1, cv2.BORDER_CONSTANT, value=0)


def near_edges(flow: np.ndarray) -> np.ndarray:
    """Mark pixels within EDGE_RADIUS of a flow vector that deviates from its local mean by more than EDGE_THRESHOLD.

    Returns bool (H, W).  An affine motion equals its local mean, so rotation and scaling have no edges.
    """
    off = np.abs(flow - cv2.blur(flow, (MEAN_SIDE, MEAN_SIDE)))
    window = np.ones((2 * EDGE_RADIUS + 1, 2 * EDGE_RADIUS + 1), np.uint8)
    return cv2.dilate((off[..., 0] + off[..., 1] > EDGE_THRESHOLD).astype(np.uint8), window) > 0


def confidence_of(flow: np.ndarray, lab: np.ndarray, warped: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Return the confidence of each pixel's flow, 0.01 to 1, float32 (H, W).

    `warped` is the second frame warped by the flow; `inside` marks targets inside the frame.
    """
    divergence = cv2.Sobel(flow[..., 0], -1, 1, 0, ksize=3, scale=1 / 8)
    divergence += cv2.Sobel(flow[..., 1], -1, 0, 1, ksize=3, scale=1 / 8)
    residual = squared_distance(warped, lab)
    exponent = np.minimum(divergence, 0) ** 2 / (2 * CONVERGENCE_SIGMA**2) + residual / (2 * RESIDUAL_SIGMA**2)
    confidence = np.exp(-exponent)
    confidence[~inside] = 0.1 * confidence[~inside].astype(np.float64)
    return np.maximum(confidence, np.float32(0.01))


@kernel
def median_kernel(lab, flow, confidence, mask, low, high, spatial_weight, first, step, filtered):
    """Filter rows first, first + step, ...; `lab`, `flow` and `confidence` are padded planes (C, H, W) and (H, W).

    `low` and `high` are the minimum and maximum of the flow in each window.

    Weights are integers and are summed in loops over SPAN pixels, which the compiler vectorises.
    """
    H, W = mask.shape
    value = np.empty(ROWS * SPAN, np.float32)
    weight = np.empty(ROWS * SPAN, np.int32)
    for y in range(first, H, step):
        for x in range(W):
            if mask[y, x]:
                window_weights(lab, confidence, spatial_weight, y, x, weight)
                half = sum_of(weight) // 2
                for c in range(2):
                    window_values(flow[c], y, x, value)
                    filtered[y, x, c] = median_between(weight, value, half, low[c, y, x], high[c, y, x])


@inner_kernel
def window_weights(lab, confidence, spatial_weight, y, x, weight):
    """Write the weights of the window around (y, x), row by row."""
    L, A, B = lab[0, y + RADIUS, x + RADIUS], lab[1, y + RADIUS, x + RADIUS], lab[2, y + RADIUS, x + RADIUS]
    for k in range(ROWS):
        row = FIRST_ROW + ROW_STEP * k
        j, right = y + row, x + SPAN
        row_weights(
            (L, A, B),
            lab[0, j, x:right],
            lab[1, j, x:right],
            lab[2, j, x:right],
            confidence[j, x:right],
            spatial_weight[row],
            weight[SPAN * k : SPAN * (k + 1)],
        )


@inner_kernel
def row_weights(colour, light, green_red, blue_yellow, confidence, spatial_weight, weight):
    """Write the weights of one row of a window."""
    L, A, B = colour
    per_square = np.float32(1.0 / (4.0 * COLOUR_SCALE * COLOUR_SCALE))
    for i in range(SPAN):
        dl, da, db = light[i] - L, green_red[i] - A, blue_yellow[i] - B
        similarity = max(np.float32(1.0) - (dl * dl + da * da + db * db) * per_square, np.float32(0.0))
        weight[i] = np.int32(similarity * similarity * (spatial_weight[i] * confidence[i]))


@inner_kernel
def window_values(plane, y, x, value):
    """Copy the window around (y, x) of a padded plane, row by row."""
    for k in range(ROWS):
        copy_row(plane[y + FIRST_ROW + ROW_STEP * k, x : x + SPAN], value[SPAN * k : SPAN * (k + 1)])


@inner_kernel
def copy_row(source, target):
    for i in range(SPAN):
        target[i] = source[i]


@inner_kernel
def median_between(weight, value, half, lower, upper):
    """Bisect [lower, upper] for the value up to which the weights sum to `half`."""
    while upper - lower > MEDIAN_TOLERANCE:
        middle = np.float32(0.5) * (lower + upper)
        if weight_up_to(weight, value, middle) <= half:
            lower = middle
        else:
            upper = middle
    return np.float32(0.5) * (lower + upper)


@inner_kernel
def sum_of(weight):
    """Sum all weights; at most ROWS * SPAN * WEIGHT_UNIT, so int32 is enough."""
    total = np.int32(0)
    for k in range(weight.size):
        total = np.int32(total + weight[k])
    return total


@inner_kernel
def weight_up_to(weight, value, limit):
    """Sum the weights of the values up to a limit."""
    total = np.int32(0)
    for k in range(weight.size):
        total = np.int32(total + (weight[k] if value[k] <= limit else np.int32(0)))
    return total
