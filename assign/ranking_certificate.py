"""Certificate of the k cheapest assignments: the others are divided into parts, and the minimum of each is certified.

The parts are those of Murty's method, rebuilt from the assignments alone.  A part is a number of rows that have the
columns of one assignment, and columns that the next row must not have.  Each assignment is in one part, which it
divides into the parts that differ from it first in row 0, 1, ...  In the end, no part contains one of the assignments,
and together they contain all others.
"""

import numpy as np

from assign.batch_solving import solve_batch
from assign.core.certificate import certify_pairs, certify_total, tolerance
from gridcut.device import CertificateError

MAX_COSTS = 1 << 22  # of the matrices that are certified in one batch


def certify_ranking(cost, found, totals, k: int) -> None:
    """Certify that `found` (k, n), with -1 nowhere, are the k cheapest assignments of a matrix with n <= m.

    totals   their costs, ascending
    k        number requested; fewer are certified to be all
    """
    shape = cost.shape
    rows = np.arange(shape[0])
    slack = 0 if cost.dtype.kind == "i" else tolerance(shape, float(np.abs(cost[rows, found]).max(initial=0)))
    for columns, total in zip(found, totals.tolist(), strict=True):
        certify_pairs(shape, rows, columns)
        certify_total(total, cost[rows, columns])
    if (np.diff(totals) < -slack).any():
        raise CertificateError("the costs do not ascend")
    parts: list[tuple[np.ndarray, frozenset[int]]] = [(np.empty(0, np.int64), frozenset())]
    for columns in found:
        parts = [part for old in parts for part in _divided(old, columns)]
    if len(np.unique(found, axis=0)) < len(found):
        raise CertificateError("an assignment is listed twice")
    step = max(1, MAX_COSTS // max(cost.size, 1))
    for first in range(0, len(parts), step):
        _certify_parts(cost, parts[first : first + step], None if len(found) < k else totals[-1] - slack)


def _divided(part, columns):
    """The parts of a part without one of its assignments; the part itself if it does not contain the assignment."""
    fixed, banned = part
    n = len(fixed)
    if not (columns[:n] == fixed).all() or (n < len(columns) and int(columns[n]) in banned):
        return [part]
    return [
        (columns[:t], (banned if t == n else frozenset()) | {int(columns[t])}) for t in range(n, len(columns))
    ]  # fmt: skip


def _certify_parts(cost, parts, least) -> None:
    matrices = np.repeat(cost.astype(np.float64)[None], len(parts), axis=0)
    for matrix, (fixed, banned) in zip(matrices, parts, strict=True):
        rows = np.arange(len(fixed))
        kept = matrix[rows, fixed]
        matrix[rows] = matrix[:, fixed] = np.inf
        matrix[rows, fixed] = kept
        matrix[len(fixed), list(banned)] = np.inf
    best = solve_batch(matrices, device="cpu")
    best.check()
    cheaper = best.feasible if least is None else best.feasible & (best.cost < least)
    if cheaper.any():
        raise CertificateError("another assignment costs less" if least is not None else "there is another assignment")
