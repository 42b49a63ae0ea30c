"""Strokes painted in colours, as a paint program saves them: which pixels are painted, and in which colour.

The model: an image has a ground, which is transparent, plain without a hue, or the photograph; if it is none of these,
whatever has no hue is the ground.  What differs from the ground is paint.  Paint has few colours, each of them compact
in RGB, and one hue per label.  Pixels between a stroke and the ground, as anti-aliasing, soft brushes and JPEG leave
them, are a rim: they belong to the stroke on a plain ground if they are nearer to it, and to no stroke otherwise.

Every painted pixel must be part of a stroke or of a rim.  An image with more other paint than noise is refused, since
some of its strokes would be lost or guessed.
"""

from typing import NamedTuple

import numpy as np

from apps.common.errors import InputError
from apps.common.row_blocks import blocks_of, for_blocks

# Colours differ by their largest difference of a channel, in levels of 255.
SAME = 24  # a colour that JPEG or a palette changed
PAINTED = 40  # paint, from the ground; between the two it is faint
COMPACT = 48  # a stroke's pixel, from the stroke's colour; also the smallest range of channels of a colour with a hue
CELL = 8  # width of the bins in which colours are counted

# Shares.
HALF = 0.5  # of an alpha of 1, of the way from the ground to a colour, of pixels: the larger part decides
FIFTH = 0.2  # at least: of an image its photograph, of a part of the paint its stroke; at most: of strokes, lost paint
MAX_CHANGED = 0.05  # of the ground: pixels that JPEG changes by more than SAME
MIN_SHARE = 0.02  # of the painted pixels: a colour so frequent is no noise

# Numbers of pixels.
MIN_STROKE = 16  # a dot of a pen; fewer are noise
DOT = 3  # of a stroke, in a square of 3 x 3; dithering leaves fewer
RIM = 2  # width of the rim of anti-aliasing
FAR = 16  # width of a soft brush's rim, and of JPEG's blocks of colour
MAX_SAMPLE = 1 << 20  # what a frequent colour is searched in

REMEDY = (
    "paint the object red and the background blue, opaque, on a white image or on a copy of the image, and save it as "
    "PNG, as JPEG blurs strokes"
)

# The end of each hue in degrees.  Those between two names are named as well, and have no meaning.
HUES = (
    (20, "red"),
    (42, "orange"),
    (70, "yellow"),
    (80, "lime"),
    (165, "green"),
    (172, "turquoise"),
    (190, "cyan"),
    (262, "blue"),
    (285, "violet"),
    (328, "magenta"),
    (335, "pink"),
    (360, "red"),
)
NAMES = ("grey", *dict.fromkeys(name for _, name in HUES))


class Colour(NamedTuple):
    """A colour of the strokes: its hue's name, or "grey", and its pixels."""

    name: str
    rgb: np.ndarray
    pixels: np.ndarray

    @property
    def text(self) -> str:
        return f"{self.name} {hex_code(self.rgb)} ({np.count_nonzero(self.pixels)} pixels)"


def painted_strokes(pixels: np.ndarray, image: np.ndarray | None, name: str) -> list[Colour]:
    """Find the colours of the strokes of an image, by decreasing number of pixels.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (H, W, 3) or (H, W, 4)
        RGB or RGBA.
    image : ndarray of uint8, shape (H, W, 3), or None
        The photograph, to recognise strokes painted on a copy of it.
    name : str
        Subject of the error messages.

    Raises
    ------
    InputError
        If there is no ground, or the strokes are not of few compact colours.
    """
    colour = pixels[..., :3]
    visible = np.ones(colour.shape[:2], bool) if pixels.shape[2] == 3 else pixels[..., 3] > HALF * 255
    ground, base, difference = _ground(colour, visible, image)
    painted = visible & (difference > (PAINTED if ground != "grey" else COMPACT))
    if not painted.any():
        what = "it equals the image" if ground == "the image" else f"every pixel is {ground}"
        if ground == "transparency":
            most = pixels[..., 3].max()
            what = f"its paint is translucent, with an alpha of at most {most}, and strokes need 128 of 255 or more"
        raise InputError(f"{name} has no coloured stroke: {what}; {REMEDY}")
    found = _colours(colour, painted, base, difference)
    faint = pixels[..., 3] > 0 if ground == "transparency" else difference > SAME
    fault = _unexplained(found, colour, painted, base, faint, RIM if ground == "grey" else FAR)
    if fault:
        if ground == "grey":
            fault = "is not painted on a plain colour, on transparency or on a copy of the image"
        raise InputError(f"{name} {fault}; {REMEDY}")
    return found


def listed(colours: list[Colour]) -> str:
    """The colours and their numbers of pixels, for messages."""
    *first, last = [colour.text for colour in colours] or ["no frequent colour"]
    return f"{', '.join(first)} and {last}" if first else last


def _ground(colour, visible, image):
    """The ground's name, its colour (3,) or colours (H, W, 3), and how much each pixel differs from it.

    The name is "transparency", "the image", "grey" or a code; the colours are None where the ground has none.
    """
    chroma = _chroma(colour)
    without_hue = visible & (chroma <= COMPACT)
    base = _plain_colour(colour, without_hue)
    ground, difference = hex_code(base), _difference(colour, base)
    most = np.count_nonzero((difference <= SAME) & visible)
    is_plain = bool(most >= HALF * np.count_nonzero(without_hue))
    if image is not None and image.shape[:2] == visible.shape:
        from_image = _difference(colour, image)
        same = np.count_nonzero((from_image <= SAME) & visible)
        if same >= max(most, FIFTH * visible.size):
            ground, base, difference, most, is_plain = "the image", image, from_image, same, True
    if np.count_nonzero(~visible) > most:
        return "transparency", None, np.full(visible.shape, 255, np.uint8)
    # Otherwise strokes in colours on an image of one channel, or drawings without a white sheet.
    return (ground, base, difference) if is_plain else ("grey", None, chroma)


def _unexplained(found, colour, painted, base, faint, far) -> str:
    """What the strokes do not explain, if it is more than noise, in words for a message; otherwise "".

    faint   pixels that differ a little from the ground
    """
    import cv2

    strokes = np.zeros(painted.shape, bool)
    for one in found:
        strokes |= one.pixels
    count = np.count_nonzero(strokes)
    noise = max(MIN_STROKE, MIN_SHARE * count)
    away = ~_widened(strokes, RIM)
    lost = painted & away
    if lost.any():
        lost &= ~_mixtures(lost, colour, base, found)
    around = cv2.boxFilter(strokes.view(np.uint8), -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT)
    dots = np.count_nonzero(strokes & (around < DOT))
    alone = 0
    if lost.any():
        alone = int(np.count_nonzero(_parts_of(painted & ~_parts_of(painted, 1, strokes, FIFTH), MIN_STROKE)))
    if max(MIN_STROKE, FIFTH * count) <= dots:
        return f"is dithered: {dots} of the {count} pixels of its strokes are single"
    if alone >= noise or np.count_nonzero(lost) > FIFTH * count:
        number = max(alone, np.count_nonzero(lost))
        what = f"{number} painted pixels belong to no stroke in {listed(found)}"
        return f"has strokes of too many colours, as translucent brushes and JPEG leave them: {what}"
    if far > RIM and np.count_nonzero(away & faint) >= noise:
        away = ~_widened(strokes, far)
    number = np.count_nonzero(away & faint)
    if base is None or base.ndim == 1:
        what = f"has strokes in {listed(found)}, but {number} pixels are faint, as translucent paint leaves them"
        return what if number >= noise else ""
    if number > MAX_CHANGED * np.count_nonzero(away):
        return f"differs from the image at {number} pixels away from its strokes in {listed(found)}"
    return ""


def _difference(colour, other) -> np.ndarray:
    """The largest difference of a channel of uint8 colours (H, W, 3) from others or from a colour (3,)."""
    import cv2

    if other.ndim == 1:
        rows = max(last - first for first, last in blocks_of(colour.shape))
        plain = np.broadcast_to(other, (rows, *colour.shape[1:])).astype(np.uint8)

    def of_rows(part, first, last):
        from_part = plain[: last - first] if other.ndim == 1 else np.ascontiguousarray(other[first:last])
        red, green, blue = cv2.split(cv2.absdiff(part, from_part))
        return cv2.max(cv2.max(red, green), blue)

    return _by_rows(of_rows, colour)


def _chroma(colour) -> np.ndarray:
    import cv2

    def of_rows(part, *_):
        red, green, blue = cv2.split(part)
        return cv2.max(cv2.max(red, green), blue) - cv2.min(cv2.min(red, green), blue)

    return _by_rows(of_rows, colour)


def _by_rows(of_rows, colour) -> np.ndarray:
    """uint8 (H, W): of_rows(part, first, last) of the blocks of rows of colours (H, W, 3)."""
    out = np.empty(colour.shape[:2], np.uint8)

    def work(first, last):
        out[first:last] = of_rows(np.ascontiguousarray(colour[first:last]), first, last)

    for_blocks(work, colour.shape)
    return out


def hex_code(rgb) -> str:
    return "#{:02x}{:02x}{:02x}".format(*(int(v) for v in rgb))


def _plain_colour(colour, pixels) -> np.ndarray:
    """The most frequent colour of the pixels, or of a sample of them."""
    step = max(1, pixels.size // MAX_SAMPLE)
    values = colour.reshape(-1, 3)[::step][pixels.ravel()[::step]]
    if not len(values):
        return np.full(3, 255, np.uint8)
    cells = _cell(values)
    return _median(values[cells == np.argmax(np.bincount(cells))])


def _median(values) -> np.ndarray:
    return np.rint(np.median(values[:: 1 + len(values) // 4096], axis=0)).astype(np.uint8)


def _cell(colours) -> np.ndarray:
    """Codes of the bins of colours, 5 bits per channel."""
    r, g, b = (colours[..., k].astype(np.int32) // CELL for k in range(3))
    return (r << 10) | (g << 5) | b


def _levels(cells) -> np.ndarray:
    """The colours in the middle of bins, (N, 3)."""
    return np.stack([cells >> 10, cells >> 5 & 31, cells & 31], axis=-1) * CELL + CELL // 2


def _colours(colour, painted, base, difference) -> list[Colour]:
    """The colours of the painted pixels by decreasing number of pixels, one per hue, without rims."""
    places = np.flatnonzero(painted)
    cells = _cell(np.take(colour.reshape(-1, 3), places, axis=0))  # several times faster than colour[painted]
    counts = np.bincount(cells, minlength=(256 // CELL) ** 3)
    used = np.flatnonzero(counts)
    levels = _levels(used)
    tops = _peaks(levels, counts[used])
    if not tops:
        return []
    peaks, names = levels[tops], _hues(levels[tops])
    apart = np.stack([np.abs(levels - peak).max(axis=1) for peak in peaks])
    off, nearest = apart.min(axis=0), apart.argmin(axis=0)
    nearest[off > COMPACT] = -1
    if base is not None and base.ndim == 1:
        _add_tints(nearest, levels, peaks, names, base)
    own, depth = _table(used, nearest)[cells], difference.ravel()[places]
    if base is not None and base.ndim == 3:  # the paint is opaque: nearer to its colour than to the photograph
        own[_table(used, off)[cells] > HALF * depth] = -1
    parts = [_at(places[own == k], painted.shape) for k in range(len(peaks))]
    if base is not None and base.ndim == 3:
        parts = [_parts_of(part, MIN_STROKE) for part in parts]
    sizes = [np.count_nonzero(part) for part in parts]
    of_kind = np.bincount(own + 1, minlength=len(peaks) + 1)[1:]
    depths = np.bincount(own + 1, depth, len(peaks) + 1)[1:] // np.maximum(SAME * of_kind, 1)

    found: dict[int, Colour] = {}
    # Rims come after strokes: they are nearer to the ground than the first colour of their hue, or rarer.
    first = {names[k]: k for k in sorted(range(len(peaks)), key=lambda k: (depths[k], sizes[k]))}
    of_name = np.bincount(names, sizes)
    order = sorted((names[k] == 0, first[names[k]] != k, -of_name[names[k]], -depths[k], k) for k in range(len(peaks)))
    for *_, k in order:
        if not sizes[k]:
            continue
        pixels, strokes = parts[k], list(found.values())
        if strokes:
            beside = pixels & _widened(np.logical_or.reduce([one.pixels for one in strokes]), RIM)
            is_rare = sizes[k] < FIFTH * sum(np.count_nonzero(one.pixels) for one in strokes)
            if is_rare and np.count_nonzero(beside) >= HALF * sizes[k]:
                continue
            mixed = _mixtures(pixels, colour, base, strokes)
            if is_rare and np.count_nonzero(beside | mixed) >= HALF * sizes[k]:
                continue
            vague = _at(places[_table(used, off > SAME)[cells]], painted.shape)
            rims = mixed | (beside & vague)
            pixels = pixels & ~_parts_of(pixels, 1, rims, HALF) if rims.any() else pixels
        if names[k] in found:
            found[names[k]].pixels[pixels] = True
        elif pixels.any():
            rgb = _median(colour.reshape(-1, 3)[places[cells == used[tops[k]]]])
            found[names[k]] = Colour(NAMES[names[k]], rgb, pixels)
    return sorted(found.values(), key=lambda one: -np.count_nonzero(one.pixels))


def _at(places, shape) -> np.ndarray:
    """The pixels, bool of a shape, at flat indices."""
    pixels = np.zeros(shape, bool)
    pixels.ravel()[places] = True
    return pixels


def _table(cells, values) -> np.ndarray:
    """Values by the codes of bins."""
    table = np.zeros((256 // CELL) ** 3, values.dtype)
    table[cells] = values
    return table


def _peaks(levels, counts) -> list[int]:
    """The places of the most frequent colours of paint, none nearer to another than COMPACT."""
    left, total, tops = counts.copy(), counts.sum(), []
    while left.any():
        top = int(np.argmax(left))
        apart = np.abs(levels - levels[top]).max(axis=1)
        near = left * (apart <= COMPACT)
        number, tight = near.sum(), near[apart <= CELL].sum()
        # Few pixels are a colour of their own if they have a hue and are not spread like noise.
        is_dot = number >= MIN_STROKE and tight >= HALF * number and hue_name(levels[top]) != "grey"
        if number >= MIN_SHARE * total or is_dot:
            tops.append(top)
        left -= near
    return tops


def _add_tints(nearest, levels, peaks, names, plain) -> None:
    """On a plain ground, which has no hue, mixtures keep the hue: those that are mostly paint are of its colour."""
    hues = _hues(levels)
    depths, of_peaks = (np.abs(colours - plain.astype(int)).max(axis=1) for colours in (levels, peaks))
    for name in set(names) - {0}:
        own = np.flatnonzero(names == name)
        deepest = own[of_peaks[own].argmax()]
        is_paint = depths >= HALF * of_peaks[deepest]
        nearest[(nearest < 0) & (hues == name) & is_paint] = deepest
        nearest[np.isin(nearest, own) & ~is_paint] = -1


def _mixtures(pixels, colour, base, found) -> np.ndarray:
    """The pixels within FAR of strokes that are mixtures of the ground and at most half of the stroke's colour."""
    mixed = np.zeros(pixels.shape, bool)
    for one in found if base is not None else []:
        places = np.flatnonzero(pixels & ~mixed & _widened(one.pixels, FAR))
        ground = (base if base.ndim == 1 else base.reshape(-1, 3)[places]).astype(float)
        part, full = colour.reshape(-1, 3)[places] - ground, one.rgb - ground
        share = (full * part).sum(axis=-1) / np.maximum((full * full).sum(axis=-1), 1)
        off = np.abs(part - np.clip(share, 0, HALF)[:, None] * full).max(axis=-1)
        mixed.ravel()[places[off <= SAME]] = True
    return mixed


def _parts_of(pixels, least: int = 1, chosen=None, share=0.0) -> np.ndarray:
    """The connected parts of `least` pixels or more, of which at least a share is chosen."""
    import cv2

    count, parts = cv2.connectedComponents(pixels.view(np.uint8), connectivity=8)
    places = np.flatnonzero(pixels)
    at = parts.ravel()[places]
    sizes = np.bincount(at, minlength=count)
    is_kept = sizes >= least
    if chosen is not None:
        is_kept &= np.bincount(at[chosen.ravel()[places]], minlength=count) >= np.maximum(share * sizes, 1)
    return _at(places[is_kept[at]], pixels.shape)


def _widened(pixels, by: int) -> np.ndarray:
    """The pixels, bool (H, W), and those near to them."""
    import cv2

    return cv2.dilate(pixels.view(np.uint8), np.ones((2 * by + 1, 2 * by + 1), np.uint8)).view(bool)


def _hues(colours) -> np.ndarray:
    """The numbers in NAMES of the hues of colours (N, 3)."""
    r, g, b = colours.T.astype(float)
    high = np.maximum(np.maximum(r, g), b)
    chroma = high - np.minimum(np.minimum(r, g), b)
    safe = np.maximum(chroma, 1)
    sector = [60 * (g - b) / safe % 360, 60 * (b - r) / safe + 120]
    hue = np.select([high == r, high == g], sector, 60 * (r - g) / safe + 240)
    ends, names = zip(*HUES, strict=True)
    numbers = np.array([NAMES.index(name) for name in names])
    return np.where(chroma <= COMPACT, 0, numbers[np.searchsorted(ends, hue, side="right")])


def hue_name(rgb) -> str:
    """The name of a colour's hue; "grey" for a colour without a hue."""
    return NAMES[_hues(np.asarray(rgb).reshape(1, 3))[0]]
