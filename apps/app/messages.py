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

from apps.app import MAX_MESSAGE, MAX_POINTS
from apps.common.errors import InputError

STROKE, MASK = 1, 2
FINAL, ERASE, AGAIN = 1, 2, 4
EDITS = {8: "solid", 16: "push"}
_STROKE_HEADER = struct.Struct("<BBHIIiifI")
_MASK_HEADER = struct.Struct("<B3xIiiIIIII")
MAX_LABEL = 255
MAX_INDEX = 2**31 - 1
MAX_STEP = 100

# Actions of the page and the types of their arguments besides `item`.
ACTIONS: dict[str, dict[str, type]] = {
    "open": {},
    "slice": {"axis": int, "index": int},
    "undo": {},
    "redo": {},
    "clear": {},
    "cancel": {"number": int},
    "box": {"box": list, "label": int},
    "describe": {"label": int, "name": str, "colour": list},
    "lock": {"label": int},
    "clean_up": {"label": int},
    "unlock": {"label": int},
    "delete": {"label": int},
    "wider": {"label": int, "step": int, "final": bool},
    "select": {"label": int, "points": list, "radius": float, "tolerance": float, "taken": bool, "final": bool},
    "drop_preview": {},
    "take_rival": {},
    "look": {"label": int, "axis": int, "index": int},
    "save": {"kinds": list},
    "approve": {"kinds": list},
    "export_approved": {},
}
ELEMENTS: dict[str, tuple[type, ...]] = {
    "box": (int, float),
    "colour": (int,),
    "kinds": (str,),
    "points": (list,),
}  # types of what the lists hold


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
    """The stroke of a binary message; InputError for anything else."""
    if len(data) > MAX_MESSAGE:
        raise InputError(f"message of {len(data)} bytes; at most {MAX_MESSAGE} are accepted")
    if len(data) < _STROKE_HEADER.size or data[0] != STROKE:
        raise InputError("binary message is not a stroke")
    _, flags, label, item, number, axis, index, radius, count = _STROKE_HEADER.unpack_from(data)
    edit = EDITS.get(flags & ~(FINAL | ERASE | AGAIN), "")
    if flags & ~(FINAL | ERASE | AGAIN) and not edit:
        raise InputError(f"stroke has unknown flags {flags}")
    if not 1 <= count <= MAX_POINTS:
        raise InputError(f"stroke has {count} points; 1 to {MAX_POINTS} are accepted")
    if len(data) != _STROKE_HEADER.size + 8 * count:
        raise InputError(f"stroke of {count} points has {len(data)} bytes")
    points = np.frombuffer(data, "<f4", 2 * count, _STROKE_HEADER.size).reshape(count, 2).astype(float)
    if not (np.isfinite(points).all() and np.abs(points).max() <= 1e6):
        raise InputError("stroke has points that are not finite, or beyond 1e6")
    if not (0 < radius <= 1e4):  # also NaN
        raise InputError(f"stroke has radius {radius}; it must be above 0 and at most 1e4")
    if label > MAX_LABEL:
        raise InputError(f"stroke has label {label}; at most {MAX_LABEL} is accepted")
    if not -1 <= axis <= 2 or index < 0:
        raise InputError(f"stroke is in slice {index} along axis {axis}")
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
    """The action of a text message, with its arguments checked; InputError for anything else."""
    if len(text) > MAX_MESSAGE:
        raise InputError(f"message of {len(text)} characters; at most {MAX_MESSAGE} are accepted")
    try:
        action = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("message is not JSON") from None
    name = action.get("do") if isinstance(action, dict) else None
    if not isinstance(name, str) or name not in ACTIONS:
        raise InputError(f"message contains no action; the actions are {', '.join(ACTIONS)}")
    expected: dict = {"item": int, **ACTIONS[name]}
    if set(action) != {"do", *expected}:
        raise InputError(f"{name} needs {', '.join(expected)}, got {ascii(sorted(action))[:200]}")
    for key, kind in expected.items():
        value = action[key]
        low = -MAX_STEP if key == "step" else -1
        is_kind = type(value) is kind or (kind is float and type(value) is int)
        if not is_kind or (kind is int and not low <= value <= MAX_INDEX):
            raise InputError(f"{name}: {key} must be {kind.__name__}, got {_shown(value)}")
        for one in value if kind is list else ():
            if type(one) not in ELEMENTS[key]:
                raise InputError(f"{name}: {key} must hold {ELEMENTS[key][-1].__name__}, got {_shown(one)}")
    return action


def _shown(value) -> str:
    """The start of a value of a message, in one line."""
    return type(value).__name__ if isinstance(value, list | dict) else json.dumps(value)[:60]


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
