"""Warm starts on graphs: after changes of capacities, the forests of the last solve are repaired and grown further.

As gridcut/ibfs/strip_tasks.py, which explains the steps, for arcs in lists.

[1] Kohli, Torr. "Dynamic graph cuts for efficient inference in Markov random fields." PAMI 29(12), 2007.
[2] Goldberg, Hed, Kaplan, Kohli, Tarjan, Werneck. "Faster and more dynamic maximum flow by incremental
breadth-first search." ESA 2015.
"""

import numpy as np

from gridcut.core.units import units
from gridcut.device import inlined_kernel, kernel, plain_kernel
from gridcut.graph.graph_forest import (
    ARC,
    BACK,
    BAND,
    FREE,
    ONE,
    ORPHAN,
    OUT,
    REVERSE,
    ROOT,
    SHIFT,
    activate_node,
    augment_path,
    depth_of,
    parent_link,
    repair_forest,
)
from gridcut.graph.residual_graph import find_arc


@plain_kernel
def change_terminals(source, sink, old_source, old_sink, scale, excess, touched):
    """Add the changes of source - sink to the excesses; writes the changed nodes, returns their number."""
    count = 0
    for u in range(excess.size):
        before = units(old_source[u], scale) - units(old_sink[u], scale)
        change = units(source[u], scale) - units(sink[u], scale) - before
        if change != 0:
            excess[u] += change
            touched[count] = u
            count += 1
    return count


@plain_kernel
def change_capacities(indptr, indices, capacity, old_capacity, scale, first, arcs, excess, touched):
    """Change residuals by the changes of the entries, as host_state.py does; returns the number of changed nodes.

    Writes both ends of the changed entries, with repetitions.
    """
    count = 0
    for u in range(excess.size):
        for i in range(indptr[u], indptr[u + 1]):
            if capacity[i] == old_capacity[i] or indices[i] == u:
                continue
            v = indices[i]
            change = units(capacity[i], scale) - units(old_capacity[i], scale)
            a = find_arc(first, arcs, u, v)
            b = np.int64(arcs[a + REVERSE])
            out = np.int64(arcs[a + OUT]) + change
            back = np.int64(arcs[a + BACK])
            if out < 0:
                excess[u] -= out
                excess[v] += out
                back += out
                out = np.int64(0)
            arcs[a + OUT] = out
            arcs[a + BACK] = back
            arcs[b + OUT] = back
            arcs[b + BACK] = out
            touched[count] = u
            touched[count + 1] = v
            count += 2
    return count


@kernel
def reroot_nodes(touched, deepest, first, arcs, excess, forest, work):
    """Reset the changed nodes to roots or free nodes, and repair both forests; nodes that may grow become active.

    `deepest` must bound all depths.  Returns the number of repaired nodes.
    """
    label, parent, queued = forest.label, forest.parent, forest.queued
    source_orphans, sink_orphans, ring, ring_ends = work.source_orphans, work.sink_orphans, work.ring, work.ends
    from_source = 0
    to_sink = 0
    for i in range(touched.size):
        v = np.uint64(touched[i])
        level = np.int64(label[v])
        side = 1 if level > 0 else -1
        a = np.uint64(first[v])
        end = np.uint64(first[v + ONE])
        while a < end:
            q = np.uint64(arcs[a])
            if label[q] != 0:
                activate_node(q, queued, ring, ring_ends)
                if level != 0 and parent[q] == parent_link(v, arcs[a + REVERSE]):
                    parent[q] = ORPHAN
                    if side > 0:
                        source_orphans[from_source] = q
                        from_source += 1
                    else:
                        sink_orphans[to_sink] = q
                        to_sink += 1
            a += ARC
        e = excess[v]
        if e == 0:
            label[v] = 0
            parent[v] = FREE
        else:
            label[v] = BAND if e > 0 else -BAND
            parent[v] = ROOT
            activate_node(v, queued, ring, ring_ends)
    # A node that was itself reset (to a root or to free) is no longer an orphan.
    head = np.full(deepest + 4, -1, ring.dtype)
    return repair_both_forests(from_source, to_sink, head, first, arcs, forest, work)


@inlined_kernel
def repair_both_forests(from_source, to_sink, head, first, arcs, forest, work):
    """Repair both forests after changes, up to the depths that `head` holds; returns the number of repaired nodes."""
    graph = head, first, arcs, forest, work
    limit = head.size - 4
    _, source = repair_forest(1, limit, True, work.source_orphans, from_source, work.detached, 0, *graph)
    _, sink = repair_forest(-1, limit, True, work.sink_orphans, to_sink, work.detached, 0, *graph)
    return source + sink


@kernel
def grow_active_nodes(budget, deepest, first, arcs, excess, forest, work):
    """Scan active nodes until none is left, or more than `budget` nodes have been repaired.

    `deepest` must bound all depths.  Returns the new bound and the numbers of augmentations and of repaired nodes; if
    the latter exceeds the budget, the flow is valid but the forests are not complete.
    """
    label, parent, queued = forest.label, forest.parent, forest.queued
    source_orphans, sink_orphans, ring, ring_ends = work.source_orphans, work.sink_orphans, work.ring, work.ends
    queue, detached = work.queue, work.detached
    head = np.full(max(1024, deepest + 4), -1, ring.dtype)
    augmentations = 0
    repaired = 0
    while ring_ends[0] != ring_ends[1] and repaired <= budget:
        u = np.uint64(ring[ring_ends[0]])
        ring_ends[0] = ring_ends[0] + 1 if ring_ends[0] + 1 < ring.size else 0
        queued[u] = 0
        if label[u] == 0:
            continue
        side = 1 if label[u] > 0 else -1
        away = OUT if side > 0 else BACK
        # Depths stay below the limit: `repair` frees nodes that would exceed it, and growth attaches them again.
        while depth_of(label, u, side) >= head.size - 4:
            head = np.full(2 * head.size, -1, ring.dtype)
        limit = head.size - 4
        a = np.uint64(first[u])
        end = np.uint64(first[u + ONE])
        while a < end:
            w = np.uint64(arcs[a])
            meets = np.int64(label[w]) * side
            if meets > 0 or arcs[a + away] <= 0:
                a += ARC
                continue
            if meets == 0:
                label[w] = ((depth_of(label, u, side) + 1) << SHIFT) * side
                parent[w] = parent_link(u, arcs[a + REVERSE])
                activate_node(w, queued, ring, ring_ends)
                a += ARC
                continue
            augmentations += 1
            from_source, to_sink = augment_path(
                u, a, side, arcs, excess, parent, source_orphans, sink_orphans, queue, detached
            )
            repaired += repair_both_forests(from_source, to_sink, head, first, arcs, forest, work)
            now = depth_of(label, u, side)
            if now <= 0:
                break
            if now >= limit:
                activate_node(u, queued, ring, ring_ends)
                break
    while ring_ends[0] != ring_ends[1]:
        queued[np.uint64(ring[ring_ends[0]])] = 0
        ring_ends[0] = ring_ends[0] + 1 if ring_ends[0] + 1 < ring.size else 0
    return head.size - 4, augmentations, repaired
