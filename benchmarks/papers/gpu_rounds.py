"""The rounds of Deveci's GPU programs, counted on a CPU: APFB and APsB (Euro-Par 2013), and G-PR (ICPP 2013).

Every kernel is executed by its threads in one of the legal orders: the searches and `alternate` one thread after the
other, pushes with all reads before all writes.  Rounds and levels on a GPU depend on the order that its threads happen
to have, so these numbers are of the programs, not of a run of them.

Arrays as in the papers: row_match (rmatch, mu), col_match (cmatch, mu), bfs, root, predecessor, psi.
"""

import numpy as np

from gridcut.device import kernel

START = 2  # L_0 of the papers
MAX_ROUNDS = 1 << 16
FEW = 32  # active columns: fewer than one warp has threads


@kernel
def search_level(col_ptr, col_adj, row_match, bfs, root, predecessor, level, with_roots):
    """GPUBFS or GPUBFS-WR for one level; whether columns were added, whether paths were found, and edges.

    With roots, a column is skipped if its root has a path, and else scanned to the end, as in the programs for a GPU.
    """
    added, found, edges = False, False, 0
    for c in range(bfs.size):
        if bfs[c] != level or (with_roots and bfs[root[c]] < START - 1):
            continue
        for a in range(col_ptr[c], col_ptr[c + 1]):
            r = col_adj[a]
            edges += 1
            mate = row_match[r]
            if mate >= 0 and bfs[mate] == START - 1:
                added = True
                bfs[mate] = level + 1
                root[mate] = root[c]
                predecessor[r] = c
            elif mate == -1:
                row_match[r] = -2
                predecessor[r] = c
                found = True
                if with_roots:
                    bfs[root[c]] = START - 2
    return added, found, edges


@kernel
def alternate(row_match, col_match, predecessor, bfs, root, by_record):
    """Algorithm 3 for all ends of paths, and FixMatching; by_record: only for one end per root, as in APsB-WR."""
    if by_record:
        for r in range(row_match.size):
            if row_match[r] == -2:
                bfs[root[predecessor[r]]] = ~r
    for end in range(row_match.size):
        if row_match[end] != -2 or (by_record and bfs[root[predecessor[end]]] != ~end):
            continue
        r = end
        while r >= 0:
            c = predecessor[r]
            before = col_match[c]
            if before >= 0 and predecessor[before] == c:
                break
            col_match[c] = r
            row_match[r] = c
            r = before
    for r in range(row_match.size):
        if row_match[r] == -2 or (row_match[r] >= 0 and col_match[row_match[r]] != r):
            row_match[r] = -1


@kernel
def augment_in_rounds(col_ptr, col_adj, row_match, col_match, shortest, with_roots, by_record):
    """APsB (shortest) or APFB in place; the number of levels of each round, and the edges traversed.

    by_record   augment from one recorded row per root only, which the papers do in APsB with roots
    """
    bfs, root = np.empty(col_match.size, np.int32), np.empty(col_match.size, np.int32)
    predecessor = np.empty(row_match.size, np.int32)
    levels = np.zeros(MAX_ROUNDS, np.int32)
    rounds, edges = 0, 0
    while rounds < MAX_ROUNDS:
        for c in range(bfs.size):
            bfs[c] = START if col_match[c] < 0 else START - 1
            root[c] = c
        predecessor[:] = -1
        level, any_path = START, False
        while True:
            added, found, more = search_level(col_ptr, col_adj, row_match, bfs, root, predecessor, level, with_roots)
            edges += more
            any_path |= found
            level += 1
            if not added or (shortest and found):
                break
        levels[rounds] = level - START
        rounds += 1
        if not any_path:
            break
        alternate(row_match, col_match, predecessor, bfs, root, by_record)
    return levels[:rounds], edges


@kernel
def relabel(row_ptr, row_adj, row_match, col_match, row_label, col_label):
    """Algorithms 4 and 5; the largest level."""
    far = row_label.size + col_label.size
    col_label[:] = far
    queue = np.empty(row_label.size, np.int32)
    tail = 0
    for r in range(row_label.size):
        row_label[r] = far
        if row_match[r] == -1:
            row_label[r] = 0
            queue[tail] = r
            tail += 1
    head, largest = 0, 0
    while head < tail:
        r = queue[head]
        head += 1
        largest = row_label[r] + 2
        for a in range(row_ptr[r], row_ptr[r + 1]):
            c = row_adj[a]
            if col_label[c] == far:
                col_label[c] = row_label[r] + 1
                mate = col_match[c]
                if mate >= 0 and row_match[mate] == c:
                    row_label[mate] = row_label[r] + 2
                    queue[tail] = mate
                    tail += 1
    return largest


@kernel
def push_in_rounds(row_ptr, row_adj, col_ptr, col_adj, row_match, col_match, factor, adaptive, exact_start):
    """G-PR-First in place; push kernels, global relabelings, their levels, pushes, conflicts and edges.

    The last two results are the kernels with at most FEW active columns, and the columns that FixMatching frees.

    factor       k of (adaptive, k), times the largest level, or of (fix, k), kernels between two global relabelings
    exact_start  start with a global relabeling; False, for (fix, k) only: after k kernels
    """
    n, m = row_match.size, col_match.size
    row_label, col_label = np.zeros(n, np.int32), np.ones(m, np.int32)
    chosen, active = np.empty(m, np.int32), np.empty(m, np.int32)
    least_of = np.empty(m, np.int32)
    rounds, levels, relabelings, pushes, conflicts, edges, few, fixed = 0, 0, 0, 0, 0, 0, 0, 0
    due = 0 if exact_start else int(factor)
    while True:
        if rounds == due:
            largest = relabel(row_ptr, row_adj, row_match, col_match, row_label, col_label)
            levels += largest // 2
            relabelings += 1
            due = rounds + max(1, int(factor * largest) if adaptive else int(factor))
        count = 0
        for c in range(m):
            r = col_match[c]
            if r == -1 or (r >= 0 and row_match[r] != c):
                active[count] = c
                count += 1
        if count == 0:
            break
        for i in range(count):
            c = active[i]
            least, best = n + m, -1
            for a in range(col_ptr[c], col_ptr[c + 1]):
                edges += 1
                r = col_adj[a]
                if row_label[r] < least:
                    least, best = row_label[r], r
                    if least == col_label[c] - 1:
                        break
            chosen[i] = best
            least_of[i] = least
        for i in range(count):
            c = active[i]
            if least_of[i] < n + m:
                row_match[chosen[i]] = c
                col_match[c] = chosen[i]
                col_label[c] = least_of[i] + 1
                row_label[chosen[i]] = least_of[i] + 2
                pushes += 1
            else:
                col_match[c] = -2
        for i in range(count):
            conflicts += col_match[active[i]] >= 0 and row_match[col_match[active[i]]] != active[i]
        rounds += 1
        few += count <= FEW
    for c in range(m):
        if col_match[c] >= 0 and row_match[col_match[c]] != c:
            col_match[c] = -1
            fixed += 1
    return rounds, relabelings, levels, pushes, conflicts, edges, few, fixed
