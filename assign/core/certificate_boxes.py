"""Costs of boxes as `certify` reads them: computed from the boxes by blocks of rows, with NumPy only."""

import numpy as np

from assign.core.certificate_costs import DenseCosts


class BoxCosts(DenseCosts):
    """1 minus the intersection over union of boxes (left, top, right, bottom), or minus the generalised one."""

    def __init__(self, x: np.ndarray, y: np.ndarray, generalised: bool):
        self.shape = len(x), len(y)
        self.is_integer = self.exact = False
        self._x, self._y, self._generalised, self._mask, self._sign = x, y, generalised, None, 1

    def pairs(self, row, col):
        return self._signed_pairs(self._between(self._x[row], self._y[col]))

    def _rows(self, part: slice) -> np.ndarray:
        return self._between(self._x[part, None], self._y)

    def _between(self, x, y):
        common = hull = 1.0
        for k in (0, 1):
            low, high, other_low, other_high = x[..., k], x[..., k + 2], y[..., k], y[..., k + 2]
            common = common * np.maximum(np.minimum(high, other_high) - np.maximum(low, other_low), 0)
            if self._generalised:
                hull = hull * (np.maximum(high, other_high) - np.minimum(low, other_low))
        union = sum((a[..., 2] - a[..., 0]) * (a[..., 3] - a[..., 1]) for a in (x, y)) - common
        cost = 1 - np.divide(common, union, out=np.zeros_like(common), where=common > 0)
        if self._generalised:
            cost += np.divide(hull - union, hull, out=np.zeros_like(common), where=hull > 0)
        return cost
