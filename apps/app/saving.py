"""The files that the page writes to --out: strokes, kept after every change, and results on request."""

import os
import tempfile
import threading
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from apps.app.image_sources import Image, Source
from apps.app.stroke_journal import Journal
from apps.common.annotation_files import SUFFIXES as ANNOTATIONS
from apps.common.annotation_files import encoded_annotations
from apps.common.errors import InputError, print_error
from apps.common.file_lock import FileLock
from apps.common.outputs import FOLDER
from apps.common.uncopied import Uncopied
from apps.common.writing import encoded_image, write_bytes
from apps.many.records import key_of
from apps.volumes.volume_files import result_suffix, write_labels

if TYPE_CHECKING:
    from apps.session import Session, SessionResult
    from apps.session.stroke_records import Record

COMMAND = "app"
# Kinds of results of an image: name shown, and what follows the image's name.
KINDS = {
    "mask": ("Mask PNG", "mask.png"),
    "cutout": ("Cut-out PNG", "cutout.png"),
    "labels": ("Labels PNG", "labels.png"),
    "labels-tiff": ("Labels TIFF", "labels.tif"),
    "coco": ("COCO", ANNOTATIONS["coco"]),
    "coco-rle": ("COCO RLE", ANNOTATIONS["coco-rle"]),
    "geojson": ("GeoJSON", ANNOTATIONS["geojson"]),
    "labelme": ("labelme", ANNOTATIONS["labelme"]),
}
DEFAULT = ("mask", "cutout")
SMALL_FILE = 1 << 20  # bytes of a session file that is written in every pause
LARGE_JOURNAL = (
    0.5  # of a larger session file's size: when it is written again, so that each stroke is so once or twice
)
_own_files: set[Path] = set()  # results that this process wrote, or of sessions that it continues


class SessionFile(Uncopied):
    """The session file of an image in --out, NAME-session.json, and its journal.

    While it is open, a lock keeps other processes out.  Where a file system has no locks, what others have written
    since is noticed, and not overwritten.

    is_behind   whether the last change of the files failed
    """

    def __init__(self, chosen: Namespace, source: Source):
        out = Path(chosen.out)
        self.path = out / f"{source.name}-session.json"
        self.journal_path = out / FOLDER / COMMAND / f"{key_of(source.name)}.journal"
        self._chosen, self._source = chosen, source
        self._journal: Journal | None = None
        self._kept: Sequence[Record] | None = None  # those in the session file
        self._seen: list[tuple | None] = []  # states of both files
        self.is_behind = False
        self._alone = FileLock(self.journal_path.with_name(f"{self.journal_path.name}.lock"))
        self._lock = threading.Lock()  # of both files; edits and the task that saves in pauses use them

    def open(self, pixels: np.ndarray, **options) -> "Session":
        """The session as it was left, or a new one.

        The results of a session that is continued may be replaced.  Raises InputError for the session of another image,
        for a damaged one, and while the image is open elsewhere.
        """
        from apps.session import Session

        if not self._alone.acquire():
            raise InputError(
                f"--out: {str(self.path)!r} is in use by another cutmatch app; end that one, or choose another folder"
            )
        try:
            self._seen = self._states()
            stored = self.path.exists()
            session = Session.load(self.path, pixels, **options) if stored else Session(pixels, **options)
            if stored:
                _own_files.update(_all_files(self._chosen, self._source))
            self._kept = session.records
            self._journal = Journal(self.journal_path, self.path, pixels)
            records = self._journal.replay(session.records, session.shape)
            if records != [*session.records]:
                session.restore(records)
            if self._journal.missing:
                print_error(
                    f"cutmatch app: {str(self.journal_path)!r} is damaged; {self._journal.missing} strokes are missing"
                )
        except BaseException:
            self.close()
            raise
        return session

    def append(self, session: "Session") -> None:
        """Add the strokes since the last call to the journal, quickly."""
        assert self._journal is not None
        with self._lock, self._changing():
            if self._kept is None or not self._journal.extend(session.records):
                self._save(session)

    @property
    def is_due(self) -> bool:
        """Whether to write the session file now, in a pause: not often, if it is large and the journal small."""
        size, added = (0 if state is None else state[1] for state in self._states())
        return size <= SMALL_FILE or added >= LARGE_JOURNAL * size

    def save(self, session: "Session") -> None:
        """Write the session file, unless nothing has changed since."""
        with self._lock, self._changing():
            self._save(session)

    def rescue(self, session: "Session") -> Path:
        """Write the strokes to a new folder for temporary files, since they cannot be written to --out."""
        path = Path(tempfile.mkdtemp(prefix="cutmatch-")) / self.path.name
        session.save(path, self._source.path.name)
        return path

    @property
    def state(self) -> str:
        """State of the image: "new" without a session file, "done" if results are newer than it, else "started"."""
        changed = max(_time_of(self.path), _time_of(self.journal_path))
        if not changed:
            return "new"
        results = _all_files(self._chosen, self._source)
        return "done" if any(_time_of(path) >= changed for path in results) else "started"

    def close(self) -> None:
        """Let others use the files."""
        self._alone.release()

    def _save(self, session: "Session") -> None:
        assert self._journal is not None
        records = session.records
        if records == self._kept:
            return
        session.save(self.path, self._source.path.name)
        self._kept = records
        self._journal.start(records)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Context manager for changes of the files; InputError if someone else has changed them since the last one.

        If a file was removed, both are written again.
        """
        try:
            self._check_unchanged()
            try:
                yield
            finally:
                self._seen = self._states()
        except BaseException:
            self.is_behind = True
            raise
        self.is_behind = False

    def _check_unchanged(self) -> None:
        states = self._states()
        if any(now not in (None, before) for now, before in zip(states, self._seen, strict=True)):
            raise InputError(
                f"--out: {str(self.path)!r} or its journal was changed by another program, so it is not overwritten; "
                "Ctrl-C in the terminal writes the strokes of this page to another file"
            )
        if states != self._seen:
            self._kept = None

    def _states(self) -> list[tuple | None]:
        """What changes whenever a file is written; None without the file."""
        return [_state_of(path) for path in (self.path, self.journal_path)]


def save_results(chosen: Namespace, source: Source, image: Image, session: "Session", kinds: list) -> list[Path]:
    """Write results of these kinds with the certified labels; return the files.

    Raises InputError for an unknown kind, without marks to cut, and for files that another program wrote.
    """
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise InputError(f"unknown kind of results {str(unknown[0])[:40]!r}; the kinds are {', '.join(KINDS)}")
    if not kinds and image.volume is None:
        raise InputError("choose at least one kind of files to save")
    result = session.result()
    if result.energy is None:
        raise InputError("there is nothing to save yet; mark the object and the background")
    if image.volume is not None:
        path = _volume_file(chosen, source)
        _check_own(chosen, [path])
        values = result.labels.astype(np.uint8 if result.labels.max() < 256 else np.uint16)
        return [write_labels(path, values, image.volume)]
    files = {kind: Path(chosen.out) / f"{source.name}-{KINDS[kind][1]}" for kind in KINDS if kind in kinds}
    contents = {kind: _content(kind, path, source, image, result) for kind, path in files.items()}
    _check_own(chosen, files.values())
    return [write_bytes(files[kind], content) for kind, content in contents.items()]


def _check_own(chosen: Namespace, files: Iterable[Path]) -> None:
    """Raise InputError for a file that another program wrote, unless --overwrite; the others are own files now."""
    files = {*files}
    if not chosen.overwrite and (foreign := [path for path in files - _own_files if os.path.lexists(path)]):
        raise InputError(
            f"--out: {str(min(foreign))!r} already exists; choose another folder, or pass --overwrite to replace it"
        )
    _own_files.update(files)


def _content(kind: str, path: Path, source: Source, image: Image, result: "SessionResult") -> bytes:
    from apps.segment.label_figures import annotations_of, encoded_labels
    from apps.segment.matte import cut_out

    mask, metadata = result.labels > 0, image.metadata
    labels = result.labels.astype(np.uint8)
    if kind in ANNOTATIONS:
        objects = annotations_of(labels, (value for value in result.values if value > 0))
        return encoded_annotations(kind, path, source.path, mask.shape, objects)
    if kind == "mask":
        return encoded_image(mask.astype(np.uint8) * 255, ".png", metadata.without_profile())
    if kind == "labels":
        return encoded_labels(labels, metadata)
    if kind == "labels-tiff":
        return encoded_image(labels, ".tif", metadata.without_profile(), compression="tiff_deflate")
    return encoded_image(cut_out(image.rgb, mask), ".png", metadata)


def _volume_file(chosen: Namespace, source: Source) -> Path:
    return Path(chosen.out) / f"{source.name}-labels{result_suffix(source.path, source.slices)}"


def _all_files(chosen: Namespace, source: Source) -> list[Path]:
    """All results that an image may have."""
    files = [Path(chosen.out) / f"{source.name}-{suffix}" for _, suffix in KINDS.values()]
    return files if source.data is not None else [*files, _volume_file(chosen, source)]


def _state_of(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _time_of(path: Path) -> int:
    """Time in ns at which a file was written; 0 without the file."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
