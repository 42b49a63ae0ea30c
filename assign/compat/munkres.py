"""The class and functions of the package munkres: `import assign.compat.munkres as munkres`."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from assign.compat.scipy import linear_sum_assignment

__all__ = ["DISALLOWED", "Munkres", "UnsolvableMatrix", "make_cost_matrix", "print_matrix"]


class UnsolvableMatrix(ValueError):
    """Every assignment contains a disallowed pair."""


class DISALLOWED_OBJ:
    """Type of `DISALLOWED`."""


DISALLOWED = DISALLOWED_OBJ()
DISALLOWED_PRINTVAL = "D"


def make_cost_matrix(profit_matrix: Any, inversion_function: Callable[[Any], Any] | None = None) -> list[list]:
    """Costs from profits: `inversion_function` of each entry (default: the maximum minus the entry)."""
    if inversion_function is None:
        largest = max(value for row in profit_matrix for value in row if not _is_disallowed(value))
        return make_cost_matrix(profit_matrix, lambda value: largest - value)
    return [[value if _is_disallowed(value) else inversion_function(value) for value in row] for row in profit_matrix]


def print_matrix(matrix: Any, msg: str | None = None) -> None:
    """Print a matrix in columns of equal width, with "D" for disallowed pairs, after the line `msg`."""
    texts = [[DISALLOWED_PRINTVAL if _is_disallowed(value) else str(value) for value in row] for row in matrix]
    width = max((len(text) for row in texts for text in row), default=0)
    lines = ["[" + ", ".join(text.rjust(width) for text in row) + "]" for row in texts]
    sys.stdout.writelines(f"{line}\n" for line in ([] if msg is None else [msg]) + lines)


class Munkres:
    """Solve dense linear assignment problems with the interface of `munkres.Munkres`.

    Examples
    --------
    >>> from assign.compat.munkres import DISALLOWED, Munkres
    >>> Munkres().compute([[5, 9, DISALLOWED], [10, DISALLOWED, 2], [8, 7, 4]])
    [(0, 0), (1, 2), (2, 1)]
    """

    make_cost_matrix = staticmethod(make_cost_matrix)

    def compute(self, cost_matrix: Any) -> list[tuple[int, int]]:
        """Return the pairs of an assignment of minimum total cost.

        Parameters
        ----------
        cost_matrix : sequence of rows, of any shape
            Cost of each pair; `DISALLOWED` and inf forbid it.

        Returns
        -------
        list of (int, int)
            min(n, m) pairs (row, column), by ascending row.

        Raises
        ------
        TypeError
            If the costs are not numbers.
        ValueError
            If rows differ in length, or for NaN and -inf; `UnsolvableMatrix` if there is no assignment of allowed
            pairs.

        Notes
        -----
        Only differences of integers matter, so integers of any size are exact if they differ by less than 2**53.
        Decimals and fractions are rounded to float64, after the smallest of them has been subtracted.
        """
        disallowed = np.array([[_is_disallowed(value) for value in row] for row in cost_matrix], bool)
        costs = np.array([[0 if _is_disallowed(value) else value for value in row] for row in cost_matrix])
        if not costs.size:
            return []
        if costs.dtype.kind in "iuO" and not disallowed.all():
            costs = costs.astype(object)
            costs = (costs - costs[~disallowed].min()).astype(np.float64)
        costs = np.where(disallowed, np.inf, costs)
        try:
            row, col = linear_sum_assignment(costs)
        except ValueError as error:
            if "infeasible" not in str(error):
                raise
            raise UnsolvableMatrix("Every assignment contains a disallowed pair.") from error
        return list(zip(row.tolist(), col.tolist(), strict=True))

    def pad_matrix(self, matrix: Any, pad_value: Any = 0) -> list[list]:
        """The matrix as a square list of lists, filled up with `pad_value`."""
        size = max(len(matrix), max((len(row) for row in matrix), default=0))
        padded = [[*row, *[pad_value] * (size - len(row))] for row in matrix]
        return padded + [[pad_value] * size for _ in range(size - len(padded))]


def _is_disallowed(value: Any) -> bool:
    return isinstance(value, DISALLOWED_OBJ)  # copies, too
