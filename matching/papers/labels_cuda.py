"""Shared by the push-relabel methods g_pr_*_cuda: labels, when to recompute them, and the row a column pushes to.

Columns without a row are active. Each takes its neighbouring row of minimum label, even if that row is matched, and
the column that had the row becomes active. Labels are lower bounds on the distance to a free row along alternating
paths, odd for columns, even for rows. A column whose rows all have label n + m is abandoned.

Arrays (n rows, m columns; unreachable = n + m)                      paper [1]
  row_match[r]   the column of r, -1: free; always consistent         mu(u)
  col_match[c]   the row of c if row_match[] of that row is c;        mu(v)
                 else c has no row; -1: no row; ABANDONED: no row
                 can be reached
  row_label[r], col_label[c]                                          psi(u), psi(v)

Races
  If several columns push to the same row in one pass, all of them write row_match[r] and the last write wins. The
  others find a different column in row_match[r] and remain active. A row never loses its partner without getting
  another, so the matching never gets smaller. The label of a row that is pushed to increases by at least 2 from one
  launch (here: pass) to the next, in any order of the writes. It may increase too far, so that a column is abandoned
  too early.

Termination
  Therefore the methods end only when exact labels, recomputed by a breadth-first search from all free rows, reach no
  free column: then there is no augmenting path, and the matching is maximum. If they reach one, the free columns with
  finite labels become active again, and from then on labels are recomputed before every pass. This terminates: from
  exact labels, let d be the minimum label of an active column. No column pushes to a row of label less than d - 1, and
  all rows of label d - 1 adjacent to this column are free or displace a column of label d - 2. So after at most d / 2
  passes, a row is matched that was free. The same is done after n + m passes, which bounds their number in any case.

[1] Deveci, Kaya, Uçar, Çatalyürek. "A push-relabel-based maximum cardinality bipartite matching algorithm on GPUs."
    ICPP 2013. Algorithms 3 to 6.

Deviates from [1]: the loops over passes and levels are inside one kernel, separated by barriers; the last search.
Gap relabeling, which [1] mentions for the GPU too, is not implemented.
"""

from numbers import Integral, Real

import numpy as np

from gridcut.device.cuda import cuda, device_function, grid_sync, relaxed_load
from gridcut.device.cuda_types import int32, int64
from matching.core.grid_cuda import next_grid_slot
from matching.core.problem_cuda import LEVELS

FREE, ABANDONED = -1, -2
ACTIVE = 4  # in counts, three: one per grid slot, see next_grid_slot
PASSES = 7  # in counts
THREADS = 256
ADAPTIVE, FIX = 0, 1


@device_function
def global_relabel(row_ptr, row_adj, row_match, col_match, row_label, col_label, counts, grid_slot, strategy, passes):
    """Algorithms 4 and 5: exact labels; returns (next grid slot, pass of the next call, edges scanned).

    strategy   code and factor of `strategy_of`;  passes: number of passes run, and left before labels are recomputed
               before every pass
    """
    rows = int32(row_match.size)
    cols = int32(col_match.size)
    unreachable = int32(rows + cols)
    thread = int32(cuda.grid(1))
    threads = int32(cuda.gridsize(1))
    r = thread
    while r < rows:
        row_label[r] = int32(0) if row_match[r] == FREE else unreachable
        r = int32(r + threads)
    c = thread
    while c < cols:
        col_label[c] = unreachable
        c = int32(c + threads)
    grid_sync()
    level = int32(0)
    edges = int64(0)
    going = True
    while going:
        following = next_grid_slot(counts, int32(ACTIVE), grid_slot, thread)
        r = thread
        while r < rows:
            if row_label[r] == level:
                k = row_ptr[r]
                end = row_ptr[r + 1]
                edges += end - k
                while k < end:
                    c = row_adj[k]
                    if col_label[c] == unreachable:
                        col_label[c] = int32(level + 1)
                        mate = col_match[c]
                        if mate >= 0 and row_match[mate] == c:
                            row_label[mate] = int32(level + 2)
                            counts[ACTIVE + grid_slot] = 1
                    k += 1
            r = int32(r + threads)
        grid_sync()
        going = relaxed_load(counts, int32(ACTIVE + grid_slot)) > 0
        grid_slot = following
        level = int32(level + 2)
    if thread == 0:
        counts[LEVELS] += level >> 1
    return grid_slot, next_relabel(strategy, passes, level), edges


@device_function
def is_unmatched(row_match, col_match, c):
    """Whether column c has no row."""
    r = col_match[c]
    return r < 0 or row_match[r] != c


@device_function
def fix_matching(row_match, col_match, thread, threads):
    """FIXMATCHING: columns without a row become free."""
    c = thread
    while c < col_match.size:
        if is_unmatched(row_match, col_match, c):
            col_match[c] = int32(FREE)
        c = int32(c + threads)


@device_function
def min_label_row(col_ptr, col_adj, row_label, c, stop_label, unreachable):
    """Algorithm 6, lines 5 to 12: (row of minimum label or -1, its label, edges scanned); stops at `stop_label`."""
    k = col_ptr[c]
    end = col_ptr[c + 1]
    min_label = unreachable
    best = int32(-1)
    while k < end and min_label != stop_label:
        r = col_adj[k]
        label = row_label[r]
        if label < min_label:
            min_label = label
            best = r
        k += 1
    return best, min_label, k - col_ptr[c]


@device_function
def next_relabel(strategy, passes, levels):
    """GETITERGR: the pass before which labels are recomputed next."""
    kind, k = strategy
    passes_run, passes_left = passes
    interval = int64(1)
    if passes_left > 0:
        interval = max(int64(1), int64(k * levels) if kind == ADAPTIVE else int64(k))
    return passes_run + interval


def strategy_of(relabel) -> tuple:
    """Code and factor of ("adaptive", k) or ("fix", k)."""
    try:
        name, k = relabel
        strategy = {"adaptive": ADAPTIVE, "fix": FIX}[name]
        good = isinstance(k, Integral if strategy == FIX else Real) and 0 < k < 2**31
    except (TypeError, ValueError, KeyError):
        good = False
    if not good:
        raise ValueError(
            f'relabel must be ("adaptive", k) with a number k > 0 or ("fix", k) with an integer k > 0, got {relabel!r}'
        )
    return np.int32(strategy), np.float64(k)
