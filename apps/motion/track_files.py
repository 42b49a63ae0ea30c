"""Tables of detections read, tables of tracks written: CSV, JSON or NumPy's .npz.

A table of detections has a header with the columns frame, x and y, z if there is one, and any others, which
are carried along.  A table of tracks has a row for each detection, by track and frame: track, frame, x, y, (z),
the others, and link_margin, empty where a track begins (see `apps.motion.tracking.Tracks`).
"""

import csv
import io
import json
from pathlib import Path

import numpy as np

from apps.images import InputError, read_bytes, write_bytes
from apps.motion.tracking import Detections, Tracks

TABLES = (".csv", ".json", ".npz")
OURS = ("track", "link_margin")  # columns that a table of tracks adds; not carried along when it is read again
AXES = ("x", "y", "z")


def read_detections(path, name: str = "input") -> Detections:
    """A CSV file of detections; InputError naming the line where it cannot be used."""
    try:
        text = read_bytes(path, name).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{name}: {str(path)!r} is not text; pass a CSV file with columns frame, x, y") from None
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)
    lines = list(csv.reader(io.StringIO(text), delimiter=delimiter))
    columns = [column.strip().lower() for column in lines[0]]
    missing = [column for column in ("frame", "x", "y") if column not in columns]
    if missing:
        raise InputError(
            f"{name}: {str(path)!r} has no column {' and no '.join(missing)}; the first line must name frame, x, y"
        )
    rows, numbers = [], []
    for number, row in enumerate(lines[1:], 2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(columns):
            raise InputError(f"{name}: line {number} of {str(path)!r} has {len(row)} cells, not {len(columns)}")
        rows.append(row)
        numbers.append(number)
    if not rows:
        raise InputError(f"{name}: {str(path)!r} holds no detections")
    cells = dict(zip(columns, zip(*rows, strict=True), strict=True))

    def numeric(column):
        values = np.empty(len(rows))
        for i, cell in enumerate(cells[column]):
            try:
                values[i] = float(cell)
            except ValueError:
                values[i] = np.nan
            if not np.isfinite(values[i]):
                raise InputError(
                    f"{name}: line {numbers[i]} of {str(path)!r}: {column} is {cell!r}, which is no finite number"
                )
        return values

    frame = numeric("frame")
    if (frame != np.rint(frame)).any() or np.abs(frame).max() > 2**53:
        wrong = int(np.flatnonzero(frame != np.rint(frame))[0]) if (frame != np.rint(frame)).any() else 0
        raise InputError(f"{name}: line {numbers[wrong]} of {str(path)!r}: frame {frame[wrong]} is no whole number")
    axes = [axis for axis in AXES if axis in columns]
    position = np.column_stack([numeric(axis) for axis in axes])
    extra = {c: _values(cells[c]) for c in columns if c and c not in ("frame", *axes, *OURS)}
    return Detections(frame.astype(np.int64), position, extra)


def _values(cells) -> np.ndarray:
    """Numbers where all of a column are, else its text."""
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError:
        return np.array(cells)


def check_table(path) -> Path:
    """The path, if its suffix is one that `write_tracks` knows."""
    path = Path(path)
    if path.suffix.lower() not in TABLES:
        raise InputError(f"--table: {str(path)!r} must end in {', '.join(TABLES)}")
    return path


def columns_of(tracks: Tracks) -> dict:
    """The table as a dict of columns, rows by track and frame."""
    found = tracks.detections
    order = np.lexsort((found.frame, tracks.track))
    margin = np.full(len(found), np.nan)
    margin[tracks.link[:, 1]] = tracks.margin
    axes = dict(zip(AXES, found.position.T, strict=False))
    columns = {"track": tracks.track, "frame": found.frame, **axes, **found.extra, "link_margin": margin}
    return {name: values[order] for name, values in columns.items()}


def write_tracks(path, tracks: Tracks, option: str = "--out") -> Path:
    """Write the table; the kind follows the suffix.  The file is complete or not there.

    Raises InputError, naming the option, for a folder that does not take it.
    """
    path = check_table(path)
    columns = columns_of(tracks)
    suffix = path.suffix.lower()
    if suffix == ".npz":
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **columns)
        return write_bytes(path, buffer.getvalue(), option)
    if suffix == ".json":
        plain = {name: _plain(values) for name, values in columns.items()}
        return write_bytes(path, (json.dumps(plain) + "\n").encode(), option)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*([_cell(v) for v in values.tolist()] for values in columns.values()), strict=True))
    return write_bytes(path, text.getvalue().encode(), option)


def _cell(value):
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.6g}" if abs(value) >= 1e5 else f"{value:.4f}"
    return value


def _plain(values) -> list:
    return [None if isinstance(v, float) and np.isnan(v) else v for v in values.tolist()]
