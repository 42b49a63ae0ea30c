"""The state of one solve of dense costs on the CPU (dense.py): n rows, m columns, lists of k columns.

Kernels receive the fields as a plain tuple, which numba unpacks faster than a named one: 0.2 instead of 3 microseconds
per call, of 40 for a matrix of 10 x 10.
"""

from typing import NamedTuple

import numpy as np


class Work(NamedTuple):
    """Costs, prices, matching and lists; any feasible prices and tight pairs are a valid state."""

    cost: np.ndarray  # (n, m)
    v: np.ndarray  # prices of the columns; they never rise
    u: np.ndarray  # prices of the rows
    limit: np.ndarray  # cost of leaving a row unmatched; empty: every row must be matched
    col_of: np.ndarray  # column of each row, or -1
    row_of: np.ndarray  # row of each column, or -1
    infinity: object  # larger than any price or distance
    column: np.ndarray  # (n, k)  the lists: see cheap_columns.py
    price: np.ndarray  # (n, k)
    low: np.ndarray  # (n, k)
    bound: np.ndarray
    width: np.ndarray
    free: np.ndarray  # rows to match, with space for one more
    minima: np.ndarray  # memory for the minima of the groups of a row, while its list is rebuilt
