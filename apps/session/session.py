"""`Session`: strokes on an image or a volume, each answered by an exact cut, with undo, storage and export.

Labels are 0 for the background and 1, 2, ... for the objects, as in the label images that a session exports.  (Strokes
for `segment_labels` differ in one point: there 0 is "no stroke", so the background needs a value of its own.)

A session is a list of records (see apps.session.session_records).  What is shown is a function of this list, so undo
and a stored session give the earlier result again (see apps.session.history).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from apps.common.arguments import array_of, check_number
from apps.common.images import InputError, check_same_size, to_rgb
from apps.segmentation import SPACING
from apps.segmentation.margins import Margins
from apps.segmentation.marks import BACKGROUND
from apps.session.hand_edits import Edits, Pixels
from apps.session.history import AnsweredHistory
from apps.session.image_answers import ImageAnswers
from apps.session.label_maps import label_map_of
from apps.session.record_checks import (
    check_label,
    make_box,
    make_description,
    make_marks,
    make_mask_hint,
    make_starts,
    make_stroke,
)
from apps.session.session_records import (
    Clear,
    Delete,
    Describe,
    Lock,
    Patch,
    Record,
    RecordHistory,
    Unlock,
    effective,
    locks_of,
    paste,
)
from apps.session.store import Store
from apps.session.volume_answers import VolumeAnswers
from apps.volumes.voxel_geometry import Volume
from gridcut.device import DeviceName, cuda_is_available
from gridcut.device.result import GridResult

if TYPE_CHECKING:
    from apps.app.notebook import SessionWidget

KEEP = ("touching", "all")
DEVICES = ("auto", "cpu", "cuda")
MAX_STEP = 100


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SessionResult(GridResult):
    """Labels of a session, with the certificate of their cut.

    Attributes
    ----------
    labels : ndarray of int16, the image's shape
        0 background, 1 and above the objects.
    values : tuple of int
        The labels that the marks define.
    energy : float or None
        Energy in nats of the cut; None if there was nothing to cut.
    certified : bool
        Whether `Cut.check` certified the cut: of the image, above a megapixel of the part near the outline, and above 4
        megapixels of the reduced image.  Several labels: that no expansion move lowers the energy.
    """

    labels: np.ndarray
    values: tuple
    energy: float | None
    certified: bool

    def _figure(self):
        return self.labels


class Session:
    """An interactive segmentation of an image or a volume.

    Parameters
    ----------
    image : array_like, shape (H, W), (H, W, 3), (H, W, 4) or (D, H, W), or apps.volumes Volume
        Image: integers in [0, 255], uint16, or floats in [0, 1].  An array of three axes is a volume if `spacing` is
        given or its last axis is longer than 4; a volume holds finite numbers of any scale.  The array must not change
        later.
    spacing : sequence of three float, optional
        Size of a voxel along z, y and x, in any unit.  Default: that of the `Volume`, or 1, 1, 1.
    keep : {"touching", "all"}, default "touching"
        Whether parts of an object that touch none of its strokes become background.  With a box or a start mask, all
        parts are kept; unless "all" is passed, except for specks, as by `apps.segment`.
    device : {"auto", "cpu", "cuda"}, default "auto"
        Where two labels are cut.
    callback : callable, optional
        Called without arguments by the worker thread after every change of the labels in the background.

    Raises
    ------
    InputError
        A ValueError with a one-line message: an array that is neither an image nor a volume, or invalid options.

    Notes
    -----
    Methods may be called from any thread, one after the other.  `stroke` answers before it returns.  In an image above
    a megapixel, the answer is computed on a reduced grid.  After a final stroke, a worker thread finds the labels of
    `segment` or `segment_labels` for the same strokes; a newer final stroke replaces the work in progress.

    Examples
    --------
    >>> import numpy as np
    >>> from apps import Session
    >>> image = np.zeros((40, 60), np.uint8)
    >>> image[10:30, 20:40] = 200
    >>> session = Session(image, device="cpu")
    >>> session.stroke([(25, 20), (35, 20)], radius=2)
    >>> session.state["message"]
    'mark the background'
    >>> session.stroke([(5, 5), (55, 5)], radius=2, label=0)
    >>> session.wait()
    True
    >>> int(session.mask.sum())
    400
    """

    def __init__(
        self,
        image: ArrayLike | Volume,
        spacing: Sequence[float] | None = None,
        *,
        keep: str = "touching",
        device: DeviceName = "auto",
        callback: Callable[[], None] | None = None,
    ):
        if keep not in KEEP:
            raise InputError(f"keep must be one of {', '.join(KEEP)}, got {keep!r}")
        if device not in DEVICES:
            raise InputError(f"device must be one of {', '.join(DEVICES)}, got {device!r}")
        if device == "cuda" and not cuda_is_available():
            raise InputError("device is 'cuda', but no CUDA GPU was found; pass 'cpu' or 'auto'")
        self._volume = image if isinstance(image, Volume) else None
        if isinstance(image, Volume):
            spacing = image.geometry.spacing if spacing is None and image.geometry is not None else spacing
            image = image.values
        values = self._values = array_of(image, "image")
        is_volume = self._volume is not None or spacing is not None or (values.ndim == 3 and values.shape[2] > 4)
        self._spacing = SPACING if spacing is None else spacing
        self._keep = keep
        lock = threading.RLock()
        answers: ImageAnswers | VolumeAnswers
        if is_volume:
            answers = VolumeAnswers(values, self._spacing, keep, device, lock)
        else:
            answers = ImageAnswers(lambda: to_rgb(values), keep, device, lock)
        self._answered = AnsweredHistory(answers, lock, [] if callback is None else [callback])
        self._edits: tuple[tuple[int, int], Edits] | None = None  # the last ones, for a label and an edition
        self._looked: tuple[tuple[int, int], Margins] | None = None  # the last ones, for a label and an edition
        self._certified = -1  # the version that was certified last
        self.store: Store | None = None  # the file of a session that is kept in one

    def __repr__(self) -> str:
        return f"Session({'x'.join(map(str, self.shape[::-1]))}, {len(self.records)} records)"

    def __reduce_ex__(self, protocol):
        """Refuse to be copied, as copies would share threads, locks and a file."""
        remedy = "use save and Session.load, or restore(session.records) of another Session with the image"
        raise TypeError(f"Session cannot be copied or pickled; {remedy}")

    # Records

    def stroke(
        self,
        points: ArrayLike,
        radius: float,
        label: int = 1,
        axis: int | None = None,
        slice: int | None = None,
        *,
        final: bool = True,
    ) -> None:
        """Mark pixels with a label, and answer.

        Parameters
        ----------
        points : array_like, shape (N, 2)
            x and y in pixels, of a polyline; pixel (i, j) covers [i, i + 1) x [j, j + 1).  In a slice of a volume, x is
            along the last of its two axes and y along the first.
        radius : float
            Of the brush, in pixels; in a slice, in voxels along x, and the brush is round in the unit of `spacing`.
        label : int, default 1
            0 for the background, 1 to 254 for an object.
        axis, slice : int, optional
            Slice of a volume: its index along axis 0 (z, the default), 1 (y) or 2 (x).
        final : bool, default True
            False while the pointer is down: this part of the stroke is answered, and nothing is started in the
            background.  The next part starts with the last point of this one.  After the last part, with True, `undo`
            removes all parts together.

        Raises
        ------
        TypeError, InputError
            Arguments of another type or shape, or outside their range; the session is unchanged.
        """
        stroke = make_stroke(points, radius, label, self.shape, axis, slice, not final)
        self._answered.add(stroke, final=final)

    def erase(
        self, points: ArrayLike, radius: float, axis: int | None = None, slice: int | None = None, *, final: bool = True
    ) -> None:
        """Remove the strokes below a stroke; parameters as in `stroke`."""
        self._answered.add(make_stroke(points, radius, None, self.shape, axis, slice, not final), final=final)

    def solid(
        self, points: ArrayLike, radius: float, label: int = 1, *, final: bool = True, taken: bool = False
    ) -> None:
        """Give pixels of an image to an object, or take them from it; nothing else moves.

        The pixels stay as they are, whatever is drawn later, until they are erased, or painted solid again.  Cuts do
        not know them.  Locked objects keep their pixels.

        Parameters
        ----------
        points, radius, final
            As of `stroke`.
        label : int, default 1
            The object.
        taken : bool, default False
            Whether the pixels become background.
        """
        stroke = make_stroke(points, radius, 0 if taken else label, self._image_shape, is_part=not final)
        self._edit(label, lambda edits: edits.solid(stroke), final=final, is_firm=True, is_part=not final)

    def push(
        self, points: ArrayLike, radius: float, label: int = 1, *, final: bool = True, taken: bool = False
    ) -> None:
        """Cut the outline of an object of an image again, in the disc along a polyline; nothing else moves.

        Pixels within 0.6 radii of the points become the object, or with `taken` background; the outline goes where the
        cut of the disc is minimal, which is certified.  The pixels stay as they are until a stroke covers them.
        Parameters are those of `solid`.
        """
        stroke = make_stroke(points, radius, 0 if taken else label, self._image_shape, is_part=not final)
        self._edit(label, lambda edits: edits.push(stroke), final=final, is_part=not final)

    def wider(self, step: int, label: int = 1, *, final: bool = True) -> None:
        """Let an object of an image be wider, or with negative steps tighter.

        Of the energy of the last cut, in nats, 0.25 `step` is subtracted for each pixel of the object, and the largest
        object of minimal energy is taken.  So the objects of ascending steps are nested (above a megapixel, on the
        reduced grid that answers strokes), and 0 is what the strokes give.  Other objects stay.

        Parameters
        ----------
        step : int
            From -100 to 100.
        label : int, default 1
            The object.
        final : bool, default True
            False shows the object only, until the next edit, and certifies nothing.
        """
        check_number(step, "step", integer=True)
        if not -MAX_STEP <= step <= MAX_STEP:
            raise InputError(f"step must be -{MAX_STEP} to {MAX_STEP}, got {step}")
        (self._edit if final else self._preview)(label, lambda edits: edits.wider(int(step), final))

    def select(
        self,
        points: ArrayLike,
        radius: float,
        label: int = 1,
        *,
        tolerance: float = 10.0,
        final: bool = True,
        taken: bool = False,
    ) -> None:
        """Give the part of an image around a stroke to an object, up to the edges of what has the stroke's colours.

        Parameters
        ----------
        points, radius, label, taken
            As of `solid`.
        tolerance : float, default 10
            Distance in CIELAB up to which colours count as those of the stroke, at least 0.5.
        final : bool, default True
            False shows the part only, until the next edit, and certifies nothing; each call passes the whole stroke.
        """
        stroke = make_stroke(points, radius, 0 if taken else label, self._image_shape)
        check_number(tolerance, "tolerance")
        if not 0.5 <= tolerance <= MAX_STEP:  # also NaN
            raise InputError(f"tolerance must be 0.5 to {MAX_STEP}, got {tolerance}")
        (self._edit if final else self._preview)(label, lambda edits: edits.select(stroke, float(tolerance), final))

    @property
    def rival(self) -> np.ndarray | None:
        """Another object that fits a box about as well as the one shown, bool (H, W); None without one."""
        with self._answered.lock:
            return self._answered.rival()

    def take_rival(self) -> None:
        """Show the pixels of `rival` instead of the object in the box, until strokes cover them; `undo` restores it."""
        with self._answered.lock:
            if (rival := self.rival) is None:
                raise InputError("no other object fits the box about as well; draw a stroke on the object meant")
            self._edit(max(self._answered.present()), lambda edits: edits.replaced(rival))

    def margins(self, label: int = 1) -> Margins:
        """What it would cost to change the labels of an object's pixels and of those around it: where to look next.

        Waits until nothing is pending; strokes of other threads are answered meanwhile.  The bounds are those of
        `Segmentation.margins`, of the cut of this object while other objects stay.  In a volume, all further than 16
        voxels from the object's box stays, too.

        Raises InputError for a locked object, or one without a cut, and CertificateError if a cut were not minimal.
        """
        self.wait()
        self._answered.check_open(check_label(label))
        with self._answered.lock:
            self._answered.settle()
            answers, key = self._answered.answers, (label, self._answered.edition)
            if answers.solved is None or label not in answers.present():
                raise InputError(f"object {label} has no cut yet; mark it, and the background")
            if self._looked is not None and self._looked[0] == key:
                return self._looked[1]
            if isinstance(answers, VolumeAnswers):
                unsure = answers.unsure(label)
            else:
                unsure = self._edits_of(label).unsure()
        found = unsure()
        self._looked = key, found
        return found

    def _edit(self, label: int, find: Callable[[Edits], Pixels], *, final: bool = True, **flags: bool) -> None:
        """Set the pixels that an edit of an object finds."""
        with self._answered.lock:
            part, codes = find(self._edits_of(label))
            self._answered.add(Patch.of(part, codes, label, **flags), final=final)

    def _preview(self, label: int, find: Callable[[Edits], Pixels]) -> None:
        """Show the pixels that an edit of an object finds, until the next edit."""
        with self._answered.lock:
            self._answered.show(find(self._edits_of(label)))

    def _edits_of(self, label: int) -> Edits:
        """The edits of an object of an image; their solver is kept while they are previews.  With the lock."""
        self._answered.check_open(check_label(label))
        self._answered.settle()
        key = label, self._answered.edition
        if self._edits is None or self._edits[0] != key:
            self._answered.show(None)
            answers = self._answered.answers
            assert isinstance(answers, ImageAnswers), self._image_shape
            self._edits = key, Edits(self._values, answers, self._answered.labels(), label)
        return self._edits[1]

    def drop_preview(self) -> None:
        """Show the labels without an edit that was not final."""
        with self._answered.lock:
            self._answered.show(None)

    @property
    def _image_shape(self) -> tuple[int, ...]:
        """The shape of an image; InputError for a volume."""
        if len(self.shape) != 2:
            raise InputError("pixels of volumes cannot be set by hand; draw strokes")
        return self.shape

    def box(self, box: Sequence[int], label: int = 1) -> None:
        """Find an object in a box in pixels, half open.

        (x0, y0, x1, y1) in an image, (x0, y0, z0, x1, y1, z1) in a volume, there of object 1.  The object is found in
        the background, and later strokes correct it.  A box replaces an earlier one of the object, and its start mask.

        The result of boxes and strokes of several objects is that of `segment_labels`, in whatever order they were
        drawn.  If all objects of an image have a box, all outside is background; in a volume, it always is.

        Raises InputError for anything else, for a box without pixels or with all, and for a locked object.
        """
        self._answered.add(make_box(box, self.shape, label))

    def start_from(self, mask: ArrayLike) -> None:
        """Start from a rough or soft mask of an image, or a rough one of the volume's shape.

        It is a hint, which colours and strokes override.  For an image, it has one of the forms that `segment` accepts
        as `start`, and a full rectangle is a box.  For a volume, it holds booleans, integers above 0 on the object, or
        probabilities in [0, 1].  Raises InputError for another size, and a mask without object or background.

        A label map of an image, integers with 0 for the background and several objects, gives as many locked objects
        with these pixels.  To correct one, unlock it: it is then found again, from its pixels and strokes.
        """
        labels = label_map_of(mask, "mask") if len(self.shape) == 2 else None
        if labels is None:
            self._answered.add(make_mask_hint(mask, self.shape))
        else:
            check_same_size(labels, self.shape, "mask")
            closed = paste(np.zeros(self.shape, np.uint8), self._answered.said.locked.values()) > 0
            self._answered.add(*locks_of(np.where(closed, np.uint8(0), labels), is_start=True))

    def set_strokes(self, strokes: ArrayLike, start: ArrayLike | None = None) -> None:
        """Replace all strokes, also boxes and start masks, by those of an array, and answer.

        For strokes that are painted elsewhere.  `undo` restores the earlier ones.  In an image up to a megapixel, the
        result is that of strokes on the same pixels; in a volume, that of `segment_object`.  A call reads the whole
        array, O(N) for N pixels; the cut starts from the last one.

        Parameters
        ----------
        strokes : array_like of int, the image's shape
            -1 none, 0 the background, 1 to 254 an object.  Beware of label images in which 0 is no stroke.
        start : array_like of int or bool, the image's shape, optional
            Rough objects to start from: in an image labels, 0 for the background, of objects that are found from their
            pixels and the strokes; in a volume the mask of object 1.  Locked objects keep their pixels.

        Raises
        ------
        InputError
            Another shape, dtype or value; the session is unchanged.
        """
        locked = self._answered.said.locked
        starts = [] if start is None else make_starts(start, self.shape)
        starts = [one for one in starts if one.label not in locked]
        opened = [Unlock(one.label, is_part=True) for one in starts if isinstance(one, Lock)]
        self._answered.add(Clear(is_part=True), *starts, *opened, make_marks(strokes, self.shape))

    def clear(self) -> None:
        """Remove all strokes, boxes and start masks; `undo` restores them."""
        self._answered.add(Clear())

    def undo(self) -> bool:
        """Remove the last record, or for good a stroke whose last part is missing; False if there is none."""
        return self._answered.step(RecordHistory.with_undone)

    def redo(self) -> bool:
        """Repeat the record that was undone last; False if there is none."""
        return self._answered.step(RecordHistory.with_repeated)

    def restore(self, records: Sequence[Record]) -> None:
        """Replace all records by those of a session with an image of the same shape, and answer once.

        What `undo` and `redo` could restore is forgotten.
        """
        with self._answered.lock:
            self._answered.change_to(RecordHistory(tuple(records)))

    # Objects

    @property
    def objects(self) -> dict[int, dict]:
        """The objects that are marked, described or locked, by label.

        name     perhaps empty
        colour   R, G, B, or None for that of the label
        locked   whether it is
        """
        with self._answered.lock:
            described, locked, *_ = self._answered.said
            labels = sorted({*self._answered.present(), *described} - {BACKGROUND})
        shown = ((label, described.get(label, Describe(label, "", None))) for label in labels)
        return {label: {"name": one.name, "colour": one.colour, "locked": label in locked} for label, one in shown}

    def describe(self, label: int, name: str = "", colour: Sequence[int] | None = None) -> None:
        """Give an object a name, perhaps empty, and a colour R, G, B in 0 .. 255, by default that of its label.

        They are kept in `objects`, in files of the session and in exported annotations, also when strokes are removed.
        """
        self._answered.add(make_description(label, name, colour))

    def lock(self, label: int) -> None:
        """Let an object of an image keep the pixels that it has when nothing is pending, whatever is marked later.

        Other objects are then cut without these pixels, exactly and as fast as if there were no further object.
        Strokes on them have no effect, and strokes with its label are rejected.  `clear` and `set_strokes` keep it.
        """
        self._answered.check_open(check_label(label))
        self.wait()
        with self._answered.lock:
            found = self.labels
            labels = np.where(found == label, found, np.int16(0))
            if labels.ndim != 2 or not labels.any():
                held = "is in a volume; objects of images" if labels.ndim != 2 else "has no pixels yet; marked objects"
                raise InputError(f"object {label} {held} can be locked")
            self._answered.add(*locks_of(labels, is_start=label in self._answered.said.opened))

    def clean_up(self, label: int) -> None:
        """Take the small parts of an object of an image from it, and give it its small holes, as they are shown.

        These are those of less than a hundredth of its pixels.  Parts with a mark of the object, holes with one of the
        background, and pixels of other objects stay.  Later strokes override it.
        """
        self._edit(label, lambda edits: edits.cleaned(self.records))

    def unlock(self, label: int) -> None:
        """Let a locked object take part again, with its strokes or box; one of a label map starts from its pixels."""
        if check_label(label) not in self._answered.said.locked:
            raise InputError(f"object {label} is not locked")
        self._answered.add(Unlock(label))

    def delete(self, label: int) -> None:
        """Remove the strokes, the box and the name of an object; for the first one, also the start mask."""
        self._answered.add(Delete(check_label(label)))

    # Answers

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is pending; False if `timeout` seconds passed before.

        Raises the error of the worker, if there was one.
        """
        return self._answered.wait(timeout)

    def listen(self, callback: Callable[[], object]) -> None:
        """Call a function, too, after every change of the labels in the background; see the constructor."""
        self._answered.callbacks.append(callback)

    # Results

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the image, (H, W), or of the volume, (D, H, W)."""
        return self._answered.answers.shape

    @property
    def pixels(self) -> np.ndarray:
        """The image as float32 RGB (H, W, 3) in [0, 1], computed again each time, or the volume."""
        return to_rgb(self._values) if len(self.shape) == 2 else self._values

    @property
    def spacing(self) -> tuple[float, ...]:
        """Size of a voxel along z, y and x; 1, 1, 1 for an image."""
        return tuple(map(float, self._spacing))

    @property
    def labels(self) -> np.ndarray:
        """Labels shown, int16, the image's shape: 0 background, 1 and above the objects.  Do not modify the array."""
        with self._answered.lock:
            return self._answered.labels()

    @property
    def mask(self) -> np.ndarray:
        """Whether a pixel belongs to any object; bool, the image's shape."""
        return self.labels > 0

    @property
    def records(self) -> Sequence[Record]:
        """The records in effect, immutable; those that an edit did not change are the same objects as before."""
        return effective(self._answered.history.records)

    @property
    def state(self) -> dict:
        """What to display about the session.

        version     counts changes of the labels
        energy      nats, of the labels' cut; None without one
        seconds     that the last answer took
        certified   whether `result` certified these labels, as `SessionResult` describes
        exact       whether the labels are a cut for all strokes and the current models (above a megapixel, `segment`'s)
        pending     whether better labels are being computed
        message     what to mark next, or that there is a `rival`, or an empty string
        labels      the labels marked, ascending
        undo, redo  whether there is a record to remove, or to repeat
        """
        with self._answered.lock:
            rival, values = self._answered.rival(), self._answered.present()
            found, (records, undone, is_final) = self._answered, self._answered.history
            return {
                "version": found.version,
                "energy": found.answers.energy,
                "seconds": found.seconds,
                "certified": self._certified == found.version,
                "exact": found.answers.is_exact,
                "pending": found.worker.is_pending,
                "message": _message(values) if rival is None else "another object fits the box",
                "labels": list(values),
                "undo": bool(records),
                "redo": bool(undone) and is_final,
            }

    def result(self) -> SessionResult:
        """Wait, and return the labels with a certificate.

        Raises CertificateError if the cut were not minimal.
        """
        found = self._answered
        with found.lock:
            if not found.answers.is_exact:
                found.worker.request()
        self.wait()
        with found.lock:
            labels, solved = found.labels(), found.answers.solved
            if solved is not None:
                solved.check()
                self._certified = found.version
            return SessionResult(labels, found.present(), found.answers.energy, solved is not None)

    def close(self) -> None:
        """Stop the work in the background, and wait for its end; let others use the file of a session that is kept."""
        self._answered.worker.stop()
        if self.store is not None:
            self.store.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception) -> None:
        self.close()

    # Files

    def save(self, path: str | Path, name: str = "image") -> None:
        """Write the records, and what `undo` and `redo` could restore, to a file, as a whole.

        `name` is that of the image, for messages.
        """
        with Store(path, replaces=True) as store:
            store.begin(name, self._stored_pixels, self.shape, self._answered.history, self._keep, "started")

    @classmethod
    def load(
        cls, path: str | Path, image: ArrayLike | Volume, spacing: Sequence[float] | None = None, **options
    ) -> Session:
        """Read a session that `save` wrote for this image.

        `options` are those of the constructor; `keep` is that of the session unless it is passed.  Raises InputError
        for another file, a damaged one, one that is in use, and the session of another image.
        """
        with Store(path) as store:
            return cls._stored(store, image, spacing, options)

    @classmethod
    def open(
        cls,
        path: str | Path,
        image: ArrayLike | Volume,
        spacing: Sequence[float] | None = None,
        *,
        name: str = "image",
        option: str = "path",
        **options,
    ) -> Session:
        """A session that is kept in a file, from which it continues if there is one for this image.

        Every edit is in the file before its method returns, and raises OutputError and changes nothing if it cannot be
        written.  No other process can use the file until `close`.  `name` is that of the image, and `option` that of
        the path, both for messages; otherwise as `load`.
        """
        store = Store(path, option, can_make=True)
        try:
            if store.state:
                session = cls._stored(store, image, spacing, options)
            else:
                session = cls(image, spacing, **options)
                history = session._answered.history
                store.begin(name, session._stored_pixels, session.shape, history, session._keep, "new")
            store.hold()
        except BaseException:
            store.close()
            raise
        session.store, session._answered.keep = store, store.keep
        return session

    @classmethod
    def _stored(cls, store: Store, image, spacing, options: dict) -> Session:
        session = cls(image, spacing, **{"keep": store.parts, **options})
        with session._answered.lock:
            session._answered.change_to(store.read(session._stored_pixels, session.shape))
        return session

    @property
    def _stored_pixels(self) -> np.ndarray:
        """The pixels of which a file holds a digest."""
        values = self._values
        return values if values.dtype == np.uint8 and values.shape == (*self.shape, 3) else self.pixels

    def export(
        self, path: str | Path, kind: str, image: str | Path = "image.png", *, classes: Sequence[str] = ()
    ) -> Path:
        """Write the certified result to a file.

        Parameters
        ----------
        path : str or Path
            The file, in an existing folder or a new one; an existing file is replaced.
        kind : str
            Images: "mask" and "cutout" (PNG), "labels" (PNG or TIFF), "coco", "coco-rle", "geojson", "labelme" (JSON),
            "yolo" (text).
            Volumes: "mask" and "labels", in the format and geometry of a `Volume`, or in the format of the suffix.
        image : str or Path, default "image.png"
            File of the image, which "coco", "coco-rle" and "labelme" refer to.
        classes : sequence of str, optional
            Names of the classes, in the order of their numbers, for "coco", "coco-rle" and "yolo".

        Returns
        -------
        Path
            The file written.

        Raises
        ------
        InputError, OutputError
            Another kind, a suffix that does not fit, or a file that cannot be written.
        """
        from apps.session.session_export import export_image, export_volume

        labels = self.result().labels
        if len(self.shape) == 2:
            return export_image(Path(path), kind, self.pixels, labels, Path(image), self.objects, classes)
        return export_volume(Path(path), kind, labels, self._spacing, self._volume)

    def widget(self, height: int = 640) -> SessionWidget:
        """The page of `cutmatch app` for this session, in the output of a notebook's cell.

        Parameters
        ----------
        height : int, default 640
            Height of the page in CSS pixels.

        Returns
        -------
        apps.app.notebook.SessionWidget
            Strokes on the page change the session.

        Raises
        ------
        ImportError
            anywidget is missing; the extra `notebook` installs it.
        RuntimeError
            There is no event loop, which a notebook has.
        """
        from apps.app.notebook import SessionWidget

        return SessionWidget(self, height)


def _message(values: tuple[int, ...]) -> str:
    if len(values) > 1:
        return ""
    return "mark the background" if any(values) else "mark an object" if values else "mark the object"
