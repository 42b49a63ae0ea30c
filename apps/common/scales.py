"""Words, scales and sizes of figures, so that a figure explains itself.  Figures are uint8 RGB (H, W, 3)."""

from collections.abc import Mapping

import numpy as np

MIN_SIDE = 300  # pixels of the longer side to which small figures are enlarged
MIN_LETTER = 11  # pixels: height of the digits in small figures
LETTERS = 110  # sum of a figure's sides in heights of its digits
UNKNOWN = 110  # grey
SHEET = 1600  # pixels: maximum width of a sheet of panels


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


def panels(named: Mapping[str, np.ndarray], width: int = SHEET) -> np.ndarray:
    """Figures next to each other, each above its name, reduced to `width` pixels in all."""
    import cv2

    figures, height = list(named.values()), width // 80
    share = min(1.0, (width - 4 * len(figures)) / sum(figure.shape[1] for figure in figures))
    figures = [cv2.resize(figure, None, fx=share, fy=share, interpolation=cv2.INTER_AREA) for figure in figures]
    lowest = max(map(len, figures))
    columns = []
    for figure, name in zip(figures, named, strict=True):
        line = np.full((2 * height, figure.shape[1], 3), 255, np.uint8)
        words = caption(name, height)[:, : figure.shape[1]]
        left = (figure.shape[1] - words.shape[1]) // 2
        line[:, left : left + words.shape[1]] = words
        padded = np.pad(figure, ((0, lowest - len(figure)), (0, 0), (0, 0)), constant_values=255)
        columns.append(np.concatenate((padded, line)))
    return side_by_side(*columns)


def letter_height(shape: tuple[int, ...]) -> int:
    """Height in pixels of the digits in a figure of this shape (H, W)."""
    return max(MIN_LETTER, sum(shape[:2]) // LETTERS)


def caption(text: str, height: int) -> np.ndarray:
    """Text in black on white, with digits of `height` pixels and a margin."""
    import cv2

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
    import cv2

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
