"""The data files that the header of a MetaImage or NRRD file names: one file, a list of them, or a numbered series.

    data file: NAME                         one file, relative to the header
    data file: LIST                         names on the following lines
    data file: FORMAT FIRST LAST STEP       such as slice%03d.raw 1 40 1

In MetaImage, `ElementDataFile =` precedes the same.
"""

import os
import re
from pathlib import Path

from apps.common.decoding import Unreadable
from apps.common.writing import is_special

MAX_HEADER = 1 << 16  # bytes in which a text header ends
MAX_FILES = 100_000  # of a numbered series
MAX_SHOWN = 80  # characters of a name in a message
SUFFIXES = (".mhd", ".mha", ".nhdr", ".nrrd")
SERIES = re.compile(r"([^%\s]*%(?:0?[1-9])?d[^%\s]*)\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})(\s+\d)?")
NAMED = re.compile(rb"^(?:ElementDataFile *=|data ?file *:) *([^\r\n]*?)[ \t]*$", re.MULTILINE | re.IGNORECASE)


def data_files_of(path: Path) -> tuple[Path, ...]:
    """The existing data files that a header names; none for data in the file itself, and for other formats."""
    return tuple(file for file in _named_files(path) or () if os.path.isfile(file))


def check_data_files(path: Path) -> None:
    """Raise Unreadable unless all data files that a header names are regular files.

    SimpleITK would wait for a pipe, and crash at names in a damaged form.
    """
    files = _named_files(path)
    if files is None:
        raise Unreadable("damaged names of data files in its header")
    for file in files:
        if not os.path.isfile(file):
            why = "is a pipe or a device, not a regular file" if is_special(file) else "does not exist"
            raise Unreadable(f"its data file {file.name[:MAX_SHOWN]!r} {why}")


def is_divided(value: str) -> bool:
    """Whether a header's entry for its data file stands for several: a list or a series."""
    return value.split()[:1] == ["LIST"] or "%" in value


def _named_files(path: Path) -> list[Path] | None:
    """The data files that a header names, whether they exist or not; None for names in a damaged form."""
    if path.suffix.lower() not in SUFFIXES or not os.path.isfile(path):
        return []
    with open(path, "rb") as file:
        head = file.read(MAX_HEADER).partition(b"\n\n")[0]
    found = NAMED.search(head)
    if found is None or found[1] == b"LOCAL":
        return []
    names = _names(os.fsdecode(found[1]), os.fsdecode(head[found.end() :]))
    return None if names is None else [path.parent / name for name in names]


def _names(value: str, rest: str) -> list[str] | None:
    if not is_divided(value):
        return [value] if value else None
    if "%" not in value:
        return [line.strip() for line in rest.splitlines() if line.strip()] or None
    series = SERIES.fullmatch(value)
    if series is None or not (numbers := _numbers(*map(int, series.groups()[1:4]))):
        return None
    return [series[1] % number for number in numbers]


def _numbers(first: int, last: int, step: int) -> range:
    """The numbers of a series, `last` included; an empty range if there are none or too many."""
    numbers = range(first, last + 1, step) if step > 0 else range(0)
    return numbers if abs(last - first) < MAX_FILES else range(0)
