"""Matches of points in two frames, the result of the sparse pipelines, and their files."""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from apps.common.figures import plot_lines
from apps.common.images import InputError, write_bytes
from gridcut.device.result import Result
from gridcut.device.tables import data_frame

COLUMNS = ("x0", "y0", "x1", "y1", "cost", "margin", "confidence")
SUFFIXES = (".csv", ".json")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Matches(Result):
    """N pairs of points, one-to-one.

    Attributes
    ----------
    first, second : ndarray of float64, (N, 2)
        Positions in the first and in the second frame: x, y in pixels; (0, 0) is the centre of the top left pixel.
    cost : ndarray of float64, (N,)
        Cost of the pair; smaller is better.
    margin : ndarray of float64, (N,)
        Lower bound on the cost increase of the optimum without the pair; 0 means that an alternative costs the same.
    confidence : ndarray of float64, (N,)
        0 to 1.
    """

    first: np.ndarray
    second: np.ndarray
    cost: np.ndarray
    margin: np.ndarray
    confidence: np.ndarray

    def __len__(self) -> int:
        return len(self.first)

    @property
    def motion(self) -> np.ndarray:
        """second - first, (N, 2) pixels."""
        return self.second - self.first

    def select(self, mask) -> "Matches":
        """Return the matches selected by a boolean mask (N,) or an array of indices."""
        return Matches(self.first[mask], self.second[mask], self.cost[mask], self.margin[mask], self.confidence[mask])

    def scaled(self, first: np.ndarray, second: np.ndarray) -> "Matches":
        """Return the matches in frames of other sizes, of `first` and `second` (width, height) times as many pixels."""
        ends = ((self.first + 0.5) * first - 0.5, (self.second + 0.5) * second - 0.5)  # pixel centres are integers
        return Matches(*ends, self.cost, self.margin, self.confidence)

    def to_pandas(self) -> Any:
        """The matches as a pandas.DataFrame with the columns of `write`; ImportError without pandas."""
        return data_frame(self._columns())

    def plot(self, ax: Any = None) -> Any:
        """Draw a line from each point to its match with matplotlib, on `ax` or the current axes, which are returned.

        Raises ImportError if `ax` is None and matplotlib is not installed.
        """
        return plot_lines(ax, self.first, self.second, np.arange(len(self)))

    def _columns(self) -> dict[str, np.ndarray]:
        parts = (*self.first.T, *self.second.T, self.cost, self.margin, self.confidence)
        return dict(zip(COLUMNS, parts, strict=True))

    def write(self, path, option: str = "--out", more: Mapping[str, np.ndarray] | None = None) -> Path:
        """Write a table with the columns x0, y0, x1, y1, cost, margin, confidence; the suffix selects CSV or JSON.

        `more` are further columns by name, (N,) numbers; `read` ignores them.  The file is written atomically.  Raises
        InputError for another suffix, or, with `option` in its message, for a folder that is not writable.
        """
        suffix = Path(path).suffix.lower()
        if suffix not in SUFFIXES:
            raise InputError(f"matches: cannot write {str(path)!r}; use the suffix {' or '.join(SUFFIXES)}")
        columns = {**self._columns(), **(more or {})}
        if suffix == ".json":
            text = json.dumps({name: values.tolist() for name, values in columns.items()})
        else:
            buffer = io.StringIO()
            formats = ["%d" if values.dtype.kind in "biu" else "%.9g" for values in columns.values()]
            table = np.column_stack([*columns.values()])
            np.savetxt(buffer, table, fmt=formats, delimiter=",", header=",".join(columns), comments="")
            text = buffer.getvalue()
        return write_bytes(path, text.encode(), option)

    @staticmethod
    def read(path) -> "Matches":
        """Read a table written by `write`; raise InputError if the file is missing or not such a table."""
        from apps.common.images import read_bytes

        data = read_bytes(path, "matches")
        try:
            if Path(path).suffix.lower() == ".json":
                content = json.loads(data)
                table = np.array([content[name] for name in COLUMNS], np.float64).reshape(len(COLUMNS), -1).T
            else:
                head, *lines = data.decode().split("\n")
                names = head.strip().split(",")
                if names[: len(COLUMNS)] != list(COLUMNS):
                    raise ValueError("another header")
                rows = [line.split(",") for line in lines if line.strip()]
                table = np.array(rows, np.float64).reshape(-1, len(names))[:, : len(COLUMNS)]
            if not np.isfinite(table).all():
                raise ValueError("NaN or infinity")
            if not ((table[:, 6] >= 0) & (table[:, 6] <= 1)).all():
                raise ValueError("confidences outside 0 to 1")
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise InputError(
                f"matches: cannot read {str(path)!r} ({reason}); pass a table with the columns {','.join(COLUMNS)}"
            ) from None
        return Matches(table[:, :2], table[:, 2:4], table[:, 4], table[:, 5], table[:, 6])


def check_matches(matches, shape) -> None:
    """Validate matches for frames of this shape (height, width).

    Raises TypeError for anything except Matches; InputError for points that are NaN or far outside the frames, and for
    confidences outside 0 to 1.
    """
    if not isinstance(matches, Matches):
        raise TypeError(f"matches must be apps.motion.matches.Matches, got {type(matches).__name__}")
    size = np.array(shape[::-1], float)
    ends = {}
    for name, points in (("first", matches.first), ("second", matches.second)):
        ends[name] = points = np.asarray(points)
        if points.shape != (len(matches), 2) or points.dtype.kind not in "iuf":
            raise InputError(f"matches.{name} must be numbers (N, 2), got {points.dtype} {points.shape}")
    # Points are inside the first frame, up to rounding; in the second frame they may be outside.
    for name, beyond in (("first", 1.0), ("second", size)):
        inside = (ends[name] >= -beyond) & (ends[name] <= size + beyond)
        if not inside.all():
            wrong = int(np.flatnonzero(~inside.all(axis=1))[0])
            x, y = ends[name][wrong]
            raise InputError(
                f"matches: number {wrong} is at ({x:.6g}, {y:.6g}) in the {name} frame, too far outside its "
                f"{shape[1]}x{shape[0]} pixels; pass the matches of these frames"
            )
    confidence = np.asarray(matches.confidence)
    if confidence.shape != (len(matches),) or not ((confidence >= 0) & (confidence <= 1)).all():
        raise InputError("matches.confidence must be numbers (N,) from 0 to 1")
