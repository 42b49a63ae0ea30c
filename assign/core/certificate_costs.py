"""Costs as `certify` reads them: those of the caller's rows and columns, negated to maximise.

    shape                  (n, m)
    is_integer             the costs are integers
    exact                  all comparisons are exact: costs and max_cost are integers; otherwise all is float64
    pairs(row, col)        costs of pairs, and whether they are allowed; integer costs stay integers if not exact
    reduced(p, axis)       minimum over allowed pairs of cost[i, j] - p[j] per row (axis 1), or of
                           cost[i, j] - p[i] per column (axis 0); very large if no pair is allowed
    slacks(u, v, tol)      minimum over allowed pairs of cost[i, j] - u[i] - v[j] per row; values of at least -tol / 2
                           may be given as 0
    largest(b, axis)       largest absolute cost that is at most b[i] (axis 1) or b[j] (axis 0); floats only
    partners(part, axis)   whether each column is allowed for one of the rows `part` (axis 0; axis 1: exchanged)

No solver shares this code.  O(n m) per call for dense costs, which are read in blocks of BLOCK_COSTS costs.
"""

import numpy as np
import scipy

from assign.core.certificate import MAX_SAFE, exact_integers

BLOCK_COSTS = 1 << 17
# Reduced integer cost if no pair is allowed; positive even after subtracting any int64 price in use.
FORBIDDEN = 2 * MAX_SAFE


class DenseCosts:
    """A matrix; +inf (-inf to maximise) and pairs outside the mask are forbidden."""

    def __init__(self, matrix: np.ndarray, mask, sign: int, integer_limit: bool):
        if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
            raise ValueError(f"the costs have shape {matrix.shape} and dtype {matrix.dtype}")
        if mask is not None and (mask.shape != matrix.shape or mask.dtype != np.bool_):
            raise ValueError(f"the mask has shape {mask.shape} and dtype {mask.dtype}")
        self.shape = matrix.shape
        self.is_integer = matrix.dtype.kind != "f"
        self.exact = self.is_integer and integer_limit
        self._matrix, self._mask, self._sign = matrix, mask, sign

    def pairs(self, row, col):
        values = signed(self._matrix[row, col], self._sign)
        allowed = np.isfinite(values) if values.dtype.kind == "f" else np.ones(len(values), bool)
        return values, allowed if self._mask is None else allowed & self._mask[row, col]

    def reduced(self, price, axis: int) -> np.ndarray:
        if 0 in self.shape:
            return np.full(self.shape[1 - axis], np.inf)
        found = []
        for part in self._parts():
            cost, allowed = self._block(part)
            left = cost - (price if axis else price[part, None])
            if allowed is not None:
                left[~allowed] = np.inf if left.dtype == object or left.dtype.kind == "f" else FORBIDDEN
            found.append(left.min(axis=axis))
        return np.concatenate(found) if axis else np.minimum.reduce(found)

    def slacks(self, u, v, tolerance) -> np.ndarray:
        return self.reduced(v, 1) - u

    def largest(self, bound, axis: int) -> float:
        found = 0.0
        for part in self._parts():
            cost, allowed = self._block(part)
            within = (cost <= (bound[part, None] if axis else bound)) & np.isfinite(cost)
            if allowed is not None:
                within &= allowed
            found = max(found, float(np.abs(cost[within]).max(initial=0)))
        return found

    def partners(self, part, axis: int) -> np.ndarray:
        part = part[:, None], np.arange(self.shape[1])
        if axis:
            part = np.arange(self.shape[0])[:, None], part[0].T
        values = self._matrix[part]
        allowed = np.isfinite(values) if values.dtype.kind == "f" else np.ones(values.shape, bool)
        return np.any(allowed if self._mask is None else allowed & self._mask[part], axis=axis)

    def _parts(self):
        n, m = self.shape
        step = max(1, BLOCK_COSTS // max(m, 1))
        return [slice(first, min(first + step, n)) for first in range(0, n, step)]

    def _block(self, part: slice):
        """Costs of some rows as int64, float64 or objects, and the part of the mask for them, or None."""
        cost = signed(self._rows(part), self._sign)
        if not self.exact:
            cost = cost.astype(np.float64, copy=False)
        return cost, None if self._mask is None else self._mask[part]

    def _rows(self, part: slice) -> np.ndarray:
        return self._matrix[part]


class SparseCosts:
    """Stored pairs, with duplicates summed; all other pairs are forbidden."""

    def __init__(self, row, col, values, shape, sign: int, integer_limit: bool):
        self.shape = n, m = tuple(map(int, shape))
        matrix = scipy.sparse.coo_array((values, (row, col)), shape=(n, m))  # checks the indices
        if values.dtype.kind not in "biuf":
            raise ValueError(f"the costs have dtype {values.dtype}")
        self.is_integer = values.dtype.kind != "f"
        self.exact = self.is_integer and integer_limit
        self._keys, place = np.unique(matrix.row.astype(np.int64) * m + matrix.col, return_inverse=True)
        values = signed(values, sign)
        twice = self.is_integer and len(self._keys) < len(values)
        self._values = np.zeros(len(self._keys), object if twice else values.dtype)
        np.add.at(self._values, place, values)
        self._values = exact_integers(self._values)
        self._row, self._col = np.divmod(self._keys, max(m, 1))

    def pairs(self, row, col):
        keys = row * self.shape[1] + col
        if not len(self._keys):
            return np.zeros(len(keys), self._values.dtype), np.zeros(len(keys), bool)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        values = self._values[place]
        allowed = self._keys[place] == keys
        return values, allowed & np.isfinite(values) if values.dtype.kind == "f" else allowed

    def reduced(self, price, axis: int) -> np.ndarray:
        left = self._numbers() - price[self._col if axis else self._row]
        none = FORBIDDEN if left.dtype.kind == "i" else np.inf
        found = np.full(self.shape[1 - axis], none, left.dtype)
        np.minimum.at(found, self._row if axis else self._col, left)
        return found

    def slacks(self, u, v, tolerance) -> np.ndarray:
        return self.reduced(v, 1) - u

    def largest(self, bound, axis: int) -> float:
        values = self._numbers()
        return float(np.abs(values[values <= bound[self._row if axis else self._col]]).max(initial=0))

    def partners(self, part, axis: int) -> np.ndarray:
        own, other = (self._col, self._row) if axis else (self._row, self._col)
        found = np.zeros(self.shape[1 - axis], bool)
        found[other[np.isin(own, part)]] = True
        return found

    def _numbers(self):
        return self._values if self.exact else self._values.astype(np.float64, copy=False)


def signed(values: np.ndarray, sign: int) -> np.ndarray:
    """Values times 1 or -1, as int64 (objects if they are very large) or float64."""
    wide = values.astype(np.float64, copy=False) if values.dtype.kind == "f" else exact_integers(values)
    return wide if sign == 1 else -wide
