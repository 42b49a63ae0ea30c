"""Continued growth of two forests after arcs or cells have changed: for merges of ranges and warm starts.

Cells that may grow or meet the other forest wait in a ring and are scanned in the order in which they became active, as
in [1].  Depths stay consistent (a child's is its parent's plus one) but are no longer shortest.  So this is efficient
for small changes only, and `budget` limits the repairs, above which a search from scratch is cheaper.

It ends: `budget` bounds the repairs, an augmentation pushes at least one unit, and otherwise a cell becomes active only
when it joins a forest.

[1] Boykov, Kolmogorov. "An experimental comparison of min-cut/max-flow algorithms for energy minimization in
vision." PAMI 26(9), 2004.
"""

import numpy as np

from gridcut.device import inner_kernel, plain_kernel
from gridcut.ibfs.forest import FREE, ONE, ORPHAN, ROOT, ZERO, activate, augment, repair, use_depths


# args: not bundled yet
@inner_kernel
def scan_active(
    budget, excess, residual, step, jump, label, parent, link, queued,
    source_orphans, sink_orphans, detached, queue, ring, ends, head,
):  # fmt: skip
    """`grow_active` until a cell is too deep for `head`: numbers of augmentations and of repaired cells."""
    arcs = np.uint64(len(step))
    limit = ends[2] - 4  # `repair` frees cells that would reach it, and growth attaches them again
    augmentations = 0
    repaired = 0
    while ends[0] != ends[1] and repaired <= budget:
        u = np.uint64(ring[ends[0]])
        level = np.int64(label[u])
        if abs(level) >= limit:
            break
        ends[0] = ends[0] + 1 if ends[0] + 1 < ring.size else 0
        queued[u] = 0
        if level == 0:
            continue
        side = 1 if level > 0 else -1
        k = ZERO
        while k < arcs:
            w = u + jump[k]
            meets = np.int64(label[w]) * side
            if meets > 0:
                k += ONE
                continue
            r = np.int64(residual[u * arcs + k] if side > 0 else residual[w * arcs + (k ^ ONE)])
            if r <= 0:
                k += ONE
                continue
            if meets == 0:
                label[w] = label[u] + side
                parent[w] = k ^ ONE
                activate(w, queued, ring, ends)
                k += ONE
                continue
            augmentations += 1
            from_source, to_sink = augment(u, w, k, side, excess, residual, jump, parent, source_orphans, sink_orphans)
            if from_source > 0:
                _, moved = repair(
                    1, limit, True, residual, step, jump, label, parent, link, queued,
                    source_orphans, from_source, detached, 0, detached, queue, ring, ends, head,
                )  # fmt: skip
                repaired += moved
            if to_sink > 0:
                _, moved = repair(
                    -1, limit, True, residual, step, jump, label, parent, link, queued,
                    sink_orphans, to_sink, detached, 0, detached, queue, ring, ends, head,
                )  # fmt: skip
                repaired += moved
            now = np.int64(label[u]) * side
            if now <= 0:
                break
            if now >= limit:
                activate(u, queued, ring, ends)
                break
    return augmentations, repaired


@plain_kernel
def grow_active(budget, deepest, excess, residual, step, jump, forest, work):
    """Scan active cells until none is left, or more than `budget` cells have been repaired.

    `deepest` must bound all depths.  Returns the new bound and the numbers of augmentations and of repaired cells; if
    the latter exceeds the budget, the flow is valid but the forests are not complete.
    """
    label, parent, link, queued = forest
    source_orphans, sink_orphans = work.source_orphans, work.sink_orphans
    detached, queue, ring, ends = work.detached, work.queue, work.ring, work.ends
    head = work.head
    use_depths(deepest + 4, ends, head)
    augmentations = 0
    repaired = 0
    while ends[0] != ends[1] and repaired <= budget:
        use_depths(np.int64(abs(label[np.uint64(ring[ends[0]])])) + 5, ends, head)
        more, moved = scan_active(
            budget - repaired, excess, residual, step, jump, label, parent, link, queued,
            source_orphans, sink_orphans, detached, queue, ring, ends, head,
        )  # fmt: skip
        augmentations += more
        repaired += moved
    while ends[0] != ends[1]:
        queued[np.uint64(ring[ends[0]])] = 0
        ends[0] = ends[0] + 1 if ends[0] + 1 < ring.size else 0
    return ends[2] - 4, augmentations, repaired


# Warm starts: after changes of some capacities, the forests of the last solve are repaired and grown further.
#
# Each changed cell is removed from its tree and becomes a root if it has excess or a deficit.  Its former children
# are repaired as orphans, and only the affected cells are scanned again (forest.py, merge.py).  The changes
# themselves are reparametrisations as in [1]; the repair of trees after them follows [2].
#
# [1] Kohli, Torr. "Dynamic graph cuts for efficient inference in Markov random fields." PAMI 29(12), 2007.
# [2] Goldberg, Hed, Kaplan, Kohli, Tarjan, Werneck. "Faster and more dynamic maximum flow by incremental
# breadth-first search." ESA 2015.


@plain_kernel
def resume(cells, budget, excess, residual, step, jump, deepest, forest, work):
    """`reroot` and `grow_active` in one call from Python, since passing their arrays takes as long as small changes.

    Returns the new bound of all depths, and the numbers of augmentations and of cells repaired by either.
    """
    repaired = reroot(cells, excess, residual, step, jump, deepest, forest, work)
    deepest, augmentations, more = grow_active(budget, deepest, excess, residual, step, jump, forest, work)
    return deepest, augmentations, repaired, more


@plain_kernel
def reroot(cells, excess, residual, step, jump, deepest, forest, work):
    """Reset the changed cells to roots or free cells, and repair both forests; cells that may grow become active.

    A new root scans all its arcs, so its neighbours need not; those of a freed cell may attach it.

    `deepest` must bound all depths.  Returns the number of repaired cells.
    """
    label, parent, link, queued = forest
    source_orphans, sink_orphans = work.source_orphans, work.sink_orphans
    detached, queue, ring, ends = work.detached, work.queue, work.ring, work.ends
    arcs = np.uint64(len(step))
    from_source = 0
    to_sink = 0
    for i in range(cells.size):
        v = np.uint64(cells[i])
        level = np.int64(label[v])
        side = 1 if level > 0 else -1
        e = np.int64(excess[v])
        for k in range(arcs):
            q = v + jump[k]
            if label[q] != 0:
                if e == 0:
                    activate(q, queued, ring, ends)
                if level != 0 and parent[q] == np.uint8(k ^ ONE) and label[q] == level + side:
                    parent[q] = ORPHAN
                    if side > 0:
                        source_orphans[from_source] = q
                        from_source += 1
                    else:
                        sink_orphans[to_sink] = q
                        to_sink += 1
        if e == 0:
            label[v] = 0
            parent[v] = FREE
        else:
            label[v] = 1 if e > 0 else -1
            parent[v] = ROOT
            activate(v, queued, ring, ends)
    # A cell that was itself reset (to a root or to free) is no longer an orphan.
    from_source = keep_orphans(source_orphans, from_source, parent)
    to_sink = keep_orphans(sink_orphans, to_sink, parent)
    head = work.head
    use_depths(deepest + 4, ends, head)
    limit = ends[2] - 4
    _, source_repaired = repair(
        1, limit, True, residual, step, jump, label, parent, link, queued,
        source_orphans, from_source, detached, 0, detached, queue, ring, ends, head,
    )  # fmt: skip
    _, sink_repaired = repair(
        -1, limit, True, residual, step, jump, label, parent, link, queued,
        sink_orphans, to_sink, detached, 0, detached, queue, ring, ends, head,
    )  # fmt: skip
    return source_repaired + sink_repaired


@inner_kernel
def keep_orphans(cells, count, parent):
    """Remove from a list the cells that are not orphans; returns the number of cells left."""
    left = 0
    for i in range(count):
        v = np.uint64(cells[i])
        if parent[v] == ORPHAN:
            cells[left] = v
            left += 1
    return left
