"""Strokes painted in colours, as a paint program saves them: which pixels are painted, and in which colour.

The model: an image has a ground, which is transparent, plain, or the photograph; without one that fits half of the
pixels, it is whatever has no hue.  What differs from the ground is paint.  Paint has few colours, each of them compact
in RGB and named by its hue, so that the red and the blue of every palette are red and blue.  A colour that lies
between two others, as anti-aliasing, soft brushes and JPEG leave it, is a rim and belongs to no stroke.

Paint that does not fit the model is refused: translucent strokes on a photograph, faint strokes, and images whose
ground is neither flat nor a copy of the photograph.
"""

from typing import NamedTuple

import numpy as np

from apps.common.errors import InputError
from apps.common.row_blocks import blocks_of, for_blocks

SAME = 24  # maximum difference of a channel between a pixel and the ground, as JPEG leaves it
PAINTED = 40  # minimum difference of a channel between a painted pixel and the ground
COMPACT = 48  # maximum difference of a channel between a painted pixel and its stroke's colour
MIN_CHROMA = 56  # a colour with a smaller range of its channels has no hue, as JPEG leaves grey
HALF = 0.5  # of an alpha of 1: minimum of paint; of pixels: what a ground fits, strokes explain, rims have between
MIN_STROKE = 16  # pixels: a dot of a pen; fewer are noise
MIN_SHARE = 0.02  # of the painted pixels: a colour so frequent is none of compression's noise
MIN_HUED = 0.9  # of the pixels with a hue: what strokes explain where there is no other ground
RIM = 2  # pixels: width of a rim that anti-aliasing leaves
FAR = 16  # pixels: width of a soft brush's rim, and of JPEG's blocks of colour
MAX_PALETTE = 256  # distinct colours of a file with a palette
MAX_SAMPLE = 1 << 20  # pixels among which the most frequent colour is searched
MAX_WINDOWS = 2000  # pixels of a colour whose surroundings are examined

REMEDY = "paint the object red and the background blue, opaque, on a white image or on a copy of the image"

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
    ground, paper, difference = _ground(colour, visible, image)
    painted = visible & (difference > PAINTED)
    if not painted.any():
        what = "it equals the image" if ground == "the image" else f"every pixel is {ground}"
        if ground == "transparency":
            most = pixels[..., 3].max()
            what = f"its paint is translucent, with an alpha of at most {most}, and strokes need 128 of 255 or more"
        raise InputError(f"{name} has no coloured stroke: {what}; {REMEDY}")
    if ground == "the image":
        painted = _without_specks(painted)
    found = _colours(colour, painted, paper, difference)
    strokes = np.zeros(painted.shape, bool)
    for one in found:
        strokes |= one.pixels
    if ground == "the image":
        strokes = _without_specks(strokes)
        for one in found:
            np.logical_and(one.pixels, strokes, out=one.pixels)
    near = _widened(strokes, RIM)
    explained, least = (strokes, MIN_HUED) if ground == "grey" else (painted & near, HALF)
    if np.count_nonzero(explained) < least * np.count_nonzero(painted):
        what = "has strokes of too many colours, such as those of translucent brushes"
        if ground == "grey":
            what = "is not painted on a plain colour, on transparency or on a copy of the image"
        raise InputError(f"{name} {what}; {REMEDY}")
    if ground not in ("the image", "grey"):
        faint = difference > SAME if ground != "transparency" else pixels[..., 3] > 0
        lost = int(np.count_nonzero(faint & ~near))
        lost = int(np.count_nonzero(faint & ~_widened(strokes, FAR))) if lost >= MIN_STROKE else 0
        if lost >= max(MIN_STROKE, MIN_SHARE * np.count_nonzero(strokes)):
            what = f"{listed(found)}, but {lost} pixels are faint, as translucent paint leaves them"
            raise InputError(f"{name} has strokes in {what}; {REMEDY}")
    return found


def listed(colours: list[Colour]) -> str:
    """The colours and their numbers of pixels, for messages."""
    *first, last = [colour.text for colour in colours] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def _ground(colour, visible, image):
    """The ground's name, its colour or colours, and how much each pixel differs from it.

    The name is "transparency", "the image", "grey" or a code; the colours are None where the ground has none.
    """
    count = np.count_nonzero(visible)
    if count < HALF * visible.size:
        return "transparency", None, np.full(visible.shape, 255, np.uint8)
    plain = _plain_colour(colour, visible)
    ground, paper, difference = hex_code(plain), plain, _difference(colour, plain)
    share = np.count_nonzero((difference <= SAME) & visible) / count
    if image is not None and image.shape[:2] == visible.shape:
        from_image = _difference(colour, image)
        if share < HALF or np.count_nonzero((from_image <= SAME) & visible) >= share * count:
            ground, paper, difference = "the image", image, _with_palette(from_image, colour, image)
            share = np.count_nonzero((difference <= SAME) & visible) / count
    if share >= HALF and (ground == "the image" or hue_name(plain) not in ("red", "blue")):
        return ground, paper, difference
    # Also strokes in colours on an image of one channel, drawings without a white sheet, and a filled background.
    return "grey", None, np.where(_chroma(colour) < MIN_CHROMA, 0, 255)


def _difference(colour, other) -> np.ndarray:
    """The largest difference of a channel of uint8 colours, (H, W, 3) or (N, 3), from others or from a colour (3,)."""
    import cv2

    out = np.empty(colour.shape[:-1], np.uint8)
    if other.ndim == 1:
        rows = max(last - first for first, last in blocks_of(colour.shape))
        plain = np.broadcast_to(other, (rows, *colour.shape[1:])).astype(np.uint8)

    def work(first, last):
        part = np.ascontiguousarray(colour[first:last])
        from_part = plain[: last - first] if other.ndim == 1 else np.ascontiguousarray(other[first:last])
        apart = cv2.absdiff(part, from_part).reshape(-1, 1, 3)
        red, green, blue = cv2.split(apart)
        out[first:last] = cv2.max(cv2.max(red, green), blue).reshape(out[first:last].shape)

    for_blocks(work, colour.shape)
    return out


def _chroma(colour) -> np.ndarray:
    r, g, b = _channels(colour)
    return np.maximum(np.maximum(r, g), b) - np.minimum(np.minimum(r, g), b)


def _channels(colours) -> tuple:
    return colours[..., 0], colours[..., 1], colours[..., 2]


def _with_palette(difference, colour, image) -> np.ndarray:
    """The difference from an image, or, if smaller, from the image in the few colours of a file with a palette."""
    palette = _palette(colour)
    if palette is None:
        return difference
    far = np.nonzero(difference > SAME)
    difference[far] = np.minimum(difference[far], _difference(colour[far], _nearest(image[far], palette)))
    return difference


def _palette(colour) -> np.ndarray | None:
    """The distinct colours, uint8 (N, 3); None if there are more than MAX_PALETTE."""
    flat = colour.reshape(-1, 3)
    for step in (101, 1):  # the sample recognises most images without a palette
        codes = _distinct(_code(flat[::step]))
        if len(codes) > MAX_PALETTE:
            return None
    return _colour_of(codes)


def _nearest(colours, palette) -> np.ndarray:
    """The nearest colour of a palette in RGB for each colour."""
    from scipy.spatial import cKDTree

    distinct, where = np.unique(_code(colours), return_inverse=True)
    if not len(distinct):
        return colours
    return palette[cKDTree(palette).query(_colour_of(distinct))[1]][where]


def _code(colours) -> np.ndarray:
    """Integers with the 8 bits of each channel."""
    r, g, b = _channels(colours)
    return r.astype(np.int32) << 16 | g.astype(np.int32) << 8 | b


def _colour_of(codes) -> np.ndarray:
    return np.stack([codes >> 16, codes >> 8, codes], axis=-1).astype(np.uint8)


def _distinct(codes) -> np.ndarray:
    present = np.zeros(1 << 24, bool)
    present[codes] = True
    return np.flatnonzero(present)


def hex_code(rgb) -> str:
    return "#{:02x}{:02x}{:02x}".format(*(int(v) for v in rgb))


def _plain_colour(colour, visible) -> np.ndarray:
    """The most frequent colour of the visible pixels, or of a sample of them."""
    step = max(1, visible.size // MAX_SAMPLE)
    values = colour.reshape(-1, 3)[::step][visible.ravel()[::step]]
    values = values if len(values) else colour[visible]
    cells = _cell(values)
    return _colour_in(np.argmax(np.bincount(cells)), cells, values)


def _cell(colours) -> np.ndarray:
    """Codes of 5 bits per channel."""
    r, g, b = (channel.astype(np.int32) >> 3 for channel in _channels(colours))
    return (r << 10) | (g << 5) | b


def _colour_in(cell, cells, values) -> np.ndarray:
    """The median of the colours in a cell."""
    return np.rint(np.median(np.take(values, np.flatnonzero(cells == cell), axis=0), axis=0)).astype(np.uint8)


def _without_specks(painted) -> np.ndarray:
    """The connected parts of at least MIN_STROKE pixels."""
    import cv2

    _, parts, stats, _ = cv2.connectedComponentsWithStats(painted.view(np.uint8), connectivity=8)
    return (stats[:, cv2.CC_STAT_AREA] >= MIN_STROKE)[parts] & painted


def _colours(colour, painted, paper, difference) -> list[Colour]:
    """The colours of the painted pixels without their rims, by decreasing number of pixels."""
    places = np.flatnonzero(painted)
    values = np.take(colour.reshape(-1, 3), places, axis=0)  # several times faster than colour[painted]
    cells = _cell(values)
    counts = np.bincount(cells, minlength=1 << 15)
    peaks = [_colour_in(cell, cells, values) for cell in _peaks(counts)]
    if not peaks:
        return []
    kinds = np.zeros(painted.shape, np.int16)  # 0: the ground, -1: paint of no colour, k: the colour k - 1
    kinds.ravel()[places] = _nearest_peak(peaks, np.flatnonzero(counts))[cells]
    found = [Colour(hue_name(peak), peak, kinds == k) for k, peak in enumerate(peaks, 1)]
    sizes = [int(np.count_nonzero(one.pixels)) for one in found]
    depths = [
        int(np.abs(peak - paper.astype(int)).max()) if paper is not None and paper.ndim == 1 else 0 for peak in peaks
    ]

    def is_above(a: int, b: int) -> bool:
        """Whether the second colour may be a rim of the first: it is rarer, or of the same hue and paler."""
        same = found[a].name == found[b].name and depths[a] != depths[b]
        return depths[a] > depths[b] if same else (sizes[a], -a) > (sizes[b], -b)

    kept: list[Colour] = []
    rims: list[Colour] = []
    for k, one in enumerate(found):
        above = [a for a in range(len(found)) if a != k and is_above(a, k)]
        is_rim = sizes[k] and _is_rim(one, [found[a] for a in above], kinds, [a + 1 for a in above], colour, paper)
        (rims if is_rim else kept).append(one)
    kept = sorted((one for one in kept if one.pixels.any()), key=lambda one: -np.count_nonzero(one.pixels))
    for one in kept:
        tints = [rim.pixels for rim in rims if rim.name == one.name]
        near = _widened(one.pixels, RIM) if tints else one.pixels
        for pixels in tints:  # the part of a rim that is mostly of its stroke
            y, x = np.unravel_index(np.flatnonzero(pixels & near), near.shape)
            if len(y):
                one.pixels[y, x] |= _difference(colour[y, x], one.rgb) <= difference[y, x] // 2
    return kept


def _is_rim(one: Colour, above: list[Colour], kinds, numbers, colour, paper) -> bool:
    """Whether most pixels of a colour lie between two others, in place or in colour.

    In place: within RIM pixels of two of the ground and the colours above, whose numbers are given; of one of these if
    it has no hue or the same.  In colour: mixtures of the ground and of a colour above, within FAR pixels of that.
    """
    places = np.flatnonzero(one.pixels)
    y, x = np.unravel_index(places[:: 1 + len(places) // MAX_WINDOWS], kinds.shape)
    steps = np.arange(-RIM, RIM + 1)
    rows = np.clip(y[:, None] + steps, 0, kinds.shape[0] - 1)
    columns = np.clip(x[:, None] + steps, 0, kinds.shape[1] - 1)
    around = kinds[rows[:, :, None], columns[:, None, :]].reshape(len(y), -1)
    is_tint = one.name == "grey" or one.name in (other.name for other in above)
    most = HALF * sum(np.count_nonzero(other.pixels) for other in above)
    if not is_tint and np.count_nonzero(one.pixels) > most:
        return False
    beside = [(around == number).any(axis=1) for number in ([] if is_tint else [0]) + numbers]
    between = np.count_nonzero(beside, axis=0) >= (1 if is_tint else 2) if beside else np.zeros(len(y), bool)
    if paper is not None and np.mean(between) < HALF:
        base = (paper if paper.ndim == 1 else paper[y, x]).astype(float)
        part = colour[y, x] - base
        for other in above:
            full = other.rgb - base
            share = (full * part).sum(axis=-1) / np.maximum((full * full).sum(axis=-1), 1)
            off = np.abs(part - np.clip(share, 0, 1)[:, None] * full).max(axis=-1)
            between |= (off <= SAME) & _widened(other.pixels, FAR)[y, x]
    return bool(np.mean(between) >= HALF)


def _peaks(counts) -> list[int]:
    """The most frequent cells of the colours of paint, none nearer to another than COMPACT."""
    cells = np.flatnonzero(counts)
    levels = _levels(cells)
    left, total, peaks = counts[cells], counts.sum(), []
    while left.any():
        top = int(np.argmax(left))
        apart = np.abs(levels - levels[top]).max(axis=1)
        near = left * (apart <= COMPACT)
        number, tight = near.sum(), near[apart <= 8].sum()
        # Few pixels are a colour of their own if they have a hue and are not spread like noise.
        is_dot = number >= MIN_STROKE and tight >= HALF * number and hue_name(levels[top]) != "grey"
        if number >= MIN_SHARE * total or is_dot:
            peaks.append(int(cells[top]))
        left = left - near
    return peaks


def _levels(cells) -> np.ndarray:
    """The colours in the middle of cells, (N, 3)."""
    return np.stack([cells >> 10, cells >> 5 & 31, cells & 31], axis=-1) * 8 + 4


def _nearest_peak(peaks, cells) -> np.ndarray:
    """For each cell, the number from 1 of the nearest colour, or -1 if none is near; 0 for cells not asked for."""
    apart = np.stack([np.abs(_levels(cells) - peak.astype(int)).max(axis=1) for peak in peaks])
    nearest = np.zeros(1 << 15, np.int16)
    nearest[cells] = np.where(apart.min(axis=0) <= COMPACT, apart.argmin(axis=0) + 1, -1)
    return nearest


def _widened(pixels, by: int) -> np.ndarray:
    """The pixels, bool (H, W), and those near to them."""
    import cv2

    return cv2.dilate(pixels.view(np.uint8), np.ones((2 * by + 1, 2 * by + 1), np.uint8)).view(bool)


def hue_name(rgb) -> str:
    """The name of a colour's hue; "grey" for a colour without a hue."""
    r, g, b = (int(v) for v in rgb)
    high, low = max(r, g, b), min(r, g, b)
    if high - low < MIN_CHROMA:
        return "grey"
    if high == r:
        hue = 60 * (g - b) / (high - low) % 360
    elif high == g:
        hue = 60 * (b - r) / (high - low) + 120
    else:
        hue = 60 * (r - g) / (high - low) + 240
    return next(name for end, name in HUES if hue < end)
