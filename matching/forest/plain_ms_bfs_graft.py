"""Tree grafting without tricks: algorithms 3 to 7 of Azad, Buluç and Pothen, in plain Python.

Read this first.  `ms_bfs_graft_cuda.py` (GPU) takes the same steps by the same names, and tests compare both.  X is the
side of the rows, Y that of the columns.  A phase:

    grow            the forest from all unmatched rows, level by level: a column in no tree joins the tree of a row of
                    the frontier, and its partner is in the next frontier; an unmatched column is the leaf of its tree,
                    which then grows no further
    augment_trees   in each tree with a leaf, the pairs on the path from the leaf to the root change sides
    renew           the columns of these trees are in no tree again
    graft           renewed columns join remaining trees that they have an edge to; their partners are the next frontier

The trees without a leaf are kept from phase to phase, since they contain nothing that could be reached otherwise.  If
fewer columns are in them than were renewed, divided by alpha, starting again from all roots (`make_roots`) is cheaper.

The method ends when no tree has a leaf.  The forest then contains all vertices that alternating paths from unmatched
rows reach, and no unmatched column, so the matching is maximum.  Each other phase adds a pair.

What `ms_bfs_graft_cuda.py` adds: all vertices of a level in parallel, by atomic operations; levels that grow from the
columns in no tree (bottom-up) where the frontier is large; one block for narrow levels; all phases in one launch.

[1] Azad, Buluç, Pothen. "A parallel tree grafting algorithm for maximum cardinality matching in bipartite graphs."
    IPDPS 2015. Algorithms 3 to 7.
"""

import numpy as np

UNSEEN = -1


def solve(rows, cols, edges, *, alpha=5.0, grafting=True):
    """The column of each row, or -1, in a maximum matching.

    edges      pairs (row, column)
    grafting   keep trees that have found no path; False: every phase starts from all roots
    """
    x_adj, y_adj = [[] for _ in range(rows)], [[] for _ in range(cols)]
    for x, y in edges:
        x_adj[x].append(y)
        y_adj[y].append(x)
    forest = Forest(x_adj, y_adj)
    frontier = forest.make_roots()
    while True:
        forest.grow(frontier)
        if not forest.leaf:
            return np.array(forest.mate_x, np.int64)
        forest.augment_trees()
        renewed = forest.renew()
        active = sum(root != UNSEEN for root in forest.root_y) + forest.childless_roots()
        if grafting and active * alpha > len(renewed):
            frontier = forest.graft(renewed)
        else:
            frontier = forest.make_roots()


class Forest:
    """The matching, and alternating trees.

    root_y, root_x   root of the tree of a vertex, or UNSEEN;  parent[y]: the row from which y was reached
    leaf[r]          the unmatched column where an augmenting path from root r ends, for the trees with one
    """

    def __init__(self, x_adj, y_adj):
        self.x_adj, self.y_adj = x_adj, y_adj
        self.mate_x, self.mate_y = [-1] * len(x_adj), [-1] * len(y_adj)
        self.parent = [-1] * len(y_adj)
        self.leaf = {}

    def make_roots(self):
        """Lines 1 to 5: each unmatched row is a root, all columns are in no tree; returns the frontier."""
        self.root_y, self.root_x = [UNSEEN] * len(self.y_adj), [UNSEEN] * len(self.x_adj)
        roots = [x for x, y in enumerate(self.mate_x) if y < 0]
        for x in roots:
            self.root_x[x] = x
        return roots

    def grow(self, frontier):
        """Algorithm 4, level by level, until no tree grows."""
        while frontier:
            following = []
            for x in frontier:
                for y in self.x_adj[x]:
                    if self.root_x[x] not in self.leaf and self.root_y[y] == UNSEEN:
                        following += self.attach(y, x)
            frontier = following

    def attach(self, y, x):
        """Add y to the tree of x; returns the partner of y in a list, which is empty if y is the leaf of the tree."""
        r = self.root_y[y] = self.root_x[x]
        self.parent[y] = x
        if self.mate_y[y] < 0:
            self.leaf[r] = y
            return []
        self.root_x[self.mate_y[y]] = r
        return [self.mate_y[y]]

    def augment_trees(self):
        """Algorithm 3, lines 14 to 17: augment in each tree with a leaf."""
        for y in self.leaf.values():
            while y >= 0:
                x = self.parent[y]
                above = self.mate_x[x]
                self.mate_x[x], self.mate_y[y] = y, x
                y = above

    def renew(self):
        """Remove the trees with a leaf; returns their columns."""
        renewed = [y for y, r in enumerate(self.root_y) if r in self.leaf]
        for y in renewed:
            self.root_y[y] = UNSEEN
        self.root_x = [UNSEEN if r in self.leaf else r for r in self.root_x]
        self.leaf = {}
        return renewed

    def childless_roots(self):
        return sum(r == x for x, r in enumerate(self.root_x))

    def graft(self, renewed):
        """Algorithm 6 for the renewed columns: each joins a tree that it has an edge to; returns the frontier."""
        frontier = []
        for y in renewed:
            x = next((x for x in self.y_adj[y] if self.root_x[x] != UNSEEN and self.root_x[x] not in self.leaf), None)
            if x is not None:
                frontier += self.attach(y, x)
        return frontier
