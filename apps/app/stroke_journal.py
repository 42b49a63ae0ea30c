"""The strokes since the last session file, in a file that every edit extends by one line.

A session file of a large image takes long to write.  The journal takes less than a millisecond, so that the strokes
survive when the process is killed:

    {"image": digest of the pixels, "base": digest of the session file, or null}
    {"kept": number of records that remain of those before, "added": [further records]}
    ...

Records have the form of `Session.strokes`.  The last line may be incomplete.  A journal of another image, or with
another session file, is ignored.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from apps.common.errors import InputError
from apps.common.writing import reported, write_bytes

if TYPE_CHECKING:
    from apps.session import Session

REPLAYED = ("stroke", "erase", "box", "clear")  # kinds of records that a line can hold; others need a session file


class Journal:
    """The journal of a session file.

    path       the journal
    session    the session file
    pixels     of the image or volume
    """

    def __init__(self, path: Path, session: Path, pixels: np.ndarray):
        self._path, self._session = path, session
        self._image = hashlib.sha256(np.ascontiguousarray(pixels).view(np.uint8)).hexdigest()
        self._records: list[dict] = []

    def start(self, records: list[dict]) -> None:
        """Start an empty journal, after the session file was written or read with these records."""
        line = json.dumps({"image": self._image, "base": _digest(self._session)}) + "\n"
        write_bytes(self._path, line.encode())
        self._records = records

    def extend(self, records: list[dict]) -> bool:
        """Add what has changed; False if that needs a session file instead.  OutputError if it cannot be written."""
        same = 0
        for before, now in zip(self._records, records, strict=False):
            if before != now:
                break
            same += 1
        added = records[same:]
        if same == len(self._records) and not added:
            return True
        if any(record["kind"] not in REPLAYED for record in added):
            return False
        if not self._path.exists():
            self.start(self._records)
        line = json.dumps({"kept": same, "added": added}, separators=(",", ":")) + "\n"
        with reported(self._path, "--out"):
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND)
            with os.fdopen(descriptor, "wb") as file:
                file.write(line.encode())
        self._records = records
        return True

    def replay(self, session: "Session") -> bool:
        """Repeat in a session what the journal holds; whether it held anything."""
        self._records = before = session.strokes
        lines, records = self._lines(), list(before)
        for kept, added in lines:
            records = records[:kept] + added
        same = 0
        while same < min(len(before), len(records)) and before[same] == records[same]:
            same += 1
        while len(session.strokes) > same and session.undo():
            pass
        for record in records[same:]:
            _repeat(session, record)
        return bool(lines)

    def _lines(self) -> list[tuple[int, list[dict]]]:
        """The complete lines; none if the journal belongs to another session file."""
        try:
            first, *others = self._path.read_bytes().split(b"\n")
            if json.loads(first) != {"image": self._image, "base": _digest(self._session)}:
                return []
        except (OSError, ValueError, RecursionError):
            return []
        lines = []
        for line in others[:-1]:
            try:
                content = json.loads(line)
                lines.append((int(content["kept"]), list(content["added"])))
            except (ValueError, KeyError, TypeError, RecursionError):
                break
        return lines


def _repeat(session: "Session", record: dict) -> None:
    """Add a record to a session; one that the session rejects is left out."""
    try:
        kind = record["kind"]
        if kind == "box":
            session.box(record["box"])
        elif kind == "clear":
            session.clear()
        else:
            place = {"axis": record["axis"], "slice": record["slice"]} if "axis" in record else {}
            final = not record.get("is_part", False)
            if kind == "erase":
                session.erase(record["points"], record["radius"], **place, final=final)
            elif kind == "stroke":
                session.stroke(record["points"], record["radius"], record["label"], **place, final=final)
    except (InputError, KeyError, TypeError):
        return


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
