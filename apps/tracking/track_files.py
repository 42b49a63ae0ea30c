"""Read tables of detections and write tables of tracks, as CSV files.

A table of detections has a header with the columns frame, x and y, optionally z, and any others, which are copied
character by character.  Numbers of a CSV file
have as many digits as reading the same numbers again takes.  A
table of tracks has one row per detection, sorted by track and frame: track, frame, x, y, (z), the others, and
link_margin, which is empty for the first detection of a track (see `apps.tracking.tracking.Tracks`).
"""

import csv
import io
from pathlib import Path

import numpy as np

from apps.common.images import InputError, read_bytes, write_bytes
from apps.tracking.tracking import AXES, Detections, Tracks, from_columns, margins_of


def read_points(path) -> np.ndarray:
    """Read the points (N, 2) of a CSV file with the columns x and y; of several frames, those of the first."""
    found = read_detections(path, "--points", has_frames=False)
    return found.position[found.frame == found.frame.min(), :2]


def read_detections(path, name: str = "input", has_frames: bool = True) -> Detections:
    """Read a CSV file of detections; the InputError for an unusable file states the line.

    has_frames   without it, a table without the column frame is that of frame 0
    """
    what = f"{name}: {str(path)!r}"
    try:
        text = read_bytes(path, name).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{what} is not text; pass a CSV file with columns frame, x, y") from None
    lines = _lines(text, path, name)
    if not lines:
        raise InputError(f"{what} is empty; the first line must contain frame, x, y")
    columns = [column.strip().lower() for column in lines[0][1]]
    rows = [(number, row) for number, row in lines[1:] if any(cell.strip() for cell in row)]
    for number, row in rows:
        if len(row) != len(columns):
            raise InputError(f"{name}: line {number} of {str(path)!r} has {len(row)} cells, not {len(columns)}")
    cells = zip(*(row for _, row in rows), strict=True) if rows else [()] * len(columns)
    content = dict(zip(columns, cells, strict=True))
    if not has_frames and "frame" not in columns:
        columns, content = [*columns, "frame"], content | {"frame": [0] * len(rows)}
    found = from_columns(columns, content.__getitem__, what, lambda row: f"line {rows[row][0]}")
    if not rows:
        raise InputError(f"{what} contains no detections")
    return found


def _lines(text: str, path, name: str) -> list:
    """Split a table with any line endings and one of three delimiters into (line number, row) pairs."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    head = text.split("\n", 1)[0]
    reader = csv.reader(io.StringIO(text), delimiter=max(",;\t", key=head.count))
    try:
        return [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise InputError(f"{name}: line {reader.line_num} of {str(path)!r}: {error}; pass a CSV file") from None


def columns_of(tracks: Tracks) -> dict:
    """Return the table as a dict of columns, with rows sorted by track and frame."""
    found = tracks.detections
    order = np.lexsort((found.frame, tracks.track))
    axes = dict(zip(AXES, found.position.T, strict=False))
    columns = {"track": tracks.track, "frame": found.frame, **axes, **found.extra, "link_margin": margins_of(tracks)}
    return {name: values[order] for name, values in columns.items()}


def write_tracks(path, tracks: Tracks) -> Path:
    """Write the table as a CSV file, atomically."""
    columns, text = columns_of(tracks), io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*map(_cells, columns.values()), strict=True))
    return write_bytes(path, text.getvalue().encode())


def _cells(values: np.ndarray) -> list:
    """Return a column as text: floats with the fewest digits that give the same number, NaN as nothing."""
    if values.dtype.kind != "f":
        return values.tolist()
    if values.dtype == np.float64:  # Python's floats are formatted faster than NumPy's, and equally
        return ["" if value != value else repr(value) for value in values.tolist()]
    return ["" if np.isnan(value) else str(value) for value in values]
