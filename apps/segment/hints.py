"""What a user gives about an object: strokes or a trimap, a box and a start mask, combined.

Strokes, trimaps and the outside of a box are constraints, and strokes prevail where they contradict a box.  A start
mask is a hint that colours, or strokes if it is soft, can override (see apps.segment.start_mask).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from apps.common.images import InputError, check_same_size, read_bytes
from apps.segment.connected_parts import strokes_of
from apps.segment.marks import OBJECT, OPEN
from apps.segment.start_mask import box_of_rectangle, fitted, mask_of, restored, start_in, volume_mask_of
from apps.segment.strokes import check_box, check_marks, marks_of_box


class MaskKind(NamedTuple):
    """A kind of hint that has a value per pixel, and which colours can override.

    The values are bool or uint8; `Hints` and `apps.segment.model.Request` have a field of the kind's name.

    read        content of a file, its path and a name for messages -> values (H, W)
    of_array    array and a name for messages -> values (H, W)
    of_volume   array, shape of a volume and a name for messages -> values (D, H, W)
    restored    uint8 values of a stored session -> values
    """

    read: Callable[[bytes, Any, str], np.ndarray]
    of_array: Callable[[Any, str], np.ndarray]
    of_volume: Callable[[Any, tuple[int, ...], str], np.ndarray]
    restored: Callable[[np.ndarray], np.ndarray]


MASKS = {"start": MaskKind(start_in, mask_of, volume_mask_of, restored)}
MAX_LISTED = 3  # strokes in a message
MIN_STROKE = 20  # pixels of a stroke that is expected to decide about others
NEARLY_ALL = 0.99  # share of the image; a larger object is probably a mistake


@dataclass(frozen=True, eq=False)
class Hints:
    """What a user says about the object of an image (H, W).

    strokes     marks of strokes or of a trimap, int8
    box         the part of the box inside the image, or None; all outside is background
    start       start mask, bool if it is rough, uint8 if it is soft, or None
    labelling   object of an earlier run, bool, or None; the first colour models are fitted to it
    notes       messages for the user
    """

    strokes: np.ndarray
    box: tuple[int, int, int, int] | None = None
    start: np.ndarray | None = None
    labelling: np.ndarray | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def marks(self) -> np.ndarray:
        """All constraints: the strokes and, where there is none, the outside of the box; int8 (H, W)."""
        if self.box is None:
            return self.strokes
        return np.where(self.strokes == OPEN, marks_of_box(self.box, self.strokes.shape), self.strokes)

    @property
    def has_object(self) -> bool:
        """Whether there are strokes on the object."""
        return bool((self.strokes == OBJECT).any())

    @property
    def masks(self) -> dict[str, Any]:
        """Those of MASKS that are given, by kind."""
        return {kind: mask for kind in MASKS if (mask := getattr(self, kind)) is not None}

    @property
    def default_keep(self) -> str:
        """Parts of the object to keep: with strokes alone those that they touch, else all."""
        return "touching" if self.box is None and not self.masks and self.has_object else "all"


def combine(
    shape, strokes=None, box=None, name: str = "scribbles", earlier: Hints | None = None, **masks: np.ndarray
) -> Hints:
    """Combine marks of strokes or of a trimap (H, W), a box and masks of MASKS, by kind; all are optional.

    name      of the strokes or the trimap, for messages
    earlier   hints of an earlier run: the strokes are added to its strokes, the others replace those of the same kind

    A start mask that is a full rectangle is treated as a box: it indicates no outline either.  Raises InputError for
    other sizes, a box outside the image, without anything that says where the object is, and if no pixel is left open.
    """
    if strokes is not None:
        check_same_size(strokes, shape, name)
    masks = {kind: fitted(mask, shape, f"--{kind}") for kind, mask in masks.items()}
    labelling = None
    if earlier is not None:
        name = "--resume-session" if strokes is None else name
        strokes = earlier.strokes if strokes is None else np.where(strokes == OPEN, earlier.strokes, strokes)
        box = earlier.box if box is None else box
        masks, labelling = earlier.masks | masks, earlier.labelling
    if "start" in masks and box is None and (box := box_of_rectangle(masks["start"])) is not None:
        del masks["start"]
    notes: list[str] = []
    box = None if box is None else clipped(box, shape, notes)
    strokes = np.full(shape, OPEN, np.int8) if strokes is None else strokes
    hints = Hints(strokes, box, labelling=labelling, notes=tuple(notes), **masks)
    if box is None and not masks:
        check_marks(strokes, shape, name)
    elif not (hints.marks == OPEN).any():
        raise InputError(f"{name} marks every pixel, so there is nothing to segment; mark fewer pixels")
    return hints


def mask_kind(kind: str) -> MaskKind:
    """The entry of MASKS; InputError for an unknown kind."""
    if kind not in MASKS:
        raise InputError(f"unknown kind of hint {kind[:40]!r}; the kinds are {', '.join(MASKS)}")
    return MASKS[kind]


def read_mask(kind: str, path) -> np.ndarray:
    """Read a mask of a kind; InputError for a file that is none."""
    name = f"--{kind}"
    return MASKS[kind].read(read_bytes(path, name), path, name)


def clipped(box, shape, notes: list) -> tuple[int, int, int, int]:
    """The part of a box inside an image of this shape; a message is added to `notes` if that is not all of it.

    Raises InputError for a box that is completely outside the image.
    """
    x0, y0, x1, y1 = check_box(box)
    height, width = shape
    text = f"--box {x0},{y0},{x1},{y1}"
    if x0 >= x1 or y0 >= y1 or (x0 >= 0 and y0 >= 0 and x1 <= width and y1 <= height):
        return x0, y0, x1, y1  # an empty box is rejected by `marks_of_box`
    inside = max(x0, 0), max(y0, 0), min(x1, width), min(y1, height)
    if inside[0] >= inside[2] or inside[1] >= inside[3]:
        raise InputError(f"{text} is outside the image, which is {width} wide and {height} high; move it inside")
    notes.append(f"{text} exceeds the image, which is {width} wide and {height} high; it was clipped")
    return inside


def remarks_on(mask: np.ndarray, strokes: np.ndarray | None = None) -> tuple[str, ...]:
    """Warnings about an object that is empty or covers nearly the whole image, and about strokes that it surrounds.

    strokes   marks of strokes to check; or None
    """
    share = np.count_nonzero(mask) / mask.size
    if share == 0:
        return ("the object is empty; add object strokes, or draw the box around the whole object",)
    if share > NEARLY_ALL:
        return (f"the object covers {100 * share:.1f} % of the image; add background strokes",)
    found = [] if strokes is None else surrounded_strokes(mask, strokes)
    if not found:
        return ()
    places = " and ".join(str(where[::-1]) for where in found[:MAX_LISTED])
    more = " and others" if len(found) > MAX_LISTED else ""
    return (f"most pixels around the stroke at {places}{more} have the other label; add strokes there",)


def surrounded_strokes(mask: np.ndarray, marks: np.ndarray) -> list[tuple[int, ...]]:
    """A pixel of each stroke around which most pixels have the other label; of at least MIN_STROKE pixels."""
    places, stroke = strokes_of(marks)
    sizes = np.bincount(stroke)
    around = np.zeros((2, sizes.size))  # open pixels beside a stroke, and those of the other label
    kinds, is_object = marks.ravel(), mask.ravel()
    for axis, at in enumerate(np.unravel_index(places, marks.shape)):
        for step in (-1, 1):
            inside = (at + step >= 0) & (at + step < marks.shape[axis])
            beside = places[inside] + step * math.prod(marks.shape[axis + 1 :])
            is_open = kinds[beside] == OPEN
            differs = is_open & (is_object[beside] != (kinds[places[inside]] == OBJECT))
            around += [np.bincount(stroke[inside], one, sizes.size) for one in (is_open, differs)]
    wrong = (2 * around[1] > around[0]) & (sizes >= MIN_STROKE)
    firsts = places[np.unique(stroke, return_index=True)[1][wrong]]
    return [tuple(map(int, np.unravel_index(place, marks.shape))) for place in firsts]
