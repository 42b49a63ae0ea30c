"""Warm starts: after changes of some capacities, the forests of the last solve are repaired and grown further.

Each changed cell is removed from its tree and becomes a root if it has excess or a deficit.  Its former children are
repaired as orphans, and only the affected cells are scanned again (forest.py, merge.py).  The changes themselves are
reparametrisations as in [1]; the repair of trees after them follows [2].

[1] Kohli, Torr. "Dynamic graph cuts for efficient inference in Markov random fields." PAMI 29(12), 2007.
[2] Goldberg, Hed, Kaplan, Kohli, Tarjan, Werneck. "Faster and more dynamic maximum flow by incremental
breadth-first search." ESA 2015.
"""

import numpy as np

from gridcut.device import inner_kernel, plain_kernel
from gridcut.ibfs.forest import FREE, ONE, ORPHAN, ROOT, activate, repair, use_depths
from gridcut.ibfs.merge import grow_active


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
