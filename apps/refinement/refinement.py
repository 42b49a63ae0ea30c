"""Refine masks of other programs by exact cuts at the resolution of the image: `refine`.

Each object is refined as apps.segmentation.soft_start describes.  Several objects are cut one by one, each against the
best of its rivals.  Where several claim a pixel, the largest u decides; a pixel that none claims is background.

A large image is refined at a reduced size; the outline is then placed in the full image
(apps.segmentation.fine_outline).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from apps.common.arguments import check_number
from apps.common.clock import Clock
from apps.common.images import InputError, kept_rgb
from apps.common.row_blocks import in_parallel
from apps.refinement import KINDS
from apps.segmentation.fine_outline import placed_outline
from apps.segmentation.image_sizes import at_centres
from apps.segmentation.instances import merged
from apps.segmentation.marks import OPEN, has_both
from apps.segmentation.masks import SoftMask, SoftMasks, soft_masks_of
from apps.segmentation.model import ImageView
from apps.segmentation.soft_start import HELD, RefinedObject, refined
from apps.segmentation.terms import SMOOTHNESS, UNIT
from gridcut.device import DeviceName
from gridcut.device.result import GridResult

MAX_PIXELS = 1_000_000  # larger images are refined at this size first
MAX_GRAIN = 16.0  # pixels of the refined image; beyond it, a smaller image says as much and takes less time


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
        Seconds: "total", and "compile", those of compiling kernels.
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


def refine(
    image: ArrayLike, masks: ArrayLike, *, kind: str = "auto", grain: float | None = None, device: DeviceName = "auto"
) -> Refinement:
    """Refine rough or low-resolution masks to the outlines in an image.

    Parameters
    ----------
    image : array_like, shape (H, W), (H, W, 3) or (H, W, 4)
        Grey, RGB or RGBA image; integers in [0, 255], uint16, or floats in [0, 1].
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
    apps.segment : Cut an object out with strokes and a box as well.

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
    if kind not in KINDS:
        raise InputError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    if grain is not None:
        check_number(grain, "grain")
        if not 0 < grain < math.inf:
            raise InputError(f"grain must be a positive number of pixels, got {grain}")
    return refine_soft(kept_rgb(image), soft_masks_of(masks, kind, "masks"), grain, device)


def refine_soft(rgb, soft: SoftMasks, grain: float | None, device: DeviceName) -> Refinement:
    """As `refine`, for RGB, float32 in [0, 1] or uint8, and masks that are read already."""
    clock = Clock()
    shape = rgb.shape[:2]
    whole = ImageView(lambda: rgb, shape)
    masks = [SoftMask(soft.preference(k), soft.hard, shape, grain) for k in range(len(soft.values))]
    finest = min(mask.grain for mask in masks)
    scale = min(1.0, (MAX_PIXELS / whole.size) ** 0.5, MAX_GRAIN / finest)
    small = (max(1, round(shape[0] * scale)), max(1, round(shape[1] * scale)))
    view = whole if small == shape else whole.smaller(small, 1.0)
    edges = view.edges()
    found = in_parallel([partial(refined, view.lab, edges, mask, mask.grain * scale, device) for mask in masks])
    labels = merged(dict(zip(soft.values, found, strict=True)), small, np.int32)
    if view is not whole:
        labels = _placed(rgb, labels, masks, found, soft.values)
    offsets = tuple((each.offset[0] / scale, each.offset[1] / scale) for each in found)
    cuts = tuple(each.cut for each in found if each.cut is not None)
    return Refinement(labels, soft.values, offsets, soft.notes, clock.total(), cuts)


def _placed(
    rgb, labels: np.ndarray, masks: list[SoftMask], found: list[RefinedObject], values: tuple[int, ...]
) -> np.ndarray:
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
            costs, smoothness = np.stack([preference, 0 * preference]), SMOOTHNESS * (guess.size / labels.size) ** 0.5
            guess = placed_outline(rgb, marks, guess.astype(np.int16), costs, smoothness) > 0
        placed[guess] = value
    return placed
