"""The result of a solve: pairs, cost, prices, and a certificate of optimality."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assign.core.given import Given, GivenPoints
from assign.core.problem import Dense, Problem
from gridcut.device import CertificateError, kernel
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
        from gridcut.device.figures import plot_matrix

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


# From the arrays of a solver


def pack(problem: Problem, given: Given, col_of_row, u, v, device: str, name: str, stats, cost=None) -> Assignment:
    """Build the Assignment of the caller's problem from a solver's host arrays; the cost is summed if not given."""
    row = np.flatnonzero(col_of_row >= 0)
    col = col_of_row[row].astype(np.int64)
    row_price, col_price = u, v
    if problem.transposed:
        order = np.argsort(col)
        row, col = col[order], row[order]
        row_price, col_price = v, u
    if problem.level:
        row_price, col_price = row_price + problem.level, col_price - problem.level
    if problem.negated:
        row_price, col_price = -row_price, -col_price
    if problem.shift is not None:
        row_price = row_price + (-problem.shift if problem.negated else problem.shift)
    if problem.integral:
        row_price, col_price = (np.rint(a).astype(np.int64) for a in (row_price, col_price))
    cost = total(problem, row, col) if cost is None else cost
    return Assignment(row, col, cost, row_price, col_price, device, name, stats, given)


def total(problem: Problem, row, col) -> int | float:
    """Sum of the caller's costs over the pairs."""
    given = problem.given
    if isinstance(given, Dense):
        costs = given.cost[row, col]
    else:
        costs = given.cost[find_pairs(given.indptr, given.indices, row, col)]
    if costs.dtype.kind == "f":
        return float(costs.sum(dtype=np.float64))
    return int(costs.sum(dtype=np.int64))


@kernel
def find_pairs(indptr, indices, row, col):
    """Position of each pair in `indices`, which ascend in each row."""
    position = np.empty(row.size, np.int64)
    for k in range(row.size):
        low, high = indptr[row[k]], indptr[row[k] + 1]
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < col[k]:
                low = middle + 1
            else:
                high = middle
        position[k] = low
    return position
