"""What a user gives about an object: strokes or a trimap, a box and a start mask, combined.

Strokes, trimaps and the outside of a box are constraints, and strokes prevail where they contradict a box.  A start
mask is a hint that colours can override (see apps.segment.start_mask).
"""

from typing import NamedTuple

import numpy as np

from apps.common.images import InputError, check_same_size
from apps.segment.marks import OPEN
from apps.segment.start_mask import box_of_rectangle
from apps.segment.strokes import check_box, check_marks, marks_of_box

NEARLY_ALL = 0.99  # share of the image; a larger object is probably a mistake


class Hints(NamedTuple):
    """Marks (H, W), and how to read them.

    start          start mask (H, W), or None
    box            the part of the box inside the image, or None
    default_keep   parts of the object to keep; None: as `segment_marked` decides
    notes          messages for the user
    """

    marks: np.ndarray
    start: np.ndarray | None
    box: tuple[int, int, int, int] | None = None
    default_keep: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def boxed(self) -> bool:
        """Whether the background marks contain the outside of a box."""
        return self.box is not None


def combine(shape, strokes=None, box=None, start=None, name: str = "scribbles") -> Hints:
    """Combine marks of strokes or of a trimap (H, W), a box and a start mask; each may be None, but not all.

    name   of the strokes or the trimap, for messages

    A start mask that is a full rectangle is treated as a box: it indicates no outline either.  Raises InputError for
    other sizes, a box outside the image, and if no pixel is left open.
    """
    if start is not None:
        check_same_size(start, shape, "--start")
        if box is None and (rectangle := box_of_rectangle(start)) is not None:
            box, start = rectangle, None
    if box is None and start is None:
        return Hints(check_marks(strokes, shape, name), None)
    notes: list[str] = []
    box = None if box is None else clipped(box, shape, notes)
    marks = np.full(shape, OPEN, np.int8) if box is None else marks_of_box(box, shape)
    if strokes is not None:
        check_same_size(strokes, shape, name)
        marks = np.where(strokes == OPEN, marks, strokes)
    if not (marks == OPEN).any():
        raise InputError(f"{name} marks every pixel, so there is nothing to segment; mark fewer pixels")
    return Hints(marks, start, box, "all", tuple(notes))


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


def remarks_on(mask: np.ndarray) -> tuple[str, ...]:
    """Warnings about an object that is empty or covers nearly the whole image, which are rarely intended."""
    share = np.count_nonzero(mask) / mask.size
    if share == 0:
        return ("the object is empty; add object strokes, or draw the box around the whole object",)
    if share > NEARLY_ALL:
        return (f"the object covers {100 * share:.1f} % of the image; add background strokes",)
    return ()
