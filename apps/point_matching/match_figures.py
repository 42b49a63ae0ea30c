"""Figures of two matched images: matches as lines between them, and one image overlaid on the other.

Images are (H, W, 3) float32 RGB in [0, 1]; figures are uint8 RGB.
"""

import cv2
import numpy as np

from apps.common.figures import (
    SUBPIXEL_BITS,
    caption,
    draw_circles,
    draw_lines,
    drawn_at,
    enlarged,
    letter_height,
    line_width,
    side_by_side,
    stacked,
    zoom_of,
)
from apps.common.images import to_bytes
from apps.motion.matches import Matches
from apps.point_matching.geometry import apply, in_front

GAP = 8  # pixels between the images
MAX_LINES = 150  # all matches are drawn as dots
DIMMED = 0.75
OUTLINE = (255, 220, 0)


def matches_figure(
    first: np.ndarray, second: np.ndarray, matches: Matches, matrix: np.ndarray | None = None
) -> np.ndarray:
    """Draw both images side by side, all matches as dots, and the most confident of each region as lines.

    With a homography `matrix`, the outline of the first image is drawn in the second.
    """
    zoom = zoom_of(first.shape)
    shown = side_by_side(*(enlarged(to_bytes(DIMMED * image), zoom) for image in (first, second)), gap=GAP)
    shift = zoom * first.shape[1] + GAP
    thick = line_width(shown.shape)
    if matrix is not None:
        _draw_outline(shown[: zoom * second.shape[0], shift:], first.shape, matrix, zoom, thick)
    # Hue by position in the first image: neighbouring lines have similar colours, so wrong ones stand out.
    centre = np.array(first.shape[1::-1]) / 2
    hue = (np.arctan2(*(matches.first - centre).T[::-1]) / np.pi + 1) * 90
    hsv = np.stack([hue % 180, np.full(len(hue), 200), np.full(len(hue), 255)], axis=1).astype(np.uint8)
    colour = cv2.cvtColor(hsv[None], cv2.COLOR_HSV2RGB)[0] if len(hue) else np.zeros((0, 3), np.uint8)
    here, there = (drawn_at(points, zoom) for points in (matches.first, matches.second))
    there[:, 0] += shift << SUBPIXEL_BITS
    lines = _spread_out(matches, first.shape)
    draw_lines(shown, here[lines], there[lines], colour[lines], thick)
    for points in (here, there):
        draw_circles(shown, points, colour, 2 * thick)
    return shown


def overlay_figure(first: np.ndarray, second: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Warp the second image to the first by a homography, and draw both as a checkerboard, above a note of that.

    Edges that continue across squares show that the homography fits.  Outside the second image, the first is dimmed.
    """
    height, width = first.shape[:2]
    back = np.linalg.inv(matrix)
    seen = cv2.warpPerspective(second, back, (width, height))
    there = cv2.warpPerspective(np.ones(second.shape[:2], np.float32), back, (width, height)) > 0.99
    there &= in_front(matrix, first.shape)
    square = max(16, max(height, width) // 12)
    y, x = np.mgrid[:height, :width] // square
    other = ((x + y) % 2 == 1) & there
    shown = to_bytes(np.where(other[..., None], seen, np.where(there[..., None], first, 0.4 * first)))
    shown = enlarged(shown, zoom_of(shown.shape))
    return stacked(shown, caption("first image, every other square: second", letter_height(shown.shape)))


def _spread_out(matches: Matches, shape) -> np.ndarray:
    """Return indices of up to MAX_LINES matches, the most confident of each cell of a grid."""
    side = max(1.0, np.sqrt(shape[0] * shape[1] / MAX_LINES))
    cell = np.floor(matches.first / side).astype(int)
    order = np.argsort(-matches.confidence, kind="stable")
    _, first = np.unique(cell[order, 1] * 100000 + cell[order, 0], return_index=True)
    return order[np.sort(first)][:MAX_LINES]


def _draw_outline(shown, shape, matrix, zoom: int, thick: int) -> None:
    height, width = shape[:2]
    corners = apply(matrix, np.array([[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]], float))
    if np.isfinite(corners).all():  # otherwise the outline crosses the horizon
        cv2.polylines(shown, [drawn_at(corners, zoom)], True, OUTLINE, 2 * thick, cv2.LINE_AA, SUBPIXEL_BITS)
