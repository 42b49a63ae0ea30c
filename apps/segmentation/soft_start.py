"""A soft mask of low resolution, refined by exact cuts along its outline.

A network knows which object is meant, but writes its mask at a low resolution, so the outline is off by pixels of the
mask, which are many pixels of the image.  Here the mask says what the object is, and the image where exactly it ends.
The energy of an object x is

    E(x) = sum_p u_p [x_p = 0]  +  sum_pq w_pq [x_p != x_q],      u_p = t z_p + c_p,

    z_p    the logit of the mask, scaled so that the sure pixels have CERTAIN nats (apps.segmentation.masks)
    c_p    what the colours say (`local_preference`): models of pixels where the mask is sure, near the outline
    w_pq   contrast weights of the 8 neighbours, as in apps.segmentation.segmentation

Only a band along the outline takes part in the cut.  All widths are in grains, the size of the smallest detail that
the mask can show: the pixel of the mask, or, if its edges are softer than that, their width; see `SoftMask.grain`.

A mask may also be displaced as a whole.  The first cut shows by how much (`offset_of`).  The mask is moved
back and cut again, twice.  Its weight t in each cut is one of TRUSTS, but the first of them for an object that is in
the band everywhere: the pixels of a mask are too large to show such thin structures.

An outline found is only taken if the image supports it: by the colours of the pixels that change, or by the edges along
it.  Otherwise the mask is kept as it is.

What colours near a pixel say are ratios of two histograms that change from place to place.  One model for a whole image
confuses an object with a part of the background of the same colour that is far away.  So the image is divided into
square cells.  Each cell has a histogram of the known object and one of the known background; both are smoothed over the
neighbouring cells and colours.  Where a cell has few known pixels, the histogram of the whole image prevails, as if
PRIOR_PIXELS of its pixels were in the cell (a Dirichlet prior).

Networks with strides, and programs that disagree about where the centre of a pixel is, displace a whole mask by up to
a pixel of their resolution, which may be many pixels of the image.  The offset is that of Lucas and Kanade [1]: the
displacement that best explains the difference of two images, here of the mask and of the object found, both at the
mask's resolution.  Differences larger than OUTLIER, such as a part that one of the two lacks, hardly count.

[1] Lucas, Kanade. "An iterative image registration technique with an application to stereo vision." IJCAI 1981.
"""

import math
from typing import NamedTuple

import numpy as np

import gridcut
from apps.common.figures import outline
from apps.common.rectangles import Rectangle
from apps.segmentation.grid_cut import banded_cut, pairs
from apps.segmentation.image_sizes import means
from apps.segmentation.marks import has_both
from apps.segmentation.masks import CERTAIN, SoftMask, slopes
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
THIN = 0.99  # share of an object that is in the band, from which its mask says less
HELD = 100.0  # nats of the pixels that cannot change, and that do not take part in the cut
MIN_GAIN = 0.7  # nats: colours of the changed pixels are on average twice as likely on their new side
MAX_WEIGHT = 0.16  # of edges of an outline that is visible: its squared steps are 2.6 times those of the image
MIN_KNOWN = 50  # pixels from which colours are learned

# Local colours
BINS = (6, 8, 8)  # of L, a and b: about 16 units of CIELAB, several times the noise of a photograph
RANGE_OF_AB = 60.0  # a and b beyond it are counted in the first or last bin; photographs hardly exceed it
PRIOR_PIXELS = 100.0  # of the whole image's histogram in each cell: about one pixel per bin that is in use
UNSEEN = 0.01  # share of a uniform histogram in the whole image's, so that no ratio is infinite

# The offset
STEPS = 4  # of Gauss-Newton; the offset is about a pixel, so the first step is nearly exact
MAX_OFFSET = 1.5  # pixels of the mask; a larger difference is no matter of strides
BLUR = 1.2  # pixels: standard deviation of the smoothing that makes the differences linear in the offset
OUTLIER = 0.15  # of the mask's range; the derivative of a Cauchy weight is largest near it
PRIOR = 1.0  # squared gradient, in pixels of the mask, of a prior for no offset; an outline of 20 pixels has about 1


class RefinedObject(NamedTuple):
    """An object in a part of the image: its mask and u in nats there, the offset in pixels, and the last cut if any."""

    part: Rectangle
    mask: np.ndarray
    preference: np.ndarray
    offset: tuple[float, float]
    cut: "gridcut.Cut | None"


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
        if (depth[guess] < BAND).mean() > THIN:
            trust = TRUSTS[0]
        preference = np.where(is_open, trust * logits + colours, HELD * np.sign(logits))
        units, width = np.rint(preference * UNIT).astype(np.int32), math.ceil(BAND * grain)
        free = outline(guess, width) | outline(~guess, width) | ((units < 0) == guess)
        found, cut = banded_cut(units, weights, guess, free, device=device)
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


def outline_distance(inside: np.ndarray) -> np.ndarray:
    """Distance in pixels of each pixel to the nearest one on the other side, negative outside; float32 (H, W)."""
    import cv2

    inner, outer = (cv2.distanceTransform(side.view(np.uint8), cv2.DIST_L2, 5) for side in (inside, ~inside))
    return inner - outer


def local_preference(lab, inside, outside, where, cell: float) -> np.ndarray:
    """Log of the probability of a pixel's colour in the object over that in the background nearby, in nats.

    Parameters
    ----------
    lab : ndarray of float32, shape (H, W, 3)
        CIELAB.
    inside, outside : ndarray of bool, shape (H, W)
        Pixels known to be object and background.
    where : tuple of two arrays
        Rows and columns of n pixels.
    cell : float
        Side of a cell in pixels.

    Returns
    -------
    ndarray of float32, shape (n,)
        Positive where the colour is more frequent in the object; interpolated between the centres of cells.
    """
    H, W = inside.shape
    cells = max(1, round(H / cell)), max(1, round(W / cell))
    ratio = np.log(_densities(lab, inside, cells)) - np.log(_densities(lab, outside, cells))
    colours = _bins(lab[where])
    (y0, y1, dy), (x0, x1, dx) = (_between(at, n, size) for at, n, size in zip(where, cells, (H, W), strict=True))
    upper = (1 - dx) * ratio[y0, x0, colours] + dx * ratio[y0, x1, colours]
    lower = (1 - dx) * ratio[y1, x0, colours] + dx * ratio[y1, x1, colours]
    return (1 - dy) * upper + dy * lower


def _densities(lab, known, cells) -> np.ndarray:
    """Smoothed histogram of the known pixels around each cell, float32 (*cells, bins), each of sum 1."""
    rows, columns = np.nonzero(known)
    place = rows * cells[0] // known.shape[0] * cells[1] + columns * cells[1] // known.shape[1]
    bins = int(np.prod(BINS))
    counts = np.bincount(place * bins + _bins(lab[known]), minlength=cells[0] * cells[1] * bins)
    counts = counts.reshape(*cells, *BINS).astype(np.float32)
    for axis in range(5):
        counts = _smoothed(counts, axis, keep_ends=axis > 1)
    counts = counts.reshape(*cells, bins)
    total = counts.sum(axis=(0, 1))
    whole = (1 - UNSEEN) * total / max(float(total.sum()), 1.0) + UNSEEN / bins
    whole /= whole.sum()
    return (counts + PRIOR_PIXELS * whole) / (counts.sum(axis=2, keepdims=True) + PRIOR_PIXELS)


def _smoothed(counts, axis: int, keep_ends: bool) -> np.ndarray:
    """Counts with a quarter moved to each neighbour along an axis; at the ends it stays (`keep_ends`) or is dropped."""
    counts = np.moveaxis(counts, axis, 0)
    out = 0.5 * counts
    out[1:] += 0.25 * counts[:-1]
    out[:-1] += 0.25 * counts[1:]
    if keep_ends:
        out[0] += 0.25 * counts[0]
        out[-1] += 0.25 * counts[-1]
    return np.moveaxis(out, 0, axis)


def _bins(lab) -> np.ndarray:
    """Bin of each of the colours (n, 3)."""
    first = np.array([0, -RANGE_OF_AB, -RANGE_OF_AB], np.float32)
    per_unit = np.array(BINS, np.float32) / np.array([100, 2 * RANGE_OF_AB, 2 * RANGE_OF_AB], np.float32)
    parts = np.clip(((lab - first) * per_unit).astype(np.int32), 0, np.array(BINS, np.int32) - 1)
    return (parts[..., 0] * BINS[1] + parts[..., 1]) * BINS[2] + parts[..., 2]


def _between(at, cells: int, size: int):
    """The two cells whose centres enclose each position, and the weight of the second."""
    place = np.clip((at + 0.5) * (cells / size) - 0.5, 0, cells - 1)
    first = np.minimum(place.astype(np.int64), max(0, cells - 2))
    return first, np.minimum(first + 1, cells - 1), (place - first).astype(np.float32)


def offset_of(mask: np.ndarray, found: np.ndarray) -> tuple[float, float]:
    """The offset (dx, dy), in pixels, of a mask from an object; both float32 (h, w) in [0, 1]."""
    import cv2

    mask = cv2.GaussianBlur(mask, (0, 0), BLUR)
    found = cv2.GaussianBlur(found, (0, 0), (1 + BLUR**2) ** 0.5)  # a mask of a network is already soft
    offset = np.zeros(2)
    for _ in range(STEPS):
        across = np.array([[1, 0, offset[0]], [0, 1, offset[1]]], np.float32)
        moved = cv2.warpAffine(found, across, mask.shape[::-1], borderMode=cv2.BORDER_REPLICATE)
        gy, gx = slopes(moved)
        difference = mask - moved
        weight = 1 / (1 + (difference / OUTLIER) ** 2)
        mixed = float((weight * gx * gy).sum())
        normal = np.array([[float((weight * gx * gx).sum()), mixed], [mixed, float((weight * gy * gy).sum())]])
        slope = np.array([float((weight * g * difference).sum()) for g in (gx, gy)])
        step = np.linalg.solve(normal + PRIOR * np.eye(2), -slope - PRIOR * offset)
        offset = np.clip(offset + step, -MAX_OFFSET, MAX_OFFSET)
    return float(offset[0]), float(offset[1])
