"""What is raised when not every row can be matched, and the rows that prove it."""

import numpy as np

from assign.sparse import feasible

MAX_LISTED = 8  # rows and columns named in the message


class InfeasibleError(ValueError):
    """No assignment exists: `rows` have fewer allowed columns, `cols`, than there are of them (Hall's condition).

    Attributes
    ----------
    rows, cols : ndarray of int64
        A deficient set and all its allowed partners, of the matrix as it was passed in; rows and columns are
        exchanged (`side` is "columns") when there are fewer columns than rows.
    side : {"rows", "columns"}
    """

    def __init__(self, rows, cols, side="rows"):
        self.rows = np.asarray(rows, np.int64)
        self.cols = np.asarray(cols, np.int64)
        self.side = side
        one, other = ("row", "column") if side == "rows" else ("column", "row")
        super().__init__(
            f"no assignment exists: {_counted(self.rows, one)} have {'only ' if len(self.cols) else ''}"
            f"{_counted(self.cols, 'allowed ' + other)} between them; allow more pairs, or pass max_cost= to "
            "leave some unmatched"
        )

    def __reduce__(self):
        return type(self), (self.rows, self.cols, self.side)

    def check(self, cost, mask=None) -> None:
        """Prove from the arguments of `assign.solve` that no assignment exists; raises CertificateError."""
        from assign.core.given import certify_infeasible

        certify_infeasible(cost, mask, self.rows, self.cols, self.side)

    def transposed(self) -> "InfeasibleError":
        """The same for the transposed matrix."""
        return InfeasibleError(self.rows, self.cols, "columns" if self.side == "rows" else "rows")


def check_feasible(indptr, indices, n, m):
    """A matching of all rows, col_of_row (int32), or InfeasibleError with a deficient set.

    Row i of n may have the columns indices[indptr[i] : indptr[i + 1]] of m; costs do not matter.
    """
    col_of, rows = feasible.solve(indptr, indices, n, m)
    if rows is not None:
        raise deficiency(indptr, indices, rows)
    return col_of


def deficiency(indptr, indices, rows) -> InfeasibleError:
    """The error for a deficient set of rows."""
    inside = np.zeros(len(indptr) - 1, bool)
    inside[rows] = True
    allowed = np.zeros(int(indices.max(initial=-1)) + 1, bool)
    allowed[indices[np.repeat(inside, np.diff(indptr))]] = True
    return InfeasibleError(np.flatnonzero(inside), np.flatnonzero(allowed))


def _counted(numbers, noun: str) -> str:
    """Such as "2 rows (0, 3)"."""
    if not len(numbers):
        return f"no {noun}"
    shown = ", ".join(map(str, numbers[:MAX_LISTED])) + (", ..." if len(numbers) > MAX_LISTED else "")
    return f"{len(numbers)} {noun}{'s' if len(numbers) > 1 else ''} ({shown})"
