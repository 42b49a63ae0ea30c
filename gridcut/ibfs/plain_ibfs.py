"""The CPU default without its tricks: incremental breadth-first search on a grid, in plain Python.

Read this first.  `search.py` and `forest.py` take the same steps under the same names, and tests compare the labels:

    make_roots   pixels with excess are the roots of the source forest, those with a deficit those of the sink forest
    grow_level   one forest grows by a level: the pixels of its last level attach the free ends of their arcs with
                 residual capacity (the sink forest grows against the arcs)
    augment      where the forests meet, flow is pushed from root to root; pixels whose arc to the parent is saturated
                 become orphans, and so do roots without excess
    repair       orphans, and pixels below them, are adopted by other pixels of their forest, or become free

The search ends when the sink forest cannot grow.  It then consists of the pixels that can still reach the sink, and
none of them has excess.  This set is the same for every maximum flow, so the labels do not depend on the steps.

Invariants between two augmentations, for a pixel at depth d of its forest (roots have depth 1):
  - its parent is at depth d - 1, and the arc from the parent (in the sink forest: to it) has residual capacity;
  - d is the length of a shortest path of such arcs from the nearest root; `repair` restores this, and no depth
    ever decreases;
  - (I) unless the pixel waits to be scanned, no such arc joins it to a free pixel or to the other forest.

Every augmentation pushes at least one unit, so the search ends; in O(n^2 m) time as in [1], since no depth decreases.
docs/algorithms/max-flow.md leads from here to the fast version.

[1] Goldberg, Hed, Kaplan, Tarjan, Werneck. "Maximum flows by incremental breadth-first search." ESA 2011.
"""

from itertools import pairwise

import numpy as np

SOURCE, SINK = 1, -1  # sides; a label is side * depth, 0: free


def minimum_cut(source, sink, edges):
    """Labels of the minimum cut (True: source side), as `gridcut.max_flow` returns them.

    source, sink   integers, arrays of one shape;  edges: {offset: integers of this shape}, both directions given
    """
    search = Search(np.asarray(source, np.int64) - np.asarray(sink, np.int64), residual_arcs(edges))
    search.run()
    return search.label >= 0


def residual_arcs(edges):
    """{pixel: {neighbour: capacity}}, without the arcs that leave the grid."""
    (shape,) = {np.shape(capacity) for capacity in edges.values()}
    residual: dict[tuple, dict] = {p: {} for p in np.ndindex(shape)}
    for offset, capacity in edges.items():
        for p in residual:
            q = tuple(int(i) for i in np.add(p, offset))
            if q in residual:
                residual[p][q] = int(capacity[p])
    return residual


class Search:
    """A pseudoflow (excess, residual) and its two forests; the other attributes have an entry per side.

    parent      of the pixels in a forest; None: a root, or an orphan that became free
    depth       the last level of the forest;  waiting: pixels of this level that have not been scanned
    repaired    number of pixels that were detached from the forest so far
    """

    def __init__(self, excess, residual):
        self.excess, self.residual = excess, residual
        self.label = np.zeros(excess.shape, np.int64)
        self.parent = {}
        self.depth = {SOURCE: 1, SINK: 1}
        self.waiting: dict[int, list] = {SOURCE: [], SINK: []}
        self.repaired = {SOURCE: 0, SINK: 0}

    def run(self):
        """Find a maximum flow; the forest that has been repaired less grows next."""
        self.make_roots()
        while self.waiting[SINK]:
            prefers_source = self.repaired[SOURCE] <= self.repaired[SINK]
            self.grow_level(SOURCE if self.waiting[SOURCE] and prefers_source else SINK)

    def make_roots(self):
        for p in self.residual:
            if self.excess[p] != 0:
                self.attach(p, None, SOURCE if self.excess[p] > 0 else SINK, 1)

    def attach(self, p, parent, side, depth):
        self.label[p], self.parent[p] = side * depth, parent
        if depth == self.depth[side]:
            self.waiting[side].append(p)

    def grow_level(self, side):
        """Scan the pixels of the last level: attach free pixels, and augment where the forests meet."""
        level, now = side * self.depth[side], self.waiting[side]
        self.depth[side] += 1
        self.waiting[side] = []
        for u in now:
            for w in self.residual[u]:
                # A repair may remove u from the level, or free w.
                while self.label[u] == level and self.label[w] * side <= 0 and self.can_adopt(side, w, u):
                    if self.label[w] == 0:
                        self.attach(w, u, side, self.depth[side])
                    else:
                        orphans = self.augment(*((u, w) if side == SOURCE else (w, u)))
                        self.repair(SOURCE, orphans)
                        self.repair(SINK, orphans)

    def augment(self, u, w):
        """Push flow from the root of u, in the source forest, through w to its root; returns the new orphans."""
        path = self.path_to_root(u)[::-1] + self.path_to_root(w)
        first, last = path[0], path[-1]
        amount = min(self.excess[first], -self.excess[last], *(self.residual[p][q] for p, q in pairwise(path)))
        self.excess[first] -= amount
        self.excess[last] += amount
        orphans = {root for root in (first, last) if self.excess[root] == 0}
        for p, q in pairwise(path):
            self.residual[p][q] -= amount
            self.residual[q][p] += amount
            if self.residual[p][q] == 0 and (p, q) != (u, w):
                orphans.add(q if self.label[q] > 0 else p)
        return orphans

    def path_to_root(self, p):
        path = [p]
        while self.parent[path[-1]] is not None:
            path.append(self.parent[path[-1]])
        return path

    def can_adopt(self, side, v, q):
        """Whether the residual capacity lets q become the parent of v."""
        return (self.residual[q][v] if side == SOURCE else self.residual[v][q]) > 0

    def adopter(self, side, v, depth):
        """A neighbour that can be the parent of v at this depth, or None."""
        # Depth 1 has nothing above: label 0 there would be that of free pixels.
        above = [q for q in self.residual[v] if depth > 1 and self.label[q] == side * (depth - 1)]
        return next((q for q in above if self.can_adopt(side, v, q)), None)

    def repair(self, side, orphans):
        """Detach, by increasing depth, all pixels that no pixel above can adopt; then attach what can be, likewise."""
        detached = set()
        for depth in range(1, self.depth[side] + 1):
            for v in [p for p in orphans if self.label[p] == side * depth]:
                self.parent[v] = self.adopter(side, v, depth)
                if self.parent[v] is None:
                    self.label[v] = 0
                    detached.add(v)
                    orphans = orphans | {q for q in self.residual[v] if self.parent.get(q) == v}
        self.repaired[side] += len(detached)
        for depth in range(2, self.depth[side] + 1):
            for v in [p for p in detached if self.label[p] == 0]:
                parent = self.adopter(side, v, depth)
                if parent is not None:
                    self.attach(v, parent, side, depth)
