"""Graphs for `python -m benchmarks matching`: NAME -> function() -> CSR array, rows and columns the two sides.

Families of the papers as far as they can be generated: meshes (Delaunay, random geometric, a road-like grid), skewed
ones (R-MAT and the Graph500 parameters), and sparse random ones, where searches grow long.  Graphs of vertices are
taken as matrices: a vertex is a row and a column.  "NAME permuted" has rows and columns in random order, which many
programs do not bear.
"""

import numpy as np
import scipy.sparse

SEED = 12345


def delaunay(scale):
    """Triangulation of 2^scale random points of the unit square."""
    from scipy.spatial import Delaunay

    points = np.random.default_rng(SEED).random((1 << scale, 2))
    corners = Delaunay(points).simplices
    pairs = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    return symmetric(pairs, 1 << scale)


def random_geometric(scale, degree):
    """2^scale random points, near ones joined: `degree` neighbours on average."""
    from scipy.spatial import cKDTree

    n = 1 << scale
    points = np.random.default_rng(SEED).random((n, 2))
    points = points[np.lexsort((points[:, 0], (points[:, 1] * n**0.5 / 4).astype(int)))]
    return symmetric(cKDTree(points).query_pairs((degree / (np.pi * n)) ** 0.5, output_type="ndarray"), n)


def rmat(scale, edges, shares, both=False):
    """R-MAT: each edge falls into one quarter after the other, with these shares.  both: the graph is undirected."""
    n = 1 << scale
    rng = np.random.default_rng(SEED)
    row, col = np.zeros(edges * n, np.int64), np.zeros(edges * n, np.int64)
    for _ in range(scale):
        quarter = np.searchsorted(np.cumsum(shares)[:-1], rng.random(edges * n), side="right")
        row, col = 2 * row + quarter // 2, 2 * col + quarter % 2
    if both:
        return symmetric(np.column_stack([row, col]), n)
    return pattern(row, col, (n, n))


def road(side, missing):
    """A grid of streets, a share of which is missing."""
    rng = np.random.default_rng(SEED)
    place = np.arange(side * side).reshape(side, side)
    pairs = np.concatenate(
        [
            np.column_stack([place[:, :-1].ravel(), place[:, 1:].ravel()]),
            np.column_stack([place[:-1].ravel(), place[1:].ravel()]),
        ]
    )
    return symmetric(pairs[rng.random(len(pairs)) >= missing], side * side)


def uniform(n, degree):
    """`degree` entries a row on average, anywhere."""
    rng = np.random.default_rng(SEED)
    return pattern(rng.integers(0, n, degree * n), rng.integers(0, n, degree * n), (n, n))


def ladder(levels):
    """A path of squares: a search that has to go all the way."""
    i = np.arange(levels)
    return pattern(np.concatenate([i, i[1:]]), np.concatenate([i, i[:-1]]), (levels, levels))


def permuted(graph):
    """The same with rows and columns in random order."""
    rng = np.random.default_rng(SEED)
    found = graph[rng.permutation(graph.shape[0])][:, rng.permutation(graph.shape[1])]
    found.sort_indices()
    return found


def symmetric(pairs, n):
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return pattern(np.concatenate([pairs[:, 0], pairs[:, 1]]), np.concatenate([pairs[:, 1], pairs[:, 0]]), (n, n))


def pattern(row, col, shape):
    """Entries once each, in rows, sorted."""
    graph = scipy.sparse.coo_array((np.ones(len(row), np.int8), (row, col)), shape=shape).tocsr()
    graph.sum_duplicates()
    graph.data[:] = 1
    return graph


PLAIN = {
    "delaunay 2^20": lambda: delaunay(20),
    "rgg 2^18": lambda: random_geometric(18, 15),
    "rmat 2^18": lambda: rmat(18, 16, (0.45, 0.15, 0.15, 0.25)),
    "kron 2^18": lambda: rmat(18, 16, (0.57, 0.19, 0.19, 0.05), both=True),
    "road 1000^2": lambda: road(1000, 0.3),
    "uniform 2": lambda: uniform(1 << 20, 2),
    "uniform 3": lambda: uniform(1 << 20, 3),
    "uniform 5": lambda: uniform(1 << 20, 5),
    "ladder 100000": lambda: ladder(100_000),
}
GRAPHS = PLAIN | {f"{name} permuted": lambda make=make: permuted(make()) for name, make in PLAIN.items()}
QUICK = {
    "delaunay 2^12": lambda: delaunay(12),
    "rmat 2^12": lambda: rmat(12, 8, (0.45, 0.15, 0.15, 0.25)),
    "uniform 3, 4096": lambda: uniform(4096, 3),
}
