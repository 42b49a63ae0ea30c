"""The result of a solve: pairs, cost, prices, and a certificate of optimality."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assign.core.given import Given, GivenPoints
from gridcut.device import CertificateError
from gridcut.device.arrays import on_device, to_host, to_library
from gridcut.device.result import Result

__all__ = ["Assignment", "CertificateError"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Assignment(Result):
    """An assignment of minimum (or maximum) total cost, with dual prices that certify it.

    Attributes
    ----------
    row, col : ndarray of int64, shape (k,)
        The pairs, by ascending row; k = min(n, m) unless rows could stay unmatched.  If the costs were on a GPU, these
        and the prices are GPU arrays of the same library.
    cost : int or float
        Sum of the caller's costs over the pairs, without the cost of unmatched rows.
    row_price, col_price : ndarray, shapes (n,) and (m,), int64 or float64
        Dual prices.  When minimising, ``cost[i, j] - row_price[i] - col_price[j] >= 0`` for every allowed pair, and
        == 0 for matched pairs.  Columns (or rows) that may stay unmatched have a price of at most 0, and exactly 0 if
        unmatched.  With ``max_cost``, the price of a row is at most that, and equal to it if the row is unmatched.
        When maximising, all signs are reversed.
    device, method : str
        The device and method that were used.
    stats : dict
        Counters of the solver, and "seconds" per phase.

    Notes
    -----
    The result keeps references to the costs, `mask` and `max_cost`.  `pickle` and `copy.deepcopy` copy them too, to
    the host.
    """

    row: np.ndarray
    col: np.ndarray
    cost: int | float
    row_price: np.ndarray
    col_price: np.ndarray
    device: str
    method: str
    stats: dict
    _given: Given | GivenPoints = field(repr=False)

    def check(self) -> None:
        """Certify that the assignment is optimal, from its pairs, cost and prices and from the caller's costs.

        Raises
        ------
        CertificateError
            If a field is inconsistent with the others or with the costs.

        Notes
        -----
        The check is exact for integers; see `assign.core.certificate` for floats.  It reads the costs again, so costs
        that were modified since the solve are certified as they are now, or rejected.  O(n m) for dense costs; costs
        on a GPU are copied to the host.  For points, only the pairs are computed whose distance may be below the sum of
        their prices, about O((n + m) log(n + m)).
        """
        self._given.certify(self)

    def to_pandas(self) -> Any:
        """The pairs as a pandas.DataFrame with the columns row and col; ImportError without pandas.

        Rows and columns are positions, also if the costs were a DataFrame: ``costs.index[found.row]`` are labels.
        """
        from gridcut.device.tables import data_frame

        return data_frame({"row": to_host(self.row), "col": to_host(self.col)})

    def plot(self, ax: Any = None) -> Any:
        """Draw the pairs as a matrix with matplotlib, on dense costs in grey.

        Uses `ax`, or else the current axes, and returns them.  Raises ImportError if `ax` is None and matplotlib is not
        installed.
        """
        from gridcut.device.matrix_plot import plot_matrix

        cost = getattr(self._given, "cost", None)
        values = cost if isinstance(cost, np.ndarray) and cost.ndim == 2 else None
        return plot_matrix(ax, (len(self.row_price), len(self.col_price)), (self.row, self.col), values=values)

    @property
    def col_of_row(self) -> np.ndarray:
        """Column of each row, or -1 if unmatched; shape (n,)."""
        return _partner(self.row, self.col, len(self.row_price))

    @property
    def row_of_col(self) -> np.ndarray:
        """Row of each column, or -1 if unmatched; shape (m,)."""
        return _partner(self.col, self.row, len(self.col_price))


def _partner(of, partner, size: int):
    if not on_device(of):
        found = np.full(size, -1, np.int64)
        found[of] = partner
        return found
    library = type(of).__module__.split(".")[0]
    return to_library(_partner(to_host(of), to_host(partner), size), library)
