"""Messages of the page's socket.

JSON: {"do": ...} from the page, see ACTIONS; {"type": ...} from the server.  `item` counts images and volumes.  Points
are in pixels; pixel (i, j) covers [i, i + 1) x [j, j + 1).  What is not `final` is a preview of what is being drawn: a
part of a stroke, which starts with the last point of the part before, or a whole selection.

Labels are binary, little endian: i32 item, axis (-1 for an image), index of the slice, x, y, width, height, runs, then
u32 lengths of the runs and u16 labels of the runs, row by row in the rectangle.
"""

import json
import struct

import numpy as np

from apps.common.errors import InputError
from apps.common.rectangles import bounds

_MASK_HEADER = struct.Struct("<8i")

# Actions of the page and their arguments besides `item`, which the session checks.
ACTIONS = {
    "open": (),
    "slice": ("axis", "index"),
    "undo": (),
    "redo": (),
    "clear": (),
    "cancel": (),
    "box": ("box", "label"),
    "describe": ("label", "name", "colour"),
    "lock": ("label",),
    "clean_up": ("label",),
    "unlock": ("label",),
    "delete": ("label",),
    "wider": ("label", "step", "final"),
    "stroke": ("number", "points", "radius", "label", "axis", "slice", "final"),
    "erase": ("number", "points", "radius", "axis", "slice", "final"),
    "solid": ("number", "points", "radius", "label", "taken", "final"),
    "push": ("number", "points", "radius", "label", "taken", "final"),
    "select": ("number", "points", "radius", "label", "tolerance", "taken", "final"),
    "drop_preview": (),
    "take_rival": (),
    "look": ("label", "axis", "index"),
    "save": ("kinds",),
    "approve": ("kinds",),
    "export_approved": (),
}
DRAWN = ("stroke", "erase", "solid", "push")  # what arrives in parts


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
    if not isinstance(action.get("points", []), list):
        raise InputError(f"points must be a list, got {ascii(action['points'])[:80]}")
    return action


def encode_mask(item: int, axis: int, index: int, labels: np.ndarray, before: np.ndarray | None) -> bytes | None:
    """Binary message of the labels (H, W) that differ from `before`; None if there are none.

    Without `before` the message contains all labels.
    """
    part = bounds(np.ones(labels.shape, bool) if before is None else labels != before)
    if part is None:
        return None
    lengths, values = runs_of(labels[part])
    (y, x), (height, width) = (side.start for side in part), labels[part].shape
    header = _MASK_HEADER.pack(item, axis, index, x, y, width, height, len(lengths))
    return header + lengths.astype("<u4").tobytes() + values.astype("<u2").tobytes()


def runs_of(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lengths and labels of the runs of equal labels (H, W), row by row."""
    flat = np.ravel(labels)
    starts = np.concatenate(([0], np.flatnonzero(flat[1:] != flat[:-1]) + 1))
    return np.diff(starts, append=flat.size), flat[starts]
