"""Figures of segmentations, with the object outlined and the background dimmed, and of values with a colour scale."""

import numpy as np

from apps.common.images import to_bytes
from apps.segment.marks import BACKGROUND, OBJECT

OUTLINE_COLOUR = np.array([1.0, 0.85, 0.0], np.float32)
STROKE = {OBJECT: np.array([1.0, 0.1, 0.1], np.float32), BACKGROUND: np.array([0.2, 0.4, 1.0], np.float32)}
TINT = 0.3  # opacity of wide marks
DIMMED = 0.45  # brightness of the background
WORD_GAP = 6  # pixels between the words of a scale
SCALE_HEIGHT = 28
UNKNOWN = 110  # grey


def overlay(rgb: np.ndarray, mask: np.ndarray, width: int | None = None) -> np.ndarray:
    """Image (H, W, 3) in [0, 1] with the background of the mask (H, W) dimmed and its outline drawn; uint8 RGB.

    width   of the outline in pixels; default: `line_width` of this image
    """
    import cv2

    shown = 0.5 * rgb
    shown += cv2.merge([0.5 * grey_of(rgb)] * 3)
    shown *= DIMMED
    cv2.copyTo(rgb, mask.view(np.uint8), shown)
    shown[outline(mask, line_width(mask.shape) if width is None else width)] = OUTLINE_COLOUR
    return to_bytes(shown)


def line_width(shape: tuple[int, ...]) -> int:
    """Width in pixels of the outline in an overlay of this shape (H, W)."""
    return 1 + max(shape[:2]) // 1000


def outline(mask: np.ndarray, width: int = 1) -> np.ndarray:
    """Background pixels within `width` pixels of the mask, so that the line surrounds the object."""
    import cv2

    size = 2 * width + 1
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    return (cv2.dilate(mask.astype(np.uint8), disc) > 0) & ~mask


def with_marks(rgb: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """Image with the user's strokes painted over it, or the box's outline; uint8 RGB."""
    shown = rgb.copy()
    if (marks == OBJECT).any():
        for mark, colour in STROKE.items():
            shown[marks == mark] = colour
    else:
        shown[outline(marks != BACKGROUND, 1 + max(marks.shape) // 400)] = STROKE[OBJECT]
    return to_bytes(shown)


def strokes_figure(rgb: np.ndarray, marks: np.ndarray, width: int | None = None) -> np.ndarray:
    """Image (H, W, 3) in [0, 1] in dimmed grey, with the marks (H, W) in red and blue; uint8 RGB.

    Farther than `width` pixels from what is not marked, as outside a box, the image is visible through the colours.
    The default is `stroke_width` of this image.
    """
    import cv2

    shown = cv2.merge([to_bytes(DIMMED * grey_of(rgb))] * 3)
    width = stroke_width(marks.shape) if width is None else width
    for mark, colour in STROKE.items():
        inside = (marks == mark).view(np.uint8)
        wide = cv2.distanceTransform(inside, cv2.DIST_L2, cv2.DIST_MASK_PRECISE) > width
        tinted = to_bytes(TINT * colour + (1 - TINT) / np.float32(255) * shown[wide])
        shown[inside > 0] = to_bytes(colour)
        shown[wide] = tinted
    return shown


def stroke_width(shape: tuple[int, ...]) -> int:
    """Half the width in pixels above which marks of an image of this shape (H, W) are drawn as a tinted area."""
    return 4 + max(shape[:2]) // 60


def dimmed_grey(rgb: np.ndarray) -> np.ndarray:
    """Image (H, W, 3) without its colours and darker, to draw on it."""
    return np.repeat(DIMMED * grey_of(rgb)[..., None], 3, axis=2)


def grey_of(rgb: np.ndarray) -> np.ndarray:
    """Mean (H, W) of the channels; unlike NumPy's `mean` along an axis of three, not a loop per pixel."""
    return (rgb[..., 0] + rgb[..., 1] + rgb[..., 2]) / np.float32(3)


def side_by_side(*figures: np.ndarray) -> np.ndarray:
    """uint8 RGB figures of the same height next to each other, separated by a thin white line."""
    line = np.full((figures[0].shape[0], 4, 3), 255, np.uint8)
    row = [part for figure in figures for part in (line, figure)]
    return np.concatenate(row[1:], axis=1)


def with_scale(
    values: np.ndarray,
    maximum: float,
    colours: int,
    known: np.ndarray | None = None,
    unit: str = "px",
    minimum: float = 0.0,
) -> np.ndarray:
    """Values (H, W) in an OpenCV colour map from `minimum` to `maximum`, with the scale and unit below; uint8 RGB.

    Values that are not `known` are grey.  The figure is SCALE_HEIGHT rows higher than the values; a narrow one has only
    the words of the scale for which there is room.
    """
    import cv2

    levels = (np.clip((values - minimum) / max(maximum - minimum, 1e-6), 0, 1) * 255 + 0.5).astype(np.uint8)
    height, width = levels.shape
    bar = np.tile(np.uint8(np.linspace(0, 255, width) + 0.5), (SCALE_HEIGHT // 2, 1))
    figure = cv2.applyColorMap(np.vstack([levels, bar]), colours)[..., ::-1].copy()
    if known is not None:
        figure[:height][~known] = UNKNOWN
    words = np.full((SCALE_HEIGHT - SCALE_HEIGHT // 2, width, 3), 255, np.uint8)
    texts = {0.0: f"{minimum:.3g}", 0.5: f"{(minimum + maximum) / 2:.3g}", 1.0: f"{maximum:.3g} {unit}"}
    wide = {where: cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.4, 1)[0][0] for where, text in texts.items()}
    if wide[0.5] / 2 + wide[1.0] + WORD_GAP > width / 2:  # no room for the middle of a narrow figure
        del texts[0.5]
        if wide[0.0] + WORD_GAP + wide[1.0] > width:
            del texts[0.0]
    for where, text in texts.items():
        x = round(np.clip(where * width - wide[where] / 2, 2, max(2, width - wide[where] - 2)))
        cv2.putText(words, text, (x, 11), cv2.FONT_HERSHEY_SIMPLEX, 0.4, (0, 0, 0), 1, cv2.LINE_AA)
    return np.vstack([figure, words])
