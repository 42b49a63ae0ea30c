"""Certificate of a batch: the conditions of assign/core/certificate.py for each of its items."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import maximum_bipartite_matching

from assign.core.certificate import certify, certify_deficient, exact_integers
from assign.core.certificate_costs import DenseCosts
from assign.core.given import MAX_INT_LIMIT, Arguments, checked_field, reread
from gridcut.device import CertificateError
from gridcut.device.arguments import plain_array
from gridcut.device.arrays import on_device, to_host


@dataclass(frozen=True, slots=True, eq=False)
class GivenBatch(Arguments):
    """The arguments of `assign.solve_batch`."""

    costs: object
    rows: object
    cols: object
    max_cost: object
    maximize: bool

    def certify(self, found) -> None:
        """Certify a BatchAssignment, or raise a CertificateError that names the item."""
        with np.errstate(all="ignore"):
            batch = reread(self.read)
            items, n, m = batch.costs.shape
            kind = np.int64 if batch.exact else np.float64
            col = checked_field("col_of_row", found.col_of_row, np.int32, (items, n))
            u = checked_field("row_price", found.row_price, kind, (items, n))
            v = checked_field("col_price", found.col_price, kind, (items, m))
            feasible = checked_field("feasible", found.feasible, np.bool_, (items,))
            total = checked_field("cost", found.cost, kind, (items,)) if "cost" in vars(found) else None
            for b in range(items):
                try:
                    _certify_item(batch.of(b), col[b], u[b], v[b], feasible[b], None if total is None else total[b])
                except CertificateError as error:
                    raise CertificateError(f"item {b}: {error}") from None

    def totals(self, col_of_row) -> np.ndarray:
        """Sum of the costs of each item's pairs; raises CertificateError for a column index out of range."""
        batch = reread(self.read)
        kind = np.int64 if batch.exact else np.float64
        items, n, m = batch.costs.shape
        if col_of_row.shape != (items, n) or not ((col_of_row >= -1) & (col_of_row < m)).all():
            raise CertificateError(f"col_of_row must hold {items} x {n} columns in -1 ... {m - 1}")
        if not batch.costs.size:
            return np.zeros(items, kind)
        place = np.maximum(col_of_row, 0)[:, :, None].astype(np.intp)
        pairs = np.take_along_axis(batch.costs, place, axis=2)[:, :, 0]
        return np.where(col_of_row >= 0, pairs, 0).sum(axis=1, dtype=kind)

    def read(self) -> "Batch":
        """The arguments as host arrays."""
        costs, rows, cols = self.costs, self.rows, self.cols
        if on_device(costs):
            costs = to_host(costs)
        elif isinstance(costs, Sequence):
            matrices = [plain_array("costs", c) for c in costs]
            if len({c.shape for c in matrices}) > 1:
                rows, cols = (np.array([c.shape[axis] for c in matrices]) for axis in (0, 1))
                costs = np.zeros((len(matrices), rows.max(), cols.max()), np.result_type(*matrices))
                for b, matrix in enumerate(matrices):
                    costs[b, : rows[b], : cols[b]] = matrix
            else:
                costs = np.asarray(matrices) if matrices else np.zeros((0, 0, 0))
        costs = plain_array("costs", costs)
        if costs.ndim != 3 or costs.dtype.kind not in "biuf":
            raise ValueError(f"the costs have shape {costs.shape} and dtype {costs.dtype}")
        items, n, m = costs.shape
        rows = np.full(items, n) if rows is None else np.asarray(to_host(rows)).astype(np.int64)
        cols = np.full(items, m) if cols is None else np.asarray(to_host(cols)).astype(np.int64)
        limit, whole = None, True
        if self.max_cost is not None:
            limit = plain_array("max_cost", to_host(self.max_cost))
            limit = np.broadcast_to(limit[:, None] if limit.ndim == 1 else limit, (items, n))
            whole = bool(((limit == np.rint(limit)) & (np.abs(limit.astype(np.float64)) < MAX_INT_LIMIT)).all())
        exact = whole and costs.dtype.kind != "f"
        limit = None if limit is None else limit.astype(np.int64 if exact else np.float64)
        costs = costs if exact else costs.astype(np.float64, copy=False)
        return Batch(costs, rows, cols, limit, -1 if self.maximize else 1, exact)


class Batch(NamedTuple):
    """Costs (items, n, m), true sizes (items,), limits (items, n) or None, as host arrays; or those of one item."""

    costs: np.ndarray
    rows: np.ndarray
    cols: np.ndarray
    limit: np.ndarray | None
    sign: int
    exact: bool

    def of(self, b: int) -> "Batch":
        limit = None if self.limit is None else self.limit[b]
        return Batch(self.costs[b], self.rows[b], self.cols[b], limit, self.sign, self.exact)


def _certify_item(batch: Batch, col_of_row, u, v, feasible, total) -> None:
    """Certify one item, or raise CertificateError."""
    n, m = int(batch.rows), int(batch.cols)
    if (col_of_row[n:] != -1).any() or u[n:].any() or v[m:].any():
        raise CertificateError("a row or column outside the problem's true size is matched or has a nonzero price")
    costs = DenseCosts(batch.costs[:n, :m], None, batch.sign, batch.exact)
    col_of_row, u, v = col_of_row[:n], u[:n], v[:m]
    if not feasible:
        if (col_of_row != -1).any() or u.any() or v.any() or (total is not None and total != 0):
            raise CertificateError("it is infeasible, but a row or column is matched, or has a price or a cost")
        if batch.limit is not None or min(n, m) == 0:
            raise CertificateError("reported as infeasible, but a feasible assignment exists")
        _certify_infeasible(costs)
        return
    row = np.flatnonzero(col_of_row != -1)
    col = col_of_row[row].astype(np.int64)
    sign = batch.sign
    limit = None if batch.limit is None else sign * exact_integers(batch.limit[:n])
    paid = None if total is None else sign * total.item()
    certify(costs, row, col, paid, sign * exact_integers(u), sign * exact_integers(v), limit)


def _certify_infeasible(costs) -> None:
    """Certify that no assignment exists: a maximum matching yields a deficient set of rows, which is then checked."""
    n, m = costs.shape
    allowed = np.stack([costs.partners(np.array([i]), 0) for i in range(n)])
    if n > m:
        allowed = allowed.T
    col_of = maximum_bipartite_matching(scipy.sparse.csr_array(allowed), perm_type="column")
    rows = col_of < 0
    if not rows.any():
        raise CertificateError("reported as infeasible, but a feasible assignment exists")
    while True:  # add the rows matched with columns of the set
        cols = allowed[rows].any(axis=0)
        more = rows | np.isin(col_of, np.flatnonzero(cols))
        if (more == rows).all():
            break
        rows = more
    certify_deficient(costs, np.flatnonzero(rows), np.flatnonzero(cols), "columns" if n > m else "rows")
