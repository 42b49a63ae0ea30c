"""Two forests of shortest residual paths in a graph, and the operations on them: push, augment and repair.

As gridcut/ibfs/forest.py, for arcs in lists: that file explains the forests, the repair and the source.  A source tree
grows from nodes with excess along arcs with residual capacity; a sink tree grows against such arcs from nodes with a
deficit.  `side` is +1 for the source forest, -1 for the sink forest.

Arrays, in addition to those of gridcut/graph/residual_graph.py
  label[u]    side * depth: +1, +2, ... in the source forest, -1, -2, ... in the sink forest, 0: free
  parent[u]   the arc of u that leads to its parent, or ROOT, ORPHAN, DETACHED, NONE (free)
  link[u]     next node of a list of orphans of the same depth;  head[d]: the first node, -1: none (so between calls)

[1] Goldberg, Hed, Kaplan, Tarjan, Werneck. "Maximum flows by incremental breadth-first search." ESA 2011.
[2] Goldberg, Hed, Kaplan, Kohli, Tarjan, Werneck. "Faster and more dynamic maximum flow by incremental
breadth-first search." ESA 2015.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device import inner_kernel, kernel

ROOT = -1
ORPHAN = -2
DETACHED = -3
NONE = -4


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
    ring: np.ndarray  # active nodes, first in, first out
    ends: np.ndarray  # positions of the first entry of the ring and after its last


def make_graph_forest(nodes: int, index_type) -> GraphForest:
    label, link = np.zeros(nodes, index_type), np.empty(nodes, index_type)
    return GraphForest(label, np.full(nodes, NONE, index_type), link, np.zeros(nodes, np.uint8))


def make_graph_work(nodes: int, index_type) -> GraphWork:
    return GraphWork(*(np.empty(nodes + 1, index_type) for _ in range(9)), np.zeros(2, np.int64))


@inner_kernel
def activate_node(v, queued, ring, ends):
    """Append v to the ring of active nodes, unless it is in the ring."""
    if queued[v] == 0:
        queued[v] = 1
        end = ends[1]
        ring[end] = v
        ends[1] = end + 1 if end + 1 < ring.size else 0


@inner_kernel
def compact_list(nodes, count, label, level):
    """Remove from a list the nodes that have left the level, and repetitions; returns the number of nodes left."""
    left = 0
    for i in range(count):
        v = nodes[i]
        if label[v] == level:
            label[v] = 0
            nodes[left] = v
            left += 1
    for i in range(left):
        label[nodes[i]] = level
    return left


@inner_kernel
def push_along(arcs, a, amount):
    """Push flow through an arc; returns what residual capacity it has left."""
    b = np.uint64(arcs[a].reverse)
    out = arcs[a].out - amount
    back = arcs[a].back + amount
    arcs[a].out = out
    arcs[a].back = back
    arcs[b].out = back
    arcs[b].back = out
    return out


@inner_kernel
def push_against(arcs, a, amount):
    """Push flow through the reverse of an arc; returns what residual capacity that has left."""
    b = np.uint64(arcs[a].reverse)
    out = arcs[a].out + amount
    back = arcs[a].back - amount
    arcs[a].out = out
    arcs[a].back = back
    arcs[b].out = back
    arcs[b].back = out
    return back


@kernel
def augment_path(u, joint, side, excess, arcs, parent, source_orphans, sink_orphans):
    """Push the bottleneck capacity from root to root through arc `joint` of u, which leads to the other forest.

    u is in the forest of `side`.  Returns the numbers of new orphans in the two lists.
    """
    w = np.uint64(arcs[joint].head)
    if side > 0:
        a, b = u, w
        amount = np.int64(arcs[joint].out)
    else:
        a, b = w, u
        amount = np.int64(arcs[joint].back)
    x = a
    while True:
        c = parent[x]
        if c == ROOT:
            r = np.int64(excess[x])
            if r < amount:
                amount = r
            break
        r = np.int64(arcs[np.uint64(c)].back)
        if r < amount:
            amount = r
        x = np.uint64(arcs[np.uint64(c)].head)
    x = b
    while True:
        c = parent[x]
        if c == ROOT:
            r = -np.int64(excess[x])
            if r < amount:
                amount = r
            break
        r = np.int64(arcs[np.uint64(c)].out)
        if r < amount:
            amount = r
        x = np.uint64(arcs[np.uint64(c)].head)
    from_source = 0
    x = a
    while True:
        c = parent[x]
        if c == ROOT:
            excess[x] -= amount
            if excess[x] == 0:
                parent[x] = ORPHAN
                source_orphans[from_source] = x
                from_source += 1
            break
        if push_against(arcs, np.uint64(c), amount) == 0:
            parent[x] = ORPHAN
            source_orphans[from_source] = x
            from_source += 1
        x = np.uint64(arcs[np.uint64(c)].head)
    to_sink = 0
    x = b
    while True:
        c = parent[x]
        if c == ROOT:
            excess[x] += amount
            if excess[x] == 0:
                parent[x] = ORPHAN
                sink_orphans[to_sink] = x
                to_sink += 1
            break
        if push_along(arcs, np.uint64(c), amount) == 0:
            parent[x] = ORPHAN
            sink_orphans[to_sink] = x
            to_sink += 1
        x = np.uint64(arcs[np.uint64(c)].head)
    if side > 0:
        push_along(arcs, joint, amount)
    else:
        push_against(arcs, joint, amount)
    return from_source, to_sink


@inner_kernel
def has_room(side, arcs, a):
    """Whether the residual capacity lets the head of arc a become the parent of its tail."""
    return arcs[a].back > 0 if side > 0 else arcs[a].out > 0


@inner_kernel
def can_grow(side, arcs, a):
    """Whether the residual capacity lets the tail of arc a become the parent of its head."""
    return arcs[a].out > 0 if side > 0 else arcs[a].back > 0


@kernel
def repair_forest(
    side, limit, merging, first, arcs, label, parent, link, queued,
    orphans, count, frontier, waiting, detached, queue, ring, ends, head,
):  # fmt: skip
    """Find new parents of depth below `limit` for the orphans of one forest and their descendants, or free them.

    A node that is attached at depth `limit` has to be scanned: it is appended to `frontier` (merging == False).  When
    merging, nodes may be scanned in any order, so the neighbours that may attach a freed node become active.
    Returns the length of `frontier` and the number of detached nodes.
    """
    low = limit + 1
    high = 0
    for i in range(count):
        v = np.uint64(orphans[i])
        d = np.int64(label[v]) * side
        link[v] = head[d]
        head[d] = v
        low = min(low, d)
        high = max(high, d)
    # Detach, in order of depth: all smaller depths are final.
    n_detached = 0
    d = low
    while d <= high:
        i = np.int64(head[d])
        head[d] = -1
        while i >= 0:
            v = np.uint64(i)
            i = np.int64(link[v])
            begin, end = np.uint64(first[v]), np.uint64(first[v + np.uint64(1)])
            found = False
            if d > 1:
                above = (d - 1) * side
                for a in range(begin, end):
                    if has_room(side, arcs, a) and label[np.uint64(arcs[a].head)] == above:
                        parent[v] = a
                        found = True
                        break
            if not found:
                parent[v] = DETACHED
                label[v] = 0
                detached[n_detached] = v
                n_detached += 1
                below = (d + 1) * side
                for a in range(begin, end):
                    q = np.uint64(arcs[a].head)
                    if label[q] == below and parent[q] == arcs[a].reverse:
                        parent[q] = ORPHAN
                        link[q] = head[d + 1]
                        head[d + 1] = q
                        high = max(high, d + 1)
        d += 1
    # Sort the detached nodes by the depth of their best attached neighbour ...
    low = limit + 1
    for i in range(n_detached):
        v = np.uint64(detached[i])
        best = limit + 1
        for a in range(np.uint64(first[v]), np.uint64(first[v + np.uint64(1)])):
            if has_room(side, arcs, a):
                d = np.int64(label[np.uint64(arcs[a].head)]) * side + 1
                if 1 < d < best:
                    best = d
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
        above = (d - 1) * side
        while i >= 0:
            v = np.uint64(i)
            i = np.int64(link[v])
            if parent[v] == DETACHED:
                for a in range(np.uint64(first[v]), np.uint64(first[v + np.uint64(1)])):
                    if has_room(side, arcs, a) and label[np.uint64(arcs[a].head)] == above:
                        parent[v] = a
                        break
                label[v] = d * side
                queue[back] = v
                back += 1
        last = back
        if d < limit:
            below = (d + 1) * side
            while front < last:
                v = np.uint64(queue[front])
                front += 1
                for a in range(np.uint64(first[v]), np.uint64(first[v + np.uint64(1)])):
                    q = np.uint64(arcs[a].head)
                    if parent[q] == DETACHED and can_grow(side, arcs, a):
                        parent[q] = arcs[a].reverse
                        label[q] = below
                        queue[back] = q
                        back += 1
        else:
            while front < last:
                if not merging:
                    if waiting == frontier.size:
                        waiting = compact_list(frontier, waiting, label, limit * side)
                    frontier[waiting] = queue[front]
                    waiting += 1
                front += 1
        d += 1
    if back < n_detached:
        for i in range(n_detached):
            v = np.uint64(detached[i])
            if parent[v] == DETACHED:
                parent[v] = NONE
                if merging:
                    for a in range(np.uint64(first[v]), np.uint64(first[v + np.uint64(1)])):
                        q = np.uint64(arcs[a].head)
                        if label[q] > 0:
                            if arcs[a].back > 0:
                                activate_node(q, queued, ring, ends)
                        elif label[q] < 0:
                            if arcs[a].out > 0:
                                activate_node(q, queued, ring, ends)
    return waiting, n_detached
