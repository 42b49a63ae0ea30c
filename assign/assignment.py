"""The result of a solve: pairs, cost, prices, and the certificate that proves it."""

from dataclasses import dataclass, field

import numpy as np

from assign.core.given import Given, GivenPoints
from gridcut.device import CertificateError
from gridcut.device.arrays import on_device, to_host, to_library
from gridcut.device.result import Result

__all__ = ["Assignment", "CertificateError"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Assignment(Result):
    """A cheapest (or, maximising, dearest) assignment, and the prices that prove it.

    Attributes
    ----------
    row, col : ndarray of int64, shape (k,)
        The pairs, rows ascending; k is the smaller side of the matrix unless pairs could stay unmatched.
        Arrays of the caller's library on the GPU if the costs lay there; so are the prices.
    cost : int or float
        Sum of the costs passed in over the pairs; what staying unmatched costs is not in it.
    row_price, col_price : ndarray, shapes (n,) and (m,), int64 or float64
        Minimising: ``cost[i, j] - row_price[i] - col_price[j] >= 0`` for every allowed pair, 0 for those matched;
        the price of a column (or row) that may stay unmatched is at most 0, and 0 if it does; with ``max_cost``
        the price of a row is at most that, and equal if it stays unmatched.  Maximising: all the signs turned.
    device, method : str
        What ran.
    stats : dict
        Counts of the solver, and "seconds" by phase.

    Notes
    -----
    The costs are kept by reference, and with them `mask` and `max_cost`.  Copies made by `pickle` and `copy.deepcopy`
    hold copies of them, on the host.
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
        """Prove the assignment optimal from its pairs, cost and prices and from the costs passed in.

        Raises CertificateError if a field does not fit the others or the costs.  Exact for integers; for floats see
        `assign.core.certificate`.  The costs are read again: if they have been changed since, the assignment is proved
        for the changed ones, or refused.  O(n m) for dense costs; costs on a GPU are read there.
        """
        self._given.certify(self)

    @property
    def col_of_row(self) -> np.ndarray:
        """The column of each row, -1: unmatched; shape (n,)."""
        return _partner(self.row, self.col, len(self.row_price))

    @property
    def row_of_col(self) -> np.ndarray:
        """The row of each column, -1: unmatched; shape (m,)."""
        return _partner(self.col, self.row, len(self.col_price))


def _partner(of, partner, size: int):
    if not on_device(of):
        found = np.full(size, -1, np.int64)
        found[of] = partner
        return found
    library = type(of).__module__.split(".")[0]
    return to_library(_partner(to_host(of), to_host(partner), size), library)
