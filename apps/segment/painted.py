"""Strokes painted in colours, as a paint program saves them: which pixels are painted, and in which colour.

A stroke image is painted on transparency, on a plain background, on a copy of the photograph, or on anything grey.
What explains most of the pixels is the ground.  A pixel is painted if it is opaque and differs from the ground.
Strokes are of few colours, each of them compact in RGB.  Pixels between a stroke's colour and the ground, as
anti-aliasing and JPEG leave them at its rim, belong to no stroke.  A stroke's colour is named by its hue, so that the
red and the blue of every palette are red and blue.

Anything else is refused: colours whose hue is between two names, translucent strokes on a photograph, and images that
are neither flat nor a copy of the photograph.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from apps.common.errors import InputError
from apps.common.row_blocks import blocks_of, for_blocks

SAME = 24  # maximum difference of a channel between a pixel and the ground, as JPEG leaves it
PAINTED = 40  # minimum difference of a channel between a painted pixel and the ground
COMPACT = 48  # maximum difference of a channel between a painted pixel and its stroke's colour
OPAQUE = 128  # minimum alpha of a painted pixel
MIN_GROUND = 0.5  # share of the pixels that the ground must explain
MIN_EXPLAINED = 0.5  # share of the painted pixels that the colours of the strokes must explain
MIN_EXPLAINED_ON_GREY = 0.9  # the same without a ground that explains most of the image
MIN_COLOUR = 0.02  # share of the painted pixels that makes a colour of its own
MIN_SMALL = 16  # pixels of a colour below that share: a dot beside large areas
TIGHT = 12  # maximum difference of a channel from a colour, as JPEG leaves it inside a stroke
MIN_TIGHT = 0.5  # share of a small colour's pixels that are so close, unlike those of compression noise
MAX_REJECTED = 8  # small colours that are noise, after which no others are looked for
MAX_COLOURS = 12
MIN_SPECK = 4  # fewer adjacent painted pixels on a photograph are compression noise
MAX_PALETTE = 256  # distinct colours of a file with a palette
MAX_SAMPLE = 1 << 20  # pixels among which the most frequent colour is searched
MIN_CHROMA = 56  # a colour with a smaller range of its channels is grey
MAX_RIM = 0.3  # maximum number of a rim's pixels, as a share of those of the strokes
MIN_RIM = 0.8  # share of a colour's pixels within 2 pixels of more frequent colours that makes it their rim
MIN_BLEND, MAX_BLEND = 0.08, 0.92  # a colour this far between the ground and another colour is their blend

REMEDY = "paint the object red and the background blue, opaque, on a white image or on a copy of the image"

# Hues in degrees, up to and without the second.  Hues in the gaps are refused: orange, lime, violet.
HUES = {
    "red": ((335, 360), (0, 20)),
    "yellow": ((42, 70),),
    "green": ((80, 165),),
    "cyan": ((172, 190),),
    "blue": ((190, 262),),
    "magenta": ((285, 328),),
}


class Colour(NamedTuple):
    """A colour of the strokes: its hue's name, "grey", or None for a hue between two names; and its pixels."""

    name: str | None
    rgb: tuple[int, int, int]
    pixels: np.ndarray

    @property
    def text(self) -> str:
        code = hex_code(self.rgb)
        return code if self.name is None else f"{self.name} {code}"


@dataclass(frozen=True)
class Painting:
    """The strokes of an image.

    ground    "transparency", "the image", a plain colour as "#ffffff", or "grey": any grey
    colours   the colours of the strokes, by decreasing number of pixels
    painted   number of painted pixels, with the rims of the strokes
    """

    ground: str
    colours: list[Colour]
    painted: int

    @property
    def explained(self) -> int:
        return sum(int(np.count_nonzero(colour.pixels)) for colour in self.colours)


def painted_strokes(pixels: np.ndarray, image: np.ndarray | None, name: str) -> Painting:
    """Find the strokes of an image.

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
    visible = np.ones(colour.shape[:2], bool) if pixels.shape[2] == 3 else pixels[..., 3] >= OPAQUE
    ground, plain, difference = _ground(colour, visible, image)
    painted = visible if difference is None else visible & (difference > PAINTED)
    if not painted.any():
        what = "it equals the image" if ground == "the image" else f"every pixel is {ground}"
        if ground == "transparency":
            most = int(pixels[..., 3].max())
            what = (
                f"its paint is translucent, with an alpha of at most {most}, and strokes need {OPAQUE} of 255 or more"
            )
        raise InputError(f"{name} has no coloured stroke: {what}; {REMEDY}")
    if ground == "the image":
        painted = _without_specks(painted)
    paper = plain if ground.startswith("#") else None
    colours = _colours(colour, painted, paper, paper is not None or ground == "transparency")
    found = Painting(ground, colours, int(np.count_nonzero(painted)))
    if found.explained < (MIN_EXPLAINED if ground != "grey" else MIN_EXPLAINED_ON_GREY) * found.painted:
        if ground == "grey":
            raise InputError(
                f"{name} is not painted on a plain colour, on transparency or on a copy of the image; {REMEDY}"
            )
        raise InputError(f"{name} has strokes of too many colours, such as those of translucent brushes; {REMEDY}")
    return found


def lost_paint(pixels: np.ndarray, marked: np.ndarray) -> str:
    """What the colours of a stroke image show about strokes that were lost, or an empty string.

    pixels   uint8 (H, W, 3 or 4), or values without colours
    marked   bool (H, W): the pixels of the strokes that were found

    Black and white alone remain after dithering.  Faint paint is translucent unless it is the rim of a stroke that was
    found; on a ground that is not plain, it cannot be told from the ground.
    """
    if pixels.ndim != 3 or pixels.dtype != np.uint8 or pixels.shape[2] < 3:
        return ""
    colour, visible = pixels[..., :3], np.ones(marked.shape, bool)
    if pixels.shape[2] == 4:
        visible = pixels[..., 3] >= OPAQUE
        faint = ~visible & (pixels[..., 3] > 0)
    else:
        plain = _plain_colour(colour, visible)
        difference = _difference(colour, plain)
        is_plain = np.count_nonzero(difference <= SAME) >= MIN_GROUND * difference.size
        faint = (difference > SAME) & ~marked if is_plain else np.zeros(marked.shape, bool)
    if not _chroma(colour[visible]).any() and np.isin(colour[visible], (0, 255)).all():
        return "the file is black and white, as dithering leaves it"
    lost = np.count_nonzero(faint & ~_widened(marked))
    if lost >= max(MIN_SMALL, MIN_COLOUR * np.count_nonzero(marked)):
        return f"{lost} pixels are faint, as translucent paint leaves them"
    return ""


def _ground(colour, visible, image):
    """The ground's name, the most frequent colour, and how much each pixel differs from the ground.

    On transparency there is neither a colour nor a difference: they are None.
    """
    count = np.count_nonzero(visible)
    if count < (1 - MIN_GROUND) * visible.size:
        return "transparency", None, None
    plain = _plain_colour(colour, visible)
    ground, difference = hex_code(plain), _difference(colour, plain)
    share = np.count_nonzero((difference <= SAME) & visible) / count
    if image is not None and image.shape[:2] == visible.shape:
        from_image = _difference(colour, image)
        if share < MIN_GROUND or np.count_nonzero((from_image <= SAME) & visible) >= share * count:
            ground, difference = "the image", _with_palette(from_image, colour, image)
            share = np.count_nonzero((difference <= SAME) & visible) / count
    if share >= MIN_GROUND and not _is_stroke(ground, plain):
        return ground, plain, difference
    # Also images of one channel on which strokes were painted in colours, and drawings without a white sheet.
    return "grey", plain, np.where(_chroma(colour) < MIN_CHROMA, 0, PAINTED + 1)


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


def _is_stroke(ground: str, plain) -> bool:
    """Whether a plain ground is red or blue: then the strokes of one kind cover most of the image."""
    return ground != "the image" and hue_name(plain) in ("red", "blue")


def hex_code(rgb) -> str:
    return "#{:02x}{:02x}{:02x}".format(*(int(v) for v in rgb))


def _plain_colour(colour, visible) -> np.ndarray:
    """The most frequent colour of the visible pixels, or of a sample of them."""
    step = max(1, visible.size // MAX_SAMPLE)
    values = colour.reshape(-1, 3)[::step][visible.ravel()[::step]]
    return _most_frequent(values if len(values) else colour[visible])


def _most_frequent(values) -> np.ndarray:
    """The median of the colours in the most frequent cell of 5 bits per channel."""
    code = _coarse(values)
    values = np.take(values, np.flatnonzero(code == np.argmax(np.bincount(code))), axis=0)
    return np.rint(np.median(values, axis=0)).astype(np.uint8)


def _coarse(colours) -> np.ndarray:
    """Codes of 5 bits per channel."""
    r, g, b = (channel.astype(np.int32) >> 3 for channel in _channels(colours))
    return (r << 10) | (g << 5) | b


def _without_specks(painted) -> np.ndarray:
    import cv2

    count, parts, stats, _ = cv2.connectedComponentsWithStats(painted.view(np.uint8), connectivity=8)
    return (stats[:, cv2.CC_STAT_AREA] >= MIN_SPECK)[parts] & painted


def _colours(colour, painted, paper, is_plain: bool) -> list[Colour]:
    """The colours of the painted pixels, by decreasing number; `paper` is the colour of a plain ground, or None."""
    places = np.flatnonzero(painted)
    values = np.take(colour.reshape(-1, 3), places, axis=0)  # several times faster than colour[painted]
    left = np.ones(len(values), bool)
    centres: list[np.ndarray] = []
    rejected = 0
    while len(centres) < MAX_COLOURS and rejected < MAX_REJECTED and left.any():
        centre = _most_frequent(np.take(values, np.flatnonzero(left), axis=0))
        near = left & (_difference(values, centre) <= COMPACT)
        left &= ~near
        if np.count_nonzero(near) < MIN_COLOUR * len(values) and not _is_dot(values[near], centre, is_plain):
            rejected += 1
        elif not any(_is_blend(centre, paper, other) for other in centres):
            centres.append(centre)
    if not centres:
        return []
    distance = np.stack([_difference(values, centre) for centre in centres])
    nearest = np.where(distance.min(0) <= COMPACT, distance.argmin(0), -1)
    found = []
    for k, centre in enumerate(centres):
        pixels = np.zeros(painted.shape, bool)
        pixels.ravel()[places[nearest == k]] = True
        red, green, blue = (int(v) for v in centre)
        rgb = red, green, blue
        found.append(Colour(hue_name(rgb), rgb, pixels))
    return _without_rims(sorted(found, key=lambda c: -np.count_nonzero(c.pixels)))


def _is_dot(values, centre, is_plain: bool) -> bool:
    """Whether few pixels are a colour of their own: of a hue and, unless the ground is plain, not spread like noise."""
    if len(values) < MIN_SMALL or hue_name(centre) == "grey":
        return False
    return is_plain or bool(np.count_nonzero(_difference(values, centre) <= TIGHT) >= MIN_TIGHT * len(values))


def _without_rims(colours: list[Colour]) -> list[Colour]:
    """Drop the colours that occur only beside more frequent ones: mixtures with the ground."""
    kept: list[Colour] = []
    beside, total = None, 0
    for colour in colours:
        count = int(np.count_nonzero(colour.pixels))
        if beside is not None and count <= MAX_RIM * total:
            if np.count_nonzero(colour.pixels & beside) >= MIN_RIM * count:
                continue
        kept.append(colour)
        total += count
        wide = _widened(colour.pixels)
        beside = wide if beside is None else beside | wide
    return kept


def _widened(pixels) -> np.ndarray:
    """The pixels, bool (H, W), and those within 2 pixels of them."""
    import cv2

    return cv2.dilate(pixels.view(np.uint8), np.ones((5, 5), np.uint8)).view(bool)


def _is_blend(colour, paper, stroke) -> bool:
    """Whether a colour is a mixture of a stroke's colour and of the plain ground."""
    if paper is None:
        return False
    full, part = stroke.astype(float) - paper, colour.astype(float) - paper
    share = full @ part / (full @ full)
    return MIN_BLEND < share < MAX_BLEND and np.abs(part - share * full).max() <= SAME


def hue_name(rgb) -> str | None:
    """The name of a colour's hue; "grey" for a colour without a hue, None for a hue between two names."""
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
    return next((name for name, ranges in HUES.items() if any(a <= hue < z for a, z in ranges)), None)
