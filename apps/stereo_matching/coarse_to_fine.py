"""Disparities of large pairs: labellings of reduced images, refined in tiles.

The costs of all disparities of a pair of 12 megapixels do not fit into memory.  So both images are halved until they
do.  The labels of the halved images, doubled, are then improved in the larger ones, tile by tile:

    halved     all disparities are searched, as in apps.stereo_matching.disparities
    doubled    every pixel takes twice the label of the halved image
    tile       expansions of the labels within BAND_SIDE // 2 rows and columns, and of those up to BAND_MARGIN steps
               from them; the labels around the tile are fixed

A tile overlaps its neighbours by 2 * TILE_MARGIN pixels, so a later tile also improves what an earlier one found near
their common border.  The pixels around a tile are part of its problem, so its energy is that of the whole labelling up
to a constant, and no tile raises it.

Memory: the images, their labels, and the costs of one tile per thread.
"""

import cv2
import numpy as np

import gridcut
from apps.common.rectangles import relative, tiles_of, widened
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


def refine(labels, own, other, is_left: bool, smoothness: float, differences) -> None:
    """Improve the labels (H, W) of a large image in place, tile by tile.

    own, other    the image and the one it is compared with, float32 RGB in [0, 1]
    is_left       whether `own` is the left one
    differences   distances of the labels 0 to max_disparity, which depend only on the difference of two labels
    """
    beta = beta_of(own)
    for tile in tiles_of(labels.shape, TILE_SIDE):
        inner = widened(tile, TILE_MARGIN, labels.shape)
        part = widened(inner, 1, labels.shape)  # the pixels around a tile keep their labels
        start = labels[part]
        lowest = max(0, int(start.min()) - BAND_MARGIN)
        count = min(len(differences), int(start.max()) + BAND_MARGIN + 1) - lowest
        start = start - np.int32(lowest)
        rows, columns = part
        costs = region_costs(own, other, is_left, rows, columns, range(lowest, lowest + count))
        near = nearby(start, count, BAND_SIDE, BAND_MARGIN)
        is_fixed = np.ones(start.shape, bool)
        is_fixed[relative(inner, part)] = False
        near[:, is_fixed] = np.arange(count)[:, None] == start[is_fixed]
        weights = contrast_weights(own[part], smoothness, beta)
        how = {"start": start, "allowed": near, "restarts": 0, "device": "cpu"}
        labels[part] = gridcut.alpha_expansion(costs, weights, differences[:count, :count], **how).labels + lowest
