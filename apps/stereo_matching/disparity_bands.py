"""Where to look for disparities: a first labelling by message passing, and a band of labels around it.

One sweep of sequential tree-reweighted message passing [1] over the image and one back find a labelling a few per cent
above the energy that expansions reach.  Each pixel may then take the labels of the pixels within BAND_SIDE // 2 rows
and columns, those up to BAND_MARGIN steps from them, and its cheapest.  A message from p to q, with D = truncate and
w the weight of their edge, is

    m(b) = min_a  belief_p(a) / 2 - m_qp(a) + w min(|a - b|, D),   then shifted so that its minimum is 0,

where belief_p is the cost of p plus all messages to it.  Each edge stores one message, the one last sent.

    costs[d, y, x]               integer cost of disparity d
    across[y, x], along[y, x]    messages (labels,) of the edges to the right and down

Sums stay in 32 bits: the weight of an edge is at most 16 000 units per step, and a message at most `labels` steps.

[1] Kolmogorov. "Convergent tree-reweighted message passing for energy minimization." PAMI 28(10), 2006.

Time: about 20 operations per pixel, label and edge, in vector instructions along the labels.  Memory: 8 bytes per pixel
and label, released before the expansions.
"""

import numpy as np

from gridcut.device import inner_kernel, kernel

BAND_SIDE = 47  # pixels
BAND_MARGIN = 2  # labels
UNREACHABLE = np.int32(1 << 29)
COLUMNS = 16  # pixels of a row whose costs are copied together: one line of the cache per label


def first_labels(costs: np.ndarray, weights: dict, truncate: int) -> np.ndarray:
    """Return labels, int32 (H, W), of low energy for distances min(|a - b|, truncate) on a 4-neighbourhood."""
    count, height, width = costs.shape
    across, along = (np.zeros((height, width, count), np.int32) for _ in range(2))
    labels = np.empty((height, width), np.int32)
    right, down = weights[0, 1], weights[1, 0]
    sweep_kernel(costs, right, down, truncate, True, across, along)
    sweep_kernel(costs, right, down, truncate, False, across, along)
    decide_kernel(costs, right, down, truncate, across, along, labels)
    return labels


def band(labels: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Return which labels, bool in the shape of the costs, each pixel may take: see above."""
    allowed = nearby(labels, len(costs), BAND_SIDE, BAND_MARGIN)
    allowed |= costs == costs.min(axis=0)
    return allowed


def nearby(labels: np.ndarray, count: int, side: int, margin: int) -> np.ndarray:
    """Return which of `count` labels are up to `margin` steps from one in the window of this side around each pixel."""
    import cv2

    window = np.ones((side, side), np.uint8)
    allowed = np.empty((count, *labels.shape), np.bool_)
    for label in range(count):
        allowed[label] = cv2.dilate((abs(labels - label) <= margin).astype(np.uint8), window).view(np.bool_)
    return allowed


@inner_kernel
def read_row(costs, y, row):
    """Copy the costs of line y to row[x, d]."""
    W, L = row.shape
    for begin in range(0, W, COLUMNS):
        for d in range(L):
            for x in range(begin, min(begin + COLUMNS, W)):
                row[x, d] = costs[d, y, x]


@inner_kernel
def send(belief, weight, truncate, message, padded):
    """Replace the message that came along an edge by the one that goes back; `padded` is scratch space."""
    # Unsigned indices need no test for a negative sign, so the loops become vector instructions.
    L = np.uint64(belief.size)
    D = np.uint64(truncate)
    low = UNREACHABLE
    for a in range(L):
        value = (belief[a] >> 1) - message[a]
        padded[D + a] = value
        low = value if value < low else low
    top = np.int32(low + weight * truncate)
    for a in range(L):
        value = padded[D + a]
        message[a] = (value if value < top else top) - low
    for k in range(np.uint64(1), D):
        rise = np.int32(weight * np.int32(k) - low)
        for a in range(L):
            before, after, value = padded[D + a - k], padded[D + a + k], message[a]
            nearer = (before if before < after else after) + rise
            message[a] = nearer if nearer < value else value


@kernel
def sweep_kernel(costs, right, down, truncate, is_forward, across, along):
    """Send messages from every pixel in raster order to the right and down, or in reverse order to the left and up."""
    L, H, W = costs.shape
    row = np.empty((W, L), np.int32)
    belief = np.empty(L, np.int32)
    padded = np.full(L + 2 * truncate, UNREACHABLE, np.int32)
    for i in range(H):
        y = i if is_forward else H - 1 - i
        read_row(costs, y, row)
        for j in range(W):
            x = j if is_forward else W - 1 - j
            for a in range(L):
                belief[a] = row[x, a]
            if x > 0:
                add(belief, across[y, x - 1])
            if y > 0:
                add(belief, along[y - 1, x])
            if x < W - 1:
                add(belief, across[y, x])
            if y < H - 1:
                add(belief, along[y, x])
            if is_forward and x < W - 1:
                send(belief, right[y, x], truncate, across[y, x], padded)
            if is_forward and y < H - 1:
                send(belief, down[y, x], truncate, along[y, x], padded)
            if not is_forward and x > 0:
                send(belief, right[y, x - 1], truncate, across[y, x - 1], padded)
            if not is_forward and y > 0:
                send(belief, down[y - 1, x], truncate, along[y - 1, x], padded)


@kernel
def decide_kernel(costs, right, down, truncate, across, along, labels):
    """Give each pixel, in raster order, its best label given the messages and its upper and left neighbours."""
    L, H, W = costs.shape
    row = np.empty((W, L), np.int32)
    for y in range(H):
        read_row(costs, y, row)
        for x in range(W):
            cost = row[x]
            if x < W - 1:
                add(cost, across[y, x])
            if y < H - 1:
                add(cost, along[y, x])
            if x > 0:
                add_steps(cost, right[y, x - 1], labels[y, x - 1], truncate)
            if y > 0:
                add_steps(cost, down[y - 1, x], labels[y - 1, x], truncate)
            best = 0
            for a in range(1, L):
                best = a if cost[a] < cost[best] else best
            labels[y, x] = best


@inner_kernel
def add(cost, message):
    """Add a message; a loop, as an array expression takes numba a second to compile."""
    for a in range(np.uint64(cost.size)):
        cost[a] += message[a]


@inner_kernel
def add_steps(cost, weight, label, truncate):
    """Add the cost of an edge to a neighbour with this label."""
    for a in range(cost.size):
        cost[a] += weight * min(abs(np.int32(a) - label), truncate)
