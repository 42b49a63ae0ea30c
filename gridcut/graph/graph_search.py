"""Incremental breadth-first search: maximum flow on a graph, with both forests grown from scratch.

As gridcut/ibfs/search.py: in each step, one forest grows by a whole level.  Where the forests meet, they form an
augmenting path.  The forest with more roots grows, unless its repairs have cost PREFERENCE times as much: the minimum
cut is often close to the smaller seeds, and a forest that has grown past it loses its trees again and again.

Most augmenting paths start at the node where the one before started.  So a scanned node lists its path to the root
once, and the flow through it is accumulated in `pending`.  It is pushed when it reaches the minimum capacity of that
path, or when the node has been scanned.  Until then, only the other forest changes, and no capacity of the path is
read.

Arrays as in graph_forest.py and residual_graph.py.

[1] Goldberg, Hed, Kaplan, Tarjan, Werneck. "Maximum flows by incremental breadth-first search." ESA 2011.

Time O(n^2 m) as [1]; memory: the lists in graph_forest.py.
"""

import numpy as np

from gridcut.device import inlined_kernel, kernel
from gridcut.device.intrinsics import prefetch
from gridcut.graph.graph_forest import (
    ARC,
    BACK,
    BAND,
    FREE,
    INFINITY,
    ONE,
    OUT,
    REVERSE,
    ROOT,
    SHIFT,
    compact_list,
    depth_of,
    make_graph_forest,
    make_graph_work,
    move_flow,
    parent_link,
    path_to_root,
    push_along,
    repair_forest,
)
from gridcut.graph.graph_reduction import reduce_graph, restore_graph
from gridcut.graph.graph_warm import grow_active_nodes, reroot_nodes
from gridcut.graph.residual_graph import ResidualGraph

AHEAD = 12  # the arcs of a node are prefetched this number of nodes before it is scanned
LINE = np.uint64(16)  # arcs of 32 bits: a cache line has 16 integers
PREFERENCE = 2  # share of the repairs at which the forest with more roots is left for the other one
UNTIL_SINK, UNTIL_BOTH = 0, 1  # stop when the sink forest is complete; when both forests are complete


@inlined_kernel
def push_to_neighbours(first, arcs, excess):
    """Push excess of all nodes to deficits one arc away."""
    for u in range(excess.size):
        p = np.uint64(u)
        held = np.int64(excess[p])
        if held <= 0:
            continue
        a = np.uint64(first[p])
        last = np.uint64(first[p + ONE])
        while a < last:
            q = np.uint64(arcs[a])
            need = -np.int64(excess[q])
            room = np.int64(arcs[a + OUT])
            if (need > 0) & (room > 0):
                amount = min(held, min(room, need))
                move_flow(arcs, a, amount)
                excess[q] += amount
                held -= amount
                if held == 0:
                    break
            a += ARC
        excess[p] = held


@inlined_kernel
def make_graph_roots(excess, label, parent, sources, sinks):
    """Make the nodes with excess or a deficit roots, all others free; lists the roots, returns their numbers."""
    n_sources = 0
    n_sinks = 0
    for p in range(excess.size):
        e = excess[p]
        if e > 0:
            label[p] = BAND
            parent[p] = ROOT
            sources[n_sources] = p
            n_sources += 1
        elif e < 0:
            label[p] = -BAND
            parent[p] = ROOT
            sinks[n_sinks] = p
            n_sinks += 1
        else:
            label[p] = 0
            parent[p] = FREE
    return n_sources, n_sinks


# lines: the main loop, whose parts would share a dozen variables
@kernel
def search_nodes(until, first, arcs, excess, forest, work):
    """Find a maximum flow from scratch.

    Returns the largest depth, and the numbers of augmentations and of repaired nodes.
    """
    # Unpacked here, since reading arrays from the tuples inside the loops would count references each time.
    label, parent, queued = forest.label, forest.parent, forest.queued
    source_orphans, sink_orphans, queue = work.source_orphans, work.sink_orphans, work.queue
    source_now, source_next = work.source_now, work.source_next
    sink_now, sink_next = work.sink_now, work.sink_next
    path = work.path
    graph = first, arcs, forest, work
    head = np.full(256, -1, queue.dtype)
    push_to_neighbours(first, arcs, excess)
    sources, sinks = make_graph_roots(excess, label, parent, source_now, sink_now)
    source_depth = 1
    sink_depth = 1
    source_work = 0
    prefer_source = sources > sinks
    sink_work = 0
    augmentations = 0
    pending = np.int64(0)
    room = np.int64(0)
    length = 0
    root = np.uint64(0)
    while True:
        if sinks == 0 and (until != UNTIL_BOTH or sources == 0):
            break
        if max(source_depth, sink_depth) + 3 > head.size:
            head = np.full(2 * head.size, -1, queue.dtype)
        if sinks == 0:
            side = 1
        elif sources == 0:
            side = -1
        else:
            if prefer_source:
                side = 1 if source_work <= PREFERENCE * sink_work else -1
            else:
                side = -1 if sink_work <= PREFERENCE * source_work else 1
        source_limit = source_depth
        sink_limit = sink_depth
        if side > 0:
            now, after, others, waiting, count = source_now, source_next, sink_now, sinks, sources
            depth = source_depth
            source_limit += 1
            away = OUT
        else:
            now, after, others, waiting, count = sink_now, sink_next, source_now, sources, sinks
            depth = sink_depth
            sink_limit += 1
            away = BACK
        below = ((depth + 1) << SHIFT) * side
        grown = 0
        for i in range(count):
            if i + AHEAD < count:
                later = np.uint64(first[np.uint64(now[i + AHEAD])])
                prefetch(arcs, later)
                prefetch(arcs, later + LINE)
                prefetch(arcs, later + LINE + LINE)
            u = np.uint64(now[i])
            if depth_of(label, u, side) != depth:
                continue
            a = np.uint64(first[u])
            last = np.uint64(first[u + ONE])
            is_listed = False
            while a < last:
                w = np.uint64(arcs[a])
                meets = np.int64(label[w]) * side
                if not ((arcs[a + away] > 0) & (meets <= 0)):
                    a += ARC
                    continue
                if meets == 0:
                    if grown == after.size:
                        grown = compact_list(after, grown, label, side, depth + 1, queued)
                    label[w] = below
                    parent[w] = parent_link(u, arcs[a + REVERSE])
                    after[grown] = w
                    grown += 1
                    a += ARC
                    continue
                augmentations += 1
                if not is_listed:
                    if side > 0:
                        length, root, room = path_to_root(u, BACK, 1, INFINITY, arcs, excess, parent, path)
                    else:
                        length, root, room = path_to_root(u, OUT, -1, INFINITY, arcs, excess, parent, path)
                    is_listed = True
                    pending = np.int64(0)
                amount = min(np.int64(arcs[a + away]), room - pending)
                from_source = 0
                to_sink = 0
                if side > 0:
                    n, other, amount = path_to_root(w, OUT, -1, amount, arcs, excess, parent, queue)
                    move_flow(arcs, a, amount)
                    to_sink = push_along(queue, n, other, OUT, -1, amount, arcs, excess, parent, sink_orphans)
                else:
                    n, other, amount = path_to_root(w, BACK, 1, amount, arcs, excess, parent, queue)
                    move_flow(arcs, a, -amount)
                    from_source = push_along(queue, n, other, BACK, 1, amount, arcs, excess, parent, source_orphans)
                pending += amount
                if pending == room:
                    is_listed = False
                    if side > 0:
                        from_source = push_along(
                            path, length, root, BACK, 1, pending, arcs, excess, parent, source_orphans
                        )
                    else:
                        to_sink = push_along(path, length, root, OUT, -1, pending, arcs, excess, parent, sink_orphans)
                if from_source > 0:
                    frontier, listed = (after, grown) if side > 0 else (others, waiting)
                    listed, moved = repair_forest(
                        1, source_limit, False, source_orphans, from_source, frontier, listed, head, *graph
                    )
                    source_work += moved
                    if side > 0:
                        grown = listed
                    else:
                        waiting = listed
                if to_sink > 0:
                    frontier, listed = (others, waiting) if side > 0 else (after, grown)
                    listed, moved = repair_forest(
                        -1, sink_limit, False, sink_orphans, to_sink, frontier, listed, head, *graph
                    )
                    sink_work += moved
                    if side > 0:
                        waiting = listed
                    else:
                        grown = listed
                if not is_listed and depth_of(label, u, side) != depth:
                    break
            if is_listed:  # less than its minimum capacity, so no arc is saturated
                for k in range(length):
                    move_flow(arcs, np.uint64(path[k]), -side * pending)
                excess[root] -= side * pending
        if side > 0:
            source_depth += 1
            source_now, source_next = source_next, source_now
            sources = grown
            sinks = waiting
        else:
            sink_depth += 1
            sink_now, sink_next = sink_next, sink_now
            sinks = grown
            sources = waiting
    return max(source_depth, sink_depth), augmentations, source_work + sink_work


# Method "ibfs" on graphs, the default: reductions, pushes to neighbours, then one incremental breadth-first search.
#
# `solve` changes the residual graph in place to one without a path from excess to a deficit, and returns the nodes
# that can still reach a deficit, and stats.  `GraphMemory` does the same after changes, starting from the forests of
# the last solve, and without reductions.  Kernels: graph_reduction.py, graph_search.py, graph_forest.py,
# graph_warm.py.
#
# [1] Goldberg, Hed, Kaplan, Tarjan, Werneck. "Maximum flows by incremental breadth-first search." ESA 2011.

MAX_CHANGED_SHARE = 0.1  # changed nodes per node above which a re-solve searches from scratch
MAX_REPAIR = 3.0  # repaired nodes per node above which a re-solve discards the forests


def solve(graph: ResidualGraph) -> tuple[np.ndarray, dict]:
    """Find a maximum flow; see the module."""
    reduction = reduce_graph(graph)
    if graph.nodes and graph.excess.min() < 0:
        forest = make_graph_forest(graph)
        arrays = graph.first, graph.arcs, graph.excess, forest, make_graph_work(graph)
        _, augmentations, repaired = search_nodes(UNTIL_SINK, *arrays)
        is_sink = forest.label < 0
    else:  # trees, and graphs without sinks
        is_sink = np.zeros(graph.nodes, bool)
        augmentations = repaired = 0
    if reduction is not None:
        restore_graph(graph, reduction, is_sink)
    return is_sink, {"augmentations": augmentations, "repaired": repaired}


class GraphMemory:
    """The forests of the last solve of a graph, from which the next one starts; they belong to one ResidualGraph."""

    def __init__(self, graph: ResidualGraph):
        self._graph = graph
        self._forest = make_graph_forest(graph)
        self._work = make_graph_work(graph)
        self._deepest = 0  # 0: no forests yet

    def solve(self, touched: np.ndarray | None) -> tuple[np.ndarray, dict]:
        """As `solve`.

        touched   the nodes whose excess or arcs have changed since the last solve, with repetitions; None: unknown
        """
        arrays = self._graph.first, self._graph.arcs, self._graph.excess, self._forest, self._work
        augmentations = repaired = 0
        if self._deepest and touched is not None and touched.size <= MAX_CHANGED_SHARE * self._graph.nodes:
            budget = int(MAX_REPAIR * self._graph.nodes)
            repaired = reroot_nodes(touched, self._deepest, *arrays)
            self._deepest, augmentations, more = grow_active_nodes(budget, self._deepest, *arrays)
            repaired += more
            is_complete = more <= budget
        else:
            is_complete = False
        if not is_complete:
            self._deepest, found, more = search_nodes(UNTIL_BOTH, *arrays)
            augmentations += found
            repaired += more
        return self._forest.label < 0, {"augmentations": augmentations, "repaired": repaired}
