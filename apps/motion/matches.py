"""Matches of points in two frames: what the sparse pipeline hands on, and how it is written to a file."""

import io
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from apps.common.images import InputError, write_bytes

COLUMNS = ("x0", "y0", "x1", "y1", "cost", "margin", "confidence")
SUFFIXES = (".csv", ".json")


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """N pairs of points, one-to-one.

    Attributes
    ----------
    first, second : ndarray of float64, (N, 2)
        Where the points lie in the first and in the second frame: x, y in pixels, (0, 0) the centre of the pixel at the
        top left.
    cost : ndarray of float64, (N,)
        Price of the pair: small is good.
    margin : ndarray of float64, (N,)
        What the cheapest set of pairs without this one would cost more, at least; 0 means there is one as good.
    confidence : ndarray of float64, (N,)
        In 0 ... 1.
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
        """The matches that a mask (N,) of bool, or an array of indices, picks."""
        return Matches(self.first[mask], self.second[mask], self.cost[mask], self.margin[mask], self.confidence[mask])

    def write(self, path, option: str = "--out") -> Path:
        """Write a table with the columns x0, y0, x1, y1, cost, margin, confidence, as CSV or JSON by the suffix.

        The file is complete or not there.  Raises InputError for another suffix, or, naming the option, a folder that
        does not take it.
        """
        suffix = Path(path).suffix.lower()
        if suffix not in SUFFIXES:
            raise InputError(f"matches: cannot write {str(path)!r}; name it {' or '.join(SUFFIXES)}")
        table = np.column_stack([self.first, self.second, self.cost, self.margin, self.confidence])
        if suffix == ".json":
            text = json.dumps({name: table[:, i].tolist() for i, name in enumerate(COLUMNS)})
        else:
            buffer = io.StringIO()
            np.savetxt(buffer, table, fmt="%.6g", delimiter=",", header=",".join(COLUMNS), comments="")
            text = buffer.getvalue()
        return write_bytes(path, text.encode(), option)

    @staticmethod
    def read(path) -> "Matches":
        """Read what `write` wrote; InputError for a file that is missing or something else."""
        from apps.common.images import read_bytes

        data = read_bytes(path, "matches")
        try:
            if Path(path).suffix.lower() == ".json":
                content = json.loads(data)
                table = np.array([content[name] for name in COLUMNS], np.float64).reshape(len(COLUMNS), -1).T
            else:
                head, *lines = data.decode().split("\n")
                if head.strip().split(",") != list(COLUMNS):
                    raise ValueError("another header")
                rows = [line.split(",") for line in lines if line.strip()]
                table = np.array(rows, np.float64).reshape(-1, len(COLUMNS))
            if not np.isfinite(table).all():
                raise ValueError("NaN or infinity")
            if not ((table[:, 6] >= 0) & (table[:, 6] <= 1)).all():
                raise ValueError("confidences outside 0 ... 1")
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise InputError(
                f"matches: cannot read {str(path)!r} ({reason}); pass a table with the columns {','.join(COLUMNS)}"
            ) from None
        return Matches(table[:, :2], table[:, 2:4], table[:, 4], table[:, 5], table[:, 6])


def check_matches(matches, shape) -> None:
    """Check matches passed in for frames of this shape (height, width).

    TypeError for anything but Matches; InputError for points far outside the frames, NaN among them, and for
    confidences outside 0 ... 1.
    """
    if not isinstance(matches, Matches):
        raise TypeError(f"matches must be apps.motion.matches.Matches, got {type(matches).__name__}")
    size = np.array(shape[::-1], float)
    ends = {}
    for name, points in (("first", matches.first), ("second", matches.second)):
        ends[name] = points = np.asarray(points)
        if points.shape != (len(matches), 2) or points.dtype.kind not in "iuf":
            raise InputError(f"matches.{name} must be numbers (N, 2), got {points.dtype} {points.shape}")
    # What was seen in the first frame lies in it, but for rounding; in the second it may have left the frame.
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
        raise InputError("matches.confidence must be numbers (N,) in 0 ... 1")
