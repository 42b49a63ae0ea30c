"""Sparse graphs for `python -m benchmarks graphs`: adjacency of regions and cells, meshes, random and extreme graphs.

An instance is (graph, source, sink): a CSR matrix of int64 capacities with sorted rows, and the terminals of the nodes.
"""

import numpy as np
import scipy.sparse
import skimage.color
import skimage.data
import skimage.segmentation
from scipy.spatial import Delaunay

FAR = 10**6  # capacity of a seed


def regions(photo: str, count: int):
    """Superpixels of a photograph; edges by the contrast of their means, terminals by distance to two colours."""
    image = skimage.color.rgb2lab(getattr(skimage.data, photo)())
    labels = skimage.segmentation.slic(image, count, compactness=5, convert2lab=False, start_label=0)
    n = int(labels.max()) + 1
    sizes = np.bincount(labels.ravel(), minlength=n)
    means = np.stack([np.bincount(labels.ravel(), image[..., c].ravel(), n) for c in range(3)], 1)
    means /= np.maximum(sizes, 1)[:, None]
    sides = [np.stack([labels[:, :-1], labels[:, 1:]]), np.stack([labels[:-1], labels[1:]])]
    pairs = np.concatenate([side.reshape(2, -1) for side in sides], axis=1)
    lengths = scipy.sparse.coo_array((np.ones(pairs.shape[1]), np.sort(pairs, axis=0)), shape=(n, n)).tocsr().tocoo()
    keep = lengths.row != lengths.col
    row, col, length = lengths.row[keep], lengths.col[keep], lengths.data[keep]
    contrast = ((means[row] - means[col]) ** 2).sum(1)
    weights = np.rint(400 * length * np.exp(-contrast / contrast.mean())).astype(np.int64) + 1
    darkest, brightest = np.quantile(means, [0.1, 0.9], axis=0)
    costs = [sizes * np.linalg.norm(means - colour, axis=1) for colour in (brightest, darkest)]
    return undirected(n, row, col, weights), *(np.rint(cost).astype(np.int64) for cost in costs)


def cells(n: int, axes: int, noise: float, seed: int = 0):
    """A Delaunay graph of random points (of tetrahedra, with three axes): noisy terminals, random edges."""
    points, row, col = delaunay(n, axes, seed)
    rng = np.random.default_rng(seed)
    signal = np.sin(6 * points[:, 0]) * np.cos(5 * points[:, 1]) + (np.sin(4 * points[:, 2]) if axes == 3 else 0)
    unary = np.rint(60 * (signal + noise * rng.standard_normal(n))).astype(np.int64)
    weights = rng.integers(1, 60 if axes == 2 else 30, len(row))
    return undirected(n, row, col, weights), np.maximum(unary, 0), np.maximum(-unary, 0)


def seeds(n: int, axes: int, seed: int = 3):
    """A Delaunay graph with a disc of source seeds inside a ring of sink seeds: all flow goes far."""
    points, row, col = delaunay(n, axes, seed)
    distance = np.linalg.norm(points - 0.5, axis=1)
    weights = np.random.default_rng(seed).integers(1, 100, len(row))
    graph = undirected(n, row, col, weights)
    return graph, np.where(distance < 0.1, FAR, 0), np.where(distance > 0.46, FAR, 0)


def random(n: int, entries: int, seed: int = 1):
    """A directed random graph in which one node in five has a terminal."""
    rng = np.random.default_rng(seed)
    graph = scipy.sparse.csr_array((rng.integers(1, 100, entries), rng.integers(0, n, (2, entries))), shape=(n, n))
    return graph, *(rng.integers(0, 100, n) * (rng.random(n) < 0.1) for _ in range(2))


def path(n: int):
    """A path with random capacities and terminals."""
    rng = np.random.default_rng(2)
    nodes = np.arange(n - 1)
    return undirected(n, nodes, nodes + 1, rng.integers(1, 100, n - 1)), *rng.integers(0, 100, (2, n))


def roads(side: int):
    """Streets: a grid of which three edges in ten are missing, with a few wide ones; 50 places on either side."""
    rng = np.random.default_rng(4)
    n = side * side
    row, col = grid_edges(side, side)
    keep = rng.random(len(row)) < 0.7
    weights = np.where(rng.random(keep.sum()) < 0.05, 200, rng.integers(1, 20, keep.sum()))
    places = rng.permutation(n)[:100]
    source, sink = np.zeros((2, n), np.int64)
    source[places[:50]] = sink[places[50:]] = FAR
    return undirected(n, row[keep], col[keep], weights), source, sink


def strokes():
    """The photograph "astronaut" of 512^2 pixels with strokes, as a graph."""
    image = skimage.data.astronaut().astype(float)
    row, col = grid_edges(*image.shape[:2])
    flat = image.reshape(-1, 3)
    weights = (100 * np.exp(-((flat[row] - flat[col]) ** 2).sum(1) / 400) + 1).astype(np.int64)
    source, sink = np.zeros((2, *image.shape[:2]), np.int64)
    source[100:250, 200:260] = FAR
    sink[:30] = sink[:, :30] = sink[:, -30:] = FAR
    return undirected(len(flat), row, col, weights), source.ravel(), sink.ravel()


def delaunay(n: int, axes: int, seed: int):
    """Random points in raster order of small squares, and the ends of their Delaunay edges."""
    points = np.random.default_rng(seed).random((n, axes))
    squares = int(n ** (1 / axes)) // 4 + 1
    key = np.zeros(n, np.int64)
    for axis in range(axes):
        key = key * squares + (points[:, axis] * squares).astype(np.int64)
    points = points[np.argsort(key, kind="stable")]
    corners = Delaunay(points).simplices.astype(np.int64)
    first, second = np.triu_indices(axes + 1, 1)
    ends = np.sort(np.stack([corners[:, first].ravel(), corners[:, second].ravel()]), axis=0)
    edges = np.unique(ends[0] * n + ends[1])
    return points, edges // n, edges % n


def grid_edges(height: int, width: int):
    """The ends of the edges of a grid with four neighbours."""
    index = np.arange(height * width).reshape(height, width)
    row = np.concatenate([index[:, :-1].ravel(), index[:-1].ravel()])
    return row, np.concatenate([index[:, 1:].ravel(), index[1:].ravel()])


def undirected(n: int, row, col, weights):
    """A CSR matrix with both directions of every edge."""
    ends = np.concatenate([row, col]), np.concatenate([col, row])
    graph = scipy.sparse.csr_array((np.concatenate([weights, weights]), ends), shape=(n, n))
    graph.sort_indices()
    return graph


INSTANCES = {
    "regions of astronaut, 10^4": lambda: regions("astronaut", 10_000),
    "regions of coffee, 3 10^4": lambda: regions("coffee", 30_000),
    "cells, 10^5": lambda: cells(100_000, 2, 1.5),
    "cells, 10^6": lambda: cells(1_000_000, 2, 1.5),
    "cells with seeds, 2 10^5": lambda: seeds(200_000, 2),
    "tetrahedra, 10^5": lambda: cells(100_000, 3, 2.0),
    "tetrahedra with seeds, 10^5": lambda: seeds(100_000, 3),
    "random, 10^5": lambda: random(100_000, 400_000),
    "path, 5 10^5": lambda: path(500_000),
    "roads, 2.5 10^5": lambda: roads(500),
    "strokes, 512^2": strokes,
}
# For a GPU: about 10^7 arcs each.
LARGE = {
    "cells, 1.7 10^6": lambda: cells(1_700_000, 2, 1.5),
    "tetrahedra, 6.5 10^5": lambda: cells(650_000, 3, 2.0),
    "random, 2.5 10^6": lambda: random(2_500_000, 10_000_000),
    "roads, 3.6 10^6": lambda: roads(1900),
    "path, 5 10^6": lambda: path(5_000_000),
}
