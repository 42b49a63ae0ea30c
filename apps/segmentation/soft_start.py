"""A soft mask of low resolution, refined by exact cuts along its outline.

A network knows which object is meant, but writes its mask at a low resolution, so the outline is off by pixels of the
mask, which are many pixels of the image.  Here the mask says what the object is, and the image where exactly it ends.
The energy of an object x is

    E(x) = sum_p u_p [x_p = 0]  +  sum_pq w_pq [x_p != x_q],      u_p = t z_p + c_p,

    z_p    the logit of the mask, scaled so that the sure pixels have CERTAIN nats (apps.segmentation.soft_masks)
    c_p    what the colours say (local_colours.py): models of pixels where the mask is sure, near the outline
    w_pq   contrast weights of the 8 neighbours, as in apps.segmentation.segmentation

Only a band along the outline takes part in the cut.  All widths are in grains, the size of the smallest detail that
the mask can show: the pixel of the mask, or, if its edges are softer than that, their width; see `SoftMask.grain`.

A mask may also be displaced as a whole.  The first cut shows by how much (mask_offset.py).  The mask is moved
back and cut again, twice.  Its weight t in each cut is one of TRUSTS.

An outline found is only taken if the image supports it: by the colours of the pixels that change, or by the edges along
it.  Otherwise the mask is kept as it is.
"""

import math
from typing import NamedTuple

import numpy as np

import gridcut
from apps.common.rectangles import Rectangle, bounds, widened
from apps.segmentation.grid_cut import cut_near, pairs
from apps.segmentation.image_sizes import enlarged_part, means
from apps.segmentation.local_colours import local_preference
from apps.segmentation.marks import has_both
from apps.segmentation.mask_offset import MAX_OFFSET, offset_of, slopes
from apps.segmentation.soft_masks import CERTAIN
from apps.segmentation.terms import SMOOTHNESS, UNIT
from gridcut.device import DeviceName

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


class RefinedObject(NamedTuple):
    """An object in a part of the image: its mask and u in nats there, the offset in pixels, and the last cut if any."""

    part: Rectangle
    mask: np.ndarray
    preference: np.ndarray
    offset: tuple[float, float]
    cut: "gridcut.Cut | None"


class SoftMask:
    """Logits (h, w) of an object against all else, for an image (H, W).

    grain   size in pixels of the image of the smallest detail that the mask can show, at least 1
    """

    def __init__(self, logits: np.ndarray, hard: bool, shape: tuple[int, ...], grain: float | None):
        self.logits, self.hard = logits, hard
        self.pixel = max(shape) / max(logits.shape)
        self.grain = self._grain() if grain is None else max(1.0, grain)

    def _grain(self) -> float:
        """The grain, from the size of the mask's pixels, and the width of its soft edges or the area of the object."""
        inside = self.logits > 0
        if self.hard:
            area = np.count_nonzero(inside) * self.pixel**2
            return max(1.0, self.pixel, HARD_GRAIN * area**0.5)
        gy, gx = slopes(self.logits)
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
        is_larger = all(m > n for m, n in zip(self.logits.shape, shape, strict=True))
        return enlarged_part(means(self.logits, shape) if is_larger else self.logits, part, shape, offset)


def refined(lab: np.ndarray, edges: dict, mask: SoftMask, grain: float, device: DeviceName) -> RefinedObject:
    """Refine an object in an image, CIELAB, float32 (H, W, 3), with edge weights; `grain` is in its pixels."""
    shape = lab.shape[:2]
    part = mask.part(shape, math.ceil((NEAR + 1) * grain))
    lab = lab[part]
    weights = {step: np.ascontiguousarray(weight[part]) for step, weight in edges.items()}
    offset, colours, found = (0.0, 0.0), None, None
    for trust in TRUSTS:
        if found is not None:
            offset = _offset(mask.at(part, shape, (0.0, 0.0)), found, grain)
        logits = mask.at(part, shape, offset)
        guess = logits > 0
        if not has_both(guess):
            return RefinedObject(part, guess, logits, offset, None)
        depth = outline_distance(guess) / np.float32(grain)
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
    logits = mask.at(part, shape, (0.0, 0.0))
    if not _is_supported(found, logits > 0, colours, weights):
        return RefinedObject(part, logits > 0, logits, (0.0, 0.0), None)
    return RefinedObject(part, found, preference, offset, cut)


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


def _beside_outline(inside: np.ndarray) -> np.ndarray:
    """Pixels with a neighbour on the other side of the outline."""
    import cv2

    codes, square = inside.view(np.uint8), np.ones((3, 3), np.uint8)
    return cv2.dilate(codes, square) != cv2.erode(codes, square)


def outline_distance(inside: np.ndarray) -> np.ndarray:
    """Distance in pixels of each pixel to the nearest one on the other side, negative outside; float32 (H, W)."""
    import cv2

    inner, outer = (cv2.distanceTransform(side.view(np.uint8), cv2.DIST_L2, 5) for side in (inside, ~inside))
    return inner - outer
