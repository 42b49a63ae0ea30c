"""Many small assignment problems in one call, on CPU threads.

Returns the columns of the rows, the prices and a status for every problem.  The problems are distributed among threads,
a few at a time.  A thread solves one problem at a time in its own memory, small enough for its nearest cache, by
`solve_numbers` of assign/dense/jonker_volgenant.py.

Arrays (items first)
  cost[b, i, j]       int32, int64, float32, float64;  +inf: forbidden
  rows[b], cols[b]    the true size; costs outside it are never read, and the shorter side is matched
  limit[b, i]         cost at which row i may stay unmatched, int64 or float64;  no columns: all must be matched
  col_of_row[b, i]    -1: unmatched, or outside the true size
  u[b, i], v[b, j]    int64 or float64;  0 outside the true size
  status[b]           0, or 1: infeasible, and the above are -1 and 0

[1] Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems." Computing
38, 1987.

O(n^2 m) per problem; memory 8 n m bytes per thread.
"""

import numpy as np

from assign.dense.jonker_volgenant import infeasible, memory_size, solve_numbers
from gridcut.device import atomic_add, plain_kernel, run_threads, thread_count
from gridcut.device.arguments import unmarked

SOLVED, INFEASIBLE = 0, 1
MAX_SHARE = 16  # maximum number of problems that a thread takes at a time
MIN_COSTS_PER_THREAD = 100_000  # half a millisecond; a thread starts in a tenth of one


@plain_kernel
def solve_shares(counter, share, cost, rows, cols, limit, memory, col, col_of_row, u, v, status):
    """Solve problems until none is left; the atomic counter distributes them among threads."""
    items = cost.shape[0]
    while True:
        first = atomic_add(counter, 0, np.int64(share))
        if first >= items:
            break
        for b in range(first, min(first + share, items)):
            r, c = np.int64(rows[b]), np.int64(cols[b])
            if c == 0 and limit.shape[1] > 0:
                for i in range(r):
                    u[b, i] = limit[b, i]
            elif r > 0 and c > 0:
                found, _ = solve_numbers(cost[b], r, c, 1, None, limit[b], memory, col, u[b], v[b])
                if found != SOLVED:
                    status[b] = INFEASIBLE
                    continue
                for i in range(r):
                    col_of_row[b, i] = col[i]


def solve(costs, *, rows=None, cols=None, limit=None, threads=None):
    """Columns of the rows, prices and status of every problem, and counters.

    limit     (items, n) cost of staying unmatched
    threads   number of threads; None: numba's number
    """
    items, n, m = costs.shape
    real = np.int64 if costs.dtype.kind == "i" else np.float64
    col_of_row = np.full((items, n), -1, np.int32)
    u, v = np.zeros((items, n), real), np.zeros((items, m), real)
    status = np.zeros(items, np.uint8)
    rows = np.full(items, n, np.int32) if rows is None else rows
    cols = np.full(items, m, np.int32) if cols is None else cols
    turned = np.flatnonzero(rows > cols) if limit is None else np.empty(0, np.int64)
    if len(turned):
        part = np.ascontiguousarray(costs[turned].transpose(0, 2, 1))
        found = solve(part, rows=cols[turned], cols=rows[turned], threads=threads)
        row_of, v[turned], u[turned], status[turned], _ = found
        item, j = np.nonzero(row_of >= 0)
        col_of_row[turned[item], row_of[item, j]] = j
        rows = np.where(rows > cols, np.int32(0), rows)
    limit = np.empty((items, 0), real) if limit is None else np.ascontiguousarray(limit, real)
    costs, rows, cols, limit = map(unmarked, (costs, rows, cols, limit))
    max_threads = max(1, items * n * m // MIN_COSTS_PER_THREAD)
    threads = max(1, min(threads or thread_count(), items, max_threads))
    memory = np.empty((threads, memory_size(max(n, 1), max(n, m, 1))), np.int64)
    col = np.empty((threads, max(n, 1)), np.int32)
    share = max(1, min(MAX_SHARE, items // (8 * threads)))
    arguments = (np.zeros(1, np.int64), share, costs, rows, cols, limit)
    results = (col_of_row, u, v, status)
    run_threads(lambda t: solve_shares(*arguments, memory[t], col[t], *results), threads)
    return *results, {"threads": threads}


def solve_one(cost, *, limit=None, start=None, callback=None):
    """Column of each row, prices u and v, and counters, of a matrix with n <= m; `start` is not needed.

    The method "jonker_volgenant": the same algorithm on any such matrix, with limits and forbidden pairs.
    """
    col_of_row, u, v, status, _ = solve(cost[None], limit=None if limit is None else limit[None], threads=1)
    if status[0] != SOLVED:
        raise infeasible(cost)
    stats: dict = {}
    if callback is not None:
        callback(dict(stats))
    return col_of_row[0], u[0], v[0], stats
