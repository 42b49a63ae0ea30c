"""The error raised when not every row can be matched, with a deficient set of rows that certifies it."""

import numpy as np
from numpy.typing import ArrayLike

MAX_LISTED = 8  # row and column indices listed in the message


class InfeasibleError(ValueError):
    """No assignment exists: `rows` have only `cols` as allowed columns, and len(cols) < len(rows) (Hall's condition).

    Attributes
    ----------
    rows, cols : ndarray of int64
        A deficient set and all its allowed partners, in the caller's matrix.  If there are fewer columns than rows,
        `side` is "columns": `rows` holds the deficient columns, and `cols` their allowed rows.
    side : {"rows", "columns"}
        The side of the deficient set.
    """

    def __init__(self, rows: ArrayLike, cols: ArrayLike, side: str = "rows"):
        self.rows = np.asarray(rows, np.int64)
        self.cols = np.asarray(cols, np.int64)
        self.side = side
        one, other = ("row", "column") if side == "rows" else ("column", "row")
        verb = "has" if len(self.rows) == 1 else "have"
        only, total = ("only ", " in total") if len(self.cols) else ("", "")
        super().__init__(
            f"no assignment exists: {_counted(self.rows, one)} {verb} {only}{_counted(self.cols, 'allowed ' + other)}"
            f"{total}; allow more pairs, or pass max_cost to leave some unmatched"
        )

    def __reduce__(self):
        return type(self), (self.rows, self.cols, self.side)

    def check(self, cost: object, mask: ArrayLike | None = None) -> None:
        """Certify from the arguments of `assign.solve` that no assignment exists; raises CertificateError."""
        from assign.core.given import certify_infeasible

        certify_infeasible(cost, mask, self.rows, self.cols, self.side)

    def transposed(self) -> "InfeasibleError":
        """The same error for the transposed matrix."""
        return InfeasibleError(self.rows, self.cols, "columns" if self.side == "rows" else "rows")


def _counted(numbers, noun: str) -> str:
    """For example "2 rows (0, 3)"."""
    if not len(numbers):
        return f"no {noun}"
    shown = ", ".join(map(str, numbers[:MAX_LISTED])) + (", ..." if len(numbers) > MAX_LISTED else "")
    return f"{len(numbers)} {noun}{'s' if len(numbers) > 1 else ''} ({shown})"
