"""G-PR-First, G-PR-NoShr and G-PR-Shr: push-relabel on a GPU, one thread per column.

Return maximum matchings. A pass is one push of every active column; labels are recomputed by the given strategy. In
G-PR-First every pass scans all columns, in the others only lists of the active ones. G-PR-Shr shrinks the lists after
every global relabeling; those of G-PR-NoShr keep their initial length.

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

Lists
  A pass scans the active columns only. Slot i of two lists follows one unit of matching that is still to be placed:
  previous[i] pushed in the last pass, and current[i] is the column that it displaced, or none. If another push to the
  same row overwrote it, previous[i] is active again and current[i] is discarded (roll-back); the displaced column is in
  the slot of the push that won.

  lists[p * m + i]        the two lists, p = 0 and 1 alternately;     A_c, A_p
                          NO_COLUMN: nothing left to do in this slot
  stamp[c]                the pass in which c is active               iA

  The thread of a push reads row_match[r] before it stores its own column there. Active columns are stamped before the
  pass, and no thread pushes to a row whose partner is an active column of this pass. So all threads that push to one
  row have read the same partner, that of the start of the pass, and after the roll-back this partner is in one slot
  only, that of the push that won. Each slot thus ends with a column that is active and in no other slot.

[1] Deveci, Kaya, Uçar, Çatalyürek. "A push-relabel-based maximum cardinality bipartite matching algorithm on GPUs."
    ICPP 2013. Algorithms 3 to 9, and section III.C for the shrinking of lists.

Deviates from [1]: the loops over passes and levels are inside one kernel, separated by barriers; the last search. An
empty slot also empties the slot of the other list (the pseudocode would find a column there, two passes later, that is
matched). As there, shrinking a list replaces the initial kernel, here by a prefix sum over all threads. Gap relabeling,
which [1] mentions for the GPU too, is not implemented.

O((n + m) passes (m + edges of active columns)); 4 n + 4 m bytes in addition to the graph and the matching, with lists
4 n + 20 m.
"""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np

from gridcut.device.arrays import allocate, download, upload
from gridcut.device.cuda import cuda, cuda_kernel, device_function, grid_sync, relaxed_load
from gridcut.device.cuda_types import int32, int64
from matching.core.grid_cuda import MAX_BLOCKS, SCAN_THREADS, add_up, exclusive_scan, next_grid_slot, run_kernel
from matching.core.limits_cuda import check_labels, check_lists
from matching.core.problem_cuda import EDGES, LEVELS, PATH_LENGTH, PHASES, DeviceGraph, as_stats

FREE, ABANDONED, NO_COLUMN = -1, -2, -1
ACTIVE, PASSES, SHRINKS = 4, 7, 8  # in counts; ACTIVE: three, one per grid slot, see next_grid_slot
THREADS = 256
ADAPTIVE, FIX = 0, 1
NEVER_SHRINK = 2**31 - 1


class Labelled(NamedTuple):
    """A graph, a matching and labels, as above."""

    row_ptr: object
    row_adj: object
    col_ptr: object
    col_adj: object
    row_match: object
    col_match: object
    row_label: object
    col_label: object


@device_function
def global_relabel(g, counts, grid_slot, strategy, passes):
    """Algorithms 4 and 5: exact labels; returns (next grid slot, pass of the next call, edges scanned).

    strategy   code and factor of `strategy_of`;  passes: number of passes run, and left before labels are recomputed
               before every pass
    """
    row_ptr, row_adj, _, _, row_match, col_match, row_label, col_label = g
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
def is_unmatched(g, c):
    """Whether column c has no row."""
    r = g.col_match[c]
    return r < 0 or g.row_match[r] != c


@device_function
def free_columns(g, thread, threads):
    """Columns without a row become FREE, or ABANDONED if they reach no free row; returns the number of the former."""
    unreachable = int32(g.row_match.size + g.col_match.size)
    count = int32(0)
    c = thread
    while c < g.col_match.size:
        if is_unmatched(g, c):
            is_reachable = g.col_label[c] < unreachable
            g.col_match[c] = int32(FREE if is_reachable else ABANDONED)
            count = int32(count + is_reachable)
        c = int32(c + threads)
    return count


@device_function
def min_label_row(g, c):
    """Algorithm 6, lines 5 to 12: (row of minimum label or -1, its label, edges scanned)."""
    k = g.col_ptr[c]
    end = g.col_ptr[c + 1]
    stop_label = int32(g.col_label[c] - 1)  # no label of its rows is smaller
    min_label = int32(g.row_match.size + g.col_match.size)
    best = int32(-1)
    while k < end and min_label != stop_label:
        r = g.col_adj[k]
        label = g.row_label[r]
        if label < min_label:
            min_label = label
            best = r
        k += 1
    return best, min_label, k - g.col_ptr[c]


@device_function
def push(g, c, r, label):
    """Match column c with a row of this label, and raise both labels."""
    g.row_match[r] = c
    g.col_match[c] = r
    g.col_label[c] = int32(label + 1)
    g.row_label[r] = int32(label + 2)


@device_function
def next_relabel(strategy, passes, levels):
    """GETITERGR: the pass before which labels are recomputed next."""
    kind, k = strategy
    passes_run, passes_left = passes
    interval = int64(1)
    if passes_left > 0:
        interval = max(int64(1), int64(k * levels) if kind == ADAPTIVE else int64(k))
    return passes_run + interval


@device_function
def finish(g, counts, edges, pushes, relabels, passes):
    """FIXMATCHING: columns without a row become free; and the counts of all threads."""
    thread = int32(cuda.grid(1))
    c = thread
    while c < g.col_match.size:
        if is_unmatched(g, c):
            g.col_match[c] = int32(FREE)
        c = int32(c + cuda.gridsize(1))
    add_up(counts, int32(EDGES), edges)
    add_up(counts, int32(PATH_LENGTH), pushes)
    if thread == 0:
        counts[PHASES] = relabels
        counts[PASSES] = passes


@cuda_kernel
def first_kernel(g, counts, strategy, k):
    """Algorithm 3."""
    row_match, col_match = g.row_match, g.col_match
    cols = int32(col_match.size)
    unreachable = int32(row_match.size + col_match.size)
    thread = int32(cuda.grid(1))
    threads = int32(cuda.gridsize(1))
    grid_slot = int32(0)
    passes_left = int64(unreachable)
    passes = int64(0)
    relabels = int64(0)
    edges = int64(0)
    pushes = int64(0)
    while True:
        grid_slot, next_pass, scanned = global_relabel(g, counts, grid_slot, (strategy, k), (passes, passes_left))
        edges += scanned
        relabels += 1

        following = next_grid_slot(counts, int32(ACTIVE), grid_slot, thread)
        if free_columns(g, thread, threads) > 0:
            counts[ACTIVE + grid_slot] = 1
        grid_sync()
        going = relaxed_load(counts, int32(ACTIVE + grid_slot)) > 0
        grid_slot = following
        if not going:
            break

        while going:
            if passes == next_pass:
                grid_slot, next_pass, scanned = global_relabel(
                    g, counts, grid_slot, (strategy, k), (passes, passes_left)
                )
                edges += scanned
                relabels += 1
            following = next_grid_slot(counts, int32(ACTIVE), grid_slot, thread)
            c = thread
            while c < cols:
                r = col_match[c]
                if r == FREE or (r >= 0 and relaxed_load(row_match, r) != c):
                    counts[ACTIVE + grid_slot] = 1
                    best, min_label, scanned = min_label_row(g, c)
                    edges += scanned
                    if min_label < unreachable:
                        push(g, c, best, min_label)
                        pushes += 1
                    else:
                        col_match[c] = int32(ABANDONED)
                c = int32(c + threads)
            grid_sync()
            going = relaxed_load(counts, int32(ACTIVE + grid_slot)) > 0
            grid_slot = following
            passes += 1
            passes_left -= 1
        passes_left = int64(0)
    finish(g, counts, edges, pushes, relabels, passes)


@device_function
def active_column(g, lists, previous, current):
    """Algorithm 8, lines 3 to 8: the active column of a slot, or NO_COLUMN."""
    c = lists[previous]
    if c != NO_COLUMN and not is_unmatched(g, c):
        c = lists[current]
    return c


# lines: Algorithm 7 in the paper's order, with a barrier of the grid between its steps
@cuda_kernel
def lists_kernel(g, lists, stamp, block_sums, counts, strategy, k, shrink_from):
    """Algorithm 7."""
    row_match, col_match = g.row_match, g.col_match
    cols = int32(col_match.size)
    unreachable = int32(row_match.size + col_match.size)
    thread = int32(cuda.grid(1))
    threads = int32(cuda.gridsize(1))
    grid_slot = int32(0)
    passes_left = int64(unreachable)
    passes = int64(0)
    relabels = int64(0)
    shrinks = int64(0)
    edges = int64(0)
    pushes = int64(0)
    c = thread
    while c < cols:
        stamp[c] = int32(NO_COLUMN)
        c = int32(c + threads)
    while True:
        grid_slot, next_pass, scanned = global_relabel(g, counts, grid_slot, (strategy, k), (passes, passes_left))
        edges += scanned
        relabels += 1

        position, slots = exclusive_scan(free_columns(g, thread, threads), block_sums)
        if slots == 0:
            break
        c = thread
        while c < cols:
            if col_match[c] == FREE:
                lists[position] = c
                lists[cols + position] = c
                position += 1
            c = int32(c + threads)
        grid_sync()

        current = int32(0)
        previous = cols
        shrink = False
        while True:
            if passes == next_pass:
                grid_slot, next_pass, scanned = global_relabel(
                    g, counts, grid_slot, (strategy, k), (passes, passes_left)
                )
                edges += scanned
                relabels += 1
                shrink = slots >= shrink_from
            this_pass = int32(passes)
            if shrink:
                shrink = False
                shrinks += 1
                count = int32(0)
                i = thread
                while i < slots:
                    c = active_column(g, lists, int32(previous + i), int32(current + i))
                    count = int32(count + (c != NO_COLUMN))
                    i = int32(i + threads)
                position, total = exclusive_scan(count, block_sums)
                i = thread
                while i < slots:
                    c = active_column(g, lists, int32(previous + i), int32(current + i))
                    if c != NO_COLUMN:
                        lists[2 * cols + position] = c
                        stamp[c] = this_pass
                        position += 1
                    i = int32(i + threads)
                grid_sync()
                slots = total
                i = thread
                while i < slots:
                    lists[current + i] = lists[2 * cols + i]
                    i = int32(i + threads)
                going = slots > 0
                grid_sync()
            else:
                following = next_grid_slot(counts, int32(ACTIVE), grid_slot, thread)
                i = thread
                while i < slots:
                    c = active_column(g, lists, int32(previous + i), int32(current + i))
                    lists[current + i] = c
                    if c != NO_COLUMN:
                        stamp[c] = this_pass
                        counts[ACTIVE + grid_slot] = 1
                    i = int32(i + threads)
                grid_sync()
                going = relaxed_load(counts, int32(ACTIVE + grid_slot)) > 0
                grid_slot = following
            if not going:
                break

            i = thread
            while i < slots:
                c = lists[current + i]
                displaced = int32(NO_COLUMN)
                if c != NO_COLUMN:
                    best, min_label, scanned = min_label_row(g, c)
                    edges += scanned
                    if min_label < unreachable:
                        mate = relaxed_load(row_match, best)
                        if mate == FREE or stamp[mate] != this_pass:
                            push(g, c, best, min_label)
                            displaced = mate
                            pushes += 1
                    else:
                        col_match[c] = int32(ABANDONED)
                        lists[current + i] = int32(NO_COLUMN)
                lists[previous + i] = displaced
                i = int32(i + threads)
            grid_sync()
            current, previous = previous, current
            passes += 1
            passes_left -= 1
        passes_left = int64(0)

    finish(g, counts, edges, pushes, relabels, passes)
    if thread == 0:
        counts[SHRINKS] = shrinks


def g_pr_first(graph: DeviceGraph, row_match, col_match, *, relabel: tuple = ("adaptive", 0.7)) -> dict:
    """Make a matching on the GPU maximum in place; stats: "phases" counts global relabelings, "path_length" pushes.

    relabel   ("adaptive", k): relabel after k times cLevel passes, twice the number of levels of the last search;
              ("fix", k): relabel after k passes
    """
    return run(first_kernel, THREADS, graph, row_match, col_match, relabel)[0]


def g_pr_noshr(graph: DeviceGraph, row_match, col_match, *, relabel: tuple = ("adaptive", 0.7)) -> dict:
    """As `g_pr_first`."""
    return with_lists("g_pr_noshr", graph, row_match, col_match, relabel, NEVER_SHRINK)


def g_pr_shr(
    graph: DeviceGraph, row_match, col_match, *, relabel: tuple = ("adaptive", 0.7), shrink_from: int = 512
) -> dict:
    """As `g_pr_first`; shrink_from: minimum number of slots of a list that is shrunk."""
    return with_lists("g_pr_shr", graph, row_match, col_match, relabel, shrink_from)


def with_lists(method: str, graph, row_match, col_match, relabel, shrink_from: int) -> dict:
    """The methods with lists."""
    cols = col_match.size
    check_lists(method, "columns", cols, "'g_pr_first' or 'ms_bfs_graft'")
    work = allocate((3 * cols, np.int32), (cols, np.int32), (MAX_BLOCKS, np.int64))
    rest = (work, (np.int32(shrink_from),))
    stats, shrinks = run(lists_kernel, SCAN_THREADS, graph, row_match, col_match, relabel, *rest)
    return {**stats, "shrinks": shrinks}


def run(kernel, threads: int, graph, row_match, col_match, relabel, work=(), numbers=()) -> tuple[dict, int]:
    """Make a matching on the GPU maximum in place; returns counts of the work done, and how often lists shrank."""
    strategy = strategy_of(relabel)
    rows, cols = row_match.size, col_match.size
    check_labels(rows + cols)
    g = Labelled(*graph, row_match, col_match, *allocate((rows, np.int32), (cols, np.int32)))
    counts = upload(np.zeros(9, np.int64))
    run_kernel(kernel, (g, *work, counts, *strategy, *numbers), threads, max(rows, cols))
    counts = download(counts)
    return {**as_stats(counts), "passes": int(counts[PASSES])}, int(counts[SHRINKS])


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
