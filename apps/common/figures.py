"""The figures of all commands: overlays, marks, labels, sections of volumes, lines, captions, scales and sheets.

Figures are uint8 RGB (H, W, 3).  Small ones are enlarged by an integer factor, and each states in words what it shows.
"""

import colorsys
from collections.abc import Iterable, Mapping, Sequence

import cv2
import numpy as np

from apps.common.images import to_bytes
from apps.segmentation.marks import BACKGROUND, OBJECT

OUTLINE_COLOUR = np.array([1.0, 0.85, 0.0], np.float32)
STROKE = {OBJECT: np.array([1.0, 0.1, 0.1], np.float32), BACKGROUND: np.array([0.2, 0.4, 1.0], np.float32)}
MARK_TINT = 0.3  # opacity of wide marks
DIMMED = 0.45  # brightness of the background
MIN_STROKE = 4  # pixels: half the least width above which marks are drawn as a tinted area
TINT = 0.35  # opacity of an object's colour over the image
# Colours of the first label values, which are those of pure-colour strokes; colour_of spreads the hues of the rest.
FIRST_COLOURS = ((0, 0, 0), (230, 30, 30), (40, 80, 255), (30, 180, 60), (240, 210, 30), (220, 50, 220), (40, 200, 220))
SECTIONS_WIDTH = 1200  # pixels of a figure of small slices
MAX_SIDE = 8192  # pixels of the longer side of a drawn slice
LETTER = 14  # pixels: height of the digits above slices
MAX_KEYED = 16  # labels in the key of slices
SUBPIXEL_BITS = 4  # of the coordinates of drawn lines
MIN_SIDE = 300  # pixels of the longer side to which small figures are enlarged
MIN_LETTER = 11  # pixels: height of the digits in small figures
LETTERS = 110  # sum of a figure's sides in heights of its digits
UNKNOWN = 110  # grey


# Objects and marks


def overlay(rgb: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Image (H, W, 3), uint8 or in [0, 1], with the mask's background dimmed and its outline drawn; uint8 RGB."""
    rgb = to_bytes(rgb)
    shown = mixed(rgb, DIMMED / 2, DIMMED / 2)
    cv2.copyTo(rgb, mask.view(np.uint8), shown)
    shown[outline(mask, line_width(mask.shape))] = to_bytes(OUTLINE_COLOUR)
    return shown


def mixed(rgb: np.ndarray, colour: float, grey: float) -> np.ndarray:
    """The sum of shares of an image, uint8 (H, W, 3), and of the mean of its channels; uint8 RGB."""
    return cv2.transform(rgb, colour * np.eye(3) + grey / 3)


def line_width(shape: tuple[int, ...]) -> int:
    """Width in pixels of the outline in an overlay of this shape (H, W)."""
    return 1 + max(shape[:2]) // 1000


def outline(mask: np.ndarray, width: int = 1) -> np.ndarray:
    """Background pixels within `width` pixels of the mask, so that the line surrounds the object."""
    size = 2 * width + 1
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    return (cv2.dilate(mask.astype(np.uint8), disc) > 0) & ~mask


def strokes_figure(rgb: np.ndarray, marks: np.ndarray, colours: Mapping[int, np.ndarray] = STROKE) -> np.ndarray:
    """Image (H, W, 3), uint8 or in [0, 1], in dimmed grey, with the marks (H, W) in their colours; uint8 RGB.

    Far from what is not marked, as outside a box, the image is visible through the colours.
    """
    shown = mixed(to_bytes(rgb), 0, DIMMED)
    width = MIN_STROKE + max(marks.shape) // 60
    for mark, colour in colours.items():
        inside = (marks == mark).view(np.uint8)
        wide = cv2.distanceTransform(inside, cv2.DIST_L2, cv2.DIST_MASK_PRECISE) > width
        tinted = to_bytes(MARK_TINT * colour + (1 - MARK_TINT) / np.float32(255) * shown[wide])
        shown[inside > 0] = to_bytes(colour)
        shown[wide] = tinted
    return shown


# Labels


def colour_of(value: int) -> tuple:
    """The colour of a label, independent of the other labels: R, G, B in 0 .. 255."""
    if 0 <= value < len(FIRST_COLOURS):
        return FIRST_COLOURS[value]
    hue = (0.618034 * value) % 1.0  # the golden ratio spreads successive hues
    return tuple(round(255 * c) for c in colorsys.hsv_to_rgb(hue, 0.9 - 0.3 * (value % 2), 0.95))


def labels_overlay(rgb: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Image (H, W, 3) in [0, 1] tinted by label (H, W), every object outlined in its colour; uint8 RGB."""
    values = np.unique(labels)
    colours = np.array([colour_of(int(value)) for value in values]) / np.float32(255)
    shown = (1 - TINT) * rgb + TINT * colours[np.searchsorted(values, labels)]
    width = line_width(labels.shape)
    for value, colour in zip(values, colours, strict=True):
        inside = labels == value
        shown[outline(~inside, width)] = colour
    return to_bytes(shown)


def sections(
    volume: np.ndarray, labels: np.ndarray, values: Sequence[int], spacing: Sequence[float] = (1.0, 1.0, 1.0)
) -> np.ndarray:
    """Three slices of a volume (D, H, W) across z, y and x, with the labels of these values, and a key; uint8 RGB.

    Each is the slice that shows most of the labels.  Slices are stretched to the voxel shape given by `spacing`, up to
    MAX_SIDE pixels, and small ones are enlarged, so that the figure is about SECTIONS_WIDTH pixels wide.  One label
    needs no key.
    """
    low, high = (float(v) for v in np.percentile(volume[:: max(1, len(volume) // 32)], (0.5, 99.5)))
    sides = np.array(volume.shape) * spacing / min(spacing)
    enlarged = max(1.0, SECTIONS_WIDTH / (2 * sides[2] + sides[1]))
    parts = []
    for axis in range(3):
        place = best_section(labels, values, axis)
        grey = np.take(volume, place, axis=axis).astype(np.float32)
        grey = np.clip((grey - low) / max(high - low, 1e-12), 0, 1)
        size = enlarged * np.delete(sides, axis)[::-1]
        size = np.maximum(1, np.rint(min(1.0, MAX_SIDE / size.max()) * size)).astype(int).tolist()
        grey = cv2.resize(grey, size, interpolation=cv2.INTER_LINEAR)
        tint = cv2.resize(np.take(labels, place, axis=axis), size, interpolation=cv2.INTER_NEAREST)
        part = labels_overlay(np.repeat(grey[..., None], 3, axis=2), tint)
        parts.append(stacked(caption(f"{'zyx'[axis]} {place}", LETTER), part))
    sheet = side_by_side(*parts)
    return stacked(sheet, key_of(values[:MAX_KEYED]), gap=4) if len(values) > 1 else sheet


def best_section(labels: np.ndarray, values: Sequence[int], axis: int) -> int:
    """The slice across an axis of a volume (D, H, W) that shows most of the labels of these values.

    Every label counts by the share of its largest area.  Without labels, it is the middle slice.
    """
    slices = (np.take(labels, place, axis=axis).ravel() for place in range(labels.shape[axis]))
    area = np.stack([np.bincount(one, minlength=max(values) + 1)[list(values)] for one in slices])
    seen = (area / np.maximum(1, area.max(axis=0))).sum(axis=1)
    best = np.flatnonzero(seen >= seen.max() - 1e-9)
    return int(best[len(best) // 2])  # the middle one of those that show as much


def key_of(values: Iterable[int]) -> np.ndarray:
    """The values of labels, each beside its colour; uint8 RGB."""
    parts = []
    for value in values:
        square = caption("  ", LETTER)
        square[LETTER // 2 : -LETTER // 2, LETTER // 2 :] = colour_of(value)
        parts += [square, caption(f"{value}", LETTER)]
    return side_by_side(*parts, gap=0)


# Points and lines


def drawn_at(points: np.ndarray, zoom: int = 1) -> np.ndarray:
    """Points (N, 2), x and y, of an image in its figure, enlarged `zoom` times, as `draw_lines` takes them; int32."""
    return np.rint(np.clip((points + 0.5) * zoom - 0.5, -1e6, 1e6) * 2**SUBPIXEL_BITS).astype(np.int32)


def draw_lines(figure: np.ndarray, start: np.ndarray, end: np.ndarray, colours: np.ndarray, width: int) -> None:
    """Draw lines between points of `drawn_at`, (N, 2) each, in the colours (N, 3)."""
    for a, b, colour in zip(start.tolist(), end.tolist(), colours.tolist(), strict=True):
        cv2.line(figure, a, b, colour, width, cv2.LINE_AA, SUBPIXEL_BITS)


def draw_circles(figure: np.ndarray, points: np.ndarray, colours: np.ndarray, radius: int, width: int = -1) -> None:
    """Draw discs, or circles of a `width`, around points of `drawn_at` (N, 2), in the colours (N, 3)."""
    for point, colour in zip(points.tolist(), colours.tolist(), strict=True):
        cv2.circle(figure, point, radius << SUBPIXEL_BITS, colour, width, cv2.LINE_AA, SUBPIXEL_BITS)


# Words, scales and sheets


def zoom_of(shape: tuple[int, ...], side: int = MIN_SIDE) -> int:
    """Integer factor by which a figure of this shape (H, W) is enlarged: its longer side has at least `side` pixels."""
    return -(-side // max(shape[:2]))


def enlarged(figure: np.ndarray, factor: int) -> np.ndarray:
    """The figure with `factor` x `factor` pixels for each of its pixels."""
    return figure.repeat(factor, axis=0).repeat(factor, axis=1)


def side_by_side(*figures: np.ndarray, gap: int = 4) -> np.ndarray:
    """Figures next to each other, with white lines of `gap` pixels between them, and white below shorter ones."""
    height = max(len(figure) for figure in figures)
    row = []
    for figure in figures:
        row.append(np.full((height, gap, 3), 255, np.uint8))
        row.append(np.pad(figure, ((0, height - len(figure)), (0, 0), (0, 0)), constant_values=255))
    return np.concatenate(row[1:], axis=1)


def stacked(*figures: np.ndarray, gap: int = 0) -> np.ndarray:
    """Figures below each other, as in `side_by_side`."""
    turned = (figure.swapaxes(0, 1) for figure in figures)
    return np.ascontiguousarray(side_by_side(*turned, gap=gap).swapaxes(0, 1))


def letter_height(shape: tuple[int, ...]) -> int:
    """Height in pixels of the digits in a figure of this shape (H, W)."""
    return max(MIN_LETTER, sum(shape[:2]) // LETTERS)


def caption(text: str, height: int) -> np.ndarray:
    """Text in black on white, with digits of `height` pixels and a margin."""
    font, thick = cv2.FONT_HERSHEY_SIMPLEX, max(1, height // 9)
    size, margin = cv2.getFontScaleFromHeight(font, height, thick), height // 2
    width = cv2.getTextSize(text, font, size, thick)[0][0]
    box = np.full((2 * height, width + 2 * margin, 3), 255, np.uint8)
    cv2.putText(box, text, (margin, height + margin), font, size, (0, 0, 0), thick, cv2.LINE_AA)
    return box


def in_corner(figure: np.ndarray, box: np.ndarray, right: bool = False) -> np.ndarray:
    """The figure with a box in its lower left or lower right corner, or beside it if it is larger than the figure."""
    height, width = box.shape[:2]
    if height > figure.shape[0] or width > figure.shape[1]:
        return side_by_side(figure, box)
    shown, left = figure.copy(), figure.shape[1] - width if right else 0
    shown[-height:, left : left + width] = box
    return shown


def coloured(values: np.ndarray, low: float, high: float, colours: int, known: np.ndarray | None = None) -> np.ndarray:
    """Values (H, W) in an OpenCV colour map from `low` to `high`; values that are not `known` (H, W) are grey."""
    share = np.nan_to_num((values - low) / max(high - low, 1e-6))
    levels = (np.clip(share, 0, 1) * 255 + 0.5).astype(np.uint8)
    figure = cv2.applyColorMap(levels, colours)[..., ::-1]
    return np.ascontiguousarray(figure) if known is None else np.where(known[..., None], figure, np.uint8(UNKNOWN))


def with_scale(
    values: np.ndarray,
    low: float,
    high: float,
    colours: int,
    known: np.ndarray | None = None,
    words: tuple[str, str] = ("", " px"),
) -> np.ndarray:
    """The figure of `coloured`, enlarged if it is small, above a scale from `low` to `high`.

    words   after the numbers at both ends of the scale

    An end of the scale beyond which there are values has a sign for that.
    """
    figure = coloured(values, low, high, colours, known)
    figure = enlarged(figure, zoom_of(figure.shape))
    height, width = letter_height(figure.shape), figure.shape[1]
    seen = values if known is None else values[known]
    below, above = "<= " * bool((seen < low).any()), ">= " * bool((seen > high).any())
    first = caption(f"{below}{low:.3g}{words[0]}", height)
    middle = caption(f"{(low + high) / 2:.3g}", height)
    last = caption(f"{above}{high:.3g}{words[1]}", height)
    left = (width - middle.shape[1]) // 2
    line = np.full((len(first), max(width, first.shape[1] + last.shape[1]), 3), 255, np.uint8)
    if max(first.shape[1], last.shape[1]) <= left:  # a narrow figure has no room for it
        line[:, left : left + middle.shape[1]] = middle
    line[:, : first.shape[1]], line[:, line.shape[1] - last.shape[1] :] = first, last
    bar = coloured(np.tile(np.linspace(0, 1, width), (3 * height // 2, 1)), 0, 1, colours)
    return stacked(figure, bar, line)


def length_bar(scale: float, width: int, height: int, unit: str) -> np.ndarray:
    """A bar for a round length, about a fifth of a figure of `width` pixels, and the length in words below.

    scale    pixels of the figure in a unit of length
    height   of the digits
    """
    ideal = width / 5 / scale
    power = 10.0 ** np.floor(np.log10(ideal))
    length = power * max(step for step in (1, 2, 5) if step * power <= ideal * (1 + 1e-9))
    words = caption(f"{length:g}{unit}", height)
    side = max(round(length * scale), 1)
    box = np.full((height, max(words.shape[1], side + height), 3), 255, np.uint8)
    box[height // 2 :, height // 2 : height // 2 + side] = 0
    return stacked(box, words)
