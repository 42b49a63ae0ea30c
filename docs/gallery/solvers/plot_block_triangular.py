"""
Block triangular form of a matrix
=================================

A maximum matching gives the structural rank of a sparse matrix, and the Dulmage-Mendelsohn decomposition orders it.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse

import matching

graph = scipy.sparse.random_array((80, 80), density=0.03, format="csr", rng=0)
found = matching.dulmage_mendelsohn(graph)
found.check()
print(matching.maximum(graph))

figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
axes[0].spy(graph, markersize=2)
axes[0].set_title("as it is")
axes[1].spy(graph[found.row_perm][:, found.col_perm], markersize=2)
horizontal, square, _ = found.parts
for block in (horizontal, horizontal + square):
    axes[1].axhline(found.row_start[block] - 0.5, color="tab:red", lw=0.8)
    axes[1].axvline(found.col_start[block] - 0.5, color="tab:red", lw=0.8)
axes[1].set_title(f"structural rank {found.structural_rank} of {np.min(graph.shape)}")
