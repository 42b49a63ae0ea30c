"""The strokes since the last session file, in a file that every edit extends by one line.

A session file of a large image takes long to write.  The journal takes less than a millisecond, so that the strokes
survive when the process is killed:

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
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from apps.common.uncopied import Uncopied
from apps.common.writing import reported, write_bytes
from apps.session.stroke_records import Box, Record, Stroke, as_json, common_length, from_json

REPLAYED = (Stroke, Box)  # records that a line can hold; others need a session file
BEGIN, CHECK = b'{"kept":', b',"check":"'
MAX_RECORDS = 1_000_000  # records of a journal; a line that counts more is damaged


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
        if not all(isinstance(record, REPLAYED) for record in added):
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
