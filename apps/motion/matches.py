"""Matches of points in two frames, the result of the sparse pipelines."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from apps.common.images import write_bytes
from gridcut.device.result import Result
from gridcut.device.tables import data_frame

COLUMNS = ("x0", "y0", "x1", "y1", "cost", "margin", "confidence")


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

    def _columns(self) -> dict[str, np.ndarray]:
        parts = (*self.first.T, *self.second.T, self.cost, self.margin, self.confidence)
        return dict(zip(COLUMNS, parts, strict=True))

    def write(self, path, more: Mapping[str, np.ndarray] | None = None) -> Path:
        """Write a CSV file with the columns x0, y0, x1, y1, cost, margin, confidence, atomically.

        `more` are further columns by name, (N,) numbers.
        """
        columns, buffer = {**self._columns(), **(more or {})}, io.StringIO()
        formats = ["%d" if values.dtype.kind in "biu" else "%.9g" for values in columns.values()]
        table = np.column_stack([*columns.values()])
        np.savetxt(buffer, table, fmt=formats, delimiter=",", header=",".join(columns), comments="")
        return write_bytes(path, buffer.getvalue().encode())
