"""Generators of graphs for the matching benchmarks: CSR arrays, rows and columns the two sides.

Families of the papers as far as they can be generated: meshes (Delaunay, random geometric, a road-like grid), skewed
ones (R-MAT and the Graph500 parameters), sparse random ones, on which searches become long, and graphs made to be hard:
many phases, long paths, dead ends.  Graphs of vertices are used as matrices: a vertex is a row and a column.  Entries
are sorted and stored once.  Graphs of 10^8 entries are generated in parallel.

    pairs      ends low[i], high[i] of undirected edges, each once or several times
    lists      ptr, adj: the neighbours of v are adj[ptr[v]:ptr[v + 1]], ascending, each once
"""

from concurrent.futures import ThreadPoolExecutor
from os import cpu_count

import numpy as np
import scipy.sparse
from numba import njit, prange
from scipy.spatial import Delaunay

SEED = 12345
STRIPS = 64
MARGIN = 8.0  # of a strip, in mean distances of points; the largest empty circles have radii of about 3


def delaunay(scale):
    """Triangulation of 2^scale random points of the unit square."""
    points = np.random.default_rng(SEED).random((1 << scale, 2))
    return triangles_to_graph(Delaunay(points).simplices, 1 << scale)


def delaunay_by_strips(scale):
    """The same without some edges of the hull, in a tenth of the time on many processors; each thread has some strips.

    A triangle belongs to the strip in which its circle has its centre.  It is correct if its circle does not leave the
    points of the strip and its margin.  Triangles with larger circles, at the boundary of the square, are left out.
    """
    n = 1 << scale
    points = np.random.default_rng(SEED).random((n, 2))
    by_height = np.argsort(points[:, 1])
    height = points[by_height, 1]
    bounds = np.linspace(0, 1, STRIPS + 1)

    def triangles(strip):
        low, high = bounds[strip : strip + 2]
        lowest, highest = low - MARGIN / n**0.5, high + MARGIN / n**0.5
        near = by_height[slice(*np.searchsorted(height, (lowest, highest)))]
        corners = Delaunay(points[near]).simplices
        a, b, c = (points[near[corners[:, i]]] for i in range(3))
        b, c = b - a, c - a
        twice = 2 * (b[:, 0] * c[:, 1] - b[:, 1] * c[:, 0])
        bb, cc = (b * b).sum(1), (c * c).sum(1)
        across = (c[:, 1] * bb - b[:, 1] * cc) / twice
        up = (b[:, 0] * cc - c[:, 0] * bb) / twice
        centre, radius = a[:, 1] + up, np.hypot(across, up)
        kept = (centre >= low) | (strip == 0)
        kept &= (centre < high) | (strip == STRIPS - 1)
        kept &= (centre - radius >= lowest) | (lowest <= 0)
        kept &= (centre + radius <= highest) | (highest >= 1)
        return near[corners[kept]].astype(np.int32)

    with ThreadPoolExecutor(cpu_count()) as pool:
        corners = np.concatenate(list(pool.map(triangles, range(STRIPS))))
    return triangles_to_graph(corners, n)


def triangles_to_graph(corners, n):
    low, high = (np.concatenate([corners[:, i] for i in order]) for order in ((0, 1, 2), (1, 2, 0)))
    return undirected(low, high, n)


def random_geometric(scale, degree):
    """2^scale random points, each pair within a distance joined: `degree` neighbours on average."""
    n = 1 << scale
    points = np.random.default_rng(SEED).random((n, 2))
    points = points[np.lexsort((points[:, 0], (points[:, 1] * n**0.5 / 4).astype(int)))]
    radius = (degree / (np.pi * n)) ** 0.5
    side = max(1, int(1 / radius))
    cell = (points * side).astype(np.int64)
    cell = np.minimum(cell[:, 1], side - 1) * side + np.minimum(cell[:, 0], side - 1)
    order = np.argsort(cell, kind="stable").astype(np.int32)
    begin = np.searchsorted(cell[order], np.arange(side * side + 1))
    ptr = np.zeros(n + 1, np.int64)
    np.cumsum(_neighbours(points, order, begin, side, radius * radius, ptr, np.zeros(0, np.int32)), out=ptr[1:])
    adj = np.empty(ptr[-1], np.int32)
    _neighbours(points, order, begin, side, radius * radius, ptr, adj)
    return as_matrix(ptr, adj, (n, n))


def rmat(scale, edges, shares, both=False):
    """R-MAT: each edge falls into one quarter after the other, with these shares.  both: the graph is undirected."""
    n = 1 << scale
    rng = np.random.default_rng(SEED)
    row, col = np.zeros(edges * n, np.int32), np.zeros(edges * n, np.int32)
    bounds = np.cumsum(shares)[:-1]
    for _ in range(scale):
        _choose_quarters(row, col, rng.random(edges * n), bounds)
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
    rows = rng.permutation(graph.shape[0])
    place = np.empty(graph.shape[1], np.int32)
    place[rng.permutation(graph.shape[1])] = np.arange(graph.shape[1], dtype=np.int32)
    ptr = np.zeros(graph.shape[0] + 1, np.int64)
    np.cumsum(np.diff(graph.indptr)[rows], out=ptr[1:])
    adj = np.empty(ptr[-1], np.int32)
    _permute(graph.indptr, graph.indices, rows, place, ptr, adj)
    return as_matrix(ptr, adj, graph.shape)


def pattern(row, col, shape):
    """A CSR array of entries, each once, in rows, sorted; 32-bit indices."""
    entries = np.asarray(row, np.int32), np.asarray(col, np.int32)
    graph = scipy.sparse.coo_array((np.ones(len(row), np.int8), entries), shape=shape).tocsr()
    graph.sum_duplicates()
    graph.data[:] = 1
    return graph


def undirected(low, high, n):
    """A CSR array of pairs, without loops."""
    return as_matrix(*_lists(low, high, n), (n, n))


def as_matrix(ptr, adj, shape):
    if len(adj) < 2**31:
        ptr = ptr.astype(np.int32)
    return scipy.sparse.csr_array((np.ones(len(adj), np.int8), adj, ptr), shape=shape)


def _lists(low, high, n):
    ptr = np.zeros(n + 1, np.int64)
    _count(low, high, ptr)
    np.cumsum(ptr, out=ptr)
    adj = np.empty(ptr[-1], np.int32)
    _fill(low, high, ptr.copy(), adj)
    own = np.zeros(n + 1, np.int64)
    _sort(ptr, adj, own)
    np.cumsum(own, out=own)
    once = np.empty(own[-1], np.int32)
    _pack(ptr, adj, own, once)
    return own, once


@njit(cache=True)
def _count(low, high, number):
    for i in range(low.size):
        if low[i] != high[i]:
            number[low[i] + 1] += 1
            number[high[i] + 1] += 1


@njit(cache=True)
def _fill(low, high, place, adj):
    for i in range(low.size):
        a, b = low[i], high[i]
        if a != b:
            adj[place[a]] = b
            place[a] += 1
            adj[place[b]] = a
            place[b] += 1


@njit(cache=True, parallel=True)
def _sort(ptr, adj, number):
    """Sort each list, move one copy of each entry to its front, and count these."""
    for v in prange(ptr.size - 1):
        some = adj[ptr[v] : ptr[v + 1]]
        some.sort()
        kept = 0
        for k in range(some.size):
            if k == 0 or some[k] != some[kept - 1]:
                some[kept] = some[k]
                kept += 1
        number[v + 1] = kept


@njit(cache=True, parallel=True)
def _pack(ptr, adj, own, once):
    for v in prange(ptr.size - 1):
        for k in range(own[v + 1] - own[v]):
            once[own[v] + k] = adj[ptr[v] + k]


@njit(cache=True, parallel=True)
def _permute(ptr, adj, rows, place, own_ptr, own_adj):
    for i in prange(rows.size):
        begin = ptr[rows[i]]
        some = own_adj[own_ptr[i] : own_ptr[i + 1]]
        for k in range(some.size):
            some[k] = place[adj[begin + k]]
        some.sort()


@njit(cache=True, parallel=True)
def _choose_quarters(row, col, random, bounds):
    for i in prange(row.size):
        quarter = 0
        for bound in bounds:
            quarter += bound <= random[i]
        row[i] = 2 * row[i] + quarter // 2
        col[i] = 2 * col[i] + quarter % 2


@njit(cache=True, parallel=True)
def _neighbours(points, order, begin, side, square, ptr, adj):
    """Return the number of neighbours of each point, and write them unless adj is empty."""
    number = np.zeros(points.shape[0], np.int64)
    for v in prange(points.shape[0]):
        x, y = points[v]
        across, up = min(int(x * side), side - 1), min(int(y * side), side - 1)
        found = 0
        for row in range(max(0, up - 1), min(side, up + 2)):
            first, last = row * side + max(0, across - 1), row * side + min(side, across + 2)
            for k in range(begin[first], begin[last]):
                w = order[k]
                dx, dy = points[w, 0] - x, points[w, 1] - y
                if w != v and dx * dx + dy * dy <= square:
                    if adj.size:
                        adj[ptr[v] + found] = w
                    found += 1
        number[v] = found
        if adj.size:
            adj[ptr[v] : ptr[v] + found].sort()
    return number
