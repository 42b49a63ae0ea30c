"""Scores of masks against the ground truth."""

import numpy as np

from apps.common.images import check_same_size, read_codes
from apps.segmentation.marks import OPEN
from apps.segmentation.strokes import grey_levels

BOUNDARY_TOLERANCE = 2  # pixels: distance within which boundary pixels match


def read_truth(path) -> np.ndarray:
    """Read a ground truth as uint8 (H, W): 0 background, 255 object, 128 undecided; 0 and 1 only also work."""
    codes = read_codes(path, "--truth")
    codes = codes[..., 0] if codes.ndim == 3 else codes
    if codes.max() <= 1 and codes.min() >= 0:
        return np.uint8(255) * codes.astype(np.uint8)
    codes = grey_levels(codes, f"--truth: {str(path)!r}")
    truth = np.full(codes.shape, 128, np.uint8)
    truth[codes < 64] = 0
    truth[codes > 192] = 255
    return truth


def score(mask: np.ndarray, truth: np.ndarray, marks: np.ndarray) -> dict[str, float]:
    """Compare a mask (H, W) with the ground truth; in per cent.

    Pixels that are undecided in the ground truth are ignored.

    error_percent        wrong pixels among those that are OPEN in `marks`
    iou_percent          intersection over union of the object
    boundary_f_percent   F-measure of boundary pixels that have a boundary pixel of the other mask within 2 pixels
    """
    check_same_size(truth, mask.shape, "--truth")
    decided = truth != 128
    is_object = truth == 255
    judged = decided & (marks == OPEN)
    wrong = (mask != is_object) & judged
    either = (mask | is_object) & decided
    both = mask & is_object & decided
    return {
        "error_percent": 100.0 * float(wrong.sum() / max(1, judged.sum())),
        "iou_percent": 100.0 * float(both.sum() / max(1, either.sum())),
        "boundary_f_percent": _boundary_f(np.where(decided, mask, is_object), is_object),
    }


def _boundary_f(mask, truth):
    from scipy import ndimage

    edges = [shape & ~ndimage.binary_erosion(shape, border_value=1) for shape in (mask, truth)]
    if not edges[0].any() or not edges[1].any():
        return 100.0 * float(not edges[0].any() and not edges[1].any())
    near = [ndimage.distance_transform_edt(~edge) <= BOUNDARY_TOLERANCE for edge in edges]
    precision = (edges[0] & near[1]).sum() / edges[0].sum()
    recall = (edges[1] & near[0]).sum() / edges[1].sum()
    return 100.0 * 2 * precision * recall / max(1e-9, precision + recall)
