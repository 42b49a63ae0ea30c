"""Disparities of large pairs: labellings of reduced images, refined in tiles.

The costs of all disparities of a pair of 12 megapixels do not fit into memory.  So both images are halved until they
do.  The labels of the halved images, doubled, are then improved in the larger ones, tile by tile:

    halved     all disparities are searched, as in apps.stereo_matching.disparities
    doubled    every pixel takes twice the label of the halved image
    tile       expansions of the labels within BAND_SIDE // 2 rows and columns, and of those up to BAND_MARGIN steps
               from them; the labels around the tile are fixed

A tile overlaps its neighbours by 2 * TILE_MARGIN pixels, so a later tile also improves what an earlier one found near
their common border.  The costs of the edges to the pixels around a tile are added to those of its pixels, so its energy
is that of the whole labelling up to a constant, and no tile raises it.

Memory: the images, their labels, and the costs of one tile per thread.
"""

import cv2
import numpy as np

import gridcut
from apps.stereo_matching.costs import UNIT, region_costs
from apps.stereo_matching.disparity_bands import nearby
from gridcut.contrast import mean_squared_distance_kernel

TILE_SIDE = 256  # pixels
TILE_MARGIN = 16  # pixels
BAND_SIDE = 15  # pixels
BAND_MARGIN = 2  # labels
MIN_WEIGHT_SHARE = 0.2  # share of the weight at the strongest contrast


def halved(rgb: np.ndarray) -> np.ndarray:
    """Return an image of half as many rows and columns, rounded up."""
    height, width = rgb.shape[:2]
    return cv2.resize(rgb, ((width + 1) // 2, (height + 1) // 2), interpolation=cv2.INTER_AREA)


def enlarged(labels: np.ndarray, shape: tuple[int, int], max_label: int) -> np.ndarray:
    """Return the labels of a reduced image at the pixels of an image of this shape, multiplied by the scale."""
    rows, columns = ((2 * np.arange(n) + 1) * m // (2 * n) for n, m in zip(shape, labels.shape, strict=True))
    scale = shape[1] / labels.shape[1]
    scaled = np.minimum(np.rint(np.arange(labels.max() + 1) * scale), max_label).astype(np.int32)
    return scaled[labels[rows[:, None], columns]]


def beta_of(rgb: np.ndarray) -> float:
    """Return the decrease of the weights with contrast that `contrast_weights` chooses for an image."""
    mean = mean_squared_distance_kernel(np.ascontiguousarray(rgb)[None], np.array([(0, 0, 1), (0, 1, 0)]))
    return 1.0 / (2.0 * 255.0**2 * mean) if mean > 0 else 0.0


def contrast_weights(rgb: np.ndarray, smoothness: float, beta: float | str = "auto") -> dict:
    """Return the weights, int32, of the 4-neighbourhood; they are smaller across image edges."""
    edges = gridcut.contrast_edges(np.float32(255) * rgb, 1.0, 4, beta=beta, dtype=np.float32)
    return {
        o: np.int32(np.rint(smoothness * UNIT * (MIN_WEIGHT_SHARE + (1 - MIN_WEIGHT_SHARE) * fall)))
        for o, fall in edges.items()
    }


def refine(labels, own, other, is_left: bool, kind: str, smoothness: float, differences) -> None:
    """Improve the labels (H, W) of a large image in place, tile by tile.

    own, other    the image and the one it is compared with, float32 RGB in [0, 1]
    is_left       whether `own` is the left one
    differences   distances of the labels 0 to max_disparity, which depend only on the difference of two labels
    """
    height, width = labels.shape
    beta = beta_of(own)
    for y in range(0, height, TILE_SIDE):
        for x in range(0, width, TILE_SIDE):
            rows = slice(max(0, y - TILE_MARGIN), min(height, y + TILE_SIDE + TILE_MARGIN))
            columns = slice(max(0, x - TILE_MARGIN), min(width, x + TILE_SIDE + TILE_MARGIN))
            start = labels[rows, columns]
            lowest = max(0, int(start.min()) - BAND_MARGIN)
            highest = min(len(differences) - 1, int(start.max()) + BAND_MARGIN)
            costs = region_costs(own, other, is_left, rows, columns, range(lowest, highest + 1), kind)
            weights = _weights_around(own, rows, columns, smoothness, beta)
            _fix_surroundings(costs, labels, rows, columns, weights, differences[:, lowest : highest + 1])
            count = highest + 1 - lowest
            inside = {o: weight[1:-1, 1:-1] for o, weight in weights.items()}
            near = nearby(start - lowest, count, BAND_SIDE, BAND_MARGIN)
            how = {"start": start - lowest, "allowed": near, "restarts": 0, "device": "cpu"}
            found = gridcut.alpha_expansion(costs, inside, differences[:count, :count], **how)
            labels[rows, columns] = found.labels + np.int32(lowest)


def _weights_around(rgb, rows, columns, smoothness, beta) -> dict:
    """Return the weights of a tile and of one pixel around it; 0 outside the image."""
    height, width = rgb.shape[:2]
    first, last = max(0, rows.start - 1), min(height, rows.stop + 1)
    begin, end = max(0, columns.start - 1), min(width, columns.stop + 1)
    missing = (
        (first - rows.start + 1, rows.stop + 1 - last),
        (begin - columns.start + 1, columns.stop + 1 - end),
    )
    weights = contrast_weights(rgb[first:last, begin:end], smoothness, beta)
    return {o: np.pad(weight, missing) for o, weight in weights.items()}


def _fix_surroundings(costs, labels, rows, columns, weights, differences) -> None:
    """Add the costs of the edges to the fixed pixels around a tile to those of its pixels.

    differences   (all labels, labels of the tile)
    """
    height, width = labels.shape
    right, down = weights[0, 1], weights[1, 0]
    if columns.start > 0:
        costs[:, :, 0] += (right[1:-1, 0, None] * differences[labels[rows, columns.start - 1]]).T
    if columns.stop < width:
        costs[:, :, -1] += (right[1:-1, -2, None] * differences[labels[rows, columns.stop]]).T
    if rows.start > 0:
        costs[:, 0] += (down[0, 1:-1, None] * differences[labels[rows.start - 1, columns]]).T
    if rows.stop < height:
        costs[:, -1] += (down[-2, 1:-1, None] * differences[labels[rows.stop, columns]]).T
