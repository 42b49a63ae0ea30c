"""Two forests of shortest residual paths in a graph, and the operations on them: push, augment and repair.

As gridcut/ibfs/forest.py, for arcs in lists: that file explains the forests, the repair and the source.  A source tree
grows from nodes with excess along arcs with residual capacity; a sink tree grows against such arcs from nodes with a
deficit.  `side` is +1 for the source forest, -1 for the sink forest.

Arrays, in addition to those of gridcut/graph/residual_graph.py
  label[u]    side * (BAND * depth + rank), 0 <= rank < BAND; 0: free.  Labels increase from a parent to its children
  parent[u]   2^32 * parent + (arc of u that leads to it) / 4, or ROOT, ORPHAN, DETACHED, FREE: with both, a walk
              to the root loads one word per node, and the capacities of its arcs are loaded without delaying it
  link[u]     next node of a list of orphans of the same depth;  head[d]: the first node, -1: none (so between calls)

Unlike there, a depth has BAND labels.  An orphan may become a child of any node whose label is smaller than its own,
or equal (then its rank increases by one): no such node is its descendant.  On the grid, only a node of the depth above
can adopt an orphan.  Here most orphans stay at their depth, with their subtrees, and a root without excess becomes a
child of another root: five to six times fewer nodes are detached where flow goes far.  Depths are lower bounds of the
distances to the roots, as the labels of push-relabel, and never decrease in a search.

[1] Goldberg, Hed, Kaplan, Tarjan, Werneck. "Maximum flows by incremental breadth-first search." ESA 2011.
[2] Goldberg, Hed, Kaplan, Kohli, Tarjan, Werneck. "Faster and more dynamic maximum flow by incremental
breadth-first search." ESA 2015.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device import inlined_kernel
from gridcut.device.intrinsics import prefetch
from gridcut.graph.residual_graph import ARC, BACK, ONE, OUT, REVERSE, ResidualGraph

ROOT = -1
ORPHAN = -2
DETACHED = -3
FREE = -4
ZERO = np.uint64(0)
SHIFT = 4  # a depth has 2^SHIFT labels
BAND = 1 << SHIFT
INFINITY = 2**62
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
TWO = np.uint64(2)
MAX_ARCS = 2**32  # that `parent` can hold


class GraphForest(NamedTuple):
    """The forests of all nodes."""

    label: np.ndarray
    parent: np.ndarray
    link: np.ndarray
    queued: np.ndarray  # 1: the node is in the ring of active nodes


class GraphWork(NamedTuple):
    """Lists of one search, each as long as the nodes (memory is allocated when it is first written)."""

    source_now: np.ndarray
    source_next: np.ndarray
    sink_now: np.ndarray
    sink_next: np.ndarray
    source_orphans: np.ndarray
    sink_orphans: np.ndarray
    detached: np.ndarray
    queue: np.ndarray
    path: np.ndarray
    ring: np.ndarray  # active nodes, first in, first out
    ends: np.ndarray  # positions of the first entry of the ring and after its last


def make_graph_forest(graph: ResidualGraph) -> GraphForest:
    """Arrays for the forests, which a search initializes; raises ValueError if the graph has too many arcs for them."""
    nodes, index_type = graph.nodes, graph.first.dtype
    if graph.arcs.size // 4 > MAX_ARCS:
        raise ValueError(f"graph must have at most {MAX_ARCS} arcs, got {graph.arcs.size // 4}")
    label, link = np.empty(nodes, index_type), np.empty(nodes, index_type)
    return GraphForest(label, np.empty(nodes, np.int64), link, np.zeros(nodes, np.uint8))


def make_graph_work(graph: ResidualGraph) -> GraphWork:
    nodes, index_type = graph.nodes, graph.first.dtype
    return GraphWork(*(np.empty(nodes + 1, index_type) for _ in range(10)), np.zeros(2, np.int64))


@inlined_kernel
def parent_link(v, a):
    """The entry of `parent` for a node whose arc a leads to its parent v."""
    return np.int64((v << HALF) | (np.uint64(a) >> TWO))


@inlined_kernel
def activate_node(v, queued, ring, ring_ends):
    """Append v to the ring of active nodes, unless it is in the ring."""
    if queued[v] == 0:
        queued[v] = 1
        end = ring_ends[1]
        ring[end] = v
        ring_ends[1] = end + 1 if end + 1 < ring.size else 0


@inlined_kernel
def depth_of(label, v, side):
    """The depth of a node in the forest of `side`; below 1 if the node is not in it."""
    return (np.int64(label[v]) * side) >> SHIFT


@inlined_kernel
def compact_list(nodes, count, label, side, depth, queued):
    """Remove from a list the nodes that have left the depth, and repetitions; returns the number of nodes left."""
    left = 0
    for i in range(count):
        v = np.uint64(nodes[i])
        if depth_of(label, v, side) == depth and queued[v] == 0:
            queued[v] = 1
            nodes[left] = v
            left += 1
    for i in range(left):
        queued[np.uint64(nodes[i])] = 0
    return left


@inlined_kernel
def move_flow(arcs, a, amount):
    """Push flow through an arc, or through its reverse if the amount is negative."""
    b = np.uint64(arcs[a + REVERSE])
    out = arcs[a + OUT] - amount
    back = arcs[a + BACK] + amount
    arcs[a + OUT] = out
    arcs[a + BACK] = back
    arcs[b + OUT] = back
    arcs[b + BACK] = out


@inlined_kernel
def path_to_root(x, kind, sign, amount, arcs, excess, parent, path):
    """List the arcs from x to its root, whose number is returned, and the root.

    Also returns the minimum of an amount and the capacities: OUT towards a deficit, BACK from an excess.
    """
    count = 0
    while True:
        c = parent[x]
        if c == ROOT:
            return count, x, min(amount, sign * np.int64(excess[x]))
        a = (np.uint64(c) & LOW) << TWO
        path[count] = a
        count += 1
        prefetch(arcs, np.uint64(arcs[a + REVERSE]))
        r = np.int64(arcs[a + kind])
        if r < amount:
            amount = r
        x = np.uint64(c) >> HALF


@inlined_kernel
def push_along(path, length, root, kind, sign, amount, arcs, excess, parent, orphans):
    """Push an amount along a listed path; lists nodes that lose their parent, and returns their number.

    With the arcs listed, no step waits for a load of the step before: a tenth of a solve with paths of a hundred arcs.
    """
    count = 0
    for i in range(length):
        a = np.uint64(path[i])
        move_flow(arcs, a, -sign * amount)
        if arcs[a + kind] == 0:
            x = np.uint64(arcs[np.uint64(arcs[a + REVERSE])])
            parent[x] = ORPHAN
            orphans[count] = x
            count += 1
    excess[root] -= sign * amount
    if excess[root] == 0:
        parent[root] = ORPHAN
        orphans[count] = root
        count += 1
    return count


@inlined_kernel
def augment_path(u, joint, side, arcs, excess, parent, source_orphans, sink_orphans, source_path, sink_path):
    """Push the bottleneck capacity from root to root through arc `joint` of u, which leads to the other forest.

    u is in the forest of `side`.  Returns the numbers of new orphans in the two lists.
    """
    w = np.uint64(arcs[joint])
    if side > 0:
        a, b = u, w
        amount = np.int64(arcs[joint + OUT])
    else:
        a, b = w, u
        amount = np.int64(arcs[joint + BACK])
    m, source, amount = path_to_root(a, BACK, 1, amount, arcs, excess, parent, source_path)
    n, sink, amount = path_to_root(b, OUT, -1, amount, arcs, excess, parent, sink_path)
    move_flow(arcs, joint, side * amount)
    from_source = push_along(source_path, m, source, BACK, 1, amount, arcs, excess, parent, source_orphans)
    to_sink = push_along(sink_path, n, sink, OUT, -1, amount, arcs, excess, parent, sink_orphans)
    return from_source, to_sink


@inlined_kernel
def adopt(v, side, first, arcs, label, parent):
    """Find a parent of v with a smaller label, or a twin with the same label whose child v becomes one label later.

    Returns whether a parent was found, and whether the label of v has increased.  No label is smaller than BAND.
    """
    toward = BACK if side > 0 else OUT
    own = np.int64(label[v]) * side
    end = np.uint64(first[v + ONE])
    twin = np.int64(-1)
    a = np.uint64(first[v])
    while a < end:
        if arcs[a + toward] > 0:
            q = np.uint64(arcs[a])
            its = np.int64(label[q]) * side
            if (its > 0) & (its <= own):
                if parent[q] != ORPHAN:
                    if its < own:
                        parent[v] = parent_link(q, a)
                        return True, False
                    twin = parent_link(q, a)
                    if own == BAND:
                        break
        a += ARC
    if twin >= 0 and (own + 1) >> SHIFT == own >> SHIFT:
        label[v] = (own + 1) * side
        parent[v] = twin
        return True, True
    return False, False


@inlined_kernel
def orphan_children(v, low, high, side, first, arcs, label, parent, link, head, deepest):
    """Make the children of v with labels from low to high orphans; returns the largest depth of a list."""
    end = np.uint64(first[v + ONE])
    a = np.uint64(first[v])
    while a < end:
        q = np.uint64(arcs[a])
        its = np.int64(label[q]) * side
        if (its >= low) & (its <= high):
            if parent[q] == parent_link(v, arcs[a + REVERSE]):
                parent[q] = ORPHAN
                prefetch(arcs, np.uint64(first[q]))
                d = its >> SHIFT
                link[q] = head[d]
                head[d] = q
                deepest = max(deepest, d)
        a += ARC
    return deepest


@inlined_kernel
def best_depth(v, limit, side, first, arcs, label):
    """One more than the smallest depth of a possible parent of v, or limit + 1."""
    toward = BACK if side > 0 else OUT
    best = limit + 1
    end = np.uint64(first[v + ONE])
    a = np.uint64(first[v])
    while a < end:
        d = depth_of(label, np.uint64(arcs[a]), side) + 1
        if (arcs[a + toward] > 0) & (d > 1) & (d < best):
            best = d
        a += ARC
    return best


@inlined_kernel
def attach(v, d, side, first, arcs, label, parent):
    """Make v a child of a possible parent of depth d - 1, of which there is one."""
    toward = BACK if side > 0 else OUT
    a = np.uint64(first[v])
    while arcs[a + toward] <= 0 or depth_of(label, np.uint64(arcs[a]), side) != d - 1:
        a += ARC
    parent[v] = parent_link(np.uint64(arcs[a]), a)
    label[v] = (d << SHIFT) * side


@inlined_kernel
def repair_forest(side, limit, merging, orphans, count, frontier, waiting, head, first, arcs, forest, work):
    """Find new parents of depth below `limit` for the orphans of one forest and their descendants, or free them.

    Listed nodes that are no orphans are skipped.
    A node that is attached at depth `limit` has to be scanned: it is appended to `frontier` (merging == False).  When
    merging, nodes may be scanned in any order, so the neighbours that may attach a freed node become active.
    Returns the length of `frontier` and the number of detached nodes.
    """
    label, parent, link, queued = forest
    detached, queue, ring, ring_ends = work.detached, work.queue, work.ring, work.ends
    away = OUT if side > 0 else BACK
    low = limit + 1
    high = 0
    for i in range(count):
        v = np.uint64(orphans[i])
        if parent[v] != ORPHAN:
            continue
        d = depth_of(label, v, side)
        link[v] = head[d]
        head[d] = v
        low = min(low, d)
        high = max(high, d)
    # Detach, in order of depth: all smaller depths are final.
    n_detached = 0
    d = low
    while d <= high:
        while head[d] >= 0:
            v = np.uint64(head[d])
            head[d] = link[v]
            found, is_raised = adopt(v, side, first, arcs, label, parent)
            own = np.int64(label[v]) * side
            if not found:
                parent[v] = DETACHED
                label[v] = 0
                detached[n_detached] = v
                n_detached += 1
                high = orphan_children(v, own, INFINITY, side, first, arcs, label, parent, link, head, high)
            elif is_raised:
                high = orphan_children(v, own, own, side, first, arcs, label, parent, link, head, high)
        d += 1
    if n_detached == 0:
        return waiting, 0
    # Sort the detached nodes by the depth of their best attached neighbour ...
    low = limit + 1
    for i in range(n_detached):
        if i + 4 < n_detached:
            prefetch(arcs, np.uint64(first[np.uint64(detached[i + 4])]))
        v = np.uint64(detached[i])
        best = best_depth(v, limit, side, first, arcs, label)
        if best <= limit:
            link[v] = head[best]
            head[best] = v
            low = min(low, best)
            high = max(high, best)
    # ... and attach them breadth-first from there.
    front = 0
    back = 0
    d = low
    while d <= high or front < back:
        i = np.int64(head[d])
        head[d] = -1
        while i >= 0:
            v = np.uint64(i)
            i = np.int64(link[v])
            if parent[v] == DETACHED:
                attach(v, d, side, first, arcs, label, parent)
                queue[back] = v
                back += 1
        last = back
        if d < limit:
            below = ((d + 1) << SHIFT) * side
            while front < last:
                v = np.uint64(queue[front])
                front += 1
                end = np.uint64(first[v + ONE])
                a = np.uint64(first[v])
                while a < end:
                    q = np.uint64(arcs[a])
                    if parent[q] == DETACHED and arcs[a + away] > 0:
                        parent[q] = parent_link(v, arcs[a + REVERSE])
                        label[q] = below
                        queue[back] = q
                        back += 1
                    a += ARC
        else:
            while front < last:
                if not merging:
                    if waiting == frontier.size:
                        waiting = compact_list(frontier, waiting, label, side, limit, queued)
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
                    activate_neighbours(v, first, arcs, label, queued, ring, ring_ends)
    return waiting, n_detached


@inlined_kernel
def activate_neighbours(v, first, arcs, label, queued, ring, ring_ends):
    """Make the neighbours that can attach a free node active."""
    end = np.uint64(first[v + ONE])
    a = np.uint64(first[v])
    while a < end:
        q = np.uint64(arcs[a])
        if (label[q] > 0 and arcs[a + BACK] > 0) or (label[q] < 0 and arcs[a + OUT] > 0):
            activate_node(q, queued, ring, ring_ends)
        a += ARC
