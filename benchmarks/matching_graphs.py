"""Generators of graphs for the matching benchmarks: CSR arrays, rows and columns the two sides.

Families of the papers as far as they can be generated: meshes (Delaunay, random geometric, a road-like grid), skewed
ones (R-MAT and the Graph500 parameters), sparse random ones, on which searches become long, and graphs made to be hard:
many phases, long paths, dead ends.  Graphs of vertices are used as matrices: a vertex is a row and a column.  Entries
are sorted and stored once.
"""

import numpy as np
import scipy.sparse
from scipy.spatial import Delaunay, cKDTree

SEED = 12345


def delaunay(scale):
    """Triangulation of 2^scale random points of the unit square."""
    corners = Delaunay(np.random.default_rng(SEED).random((1 << scale, 2))).simplices
    low, high = (np.concatenate([corners[:, i] for i in order]) for order in ((0, 1, 2), (1, 2, 0)))
    return undirected(low, high, 1 << scale)


def random_geometric(scale, degree):
    """2^scale random points, each pair within a distance joined: `degree` neighbours on average."""
    n = 1 << scale
    points = np.random.default_rng(SEED).random((n, 2))
    points = points[np.lexsort((points[:, 0], (points[:, 1] * n**0.5 / 4).astype(int)))]
    return undirected(*cKDTree(points).query_pairs((degree / (np.pi * n)) ** 0.5, output_type="ndarray").T, n)


def rmat(scale, edges, shares, both=False):
    """R-MAT: each edge falls into one quarter after the other, with these shares.  both: the graph is undirected."""
    n = 1 << scale
    rng = np.random.default_rng(SEED)
    row, col = np.zeros((2, edges * n), np.int32)
    bounds = np.cumsum(shares)[:-1]
    for _ in range(scale):
        quarter = np.searchsorted(bounds, rng.random(edges * n), side="right")
        row, col = 2 * row + quarter // 2, 2 * col + quarter % 2
    return undirected(row, col, n) if both else pattern(row, col, (n, n))


def road(side, missing):
    """A grid of streets, a share of which is missing."""
    index = np.arange(side * side, dtype=np.int32).reshape(side, side)
    low = np.concatenate([index[:, :-1].ravel(), index[:-1].ravel()])
    high = np.concatenate([index[:, 1:].ravel(), index[1:].ravel()])
    kept = np.random.default_rng(SEED).random(len(low)) >= missing
    return undirected(low[kept], high[kept], side * side)


def uniform(n, degree):
    """On average `degree` entries per row, at random columns."""
    rng = np.random.default_rng(SEED)
    return pattern(rng.integers(0, n, degree * n), rng.integers(0, n, degree * n), (n, n))


def ladder(levels):
    """A path of squares: a search must follow it to the end."""
    i = np.arange(levels)
    return pattern(np.concatenate([i, i[1:]]), np.concatenate([i, i[:-1]]), (levels, levels))


def rope(blocks):
    """Blocks of 6 rows in a line; a row has its own column in its block, and all columns of the next block."""
    row = np.arange(6 * blocks)
    inner = row[:-6]
    col = [row, *((inner // 6 + 1) * 6 + k for k in range(6))]
    index = np.random.default_rng(SEED).permutation(len(row))
    return pattern(np.concatenate([row] + 6 * [inner]), index[np.concatenate(col)], 2 * (len(row),))


def groups(n, number, degree):
    """Rows in groups, with entries at random columns of their own group and of the two adjacent groups."""
    rng = np.random.default_rng(SEED)
    size = n // number
    row = np.repeat(np.arange(n), degree)
    group = np.clip(row // size + rng.integers(-1, 2, len(row)), 0, number - 1)
    return pattern(row, group * size + rng.integers(0, size, len(row)), (n, n))


def dead_ends(levels):
    """A search from an unmatched row meets layers of two rows, joined completely and with no exit, and in addition a
    longer chain that has one: a depth-first search that does not mark dead ends needs 2^levels steps.

    Rows 2 i and 2 i + 1 are layer i: each has its own column, and both columns of layer i + 1.  Twice, for searches
    that scan the first column first and for those that scan the last.
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
    rows, cols = rng.permutation(graph.shape[0]), rng.permutation(graph.shape[1])
    found = scipy.sparse.csr_array(graph[rows][:, cols])
    found.sort_indices()
    return found


def pattern(row, col, shape):
    """A CSR array of entries, each once, in rows, sorted; 32-bit indices."""
    entries = np.asarray(row, np.int32), np.asarray(col, np.int32)
    graph = scipy.sparse.coo_array((np.ones(len(row), np.int8), entries), shape=shape).tocsr()
    graph.sum_duplicates()
    graph.data[:] = 1
    return graph


def undirected(low, high, n):
    """A CSR array of pairs, without loops."""
    apart = low != high
    low, high = low[apart], high[apart]
    return pattern(np.concatenate([low, high]), np.concatenate([high, low]), (n, n))
