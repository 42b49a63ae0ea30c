"""What a user did in a session, as records: strokes, boxes, masks, edits of objects; and their JSON.

A session is the list of its records.  Everything else, marks, models and labels, is computed from them, so undo
removes a record, and a stored session is the list.  Masks inside records are compressed.

A locked object keeps the pixels of its record, whatever is marked later.  It takes no part in cuts: its pixels are not
in them, and nothing else gets its label.
"""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, NamedTuple

import numpy as np

from apps.segmentation.marks import OBJECT

Colour = tuple[int, int, int]


class PackedMask(NamedTuple):
    """Values of a grid, bool or uint8, compressed."""

    shape: tuple[int, ...]
    dtype: str
    data: bytes

    @classmethod
    def of(cls, values: np.ndarray) -> "PackedMask":
        return cls(values.shape, values.dtype.str, zlib.compress(np.ascontiguousarray(values).tobytes(), 1))

    def values(self) -> np.ndarray:
        """The values."""
        return np.frombuffer(zlib.decompress(self.data), self.dtype).reshape(self.shape)


# Records.  The next record is undone together with one whose `is_part` is True.


@dataclass(frozen=True, slots=True)
class Stroke:
    """A disc of a radius moved along a polyline.

    Attributes
    ----------
    points : tuple of (float, float)
        x, y of the corners in pixels of the image or of the slice; pixel (i, j) covers [i, i + 1) x [j, j + 1).
    radius : float
        In pixels; in the slices of a volume, in voxels along x of the slice.
    label : int or None
        0 background, 1 and above the objects, None: the marks below are erased.
    axis, slice : int or None
        Slice of a volume; None in an image.
    is_part : bool
        Whether the next stroke continues this one.
    """

    points: tuple[tuple[float, float], ...]
    radius: float
    label: int | None
    axis: int | None = None
    slice: int | None = None
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class Box:
    """A box, half open, around an object, which is inside.  If all objects have one, all outside is background.

    (x0, y0, x1, y1) in an image, (x0, y0, z0, x1, y1, z1) in a volume.
    """

    box: tuple[int, ...]
    label: int = OBJECT


@dataclass(frozen=True, slots=True)
class MaskHint:
    """A start mask of the first object of an image or volume, which colours override."""

    pixels: PackedMask
    is_part: bool = False
    label: ClassVar[int] = OBJECT


@dataclass(frozen=True, slots=True)
class Marks:
    """Marks without the strokes that made them."""

    pixels: PackedMask  # 0 open, 1 background, 2 and above: label + 1

    @property
    def marks(self) -> np.ndarray:
        """A label, or -1 where open, int16."""
        return self.pixels.values().astype(np.int16) - np.int16(1)


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
    """

    label: int
    box: tuple[int, int, int, int]
    pixels: PackedMask
    is_start: bool = False
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class Unlock:
    """A locked object takes part in cuts again."""

    label: int
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class Patch:
    """Labels of pixels of an image, which no cut changes.

    Attributes
    ----------
    label : int
        The object that was edited.
    box : tuple of int
        The part of the image that `pixels` are, x0, y0, x1, y1, half open.
    pixels : PackedMask
        The label of a pixel and 1, uint8; 0 where it stays as it is.
    is_firm : bool
        Whether only erasing, and further firm patches, take the pixels back; strokes do so with others.
    """

    label: int
    box: tuple[int, int, int, int]
    pixels: PackedMask
    is_firm: bool = False
    is_part: bool = False

    @classmethod
    def of(cls, part: tuple[slice, ...], codes: np.ndarray, label: int, **flags: bool) -> "Patch":
        """The patch of a part of the image, rows and columns."""
        rows, columns = part
        return cls(label, (columns.start, rows.start, columns.stop, rows.stop), PackedMask.of(codes), **flags)


@dataclass(frozen=True, slots=True)
class Delete:
    """The marks of an object so far, and its name, have no effect."""

    label: int


@dataclass(frozen=True, slots=True)
class Clear:
    """All records before this one have no effect, except locks and names of objects."""

    is_part: bool = False


Locator = Box | MaskHint  # a record that says where the object is, without marks of it
Record = Stroke | Locator | Marks | Describe | Lock | Unlock | Patch | Delete | Clear
KINDS: dict[str, type] = {
    "stroke": Stroke,
    "erase": Stroke,
    "box": Box,
    "start": MaskHint,
    "strokes": Marks,
    "describe": Describe,
    "lock": Lock,
    "unlock": Unlock,
    "patch": Patch,
    "delete": Delete,
    "clear": Clear,
}


class RecordHistory(NamedTuple):
    """The records, and those that were undone and can be repeated; an edit replaces it as a whole.

    Parts of a stroke, and what precedes a record as its part, are undone and repeated together with it.

    records     in order
    undone      the first one to be repeated is the last
    is_final    whether the last edit is complete: no part of a stroke that is still being drawn
    """

    records: tuple[Record, ...] = ()
    undone: tuple[Record, ...] = ()
    is_final: bool = True

    def with_added(self, *records: Record, is_final: bool = True) -> "RecordHistory":
        """The history after records were added; what was undone is kept until an edit is complete."""
        return RecordHistory((*self.records, *records), () if is_final else self.undone, is_final)

    def with_undone(self) -> "RecordHistory | None":
        """The history without the last record and its parts; None if there is none.

        A stroke that is still being drawn is given up, not kept to be repeated.
        """
        count = len(self.records) - 1
        while count > 0 and is_part(self.records[count - 1]):
            count -= 1
        if count < 0:
            return None
        return RecordHistory(self.records[:count], self.undone + (self.records[count:][::-1] if self.is_final else ()))

    def with_repeated(self) -> "RecordHistory | None":
        """The history with the record that was undone last; None if there is none, or a stroke is being drawn."""
        count = len(self.undone) - 1 if self.is_final else -1
        while count > 0 and is_part(self.undone[count]):
            count -= 1
        return None if count < 0 else RecordHistory(self.records + self.undone[count:][::-1], self.undone[:count])


def is_part(record: Record) -> bool:
    """Whether the next record is undone together with this one."""
    return getattr(record, "is_part", False)


# What records say together


class Objects(NamedTuple):
    """What the records of a session say about objects, apart from marks; by label.

    described   name and colour
    locked      the locked objects
    opened      those that were unlocked and start from their pixels
    boxes       the last box, also of a locked object; one before a mask is still around the object
    located     the last box or mask
    patched     the last patch
    """

    described: dict[int, Describe]
    locked: dict[int, Lock]
    opened: dict[int, Lock]
    boxes: dict[int, Box]
    located: dict[int, Locator]
    patched: dict[int, Patch]

    @property
    def locators(self) -> dict[int, Locator]:
        """The last box or mask of each object that takes part in cuts."""
        return {label: one for label, one in self.located.items() if label not in self.locked}


def objects_of(records: Sequence[Record]) -> Objects:
    """What records say about objects."""
    objects = Objects({}, {}, {}, {}, {}, {})
    described, locked, opened, boxes, located, patched = objects
    for record in records:
        if isinstance(record, Stroke | Marks):
            continue
        if isinstance(record, Clear):
            for found in (opened, boxes, located, patched):
                found.clear()
        elif isinstance(record, Delete):
            for found in objects:
                found.pop(record.label, None)
        elif isinstance(record, Lock):
            locked[record.label] = record
            for found in (opened, boxes, located) if record.is_start else (opened,):
                found.pop(record.label, None)
        elif isinstance(record, Unlock):
            lock = locked.pop(record.label, None)
            if lock is not None and lock.is_start:
                opened[record.label] = lock
        else:
            kinds = {Describe: (described,), Patch: (patched,), Box: (boxes, located), MaskHint: (located,)}
            for found in kinds[type(record)]:
                found[record.label] = record
    return objects


def after_clear(records: Sequence[Record]) -> Sequence[Record]:
    """The records after the last `Clear`."""
    last = next((k for k in range(len(records), 0, -1) if isinstance(records[k - 1], Clear)), 0)
    return records[last:] if last else records


def effective(records: Sequence[Record]) -> Sequence[Record]:
    """The records that have an effect: those after the last `Clear`, and what remains of those before it."""
    last = after_clear(records)
    if len(last) == len(records):
        return records
    before = objects_of(records[: -len(last) or None])
    return (*before.described.values(), *before.locked.values(), *last)


def common_length(some: Sequence, others: Sequence) -> int:
    """The number of first elements that two sequences share; the same objects, whose values need no comparison."""
    pairs = enumerate(zip(some, others, strict=False))
    return next((k for k, (one, other) in pairs if one is not other), min(len(some), len(others)))


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


def paste(labels: np.ndarray, locks: Iterable[Lock]) -> np.ndarray:
    """Write the labels of locked objects to labels (H, W), in place."""
    for lock in locks:
        x0, y0, x1, y1 = lock.box
        np.copyto(labels[y0:y1, x0:x1], lock.label, where=lock.pixels.values())
    return labels


def from_json(content: dict, shape: tuple[int, ...], data: bytes | None) -> Record:
    """The record of `as_json` on a grid of a shape, with the compressed values of its mask, if there is one."""
    given = dict(content)
    name, is_soft = given.pop("kind"), given.pop("is_soft", False)
    if name == "erase":
        given["label"] = None
    if "points" in given:
        given["points"] = tuple((float(x), float(y)) for x, y in given["points"])
    given |= {key: tuple(given[key]) for key in ("box", "colour") if given.get(key) is not None}
    if data is not None:
        x0, y0, x1, y1 = given.get("box") or (0, 0, *shape[::-1])[:4]
        is_bool = name == "lock" or (name == "start" and not is_soft)
        given["pixels"] = PackedMask((y1 - y0, x1 - x0) if "box" in given else shape, "|b1" if is_bool else "|u1", data)
    return KINDS[name](**given)


def as_json(record: Record) -> dict:
    """A record as JSON, without the values of its mask."""
    kind = next(kind for kind, one in KINDS.items() if isinstance(record, one))
    content: dict = {"kind": "erase" if kind == "stroke" and record.label is None else kind}  # type: ignore[union-attr]
    for field in fields(record):
        value = getattr(record, field.name)
        if field.name != "pixels" and value is not False and (value is not None or field.name == "colour"):
            content[field.name] = value
    is_soft = isinstance(record, MaskHint) and record.pixels.dtype != np.dtype(bool).str
    return content | ({"is_soft": True} if is_soft else {})
