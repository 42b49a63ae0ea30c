"""The caller's arguments, kept with a result so that `check()` can certify the result from them.

Every solve imports this file; the certificate is imported when it is asked for.
"""

from dataclasses import dataclass, fields

import numpy as np

from gridcut.device import CertificateError
from gridcut.device.arguments import plain_array
from gridcut.device.arrays import on_device, to_host
from gridcut.device.sparse import is_sparse

MAX_INT_LIMIT = 2.0**62  # integers in `max_cost` from this size on are treated as floats


class Arguments:
    """Base class: references to the caller's arguments; pickled and deep copies hold GPU arrays on the host."""

    __slots__ = ()

    def __reduce__(self):
        values = (getattr(self, f.name) for f in fields(self))
        return type(self), tuple(to_host(value) if on_device(value) else value for value in values)


@dataclass(slots=True, eq=False)  # not frozen, which would take half a microsecond more
class Given(Arguments):
    """The arguments of `assign.solve`."""

    cost: object
    mask: object
    max_cost: object
    maximize: bool

    def certify(self, found) -> None:
        """Certify an Assignment, or raise CertificateError."""
        _certify(found, self._costs, self.max_cost, self.maximize)

    def _costs(self, is_integer: bool):
        return costs_of(self.cost, self.mask, self.maximize, is_integer)


@dataclass(frozen=True, slots=True, eq=False)
class GivenPoints(Arguments):
    """The arguments of `assign.solve_points`."""

    x: object
    y: object
    metric: str
    max_cost: object

    def certify(self, found) -> None:
        """Certify an Assignment, or raise CertificateError."""
        _certify(found, self._costs, self.max_cost, False)

    def _costs(self, is_integer: bool):
        from assign.core.certificate_points import PointCosts

        return PointCosts(np.asarray(self.x, np.float64), np.asarray(self.y, np.float64), self.metric)


def certify_infeasible(cost, mask, rows, cols, side: str) -> None:
    """Certify an InfeasibleError, or raise CertificateError."""
    from assign.core.certificate import certify_deficient

    with np.errstate(all="ignore"):
        certify_deficient(reread(lambda: costs_of(cost, mask, False, True)), rows, cols, side)


def costs_of(cost, mask, maximize: bool, is_integer: bool):
    """The costs that `certify` reads, from a matrix in any form that `assign.solve` accepts."""
    from assign.core.certificate_costs import DenseCosts, SparseCosts

    sign = -1 if maximize else 1
    cost = to_host(cost)
    if is_sparse(cost):
        return SparseCosts(*entries_of(cost), cost.shape, sign, is_integer)
    if isinstance(cost, tuple) and len(cost) == 4 and np.ndim(cost[3]) == 1:
        return SparseCosts(*entries_of_rows(*(plain_array("cost", a) for a in cost[:3])), cost[3], sign, is_integer)
    return DenseCosts(plain_array("cost", cost), None if mask is None else np.asarray(mask), sign, is_integer)


def entries_of(matrix):
    """Row, column and cost of each stored entry of a SciPy matrix, in any order."""
    if matrix.format in ("csr", "csc"):  # not by SciPy, which rejects unused storage after the last entry
        major, minor, values = entries_of_rows(matrix.indptr, matrix.indices, matrix.data)
        return (major, minor, values) if matrix.format == "csr" else (minor, major, values)
    coo = (matrix.copy() if matrix.format == "lil" else matrix).tocoo()  # SciPy cannot convert read-only lists
    return coo.row, coo.col, coo.data


def entries_of_rows(indptr, indices, values):
    """Row, column and cost of each entry of compressed rows."""
    counts = np.diff(indptr.astype(np.int64))
    stored = int(counts.sum())
    return np.repeat(np.arange(len(counts)), counts), indices[:stored].astype(np.int64), values[:stored]


def limits_of(max_cost, shape):
    """`max_cost` per row, and whether all are integers."""
    if max_cost is None:
        return None, True
    array = plain_array("max_cost", to_host(max_cost))
    is_integer = bool(((array == np.rint(array)) & (np.abs(array.astype(np.float64)) < MAX_INT_LIMIT)).all())
    return np.broadcast_to(array.astype(np.int64 if is_integer else np.float64), shape), is_integer


def checked_field(name: str, value, dtype, shape=None) -> np.ndarray:
    """A field of a result as a host array; raises CertificateError if its dtype or shape differs."""
    array = to_host(value) if on_device(value) else value
    if not isinstance(array, np.ndarray) or array.dtype != dtype:
        kind = getattr(array, "dtype", type(array).__name__)
        raise CertificateError(f"{name} must be an array of {np.dtype(dtype)}, got {kind}")
    if shape is not None and array.shape != shape:
        raise CertificateError(f"{name} must have the shape {shape}, got {array.shape}")
    return array


def _certify(found, costs, max_cost, maximize: bool) -> None:
    from assign.core.certificate import certify, exact_integers

    with np.errstate(all="ignore"):
        row, col = checked_field("row", found.row, np.int64), checked_field("col", found.col, np.int64)
        costs, limit = reread(lambda: _with_limits(costs, max_cost))
        n, m = costs.shape
        sign = -1 if maximize else 1
        kind = np.int64 if costs.exact else np.float64
        u = checked_field("row_price", found.row_price, kind, (n,))
        v = checked_field("col_price", found.col_price, kind, (m,))
        _check_number(found.cost, costs.is_integer)
        limit = None if limit is None else sign * exact_integers(limit.astype(kind))
        certify(costs, row, col, sign * found.cost, sign * exact_integers(u), sign * exact_integers(v), limit)


def _with_limits(costs, max_cost):
    _, is_integer = limits_of(max_cost, np.shape(max_cost))
    costs = costs(is_integer)
    return costs, limits_of(max_cost, costs.shape[:1])[0]


def reread(read):
    """Read the caller's arguments again; raises CertificateError if that fails."""
    try:
        return read()
    except (TypeError, ValueError, IndexError) as error:
        raise CertificateError(f"the costs cannot be read as they were passed: {error}") from error


def _check_number(cost, is_integer: bool) -> None:
    right = (int, np.integer) if is_integer else (float, np.floating)
    if isinstance(cost, bool) or not isinstance(cost, right):
        raise CertificateError(f"cost must be {'an int' if is_integer else 'a float'}, got {type(cost).__name__}")
