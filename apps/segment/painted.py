"""Strokes painted in colours, as a paint program saves them: which pixels are painted, and in which colour.

A stroke image is painted on transparency, on a plain background, or on a copy of the photograph.  What explains most
of the pixels is the ground.  A pixel is painted if it is opaque and differs from the ground.  Strokes are of few
colours, each of them compact in RGB.  Pixels between a stroke's colour and the ground, as anti-aliasing and JPEG leave
them at its rim, belong to no stroke.  A stroke's colour is named by its hue, so that the red and the blue of every
palette are red and blue.

Anything else is refused: colours whose hue is between two names, translucent strokes on a photograph, and images that
are neither flat nor a copy of the photograph.
"""

from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np

from apps.common.errors import InputError

SAME = 24  # maximum difference of a channel between a pixel and the ground, as JPEG leaves it
PAINTED = 40  # minimum difference of a channel between a painted pixel and the ground
COMPACT = 48  # maximum difference of a channel between a painted pixel and its stroke's colour
OPAQUE = 128  # minimum alpha of a painted pixel
MIN_GROUND = 0.5  # share of the pixels that the ground must explain
MIN_EXPLAINED = 0.5  # share of the painted pixels that the colours of the strokes must explain
MIN_COLOUR = 0.02  # share of the painted pixels that makes a colour of its own
MAX_COLOURS = 12
MIN_SPECK = 4  # fewer adjacent painted pixels on a photograph are compression noise
MIN_CHROMA = 56  # a colour with a smaller range of its channels is grey
MIN_RIM = 0.8  # share of a colour's pixels within 2 pixels of more frequent colours that makes it their rim
MIN_BLEND, MAX_BLEND = 0.08, 0.92  # a colour this far between the ground and another colour is their blend

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
        code = "#{:02x}{:02x}{:02x}".format(*self.rgb)
        return code if self.name is None else f"{self.name} {code}"


@dataclass(frozen=True)
class Painting:
    """The strokes of an image.

    ground    "transparency", "the image", or a plain colour as "#ffffff"
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
    colour = pixels[..., :3].astype(np.int16)
    visible = np.ones(colour.shape[:2], bool) if pixels.shape[2] == 3 else pixels[..., 3] >= OPAQUE
    ground, difference = _ground(colour, visible, image, name)
    painted = visible if difference is None else visible & (difference > PAINTED)
    if not painted.any():
        what = "it equals the image" if ground == "the image" else f"every pixel is {ground}"
        raise InputError(f"{name} holds no stroke: {what}; paint the object red and the background blue")
    if ground == "the image":
        painted = _without_specks(painted)
    paper = None if ground in ("transparency", "the image") else _plain_colour(colour, visible)
    colours = _colours(colour, painted, paper)
    found = Painting(ground, colours, int(np.count_nonzero(painted)))
    if found.explained < MIN_EXPLAINED * found.painted:
        remedy = "paint opaque strokes in two plain colours"
        raise InputError(f"{name} holds strokes of too many colours, as translucent brushes leave on a photograph; {remedy}")
    return found


def _ground(colour, visible, image, name):
    """The ground's name, and how much each pixel differs from it; None on transparency."""
    size = visible.size
    if np.count_nonzero(visible) < (1 - MIN_GROUND) * size:
        return "transparency", None
    plain = _plain_colour(colour, visible)
    candidates = [("#{:02x}{:02x}{:02x}".format(*plain), np.abs(colour - plain).max(2))]
    if image is not None and image.shape[:2] == visible.shape:
        candidates.insert(0, ("the image", np.abs(colour - image[..., :3].astype(np.int16)).max(2)))
    shares = [np.count_nonzero((difference <= SAME) & visible) / np.count_nonzero(visible) for _, difference in candidates]
    best = int(np.argmax(shares))
    if shares[best] < MIN_GROUND:
        raise InputError(
            f"{name} is neither painted on one plain colour or transparency nor on a copy of the image; paint the "
            "object red and the background blue on a copy of the image or on a white sheet of the same size"
        )
    return candidates[best]


def _plain_colour(colour, visible) -> np.ndarray:
    """The most frequent colour."""
    code = _coarse(colour[visible])
    most = np.argmax(np.bincount(code))
    return np.rint(np.median(colour[visible][code == most], axis=0)).astype(np.int16)


def _coarse(colours) -> np.ndarray:
    """Codes of 5 bits per channel."""
    r, g, b = (colours.astype(np.int32) >> 3).T
    return (r << 10) | (g << 5) | b


def _without_specks(painted) -> np.ndarray:
    count, parts, stats, _ = cv2.connectedComponentsWithStats(painted.view(np.uint8), connectivity=8)
    return (stats[:, cv2.CC_STAT_AREA] >= MIN_SPECK)[parts] & painted


def _colours(colour, painted, paper) -> list[Colour]:
    """The colours of the painted pixels, by decreasing number."""
    values = colour[painted]
    left = np.ones(len(values), bool)
    centres: list[np.ndarray] = []
    while len(centres) < MAX_COLOURS:
        code = _coarse(values[left])
        if not len(code):
            break
        most = np.argmax(np.bincount(code))
        centre = np.rint(np.median(values[left][code == most], axis=0)).astype(np.int16)
        near = left & (np.abs(values - centre).max(1) <= COMPACT)
        if np.count_nonzero(near) < max(1, MIN_COLOUR * len(values)):
            break
        left &= ~near
        if not any(_is_blend(centre, paper, other) for other in centres):
            centres.append(centre)
    if not centres:
        return []
    distance = np.stack([np.abs(values - centre).max(1) for centre in centres])
    nearest = np.where(distance.min(0) <= COMPACT, distance.argmin(0), -1)
    found = []
    for k, centre in enumerate(centres):
        pixels = np.zeros(painted.shape, bool)
        pixels[painted] = nearest == k
        rgb = tuple(int(v) for v in centre)
        found.append(Colour(hue_name(rgb), rgb, pixels))
    return _without_rims(sorted(found, key=lambda c: -np.count_nonzero(c.pixels)))


def _without_rims(colours: list[Colour]) -> list[Colour]:
    """Drop the colours that occur only beside more frequent ones: mixtures with the ground."""
    kept: list[Colour] = []
    beside = None
    for colour in colours:
        if beside is not None:
            share = np.count_nonzero(colour.pixels & beside) / max(1, np.count_nonzero(colour.pixels))
            if share >= MIN_RIM:
                continue
        kept.append(colour)
        wide = cv2.dilate(colour.pixels.view(np.uint8), np.ones((5, 5), np.uint8)).view(bool)
        beside = wide if beside is None else beside | wide
    return kept


def _is_blend(colour, paper, stroke) -> bool:
    """Whether a colour is a mixture of a stroke's colour and of the plain ground."""
    if paper is None:
        return False
    full, part = (stroke - paper).astype(float), (colour - paper).astype(float)
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
