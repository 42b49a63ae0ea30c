"""OpenCV's grabCut: the same arguments, codes and exceptions, and a better object (see apps.segmentation.segmentation).

OpenCV fits two mixtures of colours and cuts, `iterCount` times.  Here the energy also has geodesic distances to the
marks, edges in Lab, and in a rectangle the depth of each pixel; the iteration ends when the labelling has converged.
So the masks differ from OpenCV's.  docs/coming-from/opencv.md compares both.
"""

from collections.abc import Sequence
from operator import index

import cv2
import numpy as np
from numpy.typing import NDArray

from apps.common.images import to_rgb
from apps.common.rectangles import bounds
from apps.segmentation.fit import find_labels
from apps.segmentation.hints import Hints, ObjectOptions
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN
from apps.segmentation.model import ImageView

__all__ = [
    "GC_BGD",
    "GC_EVAL",
    "GC_EVAL_FREEZE_MODEL",
    "GC_FGD",
    "GC_INIT_WITH_MASK",
    "GC_INIT_WITH_RECT",
    "GC_PR_BGD",
    "GC_PR_FGD",
    "grabCut",
]

GC_BGD, GC_FGD, GC_PR_BGD, GC_PR_FGD = 0, 1, 2, 3  # codes of the mask
GC_INIT_WITH_RECT, GC_INIT_WITH_MASK, GC_EVAL, GC_EVAL_FREEZE_MODEL = 0, 1, 2, 3
MODEL_SIZE = 65  # OpenCV's mixture of 5 colours: weights, means, covariances
COLOURS, COLOUR_SHIFT, COLOUR_PLACES = 512, 5, (64, 8, 1)  # colours that are compared: eight levels of each channel

EVERYTHING = ObjectOptions(keep="all")


def grabCut(
    img: NDArray[np.uint8],
    mask: NDArray[np.uint8] | None,
    rect: Sequence[int] | None,
    bgdModel: NDArray[np.float64] | None,
    fgdModel: NDArray[np.float64] | None,
    iterCount: int,
    mode: int = GC_EVAL,
) -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.float64]]:
    """Cut an object out of an image with the interface of `cv2.grabCut`.

    Parameters
    ----------
    img : ndarray of uint8 (H, W, 3)
        The image; BGR as everywhere in OpenCV.
    mask : ndarray of uint8 (H, W)
        0 background, 1 object, 2 probably background, 3 probably object.  Changed in place: each 2 and 3 becomes the
        label found.  May be None with GC_INIT_WITH_RECT.
    rect : tuple (x, y, width, height)
        Rectangle around the object, with GC_INIT_WITH_RECT only; everything outside is background.
    bgdModel, fgdModel : ndarray of float64 (1, 65), or None
        Neither read nor changed: the colour models of each call are fitted to the mask.
    iterCount : int
        Maximum number of rounds of fitting colours and cutting.  0 only fills the mask and the models.
    mode : int, default GC_EVAL
        GC_INIT_WITH_RECT, GC_INIT_WITH_MASK, GC_EVAL (as GC_INIT_WITH_MASK, since models are not read), or
        GC_EVAL_FREEZE_MODEL (one round).

    Returns
    -------
    mask, bgdModel, fgdModel : ndarray
        The arguments, or new arrays for None.

    Raises
    ------
    cv2.error
        As by OpenCV: for an image or mask of another dtype or shape, a mask that is read-only, other codes, a rectangle
        outside the image, and without any object or any background to learn from.

    See Also
    --------
    apps.segment : with strokes, start masks, and a choice of parts.

    Examples
    --------
    >>> import numpy as np
    >>> from apps.compat.cv2 import GC_INIT_WITH_RECT, grabCut
    >>> image = np.zeros((20, 30, 3), np.uint8)
    >>> image[5:15, 10:20] = 200
    >>> mask, *models = grabCut(image, None, (7, 2, 16, 16), None, None, 5, GC_INIT_WITH_RECT)
    >>> int((mask == 3).sum())
    100
    """
    if not isinstance(img, np.ndarray) or img.dtype != np.uint8 or img.ndim != 3 or img.shape[2] != 3:
        raise _error("image must have CV_8UC3 type")
    if 0 in img.shape:
        raise _error("image is empty")
    background, foreground = (np.zeros((1, MODEL_SIZE)) if one is None else one for one in (bgdModel, fgdModel))
    try:
        rounds = index(iterCount)
    except TypeError:
        raise _error(f"iterCount must be an integer, got {iterCount!r:.60}") from None
    if mode == GC_INIT_WITH_RECT:
        mask = _mask_of(rect, mask, img.shape[:2])
    elif mode not in (GC_INIT_WITH_MASK, GC_EVAL, GC_EVAL_FREEZE_MODEL):
        raise _error(f"mode must be 0 (GC_INIT_WITH_RECT) to 3 (GC_EVAL_FREEZE_MODEL), got {mode}")
    codes = _checked_mask(mask, img.shape[:2])
    is_object = (codes & 1).astype(bool)
    if not is_object.any() or is_object.all():
        raise _error("(-215:Assertion failed) !bgdSamples.empty() && !fgdSamples.empty()")
    if rounds > 0 and (codes > GC_FGD).any():
        is_object = _find(img, codes, is_object, 1 if mode == GC_EVAL_FREEZE_MODEL else rounds, mode)
        codes[codes > GC_FGD] = np.where(is_object, GC_PR_FGD, GC_PR_BGD)[codes > GC_FGD]
    assert mask is not None
    return mask, background, foreground


def _find(img, codes, is_object, rounds: int, mode: int) -> np.ndarray:
    """The object, bool (H, W), from the codes of the mask."""
    marks = np.full(codes.shape, OPEN, np.int8)
    marks[codes == GC_FGD] = OBJECT
    marks[codes == GC_BGD] = BACKGROUND
    rgb = to_rgb(img[..., ::-1])
    if mode == GC_INIT_WITH_RECT:
        hints = Hints(marks, options=EVERYTHING, rounds=rounds)
    elif (marks == OPEN).all() and _shows_outline(img, is_object):  # as from another program
        hints = Hints(marks, mask=is_object, options=EVERYTHING, rounds=rounds)
    else:
        hints = Hints(marks, labelling=is_object, options=EVERYTHING, rounds=rounds)
    return find_labels(ImageView(lambda: rgb, codes.shape), hints).mask


def _shows_outline(img, guess) -> bool:
    """Whether the outline of a guess can be trusted: it is no rectangle, and most of its colours are its own.

    The colours of a guess that is much larger than the object are mostly those of the background.
    """
    if guess[bounds(guess)].all():
        return False
    colour = (img >> COLOUR_SHIFT).astype(np.int64) @ COLOUR_PLACES
    inside, outside = (np.bincount(colour[part], minlength=COLOURS) for part in (guess, ~guess))
    own = inside * outside.sum() > outside * inside.sum()
    return bool(2 * inside[own].sum() >= inside.sum())


def _error(text: str) -> Exception:
    return cv2.error(f"cutmatch: {text} in function 'grabCut'")


def _writeable(name: str, array: np.ndarray) -> np.ndarray:
    if not array.flags.writeable:
        raise _error(f"{name} is read-only, but it is written; pass a copy")
    return array


def _mask_of(rect, mask, shape) -> np.ndarray:
    """The mask of a rectangle, in the caller's array if it fits."""
    try:
        x, y, width, height = (int(number) for number in rect)
    except (TypeError, ValueError):
        raise _error(f"rect must be (x, y, width, height), got {rect!r}") from None
    inside = slice(max(y, 0), max(y + height, 0)), slice(max(x, 0), max(x + width, 0))
    if not isinstance(mask, np.ndarray) or mask.dtype != np.uint8 or mask.shape not in (shape, (*shape, 1)):
        mask = np.empty(shape, np.uint8)
    _writeable("mask", mask)[...] = GC_BGD
    mask[inside] = GC_PR_FGD
    return mask


def _checked_mask(mask, shape) -> np.ndarray:
    """A view (H, W) of the mask."""
    if mask is None or not isinstance(mask, np.ndarray) or not mask.size:
        raise _error("mask is empty")
    if mask.dtype != np.uint8 or mask.ndim not in (2, 3) or mask.shape[2:] not in ((), (1,)):
        raise _error("mask must have CV_8UC1 type")
    if mask.shape[:2] != shape:
        raise _error("mask must have as many rows and cols as img")
    if mask.max() > GC_PR_FGD:
        raise _error("mask element value must be equal GC_BGD or GC_FGD or GC_PR_BGD or GC_PR_FGD")
    _writeable("mask", mask)
    return mask[..., 0] if mask.ndim == 3 else mask
