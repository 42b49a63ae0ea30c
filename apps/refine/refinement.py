"""Refine soft masks of other programs by exact cuts at the resolution of the image.

A network knows which object is meant, but writes its mask at a low resolution, so the outline is off by pixels of the
mask, which are many pixels of the image.  Here the mask says what the object is, and the image where exactly it ends.
The energy of an object x is

    E(x) = sum_p u_p [x_p = 0]  +  sum_pq w_pq [x_p != x_q],      u_p = t z_p + c_p,

    z_p    the logit of the mask, scaled so that the sure pixels have CERTAIN nats
    c_p    what the colours say (apps.refine.local_colours): models of pixels where the mask is sure, near the outline
    w_pq   contrast weights of the 8 neighbours, as in apps.segment.segmentation

Only a band along the outline takes part in the cut.  All widths are in grains, the size of the smallest detail that
the mask can show: the pixel of the mask, or, if its edges are softer than that, their width; see `grain_of`.

A mask may also be displaced as a whole.  The first cut shows by how much (apps.refine.mask_offset).  The mask is moved
back and cut again, twice.  Its weight t in each cut is one of TRUSTS.

An outline found is only taken if the image supports it: by the colours of the pixels that change, or by the edges along
it.  Otherwise the mask is kept as it is.

Several objects are cut one by one, each against the best of its rivals.  Where several claim a pixel, the largest u
decides; a pixel that none claims is background.

A large image is refined at a reduced size; the outline is then placed in the full image (apps.segment.fine_outline).
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

import gridcut
from apps.common.arguments import check_number
from apps.common.clock import Clock
from apps.common.images import InputError, to_rgb
from apps.common.rectangles import Rectangle, bounds, widened
from apps.common.row_blocks import in_parallel
from apps.refine.local_colours import local_preference
from apps.refine.mask_offset import MAX_OFFSET, offset_of
from apps.refine.soft_masks import CERTAIN, SoftMasks, soft_masks_of
from apps.segment.fine_outline import placed_outline
from apps.segment.grid_cut import cut_near, pairs
from apps.segment.image_sizes import at_centres, means
from apps.segment.marks import OPEN
from apps.segment.model import ImageView, has_both
from apps.segment.terms import SMOOTHNESS, UNIT
from gridcut.device import DeviceName
from gridcut.device.result import GridResult

MAX_PIXELS = 1_000_000  # larger images are refined at this size first
MAX_GRAIN = 16.0  # pixels of the refined image; beyond it, a smaller image says as much and takes less time
BAND = 2.5  # grains on either side of the outline that can change: an offset of MAX_OFFSET, and one grain of blur
DOUBTFUL = 1.0  # nats; pixels below it can change wherever they are
CORE = 1.5  # grains from the outline, beyond which an enlarged and displaced mask is right
SURE = 2.0  # nats; pixels above it are known, if they are in the core
NEAR = 8.0  # grains from the outline within which colours are learned
CELL = 6.0  # grains: side of the cells of local colours; a few of them across NEAR
MAX_COLOURS = 3.0  # nats, as CERTAIN: colours alone never override a sure mask, which counts twice or more
TRUSTS = (2.0, 4.0, 4.0)  # weights of the mask in the three cuts; it counts more when its offset is known
HELD = 100.0  # nats of the pixels that cannot change, and that do not take part in the cut
EDGE_WIDTH = 0.8  # a step blurred by a Gaussian of deviation s, from -1 to 1, has slope 0.8 / s at the middle
HARD_GRAIN = 0.01  # of the square root of the object's area, for masks of the image's size without any grey
MIN_GAIN = 0.7  # nats: colours of the changed pixels are on average twice as likely on their new side
MAX_WEIGHT = 0.16  # of edges of an outline that is visible: its squared steps are 2.6 times those of the image
MIN_KNOWN = 50  # pixels from which colours are learned


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Refinement(GridResult):
    """Result of `refine`.

    Attributes
    ----------
    labels : ndarray of int32, (H, W)
        Value of the object of each pixel, 0 for the background.
    values : tuple of int
        The objects' values: 1 for a single mask, 1, 2 ... for several, and those of a label map.
    offsets : tuple of (float, float)
        Displacement (x, y) of each mask that was found and removed, in pixels of the image.
    notes : tuple of str
        How the masks were read, where that is not obvious.
    seconds : dict
        Seconds by phase: "read", "colours", "cuts", "outline", "total".
    cuts : tuple of gridcut.Cut
        The last cut of each object at the size at which it was refined; each has `check()`.  An object whose mask was
        kept has none.
    """

    labels: np.ndarray
    values: tuple[int, ...]
    offsets: tuple[tuple[float, float], ...]
    notes: tuple[str, ...]
    seconds: dict
    cuts: tuple

    @property
    def mask(self) -> np.ndarray:
        """True on any object, bool (H, W)."""
        return self.labels > 0

    def check(self) -> None:
        """Certify every cut; raises AssertionError for one that is not minimal."""
        for cut in self.cuts:
            cut.check()


class _Found(NamedTuple):
    """An object in a part of the image: its mask and u in nats there, the offset in pixels, and the last cut if any."""

    part: Rectangle
    mask: np.ndarray
    preference: np.ndarray
    offset: tuple[float, float]
    cut: "gridcut.Cut | None"


def refine(
    image: ArrayLike, masks: ArrayLike, *, kind: str = "auto", grain: float | None = None, device: DeviceName = "auto"
) -> Refinement:
    """Refine rough or low-resolution masks to the outlines in an image.

    Parameters
    ----------
    image : array_like, shape (H, W), (H, W, 3) or (H, W, 4)
        Grey, RGB or RGBA image; uint8, uint16, or floats in [0, 1].
    masks : array_like
        Probabilities, logits (floats below 0 or above 1), booleans, 0 and another value, grey levels of 8 or 16 bits,
        or a label map, 0 for the background.  Any resolution, of shape (h, w), with axes of length 1, (2, h, w) with
        the background first, or with ``kind="objects"`` (K, h, w).
    kind : {"auto", "levels", "labels", "objects"}, default "auto"
        Whether integers are grey levels of one object or labels of several, and whether the first axis is of objects.
        With "auto", integers are labels if regions have constant values, and grey levels otherwise.
    grain : float, optional
        How far, in pixels of the image, the masks may be off.  Default: the size of a pixel of the mask, or the width
        of its soft edge if that is larger.
    device : {"auto", "cpu", "cuda"}, default "auto"
        Where the cuts are solved.

    Returns
    -------
    Refinement
        `mask` is bool (H, W); `labels` has the value of each object.

    Raises
    ------
    InputError
        A ValueError with a one-line message, for an image or masks that cannot be used.

    See Also
    --------
    apps.segment.segment : Cut an object out with strokes and a box as well.

    Examples
    --------
    >>> import numpy as np
    >>> from apps import refine
    >>> image = np.zeros((80, 120), np.uint8)
    >>> image[21:61, 33:93] = 200
    >>> low = np.zeros((10, 15)); low[3:7, 4:11] = 0.9
    >>> result = refine(image, low, device="cpu")
    >>> bool((result.mask == (image > 0)).all())
    True
    """
    clock = Clock()
    if grain is not None:
        check_number(grain, "grain")
        if not 0 < grain < math.inf:
            raise InputError(f"grain must be a positive number of pixels, got {grain}")
    rgb = image if _is_bytes(image) else to_rgb(image)
    soft = soft_masks_of(masks, kind, "masks")
    clock.charge("read")
    return refine_soft(rgb, soft, grain, device, clock)


def refine_soft(rgb, soft: SoftMasks, grain: float | None, device: DeviceName, clock: Clock) -> Refinement:
    """As `refine`, for RGB, float32 in [0, 1] or uint8, and masks that are read already."""
    shape = rgb.shape[:2]
    whole = ImageView(lambda: rgb, shape)
    masks = [_Mask(soft.preference(k), soft.hard, shape, grain) for k in range(len(soft.values))]
    finest = min(mask.grain for mask in masks)
    scale = min(1.0, (MAX_PIXELS / whole.size) ** 0.5, MAX_GRAIN / finest)
    small = (max(1, round(shape[0] * scale)), max(1, round(shape[1] * scale)))
    view = whole if small == shape else whole.smaller(small, 1.0)
    edges = view.edges()
    clock.charge("colours")
    found = in_parallel([partial(_refined, view, edges, mask, mask.grain * scale, device) for mask in masks])
    clock.charge("cuts")
    labels = _merged(found, soft.values, small)
    if view is not whole:
        labels = _placed(rgb, labels, masks, found, soft.values)
        clock.charge("outline")
    offsets = tuple((each.offset[0] / scale, each.offset[1] / scale) for each in found)
    cuts = tuple(each.cut for each in found if each.cut is not None)
    return Refinement(labels, soft.values, offsets, soft.notes, clock.total(), cuts)


class _Mask:
    """Logits (h, w) of an object against all else, for an image (H, W).

    grain   size in pixels of the image of the smallest detail that the mask can show
    """

    def __init__(self, logits: np.ndarray, hard: bool, shape: tuple[int, ...], grain: float | None):
        self.logits, self.hard = logits, hard
        self.pixel = max(shape) / max(logits.shape)
        self.grain = self._grain() if grain is None else grain

    def _grain(self) -> float:
        """The grain, from the size of the mask's pixels, and the width of its soft edges or the area of the object."""
        inside = self.logits > 0
        if self.hard:
            area = np.count_nonzero(inside) * self.pixel**2
            return max(1.0, self.pixel, HARD_GRAIN * area**0.5)
        gy, gx = np.gradient(self.logits)
        slope = np.hypot(gx, gy)[_beside_outline(inside)]
        return max(1.0, self.pixel, EDGE_WIDTH * CERTAIN / float(np.median(slope)) * self.pixel)

    def part(self, shape: tuple[int, ...], margin: int) -> Rectangle:
        """The object with a margin, at another size of the image."""
        box = bounds(self.logits > 0)
        assert box is not None
        rows, columns = (
            slice(side.start * n // m, -(-side.stop * n // m))
            for side, n, m in zip(box, shape, self.logits.shape, strict=True)
        )
        return widened((rows, columns), margin, shape)

    def at(self, part: Rectangle, shape: tuple[int, ...], offset: tuple[float, float]) -> np.ndarray:
        """Logits of a part of the image at a size, float32, moved back by an offset in pixels of that size."""
        import cv2

        steps = [m / n for m, n in zip(self.logits.shape, shape, strict=True)]
        if min(steps) > 1:
            small = cv2.resize(self.logits, shape[::-1], interpolation=cv2.INTER_AREA)
            steps = [1.0, 1.0]
        else:
            small = self.logits
        (y, x), (dx, dy) = steps, offset
        rows, columns = part
        places = np.array(
            [
                [x, 0, (columns.start + dx + 0.5) * x - 0.5],
                [0, y, (rows.start + dy + 0.5) * y - 0.5],
            ]
        )
        size = columns.stop - columns.start, rows.stop - rows.start
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        return cv2.warpAffine(small, places, size, flags=flags, borderMode=cv2.BORDER_REPLICATE)


def _refined(view: ImageView, edges: dict, mask: _Mask, grain: float, device: DeviceName) -> _Found:
    """Refine an object; `grain` is in pixels of the view."""
    part = mask.part(view.shape, math.ceil((NEAR + 1) * grain))
    lab = view.lab[part]
    weights = {step: np.ascontiguousarray(weight[part]) for step, weight in edges.items()}
    offset, colours, found = (0.0, 0.0), None, None
    for trust in TRUSTS:
        if found is not None:
            offset = _offset(mask.at(part, view.shape, (0.0, 0.0)), found, grain)
        logits = mask.at(part, view.shape, offset)
        guess = logits > 0
        if not has_both(guess):
            return _Found(part, guess, logits, offset, None)
        depth = _signed_distance(guess) / np.float32(grain)
        if mask.hard:
            logits *= np.minimum(1, np.abs(depth) / CORE)
        is_open = (np.abs(depth) < BAND) | (np.abs(logits) < DOUBTFUL)
        if colours is None:
            colours = _colours(lab, logits, depth, is_open | (np.abs(depth) < BAND + MAX_OFFSET), grain)
        preference = np.where(is_open, trust * logits + colours, HELD * np.sign(logits))
        units = np.rint(preference * UNIT).astype(np.int32)
        unary = np.maximum(units, 0), np.maximum(-units, 0)
        found, cut = cut_near(unary, weights, guess, math.ceil(BAND * grain), device)
    assert found is not None
    logits = mask.at(part, view.shape, (0.0, 0.0))
    if not _is_supported(found, logits > 0, colours, weights):
        return _Found(part, logits > 0, logits, (0.0, 0.0), None)
    return _Found(part, found, preference, offset, cut)


def _is_supported(found, guess, colours, edges) -> bool:
    """Whether the image supports an outline found against that of the mask: its colours or its edges."""
    changed = found != guess
    if not changed.any():
        return True
    gain = float(np.where(found, colours, -colours)[changed].mean())
    return gain >= MIN_GAIN or _relative_weight(found, edges) <= MAX_WEIGHT


def _relative_weight(found, edges) -> float:
    """Mean weight of the edges of an outline, relative to that between equal colours; 0 to 1."""
    total, count = 0.0, 0
    for offset, weight in edges.items():
        here, there = pairs(found, offset)
        cut = here != there
        total += math.hypot(*offset) * float(pairs(weight, offset)[0][cut].sum(dtype=np.int64))
        count += int(np.count_nonzero(cut))
    return total / (SMOOTHNESS * UNIT * max(count, 1))


def _colours(lab, logits, depth, where, grain: float) -> np.ndarray:
    """What the colours say at the pixels `where`, in nats, 0 elsewhere; float32 (h, w)."""
    near = np.abs(depth) < NEAR

    def known(side: int) -> np.ndarray:
        core = (side * depth > CORE) & (side * logits > SURE) & near
        if np.count_nonzero(core) >= MIN_KNOWN:
            return core
        mine = side * logits  # of a thin or small object, the best third
        return mine >= np.quantile(mine[mine > 0], 2 / 3)

    pixels = np.nonzero(where)
    colours = np.zeros(depth.shape, np.float32)
    ratio = local_preference(lab, known(1), known(-1), pixels, CELL * grain)
    colours[pixels] = np.clip(ratio, -MAX_COLOURS, MAX_COLOURS)
    return colours


def _offset(logits, found, grain: float) -> tuple[float, float]:
    """By how many pixels the mask is displaced from the object found; both of the same part of the image."""
    shape = tuple(max(1, round(side / grain)) for side in found.shape)
    steps = [n / m for n, m in zip(found.shape, shape, strict=True)]
    mask = np.clip(0.5 + means(logits, shape) / (2 * CERTAIN), 0, 1)
    dx, dy = offset_of(mask, means(found, shape))
    return dx * steps[1], dy * steps[0]


def _merged(found: list[_Found], values: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
    """Labels of all objects, int32; the largest preference decides where several claim a pixel."""
    labels = np.zeros(shape, np.int32)
    best = np.full(shape, -np.inf, np.float32)
    for each, value in zip(found, values, strict=True):
        wins = each.mask & (each.preference > best[each.part])
        labels[each.part][wins] = value
        best[each.part][wins] = each.preference[wins]
    return labels


def _placed(rgb, labels: np.ndarray, masks: list[_Mask], found: list[_Found], values: tuple[int, ...]) -> np.ndarray:
    """Labels of the full image, with the outlines of those of a smaller one placed along its edges."""
    shape = rgb.shape[:2]
    marks = np.full(shape, OPEN, np.int8)
    enlarged = at_centres(labels, shape)
    placed = np.zeros(shape, np.int32)
    for mask, each, value in zip(masks, found, values, strict=True):
        if each.cut is None:
            part = mask.part(shape, math.ceil(mask.grain))
            placed[part][mask.at(part, shape, (0.0, 0.0)) > 0] = value
            continue
        preference = np.full(labels.shape, -HELD * UNIT, np.int32)
        preference[each.part] = np.rint(each.preference * UNIT)
        guess = enlarged == value
        if has_both(guess):
            guess = placed_outline(rgb, marks, guess, preference, SMOOTHNESS * (guess.size / labels.size) ** 0.5, False)
        placed[guess] = value
    return placed


def _beside_outline(inside: np.ndarray) -> np.ndarray:
    """Pixels with a neighbour on the other side of the outline."""
    import cv2

    codes, square = inside.view(np.uint8), np.ones((3, 3), np.uint8)
    return cv2.dilate(codes, square) != cv2.erode(codes, square)


def _signed_distance(inside: np.ndarray) -> np.ndarray:
    """Distance in pixels from the outline, positive inside; float32."""
    import cv2

    inner, outer = (cv2.distanceTransform(side.view(np.uint8), cv2.DIST_L2, 5) for side in (inside, ~inside))
    return inner - outer


def _is_bytes(image) -> bool:
    """Whether an image is kept as RGB of 8 bits, a quarter of the memory."""
    return isinstance(image, np.ndarray) and image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] == 3
