"""The strokes of an open image on disk: its session file, and a journal of what was drawn since it was written.

The session file (apps.session.session_store) is written in pauses, as that takes long for a large image.  The journal
is extended by one line after every edit, in less than a millisecond, so that the strokes survive when the process is
killed:

    {"image": digest of the pixels, "base": digest of the session file, or null}
    {"kept": number of records that remain of those before, "added": [further records], "check": checksum}
    ...

Records have the form of `Session.strokes`.  The checksum is of the first line and of what precedes it in its own line,
so that a damaged line, or one of another journal, is left out.  The records of such a line are missing, and those of
the others keep their numbers; the last line may be incomplete.  Without a checksum, a line counts if the first one is
sound.  A journal of another image, or with another session file, is ignored.
"""

import contextlib
import hashlib
import json
import os
import tempfile
import threading
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from apps.app.image_sources import Source
from apps.app.saved_results import adopt_results, result_files
from apps.common.errors import InputError, print_error
from apps.common.file_lock import FileLock
from apps.common.outputs import FOLDER
from apps.common.uncopied import Uncopied
from apps.common.writing import reported, write_bytes
from apps.many.records import key_of
from apps.session import Session
from apps.session.stroke_records import Record, as_json, common_length, from_json, has_pixels

COMMAND = "app"
SMALL_FILE = 1 << 20  # bytes of a session file that is written in every pause
LARGE_JOURNAL = 0.5  # of a larger session file's size, so that each stroke is written again once or twice
BEGIN, CHECK = b'{"kept":', b',"check":"'
MAX_RECORDS = 1_000_000  # records of a journal; a line that counts more is damaged


class StrokeFiles(Uncopied):
    """The files of an image: NAME-session.json in --out, and its journal.

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

    def open(self, pixels: np.ndarray, **options) -> Session:
        """The session as it was left, or a new one.

        The results of a session that is continued may be replaced.  Raises InputError for the session of another image,
        for a damaged one, and while the image is open elsewhere.
        """
        if not self._alone.acquire():
            raise InputError(
                f"--out: {str(self.path)!r} is in use by another cutmatch app; end that one, or choose another folder"
            )
        try:
            self._seen = self._states()
            stored = self.path.exists()
            session = Session.load(self.path, pixels, **options) if stored else Session(pixels, **options)
            if stored:
                adopt_results(self._chosen, self._source)
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

    def append(self, session: Session) -> None:
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

    def save(self, session: Session) -> None:
        """Write the session file, unless nothing has changed since."""
        with self._lock, self._changing():
            self._save(session)

    def rescue(self, session: Session) -> Path:
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
        results = result_files(self._chosen, self._source)
        return "done" if any(_time_of(path) >= changed for path in results) else "started"

    def close(self) -> None:
        """Let others use the files."""
        self._alone.release()

    def _save(self, session: Session) -> None:
        assert self._journal is not None
        records = session.records
        if records == self._kept:
            return
        session.save(self.path, self._source.path.name)
        self._kept = records
        self._journal.start(records)

    @contextlib.contextmanager
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


class Journal(Uncopied):
    """The journal of a session file.

    path       the journal
    session    the session file
    pixels     of the image or volume
    """

    def __init__(self, path: Path, session: Path, pixels: np.ndarray):
        self._path, self._session = path, session
        self._image = hashlib.sha256(np.ascontiguousarray(pixels).view(np.uint8).data).hexdigest()
        self._records: Sequence[Record] | None = ()  # that the two files hold; None if lines of the journal are damaged
        self._head = self._first_line()
        self.missing = 0  # records that `replay` could not read

    def start(self, records: Sequence[Record]) -> None:
        """Start an empty journal, after the session file was written or read with these records."""
        self._head, self._records = self._first_line(), records  # lines before are void now
        write_bytes(self._path, self._head)

    def extend(self, records: Sequence[Record]) -> bool:
        """Add what has changed; False if that needs a session file instead.  OutputError if it cannot be written."""
        if self._records is None:
            return False
        kept = common_length(self._records, records)
        added = records[kept:]
        if kept == len(self._records) and not added:
            return True
        if any(map(has_pixels, added)):  # a line cannot hold them
            return False
        if not self._path.exists():
            self.start(self._records)
        content = {"kept": kept, "added": [as_json(record) for record in added]}
        body = json.dumps(content, separators=(",", ":")).encode()[:-1]
        with reported(self._path, "--out"):
            _append(self._path, body + CHECK + self._checksum(body) + b'"}\n')
        self._records = records
        return True

    def replay(self, records: Sequence[Record], shape: tuple[int, ...]) -> list[Record]:
        """The records of a session with an image of this shape, after the changes that the journal holds."""
        self._head = self._first_line()
        result: list[Record | None] = [*records]
        for kept, added in self._lines():
            if not 0 <= kept <= len(records) + MAX_RECORDS:
                continue
            del result[kept:]
            result += [None] * (kept - len(result))
            result += (_record_of(one, shape) for one in added)
        found = [record for record in result if record is not None]
        self.missing = len(result) - len(found)
        self._records = None if self.missing else found
        return found

    def _lines(self) -> Iterator[tuple[int, list]]:
        """The sound lines that belong to this image and session file."""
        try:
            data = self._path.read_bytes()
        except OSError:
            return
        first, *lines = data.split(BEGIN)  # not at line ends, of which one may be damaged
        for line in lines:
            body, _, rest = (BEGIN + line).partition(CHECK)
            if rest:
                is_sound, text = rest[:16] == self._checksum(body), body + b"}"
            else:
                is_sound, text = first == self._head, body.partition(b"\n")[0]
            with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
                content = json.loads(text) if is_sound else {}
                kept, added = content["kept"], content["added"]
                if type(kept) is int and isinstance(added, list):
                    yield kept, added

    def _first_line(self) -> bytes:
        return json.dumps({"image": self._image, "base": _digest(self._session)}).encode() + b"\n"

    def _checksum(self, body: bytes) -> bytes:
        return hashlib.sha256(self._head + body).hexdigest()[:16].encode()


def _record_of(content, shape: tuple[int, ...]) -> Record | None:
    """The record in a line; None for one that a session would reject."""
    try:
        record = from_json(content, shape, None)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None
    return record


def _append(path: Path, line: bytes) -> None:
    """Add a line to a file, completely or not at all."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        size = os.fstat(descriptor).st_size
        try:
            if file.write(line) != len(line):
                file.write(line[os.fstat(descriptor).st_size - size :])  # raises the reason
        except BaseException:
            os.ftruncate(descriptor, size)
            raise


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


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
