"""Whether all rows can be matched, and a deficient set of rows if not.

SciPy finds a maximum matching.  The rows that alternating paths reach from a row it leaves unmatched are deficient: all
their columns are matched with other rows of the set, so there is one column too few (Hall's condition).
"""

import numpy as np
from scipy.sparse import csr_array

from assign.core.infeasible import InfeasibleError


def check_feasible(indptr, indices, n, m):
    """Find a matching of all rows, col_of_row (int32), or raise InfeasibleError with a deficient set.

    Row i of n is allowed the columns indices[indptr[i] : indptr[i + 1]] of m; costs are not used.
    """
    from scipy.sparse.csgraph import breadth_first_order, maximum_bipartite_matching  # which not every solve needs

    ones = np.ones(len(indices), np.int8)
    col_of = maximum_bipartite_matching(csr_array((ones, indices, indptr), shape=(n, m)), perm_type="column")
    matched = col_of >= 0
    if matched.all():
        return col_of
    root = int(np.argmin(matched))
    row_of = np.full(m, root)  # also of columns without a row, which no path from the root reaches
    row_of[col_of[matched]] = np.flatnonzero(matched)
    paths = csr_array((ones, row_of[indices], indptr), shape=(n, n))
    raise deficiency(indptr, indices, breadth_first_order(paths, root, return_predecessors=False))


def deficiency(indptr, indices, rows) -> InfeasibleError:
    """The error for a deficient set of rows."""
    inside = np.zeros(len(indptr) - 1, bool)
    inside[rows] = True
    allowed = np.zeros(int(indices.max(initial=-1)) + 1, bool)
    allowed[indices[np.repeat(inside, np.diff(indptr))]] = True
    return InfeasibleError(np.flatnonzero(inside), np.flatnonzero(allowed))
