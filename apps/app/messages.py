"""Messages of the page's socket.

Page to server, binary, little endian:

    stroke   u8 1, u8 flags (1 final, 2 erase or take away, 4 sent again, 8 solid, 16 push), u16 label, u32 item,
             u32 number, i32 axis, i32 index, f32 radius, u32 points, then f32 x, y of every point

Server to page, binary:

    stroke   the same, with a key instead of the number
    mask     u8 2, three bytes 0, u32 item, i32 axis, i32 index, u32 x, y, width, height, u32 runs, then u32 lengths
             of the runs and u16 labels of the runs, row by row in the rectangle

`item` counts images and volumes, `axis` is -1 for an image and the axis of a slice of a volume, `index` the slice.
Points are in pixels; pixel (i, j) covers [i, i + 1) x [j, j + 1).  A stroke that is not final is a preview of the one
being drawn.

All else is JSON: {"do": ...} from the page, see ACTIONS; {"type": ...} from the server.
"""

import json
import struct
from typing import NamedTuple

import numpy as np

from apps.common.errors import InputError

STROKE, MASK = 1, 2
FINAL, ERASE, AGAIN = 1, 2, 4
EDITS = {8: "solid", 16: "push"}
_STROKE_HEADER = struct.Struct("<BBHIIiifI")
_MASK_HEADER = struct.Struct("<B3xIiiIIIII")

# Actions of the page and their arguments besides `item`, which the session checks.
ACTIONS = {
    "open": (),
    "slice": ("axis", "index"),
    "undo": (),
    "redo": (),
    "clear": (),
    "cancel": ("number",),
    "box": ("box", "label"),
    "describe": ("label", "name", "colour"),
    "lock": ("label",),
    "clean_up": ("label",),
    "unlock": ("label",),
    "delete": ("label",),
    "wider": ("label", "step", "final"),
    "select": ("label", "points", "radius", "tolerance", "taken", "final"),
    "drop_preview": (),
    "take_rival": (),
    "look": ("label", "axis", "index"),
    "save": ("kinds",),
    "approve": ("kinds",),
    "export_approved": (),
}


class StrokeMessage(NamedTuple):
    """A stroke as the page sends it; `label` is None for erasing, `axis` and `index` for an image.

    edit    "solid" or "push", if the stroke is not one of marks
    taken   whether that takes pixels away
    """

    item: int
    number: int
    points: np.ndarray
    radius: float
    label: int | None
    axis: int | None
    index: int | None  # type: ignore[assignment]  # hides tuple.index
    final: bool
    again: bool
    edit: str = ""
    taken: bool = False


def parse_stroke(data: bytes) -> StrokeMessage:
    """The stroke of a binary message; InputError for anything else.  The session checks its values."""
    if len(data) < _STROKE_HEADER.size or data[0] != STROKE:
        raise InputError("binary message is not a stroke")
    _, flags, label, item, number, axis, index, radius, count = _STROKE_HEADER.unpack_from(data)
    edit = EDITS.get(flags & ~(FINAL | ERASE | AGAIN), "")
    if flags & ~(FINAL | ERASE | AGAIN) and not edit:
        raise InputError(f"stroke has unknown flags {flags}")
    if len(data) != _STROKE_HEADER.size + 8 * count:
        raise InputError(f"stroke of {count} points has {len(data)} bytes")
    points = np.frombuffer(data, "<f4", 2 * count, _STROKE_HEADER.size).reshape(count, 2).astype(float)
    erased = bool(flags & ERASE)
    final, again = bool(flags & FINAL), bool(flags & AGAIN)
    shown = None if erased and not edit else label
    axis, index = (None, None) if axis < 0 else (axis, index)
    return StrokeMessage(item, number, points, radius, shown, axis, index, final, again, edit, erased and bool(edit))


def encode_stroke(item: int, key: int, points, radius: float, label: int | None, axis, index) -> bytes:
    """Binary message of a stroke, for the page."""
    xy = np.asarray(points, "<f4").reshape(-1, 2)
    flags = FINAL | (ERASE if label is None else 0)
    place = (-1, 0) if axis is None else (axis, index)
    return _STROKE_HEADER.pack(STROKE, flags, label or 0, item, key, *place, radius, len(xy)) + xy.tobytes()


def parse_action(text: str) -> dict:
    """The action of a text message; InputError for anything else."""
    try:
        action = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("message is not JSON") from None
    name = action.get("do") if isinstance(action, dict) else None
    if not isinstance(name, str) or name not in ACTIONS:
        raise InputError(f"message contains no action; the actions are {', '.join(ACTIONS)}")
    if set(action) != {"do", "item", *ACTIONS[name]} or type(action["item"]) is not int:
        raise InputError(f"{name} needs {', '.join(('item', *ACTIONS[name]))}, got {ascii(action)[:200]}")
    return action


def encode_mask(item: int, axis: int, index: int, labels: np.ndarray, before: np.ndarray | None) -> bytes | None:
    """Binary message of the labels (H, W) that differ from `before`; None if there are none.

    Without `before` the message contains all labels.
    """
    if before is None:
        x0, y0, (height, width) = 0, 0, labels.shape
    else:
        rows = np.flatnonzero((changed := labels != before).any(axis=1))
        if not rows.size:
            return None
        y0, height = int(rows[0]), int(rows[-1] - rows[0] + 1)
        columns = np.flatnonzero(changed[y0 : y0 + height].any(axis=0))
        x0, width = int(columns[0]), int(columns[-1] - columns[0] + 1)
    lengths, values = runs_of(labels[y0 : y0 + height, x0 : x0 + width])
    header = _MASK_HEADER.pack(MASK, item, axis, index, x0, y0, width, height, len(lengths))
    return header + lengths.astype("<u4").tobytes() + values.astype("<u2").tobytes()


def runs_of(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lengths and labels of the runs of equal labels (H, W), row by row."""
    flat = np.ravel(labels)
    starts = np.concatenate(([0], np.flatnonzero(flat[1:] != flat[:-1]) + 1))
    return np.diff(starts, append=flat.size), flat[starts]
