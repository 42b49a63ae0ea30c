"""Masks as other programs write them: probabilities, logits, grey levels and label maps, of any resolution.

They become logits with the sign of the mask.  The absolute value is scaled so that the pixels that are typical of the
object and of the background, the medians of both, have CERTAIN nats.  Networks are hardly ever calibrated: the logits
of one that was trained longer are larger, but its outlines are not better.
"""

from dataclasses import dataclass

import numpy as np

from apps.common.arguments import array_of
from apps.common.errors import InputError

CERTAIN = 3.0  # nats of a typical sure pixel: wrong in one of 20 cases
LEAST = 1e-4  # probabilities are clipped to it, so that no logit is infinite
MAX_LABELS = 65535
CONSTANT_SHARE = 0.5  # of the pixels between the extremes that equal the next one, from which on they are labels
RESAMPLED = 0.01  # by which probabilities may exceed 0 to 1 after a resampling
MIN_BLOCKS = 4  # edges between blocks of equal lines that show that a mask was enlarged
MIN_EDGES = 0.1  # share of the edges between the blocks that are used
SUM_TOLERANCE = 0.01  # of probabilities of the background and the object


@dataclass(frozen=True, slots=True)
class SoftMasks:
    """Masks of objects, either logits of each, or one label map.

    values   the objects' values, ascending
    planes   logits, float32 (K, h, w), or None
    labels   label map, int32 (h, w), or None
    hard     whether the masks have two values, so that nothing but their resolution says how exact they are
    notes    how the masks were read
    """

    values: tuple[int, ...]
    planes: np.ndarray | None
    labels: np.ndarray | None
    hard: bool
    notes: tuple[str, ...] = ()

    def preference(self, k: int) -> np.ndarray:
        """Logits of object number k against the background and all other objects, float32 (h, w)."""
        if self.labels is not None:
            return np.where(self.labels == self.values[k], np.float32(CERTAIN), np.float32(-CERTAIN))
        assert self.planes is not None
        best = np.zeros(self.planes.shape[1:], np.float32)  # of the background
        for other in range(len(self.values)):
            if other != k:
                np.maximum(best, self.planes[other], out=best)
        return self.planes[k] - best


def soft_masks_of(values, kind: str = "auto", name: str = "masks") -> SoftMasks:
    """Read an array of masks, as described in `apps.refinement.refinement.refine`.

    Raises InputError, starting with `name`, for other arrays, and for masks without an object or without a background.
    """
    values = array_of(values, name)
    if values.dtype.kind not in "buif":
        raise InputError(f"{name} must hold booleans, integers or floats, got {values.dtype}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise InputError(f"{name} holds NaN or infinity; every pixel must be finite")
    planes = unrepeated(_planes(values, kind, name))
    if planes.shape[0] == 1 and (labels := _label_map(planes[0], kind, name)) is not None:
        return labels
    logits, note = _logits(planes, name)
    _check_both(logits, name)
    hard = all(len(np.unique(plane)) == 2 for plane in logits)
    scaled = np.stack([_calibrated(plane) for plane in logits])
    return SoftMasks(tuple(range(1, len(scaled) + 1)), scaled, None, hard, note)


def _planes(values: np.ndarray, kind: str, name: str) -> np.ndarray:
    """Masks (K, h, w) of one object each."""
    shape = values.shape
    while values.ndim > 2 and values.shape[0] == 1:
        values = values[0]
    if values.ndim == 3 and values.shape[2] == 1:
        values = values[..., 0]
    if values.ndim == 2:
        values = values[None]
    elif values.ndim == 3 and kind != "objects":
        if len(values) != 2 or values.dtype.kind != "f":
            remedy = "pass kind='objects' if the first axis is of objects, or one of them as (h, w)"
            raise InputError(f"{name} must be a mask of shape (h, w), got {shape}; {remedy}")
        values = _two_classes(values)
    if values.ndim != 3 or 0 in values.shape:
        raise InputError(f"{name} must be a mask of shape (h, w), or (K, h, w) of K objects, got {shape}")
    return values


def unrepeated(planes: np.ndarray) -> np.ndarray:
    """Masks (K, h, w) before they were enlarged, without interpolation, to twice their size or more."""
    for axis in (1, 2):
        lines = _middles_of_blocks((np.diff(planes, axis=axis) != 0).any(axis=(0, 3 - axis)))
        planes = planes if lines is None else planes.take(lines, axis)
    return planes


def _middles_of_blocks(differs: np.ndarray) -> np.ndarray | None:
    """The middle line of each of the blocks of equal lines to which a few lines were enlarged; None if they were not.

    `differs` tells whether each line but the first differs from the last one.  Some edges of blocks must be used: an
    object with few corners is not one of low resolution.
    """
    size, used = len(differs) + 1, np.count_nonzero(differs)
    number = np.append(0, np.cumsum(differs))
    for count in range(used + 1, min(size // 2, int(used / MIN_EDGES)) + 1) if used >= MIN_BLOCKS else ():
        for shift in (0, 1):  # the two ways of programs to find the nearest line
            block = (2 * np.arange(size) + shift) * count // (2 * size)
            first, end = np.searchsorted(block, (np.arange(count), np.arange(1, count + 1)))
            if (number[first] == number[end - 1]).all():
                return (first + end - 1) // 2
    return None


def _two_classes(values: np.ndarray) -> np.ndarray:
    """The object of a background and an object: probabilities that sum to 1, or two logits."""
    values = values.astype(np.float32)
    if values.min() >= 0 and np.abs(values.sum(axis=0) - 1).max() <= SUM_TOLERANCE:
        return values[1:]
    return values[1:] - values[:1]


def _label_map(values: np.ndarray, kind: str, name: str) -> SoftMasks | None:
    """The objects of a label map; None if the values are not labels."""
    if kind == "levels" or values.dtype == bool:
        return None
    integral = values.dtype.kind in "iu" or bool((values == np.rint(values)).all())
    found = np.unique(values)
    if kind != "labels" and (not integral or len(found) <= 2 or found[0] < 0 or not _is_constant(values, found)):
        return None
    if not integral or found[0] < 0 or found[-1] > MAX_LABELS:
        held = f"{found[0]:g} to {found[-1]:g}"
        raise InputError(f"{name} must hold labels of 0 to {MAX_LABELS}, got values of {held}; 0 is the background")
    objects = tuple(int(value) for value in found if value)
    if not objects:
        raise InputError(f"{name} marks no object; its pixels must be above 0 on the objects")
    count = f"{len(objects)} object{'s' * (len(objects) > 1)}"
    notes = (f"{name} was read as a label map of {count}; 0 is the background",) if kind == "auto" else ()
    return SoftMasks(objects, None, values.astype(np.int32), True, notes)


def _is_constant(values: np.ndarray, found: np.ndarray) -> bool:
    """Whether values between the extremes fill regions, as labels do, and not only the slopes of soft outlines."""
    between = (values != found[0]) & (values != found[-1])
    same = values[:, 1:] == values[:, :-1]
    return bool(same[between[:, 1:]].mean() > CONSTANT_SHARE) if between[:, 1:].any() else False


def _logits(planes: np.ndarray, name: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Logits of masks, float32, and notes."""
    kind = planes.dtype.kind
    if kind == "f" and (planes.min() < -RESAMPLED or planes.max() > 1 + RESAMPLED):
        note = f"{name} holds values of {planes.min():.3g} to {planes.max():.3g}, which were read as logits"
        return planes.astype(np.float32), (note,)
    if kind == "i" and planes.min() < 0:
        raise InputError(f"{name} holds negative integers; pass logits as floats, or labels of 0 and more")
    if kind in "iu":
        two = len(np.unique(planes)) <= 2
        full = planes.max() if two else 255 if planes.max() <= 255 else 65535
        planes = planes / max(1, full)
    share = np.clip(planes.astype(np.float32), LEAST, 1 - LEAST)
    return np.log(share / (1 - share)), ()


def _check_both(logits: np.ndarray, name: str) -> None:
    """Raise InputError unless each mask has an object and a background."""
    for number, plane in enumerate(logits):
        which = f"{name}[{number}]" if len(logits) > 1 else name
        if not (plane > 0).any():
            raise InputError(f"{which} marks no object; probabilities must exceed 0.5, or logits 0, on the object")
        if (plane > 0).all():
            raise InputError(f"{which} covers the whole image, so no background is left; pass another mask")


def _calibrated(logits: np.ndarray) -> np.ndarray:
    """Logits whose medians on the object and on the background have a geometric mean of CERTAIN."""
    inside = logits > 0
    middle = float(np.median(logits[inside])) * float(np.median(-logits[~inside]))
    return logits * np.float32(CERTAIN / max(middle, LEAST) ** 0.5)
