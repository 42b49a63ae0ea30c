"""Graphs for `python -m benchmarks matching`: NAME -> function() -> CSR array, rows and columns the two sides.

Families of the papers as far as they can be generated: meshes (Delaunay, random geometric, a road-like grid), skewed
ones (R-MAT and the Graph500 parameters), and sparse random ones, where searches grow long.  Graphs of vertices are
taken as matrices: a vertex is a row and a column.  "NAME permuted" has rows and columns in random order, which many
programs do not bear.  HARD are made to be hard: many phases, long paths, dead ends.  Any .mtx, .mtx.gz or .npz file
is a graph too.
"""

from pathlib import Path

import numpy as np
import scipy.sparse

import matching

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


def rope(blocks):
    """Blocks of 6 rows in a line; a row sees its twin among its own block's columns, and all columns of the next."""
    row = np.arange(6 * blocks)
    inner = row[:-6]
    col = [row, *((inner // 6 + 1) * 6 + k for k in range(6))]
    name = np.random.default_rng(SEED).permutation(len(row))
    return pattern(np.concatenate([row] + 6 * [inner]), name[np.concatenate(col)], 2 * (len(row),))


def groups(n, number, degree):
    """Rows in groups, whose entries lie in the columns of their own group and of the two beside it, anywhere."""
    rng = np.random.default_rng(SEED)
    size = n // number
    row = np.repeat(np.arange(n), degree)
    group = np.clip(row // size + rng.integers(-1, 2, len(row)), 0, number - 1)
    return pattern(row, group * size + rng.integers(0, size, len(row)), (n, n))


def dead_ends(levels):
    """A search from a free row meets layers of two rows, joined completely and without a way out, and beside them a
    chain that has one, farther off: depth first without marks on dead ends it takes 2^levels steps.

    Rows 2 i and 2 i + 1 are layer i: each has its own column, and both columns of layer i + 1.  Twice, for searches
    that take the first column first and for those that take the last.
    """
    layer = np.arange(2 * levels)
    inner = layer[:-2]
    chain = 2 * levels + np.arange(levels + 2)
    free = chain[-1] + 1
    row = np.concatenate([layer, inner, inner, chain, chain, [free, free, free]])
    col = np.concatenate([layer, (inner // 2 + 1) * 2, (inner // 2 + 1) * 2 + 1, chain, chain + 1, [0, 1, chain[0]]])
    size = 2 * (free + 1)
    return pattern(np.concatenate([row, free + 1 + row]), np.concatenate([col, size - 1 - col]), (size, size))


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
HARD = {
    "rope 2^18": lambda: rope((1 << 18) // 6),
    "groups 2^18": lambda: groups(1 << 18, 256, 4),
    "dead ends 2 x 100000": lambda: dead_ends(100_000),
}
QUICK = {
    "delaunay 2^12": lambda: delaunay(12),
    "rmat 2^12": lambda: rmat(12, 8, (0.45, 0.15, 0.15, 0.25)),
    "uniform 3, 4096": lambda: uniform(4096, 3),
}
# For the cost of a call: what linear programs and circuits are made of, at most 2000 rows.
SMALL = {
    "one entry": lambda: uniform(1, 1),
    "uniform 3, 10": lambda: uniform(10, 3),
    "ladder 100": lambda: ladder(100),
    "full 50": lambda: pattern(*np.indices((50, 50)).reshape(2, -1), (50, 50)),
    "road 20^2": lambda: road(20, 0.3),
    "uniform 4, 500": lambda: uniform(500, 4),
    "dead ends 2 x 6": lambda: dead_ends(6),
    "groups 1024": lambda: groups(1024, 16, 4),
    "rmat 2^10": lambda: rmat(10, 8, (0.45, 0.15, 0.15, 0.25)),
    "uniform 3, 2000": lambda: uniform(2000, 3),
    "ladder 2000": lambda: ladder(2000),
}
PERMUTED = " permuted"


def with_permuted(graphs):
    """The same graphs, and each of them with rows and columns permuted."""
    return graphs | {name + PERMUTED: lambda make=make: permuted(make()) for name, make in graphs.items()}


GRAPHS = with_permuted(PLAIN | HARD)


def hopeless_for_scipy(name):
    """Graphs on which SciPy's search without marks may take exponential time."""
    return PERMUTED in name or name.startswith("dead ends")


def from_file(path):
    """A graph from a file, as the families make theirs: entries once each, sorted."""
    graph = matching.read_graph(path).tocoo()
    return pattern(graph.row, graph.col, graph.shape)


def chosen(names, families):
    """{name: function} of graphs by name, or of files by path; of all in `families` if none are named.

    Raises ValueError for a name that is neither, OSError or ValueError for a file that cannot be read.
    """
    known = GRAPHS | families
    found = {}
    for name in names:
        if name in known:
            found[name] = known[name]
        elif name.lower().endswith((".mtx", ".mtx.gz", ".npz")):
            graph = from_file(name)
            found[Path(name).name.split(".")[0]] = lambda graph=graph: graph
        else:
            raise ValueError(f"no graph {name!r}; there are {', '.join(known)}, and .mtx, .mtx.gz and .npz files")
    return found or families
