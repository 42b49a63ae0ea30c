"""Sessions on disk: an SQLite file for each image, with what was drawn on it.

    about     key, value: "image" (name, shape and digest of the pixels), "options",
              "state" (new, started, or done and approved: results were written since)
    records   list (0 in effect, 1 undone), place in it, the record as JSON, and the values of its mask

A session that is kept in its file commits every edit before it counts, to the write-ahead log beside the file.  So the
process may be killed at any time, and the next one that opens the file continues.
"""

import contextlib
import hashlib
import json
import os
import sqlite3
import threading
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from apps.common.errors import BAD_INPUT, SOME_FAILED, InputError, OutputError
from apps.common.images import to_bytes
from apps.common.writing import is_special, reported
from apps.session.session_records import Record, RecordHistory, Stroke, as_json, common_length, from_json

FORMAT, VERSION = 0x6375746D, 1  # "cutm" as the file's application_id, and its user_version
TABLES = (
    "DROP TABLE IF EXISTS about",
    "DROP TABLE IF EXISTS records",
    "CREATE TABLE about (key TEXT PRIMARY KEY, value)",
    "CREATE TABLE records (list INTEGER, place INTEGER, content TEXT, pixels BLOB, PRIMARY KEY (list, place))"
    " WITHOUT ROWID",
    f"PRAGMA application_id = {FORMAT}",
    f"PRAGMA user_version = {VERSION}",
)
SETTINGS = "trusted_schema = OFF", "locking_mode = EXCLUSIVE", "synchronous = NORMAL"  # of a connection
WAIT = 0.5  # seconds for a process that reads or writes a whole file
DONE, APPROVED = "done", "approved"  # states of a session with results
DAMAGED = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError, zlib.error)
FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
UNWRITABLE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)


class NoSession(InputError):
    """A file is no session, or a damaged one."""


class Store:
    """The file of a session, which no other process can write until it is closed.

    path       the file
    option     name of the argument, for messages
    can_make   make the file if it is missing
    replaces   make it also in place of another file

    Raises InputError for a file that is no session or is in use, and OutputError if it cannot be written.
    """

    def __init__(self, path: str | Path, option: str = "path", can_make: bool = False, replaces: bool = False):
        self.path, self._can_make = Path(path), can_make or replaces
        self._option, self._name = option, f"{option}: {str(path)!r}"
        self._lock = threading.RLock()  # edits, and the thread that closes
        self._kept = RecordHistory()  # what the file holds
        self._fixed: dict[str, str] = {}  # what edits do not change in it
        self.state = ""  # of a file without a session
        try:
            self._open()
        except NoSession:
            if not replaces:
                raise
            self.path.unlink()
            self._open()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *exception) -> None:
        self.close()

    def _open(self) -> None:
        if self._can_make and (self.path.is_symlink() or is_special(self.path)):
            raise OutputError(f"{self._name} is a link, a device or a pipe; choose another name")
        if not self._can_make and not self.path.is_file():
            raise InputError(f"{self._option}: no file {str(self.path)!r}; check the path")
        with self._reported():
            if self._can_make:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = _connection(self.path, "rwc" if self._can_make else "rw")
            try:
                self._check_format()
            except BaseException:
                self._db.close()
                raise

    def _check_format(self) -> None:
        found, version = (self._db.execute(f"PRAGMA {key}").fetchone()[0] for key in ("application_id", "user_version"))
        self._identity = self.path.stat()
        if self._can_make and not self._identity.st_size:
            return
        if found != FORMAT:
            raise NoSession(f"{self._name} is no session of cutmatch; choose another file")
        if version != VERSION:
            raise InputError(f"{self._name} has version {version} of sessions, not {VERSION}; update cutmatch")
        self.state = self._about().get("state", "new")

    def close(self) -> None:
        """Let others use the file, which is removed if nothing was ever drawn."""
        with self._lock:  # SQLite crashes if a connection is closed in the middle of a statement of another thread
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("PRAGMA journal_mode = DELETE")  # one file, also for readers that cannot write
            self._db.close()
        if self._can_make and self.state in ("", "new") and not self._is_missing():
            self.path.unlink()

    # Reading

    @property
    def parts(self) -> str:
        """The parts of objects that the session keeps, "touching" or "all"."""
        with self._reported():
            try:
                return "all" if json.loads(self._about()["options"])["keep"] == "all" else "touching"
            except DAMAGED as error:
                raise self._damaged(error) from None

    def read(self, pixels: np.ndarray, shape: tuple[int, ...]) -> RecordHistory:
        """The session of an image of a shape, RGB, or of a volume; InputError for one of another, or a damaged one."""
        with self._reported():
            about = self._about()
            rows = self._db.execute("SELECT list, content, pixels FROM records ORDER BY list, place").fetchall()
            sound = self._db.execute("PRAGMA quick_check").fetchone()[0]
        lists: tuple[list[Record], list[Record]] = [], []
        try:
            if sound != "ok":
                raise ValueError(sound)
            image = json.loads(about["image"])
            name, of, digest = image["name"], tuple(image["shape"]), image["digest"]
            self._fixed = {key: about[key] for key in ("image", "options")}
            is_same = of == shape and digest == digest_of(pixels, shape)
            for number, content, values in rows if is_same else ():
                lists[number].append(from_json(json.loads(content), shape, values))
        except DAMAGED as error:
            raise self._damaged(error) from None
        if not is_same:
            size = "x".join(map(str, of[::-1]))
            raise InputError(f"{self._name} is the session of another image, {name!r} of size {size}; pass that image")
        if lists[0] and isinstance(last := lists[0][-1], Stroke) and last.is_part:  # its end was never drawn
            lists[0][-1] = replace(last, is_part=False)
        self._kept = RecordHistory(tuple(lists[0]), tuple(lists[1]))
        return self._kept

    def _about(self) -> dict:
        return dict(self._db.execute("SELECT key, value FROM about"))

    # Writing

    def begin(self, name: str, pixels: np.ndarray, shape, history: RecordHistory, parts: str, state: str) -> None:
        """Replace the content by a session; `name` is that of the image, and `parts` are those to keep."""
        image = {"name": name, "shape": shape, "digest": digest_of(pixels, shape)}
        self._fixed = {"image": json.dumps(image), "options": json.dumps({"keep": parts})}
        self._begin(history, state)

    def _begin(self, history: RecordHistory, state: str) -> None:
        with self._writing() as db:
            for line in TABLES:
                db.execute(line)
            self._note(**self._fixed, state=state)
            self._add(RecordHistory(), history)
        self._kept, self.state = history, state

    def hold(self) -> None:
        """Commit edits to the log from now on."""
        with self._reported():
            self._db.execute("PRAGMA journal_mode = WAL")

    def keep(self, history: RecordHistory) -> None:
        """Commit what an edit changed; after an exception, the file holds what it held before."""
        if self._kept[:2] == history[:2]:
            return
        if self._is_missing():
            with self._lock:
                self._db.close()
                self._open()
            self._begin(history, "started")
            self.hold()
            return
        with self._writing():
            self._add(self._kept, history)
            if self.state != "started":  # otherwise a stroke would write twice as many pages
                self._note(state="started")
        self._kept, self.state = history, "started"

    def mark(self, state: str) -> None:
        """Note that results were written, and perhaps approved: DONE or APPROVED."""
        with self._writing():
            self._note(state=state)
        self.state = state

    def _add(self, before: RecordHistory, after: RecordHistory) -> None:
        for number, (kept, now) in enumerate(zip(before[:2], after[:2], strict=True)):
            same = common_length(kept, now)
            if same < len(kept):
                self._db.execute("DELETE FROM records WHERE list = ? AND place >= ?", (number, same))
            rows = ((number, place, *_row(record)) for place, record in enumerate(now[same:], same))
            self._db.executemany("INSERT INTO records VALUES (?, ?, ?, ?)", rows)

    def _note(self, **about: str) -> None:
        self._db.executemany("REPLACE INTO about VALUES (?, ?)", about.items())

    def _is_missing(self) -> bool:
        """Whether the file was removed while it was open; InputError if there is another one now."""
        try:
            is_own = os.path.samestat(self.path.stat(), self._identity)
        except FileNotFoundError:
            return True
        if not is_own:
            raise InputError(f"{self._name} was replaced by another program; move that file away to keep these strokes")
        return False

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Context manager for changes that are made together or not at all."""
        with self._lock, self._reported():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    # Errors

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        """Context manager that turns errors of files into InputError or OutputError."""
        with reported(self.path, self._option):
            try:
                yield
            except sqlite3.Error as error:
                raise self._reason_of(error) from None

    def _reason_of(self, error: sqlite3.Error) -> InputError:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return InputError(f"{self._name} is in use by another process; end that, or choose another folder")
        if code in FULL or code in UNWRITABLE:
            shown, status = (
                f"{self._option}: cannot write {str(self.path)!r}",
                SOME_FAILED if code in FULL else BAD_INPUT,
            )
            return OutputError(f"{shown} ({error}); free some space, or choose a folder that can be written", status)
        return self._damaged(error)

    def _damaged(self, reason) -> NoSession:
        return NoSession(f"{self._name} is damaged ({reason}); choose another file")


def state_in(path: Path) -> str:
    """State of a session's file, perhaps a missing one: new, started, done or approved."""
    log = path.with_name(f"{path.name}-wal")  # of a file that is in use, or whose process was killed
    if log.exists():
        return "started"
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_connection(path, "ro&immutable=1")) as db:  # no locks
        for (state,) in db.execute("SELECT value FROM about WHERE key = 'state'"):
            return str(state)
    return "new"


def digest_of(pixels: np.ndarray, shape: tuple[int, ...]) -> str:
    """Digest of the values of a volume, or of the 8-bit pixels of an image, RGB."""
    values = pixels if pixels.shape == shape else to_bytes(pixels)
    values = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    digest = hashlib.sha256(values.dtype.str.encode())
    digest.update(values.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _connection(path: Path, mode: str) -> sqlite3.Connection:
    """A connection to a file, which runs nothing that the file might contain."""
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    db = sqlite3.connect(uri, timeout=WAIT, isolation_level=None, check_same_thread=False, uri=True)
    for setting in SETTINGS:
        db.execute(f"PRAGMA {setting}")
    return db


def _row(record: Record) -> tuple[str, bytes | None]:
    pixels = getattr(record, "pixels", None)
    return json.dumps(as_json(record), separators=(",", ":")), None if pixels is None else pixels.data
