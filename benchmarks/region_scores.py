"""Scores of regions against the segments of a ground truth.

boundary recall          share of the ground truth's boundary pixels with a region boundary within 2 pixels [1]
under-segmentation error share of pixels that leak out of the ground truth's segments; for each segment and region that
                         overlap, the smaller of the region's parts inside and outside the segment is counted [2]

More boundary pixels increase the recall, so the share of boundary pixels is reported as well.

[1] Stutz, Hermans, Leibe. "Superpixels: an evaluation of the state-of-the-art." CVIU 166, 2018.
[2] Neubert, Protzel. "Superpixel benchmark and comparison." Forum Bildverarbeitung 2012.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from apps.common.images import InputError, check_same_size, load_array, read_bytes, read_pixels, reading

BOUNDARY_TOLERANCE = 2  # pixels
UNDECIDED = -1


@dataclass(frozen=True, slots=True)
class RegionScores:
    """Percentages; pixels that are undecided in the ground truth count for no error.

    Attributes
    ----------
    boundary_recall : float
        Boundary pixels of the ground truth with a region's boundary within 2 pixels.
    undersegmentation_error : float
        Pixels that leak out of segments.
    boundary_pixels : float
        Share of all pixels that are on a region's boundary.
    """

    boundary_recall: float
    undersegmentation_error: float
    boundary_pixels: float


def read_segments(path) -> np.ndarray:
    """Read the segments of a ground truth as int32 (H, W), -1 where undecided.

    In a mask of 0 and 255, pixels of 128 are undecided.  In any other image, palette image or .npy array, each value or
    colour is a segment.
    """
    codes = _read_values(path)
    if codes.ndim == 3:
        codes = codes.astype(np.int64) @ (1 << 16 * np.arange(codes.shape[2]))
    if codes.ndim != 2 or codes.size == 0 or codes.dtype.kind not in "bui":
        raise InputError(f"--truth: {str(path)!r} must have one integer, or one colour, per pixel")
    values, segments = np.unique(codes, return_inverse=True)
    segments = segments.reshape(codes.shape).astype(np.int32)
    if set(values.tolist()) <= {0, 128, 255} and codes.dtype == np.uint8:
        segments[codes == 128] = UNDECIDED
    if (segments == UNDECIDED).all():
        raise InputError(f"--truth: {str(path)!r} leaves every pixel undecided (128)")
    return segments


def score_regions(labels: np.ndarray, truth: np.ndarray) -> RegionScores:
    """Compare regions with segments, both (H, W); for the recall, undecided pixels join the nearest segment."""
    from scipy import ndimage

    check_same_size(truth, labels.shape, "--truth")
    filled = truth
    if (truth == UNDECIDED).any():
        nearest = ndimage.distance_transform_edt(truth == UNDECIDED, return_distances=False, return_indices=True)
        filled = truth[tuple(nearest)]
    wanted, found = outlines(filled), outlines(labels)
    hit = 0
    if found.any():
        hit = int(np.count_nonzero(wanted & (ndimage.distance_transform_edt(~found) <= BOUNDARY_TOLERANCE)))
    recall = hit / np.count_nonzero(wanted) if wanted.any() else 1.0
    return RegionScores(100.0 * recall, 100.0 * _leaked(labels, truth), 100.0 * found.mean())


def _leaked(labels, truth) -> float:
    """Share of decided pixels that leak."""
    decided = truth != UNDECIDED
    segments = int(truth.max()) + 1
    pair, shared = np.unique(labels[decided].astype(np.int64) * segments + truth[decided], return_counts=True)
    region = pair // segments
    size = np.bincount(region, shared)
    return float(np.minimum(shared, size[region] - shared).sum() / decided.sum())


def _read_values(path) -> np.ndarray:
    """Values as stored, including palette indices."""
    if Path(path).suffix.lower() != ".npy":
        return read_pixels(path, "--truth", indices=True)
    with reading(path, "--truth", "pass a label image, a mask or a .npy array"):
        return load_array(read_bytes(path, "--truth"))


def outlines(labels: np.ndarray) -> np.ndarray:
    """Pixels that share a side with a pixel of another region; bool (H, W)."""
    found = np.zeros(labels.shape, bool)
    right, below = labels[:, 1:] != labels[:, :-1], labels[1:] != labels[:-1]
    found[:, 1:] |= right
    found[:, :-1] |= right
    found[1:] |= below
    found[:-1] |= below
    return found
