"""
Coarsen a graph
===============

Greedy matchings, merged again and again, divide a mesh into any number of connected parts.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse
from scipy.spatial import Delaunay

import matching

points = np.random.default_rng(0).random((1500, 2))
triangles = Delaunay(points).simplices
ends = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
ends = np.unique(np.sort(ends, axis=1), axis=0)
weights = 1 / np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1)
graph = scipy.sparse.coo_array((weights, tuple(ends.T)), shape=(1500, 1500)).tocsr()
levels = matching.hierarchy(graph + graph.T)
parts = levels.labels_at(24)

figure, axis = plt.subplots(figsize=(5, 5), layout="constrained")
axis.tripcolor(
    *points.T, triangles, facecolors=parts[triangles[:, 0]].astype(float), cmap="tab20", edgecolors="w", lw=0.1
)
axis.set(title="24 parts", aspect="equal")
axis.axis("off")
