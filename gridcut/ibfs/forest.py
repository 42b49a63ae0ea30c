"""Two forests of residual paths, shortest ones during a search (search.py), and their operations: augment and repair.

A source tree grows from pixels with excess along arcs with residual capacity; a sink tree grows against such arcs
from pixels with a deficit.  `side` is +1 for the source forest, -1 for the sink forest.

Arrays
  label[p]    side * depth: +1, +2, ... in the source forest, -1, -2, ... in the sink forest, 0: free
  parent[p]   arc k to the parent, p + step[k], whose depth is one less; ROOT; FREE
              ORPHAN: the arc was saturated or the root has no excess left;  DETACHED: removed during a repair
  link[p]     next cell of a list of orphans of the same depth;  head[d]: the first cell, -1: none (so between calls);
              only ends[2] entries are in use so far

  |label[p]| > 1   =>   label[p + step[parent[p]]] == label[p] - side, and the arc between them has capacity

Invariant (I) of a search: a cell that is not waiting to be scanned has no arc with capacity along which its forest
could grow or meet the other one.

`repair` restores exact depths.  In order of depth, it detaches every cell that has lost its parent and has no other
candidate parent at its parent's depth.  Then it attaches the detached cells again, breadth-first.  Each cell is
processed once, and labels are again shortest distances to the cells that stayed attached (in [1], an orphan may be
relabeled many times).

[1] Goldberg, Hed, Kaplan, Tarjan, Werneck. "Maximum flows by incremental breadth-first search." ESA 2011.
[2] Goldberg, Hed, Kaplan, Kohli, Tarjan, Werneck. "Faster and more dynamic maximum flow by incremental
breadth-first search." ESA 2015.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device import inlined_kernel, inner_kernel, lowest_bit

DETACHED = np.uint8(252)
ROOT = np.uint8(253)
ORPHAN = np.uint8(254)
FREE = np.uint8(255)
DEPTHS = 1024  # entries of `Work.head` that are in use at first
MAX_ARCS = 64  # sets of arcs are the bits of one integer
ZERO = np.uint64(0)
ONE = np.uint64(1)


class Forest(NamedTuple):
    """The forests of all cells; threads work on disjoint ranges of cells."""

    label: np.ndarray
    parent: np.ndarray
    link: np.ndarray
    queued: np.ndarray  # 1: the cell is in a ring of active cells


class Work(NamedTuple):
    """Lists of one thread, each as long as its range of cells (memory is allocated when it is first written)."""

    source_now: np.ndarray
    source_next: np.ndarray
    sink_now: np.ndarray
    sink_next: np.ndarray
    source_orphans: np.ndarray
    sink_orphans: np.ndarray
    detached: np.ndarray
    queue: np.ndarray
    ring: np.ndarray  # active cells, first in, first out
    ends: np.ndarray  # positions of the first entry of the ring and after its last; number of entries of head in use
    head: np.ndarray  # first cells of the lists of orphans by depth, all -1 between calls


def make_work(cells: int, index_type) -> Work:
    """The lists for a range of cells."""
    lists = [np.empty(cells + 1, index_type) for _ in range(9)]
    head = np.empty(cells + 8, index_type)  # no path is longer
    head[:DEPTHS] = -1
    return Work(*lists, np.array([0, 0, min(DEPTHS, head.size)]), head)


@inner_kernel
def use_depths(depths, ends, head):
    """Let `head` have at least `depths` entries in use, if it is long enough."""
    while ends[2] < depths and ends[2] < head.size:
        end = 2 * ends[2] if 2 * ends[2] < head.size else head.size
        for d in range(ends[2], end):
            head[d] = -1
        ends[2] = end


@inner_kernel
def activate(v, queued, ring, ends):
    """Append v to the ring of active cells, unless it is in the ring."""
    if queued[v] == 0:
        queued[v] = 1
        end = ends[1]
        ring[end] = v
        ends[1] = end + 1 if end + 1 < ring.size else 0


@inner_kernel
def compact(cells, count, label, level):
    """Remove from a list the cells that have left the level, and repetitions; returns the number of cells left."""
    left = 0
    for i in range(count):
        v = np.uint64(cells[i])
        if label[v] == level:
            label[v] = 0
            cells[left] = v
            left += 1
    for i in range(left):
        label[np.uint64(cells[i])] = level
    return left


@inlined_kernel
def capacity_to_root(x, amount, side, excess, residual, jump, parent):
    """The minimum of an amount and the capacities between x, in the forest of `side`, and its root."""
    arcs = np.uint64(jump.size)
    while parent[x] != ROOT:
        k = np.uint64(parent[x])
        y = x + jump[k]
        r = np.int64(residual[y * arcs + (k ^ ONE)] if side > 0 else residual[x * arcs + k])
        amount = r if r < amount else amount
        x = y
    r = side * np.int64(excess[x])
    return r if r < amount else amount


@inlined_kernel
def push_to_root(x, amount, side, excess, residual, jump, parent, orphans):
    """Push an amount between x, in the forest of `side`, and its root; returns the number of new orphans."""
    arcs = np.uint64(jump.size)
    count = 0
    while True:
        c = parent[x]
        y = x
        if c == ROOT:
            r = side * np.int64(excess[x]) - amount
            excess[x] = side * r
        else:
            k = np.uint64(c)
            y = x + jump[k]
            out, back = y * arcs + (k ^ ONE), x * arcs + k
            if side < 0:
                out, back = back, out
            r = np.int64(residual[out]) - amount
            residual[out] = r
            residual[back] += amount
        parent[x] = ORPHAN if r == 0 else c
        orphans[count] = x
        if r == 0:
            count += 1
        if c == ROOT:
            return count
        x = y


@inlined_kernel
def augment(u, w, k, side, excess, residual, jump, parent, source_orphans, sink_orphans):
    """Push the bottleneck capacity from root to root through arc k of u, which leads to w in the other forest.

    u is in the forest of `side`.  Returns the numbers of new orphans in the two lists.
    """
    arcs = np.uint64(jump.size)
    a, b = u, w
    there, back = u * arcs + k, w * arcs + (k ^ ONE)
    if side < 0:
        a, b = w, u
        there, back = back, there
    amount = capacity_to_root(a, np.int64(residual[there]), 1, excess, residual, jump, parent)
    amount = capacity_to_root(b, amount, -1, excess, residual, jump, parent)
    from_source = push_to_root(a, amount, 1, excess, residual, jump, parent, source_orphans)
    to_sink = push_to_root(b, amount, -1, excess, residual, jump, parent, sink_orphans)
    residual[there] -= amount
    residual[back] += amount
    return from_source, to_sink


@inner_kernel
def can_adopt(side, residual, v, q, k, arcs):
    """Whether the residual capacity lets q, at the end of v's arc k, become the parent of v."""
    if side > 0:
        return residual[q * arcs + (k ^ ONE)] > 0
    return residual[v * arcs + k] > 0


@inner_kernel
def adopters(v, above, side, residual, step, label):
    """A mask with bit k set if the end of v's arc k is at the level `above` and can become the parent of v.

    This and the following masks are computed without branches on data, which processors cannot predict.
    """
    arcs = np.uint64(len(step))
    mask = ZERO
    for i in range(len(step)):
        k = np.uint64(i)
        q = v + step[i]
        mask |= np.uint64((label[q] == above) & can_adopt(side, residual, v, q, k, arcs)) << k
    return mask


@inner_kernel
def children(v, below, step, label, parent):
    """A mask with bit k set if v is the parent of the end of its arc k, which is at the level `below`."""
    mask = ZERO
    for i in range(len(step)):
        k = np.uint64(i)
        q = v + step[i]
        mask |= np.uint64((parent[q] == np.uint8(k ^ ONE)) & (label[q] == below)) << k
    return mask


# lines: not split yet
@inlined_kernel
def repair(side, limit, merging, orphans, count, frontier, waiting, residual, step, jump, forest, work):
    """Find new parents of depth below `limit` for the orphans of one forest and their descendants, or free them.

    Listed cells that are no orphans are skipped.
    A cell that is attached at depth `limit` has to be scanned: it is appended to `frontier` (merging == False).  When
    merging, cells may be scanned in any order, so the neighbours that may attach a freed cell become active.
    Returns the length of `frontier` and the number of detached cells.
    """
    label, parent, link, queued = forest
    detached, queue, ring, ends, head = work.detached, work.queue, work.ring, work.ends, work.head
    arcs = np.uint64(len(step))
    low = limit + 1
    high = 0
    for i in range(count):
        v = np.uint64(orphans[i])
        if parent[v] != ORPHAN:
            continue
        d = np.int64(label[v]) * side
        link[v] = head[d]
        head[d] = v
        low = d if d < low else low
        high = d if d > high else high
    # Detach, in order of depth: all smaller depths are final.
    n_detached = 0
    d = low
    while d <= high:
        i = head[d]
        head[d] = -1
        while i >= 0:
            v = np.uint64(i)
            i = link[v]
            mask = adopters(v, (d - 1) * side, side, residual, step, label) if d > 1 else ZERO
            if mask != ZERO:
                parent[v] = lowest_bit(mask)
            else:
                parent[v] = DETACHED
                label[v] = 0
                detached[n_detached] = v
                n_detached += 1
                mask = children(v, (d + 1) * side, step, label, parent)
                if mask != ZERO:
                    high = d + 1 if d >= high else high
                while mask != ZERO:
                    q = v + jump[lowest_bit(mask)]
                    mask &= mask - ONE
                    parent[q] = ORPHAN
                    link[q] = head[d + 1]
                    head[d + 1] = q
        d += 1
    # Sort the detached cells by the depth of their best attached neighbour ...
    low = limit + 1
    for i in range(n_detached):
        v = np.uint64(detached[i])
        best = limit + 1
        for k in range(arcs):
            q = v + jump[k]
            d = np.int64(label[q]) * side + 1
            is_better = (d > 1) & (d < best) & can_adopt(side, residual, v, q, k, arcs)
            best = d if is_better else best
        if best <= limit:
            link[v] = head[best]
            head[best] = v
            low = best if best < low else low
            high = best if best > high else high
    # ... and attach them breadth-first from there.
    front = 0
    back = 0
    d = low
    while d <= high or front < back:
        i = head[d]
        head[d] = -1
        above = (d - 1) * side
        while i >= 0:
            v = np.uint64(i)
            i = link[v]
            if parent[v] == DETACHED:
                parent[v] = lowest_bit(adopters(v, above, side, residual, step, label))
                label[v] = d * side
                queue[back] = v
                back += 1
        end = back
        if d < limit:
            below = (d + 1) * side
            while front < end:
                v = np.uint64(queue[front])
                front += 1
                for k in range(arcs):
                    q = v + jump[k]
                    if parent[q] == DETACHED and can_adopt(side, residual, q, v, k ^ ONE, arcs):
                        parent[q] = k ^ ONE
                        label[q] = below
                        queue[back] = q
                        back += 1
        else:
            while front < end:
                if not merging:
                    if waiting == frontier.size:
                        waiting = compact(frontier, waiting, label, limit * side)
                    frontier[waiting] = queue[front]
                    waiting += 1
                front += 1
        d += 1
    if back < n_detached:
        for i in range(n_detached):
            v = np.uint64(detached[i])
            if parent[v] == DETACHED:
                parent[v] = FREE
                if merging:
                    for k in range(arcs):
                        q = v + jump[k]
                        if label[q] > 0:
                            if residual[q * arcs + (k ^ ONE)] > 0:
                                activate(q, queued, ring, ends)
                        elif label[q] < 0:
                            if residual[v * arcs + k] > 0:
                                activate(q, queued, ring, ends)
    return waiting, n_detached
