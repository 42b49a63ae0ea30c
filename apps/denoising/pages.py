"""The data term of black and white: one threshold for silhouettes, one relative to the paper for scanned pages.

A page is an image whose background varies smoothly: ink is thin, so that closing the image with a square wider than the
strokes leaves the paper with its shading.  Silhouettes are wider than the square; closing keeps their edges, which are
steep.  On a page, each pixel is divided by the paper around it, which removes the shading, and compared with Otsu's
threshold of the quotients.  White ink on dark paper is the same with light and dark exchanged.
"""

import numpy as np

PAPER_SIDE = 16  # sides of the image per side of the square
MIN_SIDE = 32  # pixels: a smaller image is no page
MAX_SLOPE = (
    6.0  # slope of the background, in contrasts of the image per side of it; pages have 1 to 4, silhouettes 9 to 25
)
SHARE = 0.99  # of the pixels whose slope counts
MIN_CONTRAST = 8.0  # grey levels


def preference(seen: np.ndarray, missing: np.ndarray) -> tuple[np.ndarray, bool]:
    """How much each pixel prefers white to black, in [-1, 1], float32, and whether the image is a page.

    seen     (H, W), in grey levels
    missing  (H, W) bool; these pixels prefer neither
    """
    seen = seen.astype(np.float32)
    known = seen if not missing.any() else np.where(missing, np.float32(np.median(seen[~missing])), seen)
    paper, is_dark = _paper(known)
    if paper is None:
        lean = seen * np.float32(2 / 255) - 1
    else:
        from skimage.filters import threshold_otsu

        light = 255 - known if is_dark else known
        quotient = np.minimum(light / np.maximum(paper, 1), np.float32(1.5))
        threshold = np.float32(threshold_otsu(quotient[~missing]))
        lean = (quotient - threshold) / max(np.float32(1e-3), 1 - threshold)
        lean = np.clip(-lean if is_dark else lean, -1, 1)
    lean[missing] = 0
    return lean, paper is not None


def _paper(grey):
    """The brightness of the paper and whether it is dark (then: of the negative); (None, False): no page."""
    contrast = float(np.subtract(*np.percentile(grey, (99, 1))))
    if min(grey.shape) < MIN_SIDE or contrast < MIN_CONTRAST or len(np.unique(grey)) <= 2:
        return None, False
    light = _background(grey)
    dark = _background(255 - grey)
    slopes = [_slope(background) * min(grey.shape) / contrast for background in (light, dark)]
    if min(slopes) > MAX_SLOPE:
        return None, False
    is_dark = slopes[1] < slopes[0]
    return (dark, True) if is_dark else (light, False)


def _background(grey):
    """The image without dark details: closed with a square and smoothed."""
    import cv2

    side = max(3, min(grey.shape) // PAPER_SIDE)
    smooth = cv2.GaussianBlur(cv2.medianBlur(grey, 3), (0, 0), 1.5)  # noise would raise the closing
    closed = cv2.morphologyEx(smooth, cv2.MORPH_CLOSE, np.ones((side, side), np.uint8), borderType=cv2.BORDER_REPLICATE)
    return cv2.GaussianBlur(closed, (0, 0), side / 4)


def _slope(background):
    """The slope in grey levels per pixel that the given share of the pixels does not exceed."""
    down, right = np.gradient(background)
    return float(np.quantile(np.hypot(down, right), SHARE))
