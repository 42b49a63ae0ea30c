"""Records of a session about whole objects: names, locks and removal; and what they say together.

A locked object keeps the pixels of the record, whatever is marked later.  It takes no part in cuts: its pixels are not
in them, and nothing else gets its label.  A held object does so, too, until its label or its pixels are drawn again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from apps.common.arguments import check_number
from apps.common.images import InputError
from apps.session.packed_mask import PackedMask

MAX_LABEL = 254  # so that marks are stored with 8 bits
MAX_NAME = 100  # characters
LOCK_FLAGS = ("is_start", "is_part", "is_held")

Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Describe:
    """Name of an object, perhaps empty, and its colour R, G, B in 0 .. 255; None for the colour of its label."""

    label: int
    name: str
    colour: Colour | None


@dataclass(frozen=True, slots=True)
class Lock:
    """The pixels of an object, which it keeps.

    Attributes
    ----------
    label : int
        The object.
    box : tuple of int
        The part of the image that `pixels` are, x0, y0, x1, y1, half open.
    pixels : PackedMask
        Whether a pixel of this part belongs to the object.
    is_start : bool
        Whether they are those of a mask and not of marks, so that an unlocked object starts from them.  They replace
        its earlier box and mask.
    is_part : bool
        Whether the next record is undone together with this one.
    is_held : bool
        Whether the object is not locked, but held while others are drawn.
    """

    label: int
    box: tuple[int, int, int, int]
    pixels: PackedMask
    is_start: bool = False
    is_part: bool = False
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class Unlock:
    """A locked or held object takes part in cuts again; `is_part` as in `Lock`."""

    label: int
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class Delete:
    """The marks of an object so far, and its name, have no effect."""

    label: int


@dataclass(frozen=True, slots=True)
class Clear:
    """All records before this one have no effect, except locks and names of objects; `is_part` as in `Stroke`."""

    is_part: bool = False


ObjectRecord = Clear | Describe | Lock | Unlock | Delete


class Objects(NamedTuple):
    """What the records of a session say about objects, apart from marks.

    described   name and colour, by label
    locked      the locked objects, by label
    held        those that are held
    opened      those that were unlocked and start from their pixels
    """

    described: dict[int, Describe]
    locked: dict[int, Lock]
    held: dict[int, Lock]
    opened: dict[int, Lock]

    @property
    def closed(self) -> dict[int, Lock]:
        """The objects that take no part in cuts; locked ones are last, as their pixels hide those of others."""
        return self.held | self.locked

    @property
    def lasting(self) -> tuple[ObjectRecord, ...]:
        """The records that remain when all marks are removed."""
        return (*self.described.values(), *self.locked.values())


def objects_of(records: Sequence) -> Objects:
    """What records say about objects."""
    objects = Objects({}, {}, {}, {})
    described, locked, held, opened = objects
    for record in records:
        if isinstance(record, Describe):
            described[record.label] = record
        elif isinstance(record, Lock):
            for others in (locked, held, opened):
                others.pop(record.label, None)
            (held if record.is_held else locked)[record.label] = record
        elif isinstance(record, Unlock):
            lock = locked.pop(record.label, None) or held.pop(record.label, None)
            if lock is not None and lock.is_start:
                opened[record.label] = lock
        elif isinstance(record, Delete):
            for found in objects:
                found.pop(record.label, None)
        elif isinstance(record, Clear):
            held.clear()
            opened.clear()
    return objects


def locks_of(labels: np.ndarray, is_start: bool) -> list[Lock]:
    """The locks of all objects of a label map (H, W), which are undone together."""
    from scipy.ndimage import find_objects

    found = [(label, part) for label, part in enumerate(find_objects(labels), 1) if part is not None]
    locks = []
    for label, (rows, columns) in found:
        box = columns.start, rows.start, columns.stop, rows.stop
        pixels = PackedMask.of(labels[rows, columns] == label)
        locks.append(Lock(label, box, pixels, is_start, label != found[-1][0]))
    return locks


def hold_of(labels: np.ndarray, label: int, is_start: bool) -> Lock:
    """The record that holds an object with its pixels in labels (H, W), perhaps none, undone with the next record."""
    lock = next(iter(locks_of(np.where(labels == label, labels, np.int16(0)), is_start)), None)
    if lock is None:
        lock = Lock(label, (0, 0, 1, 1), PackedMask.of(np.zeros((1, 1), bool)), is_start)
    return replace(lock, is_part=True, is_held=True)


def paste(labels: np.ndarray, locks: Iterable[Lock]) -> np.ndarray:
    """Write the labels of locked objects to labels (H, W), in place."""
    for lock in locks:
        x0, y0, x1, y1 = lock.box
        np.copyto(labels[y0:y1, x0:x1], lock.label, where=lock.pixels.values())
    return labels


def read_lock(content: dict, shape: tuple[int, ...], values) -> Lock:
    """The lock in a JSON object with its compressed pixels, of an image of this shape; an error for anything else."""
    box = content.get("box")
    if len(shape) != 2 or not isinstance(box, list) or len(box) != 4 or not all(type(one) is int for one in box):
        raise ValueError("box")
    x0, y0, x1, y1 = box
    if not (0 <= x0 < x1 <= shape[1] and 0 <= y0 < y1 <= shape[0]):
        raise ValueError("box")
    pixels = PackedMask.of_data(values, (y1 - y0, x1 - x0), bool)
    flags = (content.get(name) is True for name in LOCK_FLAGS)
    return Lock(check_label(content.get("label")), (x0, y0, x1, y1), pixels, *flags)


def check_label(label, least: int = 1) -> int:
    """A checked label, of an object by default; InputError for anything else."""
    check_number(label, "label", integer=True)
    if not least <= label <= MAX_LABEL:
        values = f"1 to {MAX_LABEL} for an object"
        raise InputError(f"label must be {'' if least else '0 for the background or '}{values}, got {label}")
    return int(label)


def make_description(label, name, colour) -> Describe:
    """A checked name and colour; InputError names the argument that is wrong."""
    if not isinstance(name, str) or len(name) > MAX_NAME or not name.isprintable():
        raise InputError(f"name must be at most {MAX_NAME} characters that can be printed, got {name!r:.80}")
    if colour is not None:
        is_colour = isinstance(colour, Sequence) and len(colour) == 3
        if not is_colour or not all(type(one) is int and 0 <= one <= 255 for one in colour):
            raise InputError(f"colour must be None or R, G, B, integers of 0 to 255, got {colour!r:.80}")
        colour = (colour[0], colour[1], colour[2])
    return Describe(check_label(label), name, colour)
