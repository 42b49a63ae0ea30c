"""What a user gives about an object: strokes or a trimap, a box and a mask, combined.

Strokes, trimaps and the outside of a box are constraints, and strokes prevail where they contradict a box.  A mask,
such as one of an earlier run, can be overridden; see apps.segmentation.start_mask.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from apps.common.arguments import check_number
from apps.common.images import InputError, check_same_size, read_bytes
from apps.common.rectangles import Rectangle
from apps.segmentation.image_sizes import MIN_SHARE, at_centres, reduced_marks, reduced_mask
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN, check_keep, check_open, has_both, is_inside, labels_in
from apps.segmentation.masks import box_of_rectangle, fitted, mask_of, values_in
from apps.segmentation.strokes import box_inside, check_marks, marks_of_box

ROUNDS = 10  # of fits and cuts, at most; most images converge after 3 or 4
MOST_MARKED = 0.5  # share of the image that strokes without any on the background can mark
NEARLY_ALL = 0.99  # share of the image; a larger object is probably a mistake


Shares = tuple[float, float, float, float]  # of the image: a box, x0, y0, x1, y1


class ObjectOptions(NamedTuple):
    """Options of a single object, as of `apps.segment`; a session stores them."""

    keep: str | None = None
    fill_holes: bool = False
    min_area: int = 0


DEFAULTS = ObjectOptions()


@dataclass(frozen=True, eq=False)
class Hints:
    """What is said about the objects of an image (H, W), and how their labels are found.

    marks       of strokes, of a trimap or of labels, and of the outside of a single object's box; int8 or int16
    mask        a mask that colours can override, or None: bool; uint8 if soft; int16 for labels of several objects
    labelling   object of an earlier run, bool, or None; the first colour models are fitted to it
    notes       messages for the user
    options     what parts of the object are wanted
    rounds      of fits and cuts, at most
    boxes       of each object that has one, in shares of the image; see apps.segmentation.instances for several
    """

    marks: np.ndarray
    mask: np.ndarray | None = None
    labelling: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    options: ObjectOptions = DEFAULTS
    rounds: int = ROUNDS
    boxes: Mapping[int, Shares] = field(default_factory=dict)

    @cached_property
    def marked(self) -> tuple[int, ...]:
        """The labels of the marks, ascending."""
        return labels_in(self.marks)

    @property
    def anchors(self) -> np.ndarray:
        """The marks and, of a mask of several objects, these; parts without any are those that touch none."""
        if self.mask is None or self.mask.dtype != np.int16:
            return self.marks
        return np.where((self.marks == OPEN) & (self.mask > BACKGROUND), self.mask, self.marks)

    @property
    def has_object(self) -> bool:
        """Whether there are strokes on an object."""
        return bool(self.marked) and self.marked[-1] >= OBJECT

    @property
    def has_box(self) -> bool:
        """Whether all outside of a box is background, and there is no mask."""
        return self.mask is None and bool(self.boxes)

    @property
    def only_outside(self) -> bool:
        """Whether marks of the background alone say where the object is, as the outside of a box does."""
        return self.mask is None and not self.has_object

    @property
    def in_box(self) -> bool:
        """Whether the object is the one in a box: there is a box and no mask."""
        return (self.has_box or self.only_outside) and self.is_single

    @property
    def is_located(self) -> bool:
        """Whether a box or a mask says where the object is, so that marks of one kind are enough."""
        return self.mask is not None or bool(self.boxes)

    @cached_property
    def values(self) -> tuple[int, ...]:
        """The labels to find, ascending."""
        hinted = () if self.mask is None else labels_in(self.mask) if self.mask.dtype == np.int16 else (OBJECT,)
        return values_of(self.marked, (*hinted, *self.boxes)) or (BACKGROUND, OBJECT)

    @property
    def is_single(self) -> bool:
        """Whether there are only one object and the background."""
        return len(self.values) == 2 and self.values[0] == BACKGROUND

    @property
    def keep(self) -> str:
        """Parts of objects to keep; default: with strokes alone those that they touch, else all."""
        default = "touching" if self.has_object and self.mask is None and not self.has_box else "all"
        return self.options.keep or default

    @property
    def min_area(self) -> int:
        """Pixels of parts to keep; 0: the default of apps.segmentation.fit."""
        return self.options.min_area or int(self.options.keep == "all")

    def check(self) -> None:
        """Raise InputError for options that are none, or do not apply."""
        check_number(self.rounds, "rounds", integer=True)
        if self.rounds < 1:
            raise InputError(f"rounds must be 1 or more, got {self.rounds}")
        check_number(self.options.min_area, "min_area")
        check_keep(self.keep)
        if self.keep == "touching" and not self.has_object:
            raise InputError("keep touching needs object strokes, but there are none; use all or largest")

    def part(self, where: Rectangle) -> "Hints":
        """What nothing but a box says, in a rectangle of the image that contains the box."""
        labelling = None if self.labelling is None else self.labelling[where]
        return replace(self, marks=self.marks[where], labelling=labelling)

    def reduced(self, shape: tuple[int, ...]) -> "Hints | None":
        """The hints at a smaller size; None if marks, the open pixels or the mask are lost in it."""
        least = 0 if self.has_object else MIN_SHARE  # the background is the outside of a box then
        marks, whole, mask = reduced_marks(self.marks, shape, least), self.mask, None
        if whole is not None:
            mask = at_centres(whole, shape) if whole.dtype == np.int16 else reduced_mask(whole, shape)
            if has_both(is_inside(whole)) and not has_both(is_inside(mask)):
                return None
        is_open = bool((marks == OPEN).any()) or not (self.marks == OPEN).any()
        if labels_in(marks) != self.marked or not is_open:
            return None
        labelling = None if self.labelling is None else reduced_mask(self.labelling, shape)
        return replace(self, marks=marks, labelling=labelling, mask=mask)


def shares_of(box: Sequence[int], shape: Sequence[int]) -> Shares:
    """A box in pixels of an image (H, W), in shares of it."""
    x0, y0, x1, y1 = box
    return x0 / shape[1], y0 / shape[0], x1 / shape[1], y1 / shape[0]


def part_of(box: Shares, shape: Sequence[int]) -> Rectangle:
    """The part of an image (H, W) of any size that a box touches."""
    x0, y0, x1, y1 = (share * shape[1 - k % 2] for k, share in enumerate(box))
    near = 1e-6  # pixels that rounding may add
    return slice(int(y0 + near), math.ceil(y1 - near)), slice(int(x0 + near), math.ceil(x1 - near))


def values_of(marked: Sequence[int], hinted: Sequence[int]) -> tuple[int, ...]:
    """The labels to find, ascending, given those marked and those of a hint; () if there is nothing to cut.

    A single object has the background as its counterpart, marked or not.
    """
    if hinted:
        return tuple(sorted({BACKGROUND, *hinted, *marked}))
    if len(marked) == 1 and marked[0] > 0:
        return BACKGROUND, marked[0]
    return tuple(marked) if len(marked) > 1 else ()


def combine(
    shape,
    strokes=None,
    box=None,
    name: str = "strokes",
    mask: np.ndarray | None = None,
    options: ObjectOptions = DEFAULTS,
    rounds: int = ROUNDS,
) -> Hints:
    """Combine marks of strokes or of a trimap (H, W), a box and a mask; all are optional.

    name   of the strokes or the trimap, for messages

    A start mask that is a full rectangle is treated as a box: it indicates no outline either.  Raises InputError for
    other sizes, a box outside the image, without anything that says where the object is, and if no pixel is left open.
    """
    if strokes is not None:
        check_same_size(strokes, shape, name)
    if mask is not None:
        mask = fitted(mask, shape, "start")
    if mask is not None and box is None and (box := box_of_rectangle(mask)) is not None:
        mask = None
    notes: list[str] = []
    box = None if box is None else clipped(box, shape, notes)
    marks = np.full(shape, OPEN, np.int8) if strokes is None else strokes
    count = 0 if BACKGROUND in marks else int(np.count_nonzero(marks == OBJECT))
    object_only = box is None and mask is None and 0 < count <= MOST_MARKED * marks.size  # dithering marks more
    if object_only:
        notes.append(f"{name} marks no background, so the sides of the image count as background; add a stroke on it")
    if box is not None:
        marks = np.where(marks == OPEN, marks_of_box(box, shape), marks)
    boxes = {} if box is None else {OBJECT: shares_of(box, shape)}
    hints = Hints(marks, mask, None, tuple(notes), options, rounds, boxes)
    if not (hints.is_located or object_only):
        check_marks(marks, shape, name)
    check_open(marks, name)
    hints.check()
    return hints


def read_mask(path) -> np.ndarray:
    """Read the mask of --start; InputError for a file that is none."""
    return mask_in(read_bytes(path, "--start"), path, "--start")


def mask_in(data: bytes, path, name: str) -> np.ndarray:
    """The values of a mask in the content of a file; InputError, starting with `name`, for a file that is none."""
    return mask_of(values_in(data, path, name), f"{name}: {str(path)!r}")


def clipped(box, shape, notes: list) -> tuple[int, int, int, int]:
    """The part of a box inside an image of this shape; a message is added to `notes` if that is not all of it.

    Raises InputError for a box that is empty, or completely outside the image.
    """
    inside = box_inside(box, shape)
    shown, size = ",".join(map(str, box)), f"the image, which is {shape[1]} wide and {shape[0]} high"
    if inside is None:
        raise InputError(f"box {shown} contains no pixel of {size}; draw it around an object")
    if inside != tuple(box):
        notes.append(f"box {shown} exceeds {size}; it was clipped")
    return inside


def remarks_on(mask: np.ndarray, has_rival: bool = False) -> tuple[str, ...]:
    """Warnings about an object that is empty, covers nearly the whole image, or has a rival that fits as well."""
    share = np.count_nonzero(mask) / mask.size
    if share == 0:
        return ("the object is empty; add object strokes, or draw the box around the whole object",)
    if share > NEARLY_ALL:
        return (f"the object covers {100 * share:.1f} % of the image; add background strokes",)
    if has_rival:
        return ("another object fits the box about as well; check the outline, and correct it with a stroke",)
    return ()
