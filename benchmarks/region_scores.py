"""Scores of regions against the segments of a ground truth.

boundary recall          share of the ground truth's boundary pixels with a region boundary within 2 pixels [1]
under-segmentation error share of pixels that leak out of the ground truth's segments; for each segment and region that
                         overlap, the smaller of the region's parts inside and outside the segment is counted [2]

More boundary pixels increase the recall, so the share of boundary pixels is reported as well.

[1] Stutz, Hermans, Leibe. "Superpixels: an evaluation of the state-of-the-art." CVIU 166, 2018.
[2] Neubert, Protzel. "Superpixel benchmark and comparison." Forum Bildverarbeitung 2012.
"""

from typing import NamedTuple

import numpy as np
from scipy import ndimage
from skimage.segmentation import find_boundaries

from apps.common.images import read_codes

BOUNDARY_TOLERANCE = 2  # pixels
UNDECIDED = -1


class RegionScores(NamedTuple):
    """Percentages; pixels that are undecided in the ground truth count for no error."""

    boundary_recall: float
    undersegmentation_error: float
    boundary_pixels: float


def read_segments(path):
    """The segments of a mask of 0 and 255, as int32 (H, W), -1 where it is 128."""
    return np.int32([0, UNDECIDED, 1])[np.digitize(read_codes(path, "--truth"), (128, 129))]


def score_regions(labels, truth):
    """Compare regions with segments, both (H, W); for the recall, undecided pixels join the nearest segment."""
    undecided = truth == UNDECIDED
    nearest = ndimage.distance_transform_edt(undecided, return_distances=False, return_indices=True)
    wanted, found = find_boundaries(truth[tuple(nearest)], 1), find_boundaries(labels, 1)
    near = ndimage.distance_transform_edt(~found) <= BOUNDARY_TOLERANCE
    region = labels[~undecided].astype(np.int64)
    pair, shared = np.unique(2 * region + truth[~undecided], return_counts=True)
    leaked = np.minimum(shared, np.bincount(pair // 2, shared)[pair // 2] - shared).sum() / region.size
    return RegionScores(100.0 * near[wanted].mean(), 100.0 * leaked, 100.0 * found.mean())
