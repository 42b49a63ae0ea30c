"""Warm starts: after some capacities have changed, repair the forests of the last solve and go on from there.

Every changed cell is taken out of its tree and planted anew, as a root if it has excess or a deficit; what hung on
it is repaired, and only what that touches is scanned again (forest.py, join.py).  The changes themselves are
reparametrisations as in [1]; repair trees after them as in [2].

[1] Kohli, Torr. "Dynamic graph cuts for efficient inference in Markov random fields." PAMI 29(12), 2007.
[2] Goldberg, Hed, Kaplan, Kohli, Tarjan, Werneck. "Faster and more dynamic maximum flow by incremental
breadth-first search." ESA 2015.
"""

import numpy as np

from gridcut.device import kernel
from gridcut.ibfs.forest import NONE, ONE, ORPHAN, ROOT, activate, repair


@kernel
def reroot(cells, excess, residual, step, deepest, forest, work):
    """Plant the changed cells anew and repair both forests; what may grow from here on becomes active.

    No cell may lie deeper than `deepest`.  Returns the number of repaired cells.
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
        for k in range(arcs):
            q = v + step[k]
            if label[q] != 0:
                activate(q, queued, ring, ends)
                if level != 0 and parent[q] == np.uint8(k ^ ONE) and label[q] == level + side:
                    parent[q] = ORPHAN
                    if side > 0:
                        source_orphans[from_source] = q
                        from_source += 1
                    else:
                        sink_orphans[to_sink] = q
                        to_sink += 1
        e = excess[v]
        if e == 0:
            label[v] = 0
            parent[v] = NONE
        else:
            label[v] = 1 if e > 0 else -1
            parent[v] = ROOT
            activate(v, queued, ring, ends)
    # An orphan that was planted anew itself is none any more.
    from_source = keep_orphans(source_orphans, from_source, parent)
    to_sink = keep_orphans(sink_orphans, to_sink, parent)
    head = np.full(deepest + 4, -1, detached.dtype)
    limit = head.size - 4
    merging = deepest > 0  # constants in disguise, as in join.py
    none = np.int64(head[0] + 1)
    _, source_repaired = repair(
        1, limit, merging, residual, step, label, parent, link, queued,
        source_orphans, from_source, detached, none, detached, queue, ring, ends, head,
    )  # fmt: skip
    _, sink_repaired = repair(
        -1, limit, merging, residual, step, label, parent, link, queued,
        sink_orphans, to_sink, detached, none, detached, queue, ring, ends, head,
    )  # fmt: skip
    return source_repaired + sink_repaired


@kernel
def keep_orphans(cells, count, parent):
    """Keep the orphans of a list; returns how many they are."""
    left = 0
    for i in range(count):
        v = np.uint64(cells[i])
        if parent[v] == ORPHAN:
            cells[left] = v
            left += 1
    return left
