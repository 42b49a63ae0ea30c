"""`Session`: strokes on an image or a volume, each answered by an exact cut, with undo, storage and export.

Labels are 0 for the background and 1, 2, ... for the objects, as in the label images that a session exports.  (Strokes
for `segment_labels` differ in one point: there 0 is "no stroke", so the background needs a value of its own.)

A session is a list of records (see apps.session.stroke_records).  What is shown is a function of this list, so undo
and a stored session give the earlier result again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from apps.common.images import check_same_size, to_rgb
from apps.segmentation.hints import ObjectOptions
from apps.session.label_maps import label_map_of
from apps.session.object_edits import ObjectEdits
from apps.session.session_input import check_options, read_input
from apps.session.session_result import SessionResult
from apps.session.store import Store, Stored, history_in
from apps.session.stroke_records import (
    Clear,
    Record,
    RecordHistory,
    as_json,
    make_box,
    make_marks,
    make_mask_hint,
    make_stroke,
)
from apps.volumes.voxel_geometry import Volume
from gridcut.device import DeviceName

if TYPE_CHECKING:
    from apps.app.notebook import SessionWidget

MARK_SOMETHING = "mark the object"
MARK_BACKGROUND = "mark the background"
MARK_OBJECT = "mark an object"


class Session(ObjectEdits):
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
        check_options(keep, device, callback)
        super().__init__(read_input(image, spacing), keep, device, callback)

    def __repr__(self) -> str:
        return f"Session({'x'.join(map(str, self.shape[::-1]))}, {len(self.records)} records)"

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
        filled: bool = False,
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
        filled : bool
            Whether to mark the inside of the polygon with these corners, too.

        Raises
        ------
        TypeError, InputError
            Arguments of another type or shape, or outside their range; the session is unchanged.
        """
        stroke = make_stroke(points, radius, label, self._answers.shape, axis, slice, not final, filled)
        self._check_open(label)
        self._draw(stroke, final=final)

    def erase(
        self,
        points: ArrayLike,
        radius: float,
        axis: int | None = None,
        slice: int | None = None,
        *,
        final: bool = True,
        filled: bool = False,
    ) -> None:
        """Remove the strokes below a stroke; parameters as in `stroke`."""
        self._draw(make_stroke(points, radius, None, self._answers.shape, axis, slice, not final, filled), final=final)

    def box(self, box: Sequence[int], label: int = 1) -> None:
        """Find an object in a box in pixels, half open; all outside is background.

        (x0, y0, x1, y1) in an image, (x0, y0, z0, x1, y1, z1) in a volume, there of object 1.  The object is found in
        the background, and later strokes correct it.  A box replaces an earlier one of the object, and its start mask.

        In an image, other objects keep the pixels found before, and the object keeps those found in the box when
        another one is drawn, until its label is drawn again, or a stroke over its pixels: it is then found from its
        pixels and strokes.  For this, a stroke of another object waits until the object in the box is found.

        Raises InputError for anything else, for a box without pixels or with all, and for a locked object.
        """
        one = make_box(box, self._answers.shape, label)
        self._check_open(one.label)
        self._draw(one)

    def start_from(self, mask: ArrayLike) -> None:
        """Start from a rough or soft mask of an image, or a rough one of the volume's shape.

        It is a hint, which colours and strokes override.  For an image, it has one of the forms that `segment` accepts
        as `start`, and a full rectangle is a box.  For a volume, it holds booleans, integers above 0 on the object, or
        probabilities in [0, 1].  Raises InputError for another size, and a mask without object or background.

        A label map of an image, integers with 0 for the background and several objects, gives as many locked objects
        with these pixels.  To correct one, unlock it: it is then found again, from its pixels and strokes.
        """
        labels = label_map_of(mask, "mask") if len(self.shape) == 2 else None
        if labels is not None:
            check_same_size(labels, self.shape, "mask")
            self._lock_all(labels)
            return
        hint = make_mask_hint(mask, self._answers.shape)
        self._check_open(hint.label)
        self._draw(hint)

    def set_strokes(self, strokes: ArrayLike) -> None:
        """Replace all strokes, also boxes and start masks, by those of an array, and answer.

        For strokes that are painted elsewhere.  `undo` restores the earlier ones.  In an image up to a megapixel, the
        result is that of strokes on the same pixels; in a volume, that of `segment_object`.  A call reads the whole
        array, O(N) for N pixels; the cut starts from the last one.

        Parameters
        ----------
        strokes : array_like of int, the image's shape
            -1 none, 0 the background, 1 to 254 an object.  Beware of label images in which 0 is no stroke.

        Raises
        ------
        InputError
            Another shape, dtype or value; the session is unchanged.
        """
        self._add(Clear(is_part=True), make_marks(strokes, self._answers.shape))

    def clear(self) -> None:
        """Remove all strokes, boxes and start masks; `undo` restores them."""
        self._add(Clear())

    # Results

    @property
    def pixels(self) -> np.ndarray:
        """The image as float32 RGB (H, W, 3) in [0, 1], computed again each time, or the volume."""
        return to_rgb(self._input.values) if len(self.shape) == 2 else self._input.values

    @property
    def spacing(self) -> tuple[float, ...]:
        """Size of a voxel along z, y and x; 1, 1, 1 for an image."""
        return tuple(map(float, self._input.spacing))

    @property
    def mask(self) -> np.ndarray:
        """Whether a pixel belongs to any object; bool, the image's shape."""
        return self.labels > 0

    @property
    def preview(self) -> np.ndarray:
        """Labels on the grid that answers strokes: that of the image, or a reduced one, for display."""
        with self._lock:
            self._settle()
            return self._answers.preview

    @property
    def strokes(self) -> list[dict]:
        """The records in effect, as in a stored session: "kind" is stroke, erase, box, start or strokes."""
        return [as_json(record) for record in self.records]

    @property
    def state(self) -> dict:
        """What to display about the session.

        version     counts changes of the labels
        energy      nats, of the labels' cut; None without one
        seconds     that the last answer took
        certified   whether `result` certified these labels, as `SessionResult` describes
        exact       whether the labels are a cut for all strokes and the current models (above a megapixel, `segment`'s)
        pending     whether better labels are being computed
        message     what to mark next, or an empty string
        labels      the labels marked, ascending
        undo, redo  whether there is a record to remove, or to repeat
        """
        with self._lock:
            self._settle()
            values = self._answers.present()
            return {
                "version": self._version,
                "energy": self._answers.energy,
                "seconds": self._seconds,
                "certified": self._certified_version == self._version,
                "exact": self._answers.is_exact,
                "pending": self._worker.is_pending,
                "message": _message(values),
                "labels": list(values),
                "undo": bool(self._history.records),
                "redo": bool(self._history.undone) and self._history.is_final,
            }

    def result(self) -> SessionResult:
        """Wait, and return the labels with a certificate.

        Raises CertificateError if the cut were not minimal.
        """
        with self._lock:
            if not self._answers.is_exact:
                self._worker.request()
        self.wait()
        with self._lock:
            self._settle()
            solved = self._answers.solved
            if solved is not None:
                solved.check()
                self._certified_version = self._version
            return SessionResult(
                self._answers.labels(), self._answers.present(), self._answers.energy, solved is not None
            )

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception) -> None:
        self.close()

    # Files

    def save(self, path: str | Path, name: str = "image") -> None:
        """Write the records, what `undo` and `redo` could restore, and the labels to a file, as a whole.

        `name` is that of the image, for messages.  `cutmatch segment --resume-session` reads the sessions of images,
        too; several objects are one there.
        """
        with self._lock:
            stored = Stored(self._history, self._options, self.labels)
        with Store(path, replaces=True) as store:
            store.begin(name, self._stored_pixels, self.shape, stored, "started")

    @classmethod
    def load(
        cls, path: str | Path, image: ArrayLike | Volume, spacing: Sequence[float] | None = None, **options
    ) -> Session:
        """Read a session that `save` or `cutmatch segment --save-session` wrote for this image.

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
                stored = Stored(session._history, session._options)
                store.begin(name, session._stored_pixels, session.shape, stored, "new")
            store.hold()
        except BaseException:
            store.close()
            raise
        session.store = store
        return session

    @classmethod
    def _stored(cls, store: Store, image, spacing, options: dict) -> Session:
        keep = "all" if store.options.keep == "all" else "touching"
        session = cls(image, spacing, **{"keep": keep, **options})
        with session._lock:
            session._change_to(history_in(store.read(session._stored_pixels, session.shape)))
        return session

    @property
    def _options(self) -> ObjectOptions:
        return ObjectOptions("all" if self._keep == "all" else None)

    @property
    def _stored_pixels(self) -> np.ndarray:
        """The pixels of which a file holds a digest."""
        values = self._input.values
        return values if values.dtype == np.uint8 and values.shape == (*self.shape, 3) else self.pixels

    def restore(self, records: Sequence[Record]) -> None:
        """Replace all records by those of a session with an image of the same shape, and answer once.

        What `undo` and `redo` could restore is forgotten.
        """
        with self._lock:
            self._change_to(RecordHistory(tuple(records)))

    def export(self, path: str | Path, kind: str, image: str | Path = "image.png") -> Path:
        """Write the certified result to a file.

        Parameters
        ----------
        path : str or Path
            The file, in an existing folder or a new one; an existing file is replaced.
        kind : str
            Images: "mask" and "cutout" (PNG), "labels" (PNG or TIFF), "coco", "coco-rle", "geojson", "labelme" (JSON).
            Volumes: "mask" and "labels", in the format and geometry of a `Volume`, or in the format of the suffix.
        image : str or Path, default "image.png"
            File of the image, which "coco", "coco-rle" and "labelme" refer to.

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
            return export_image(Path(path), kind, self.pixels, labels, Path(image), self.objects)
        return export_volume(Path(path), kind, labels, self._input.spacing, self._input.volume)

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
    if not values:
        return MARK_SOMETHING
    if len(values) > 1:
        return ""
    return MARK_OBJECT if values == (0,) else MARK_BACKGROUND
