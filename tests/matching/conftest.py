"""Oracle and instances that the tests of matching share."""

import sys

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.csgraph import maximum_bipartite_matching


def pattern(row, col, shape):
    """A SciPy sparse array with these entries, each once."""
    matrix = scipy.sparse.csr_array((np.ones(len(row), np.int8), (row, col)), shape=shape)
    matrix.sum_duplicates()
    return matrix


def best_cardinality(matrix):
    """The cardinality of a maximum matching, by SciPy."""
    if 0 in matrix.shape:
        return 0
    return int((maximum_bipartite_matching(scipy.sparse.csr_array(matrix), "column") >= 0).sum())


def random_graph(rng, largest=16):
    """A small graph of one of many kinds, rectangular or square, often with empty rows and columns."""
    n, m = (int(size) for size in rng.integers(0, largest, 2))
    kind = rng.choice(["random", "sparse", "band", "star", "blocks", "full"])
    if kind == "sparse":
        dense = rng.random((n, m)) < 1.5 / max(m, 1)
    elif kind == "band":
        dense = np.abs(np.subtract.outer(np.arange(n), np.arange(m)) - int(rng.integers(-2, 3))) <= 1
    elif kind == "star":
        dense = np.zeros((n, m), bool)
        dense[:, : min(m, 2)] = True
        dense[: min(n, 2)] = True
    elif kind == "blocks":
        dense = rng.integers(0, 3, (n, 1)) == rng.integers(0, 3, (1, m))
    elif kind == "full":
        dense = np.ones((n, m), bool)
    else:
        dense = rng.random((n, m)) < rng.random() * 0.6
    return permuted(scipy.sparse.csr_array(dense.astype(np.int8)), rng)


def random_start(graph, rng):
    """A matching of some rows, each with a random free column."""
    start, taken = np.full(graph.shape[0], -1), set()
    for r in rng.permutation(graph.shape[0])[: rng.integers(0, graph.shape[0] + 1)]:
        columns = [c for c in graph.indices[graph.indptr[r] : graph.indptr[r + 1]].tolist() if c not in taken]
        if columns:
            start[r] = rng.choice(columns)
            taken.add(int(start[r]))
    return start


def permuted(matrix, rng):
    """The same graph with rows and columns in random order."""
    matrix = scipy.sparse.coo_array(matrix)
    n, m = matrix.shape
    return pattern(rng.permutation(n)[matrix.row], rng.permutation(m)[matrix.col], (n, m))


def path(length):
    """A path whose only maximum matching takes every other edge; rows that choose greedily take the other edges."""
    k = np.arange(length)
    return pattern(np.r_[k, k[:-1]], np.r_[k, k[1:]], (length, length))


def ladder(length):
    """Layers of two rows adjacent to both columns of the next layer, all dead ends; and a chain to a free column."""
    step = np.arange(length - 1)
    row = [np.arange(2 * length)]
    col = [np.arange(2 * length)]
    for i in range(2):
        for j in range(2):
            row.append(2 * step + i)
            col.append(2 * step + 2 + j)
    chain = 2 * length
    k = np.arange(2 * length)
    last = chain + len(k)
    row += [chain + k, chain + k[:-1], np.array([last] * 3), np.array([last - 1])]
    col += [chain + k, chain + k[1:], np.array([0, 1, chain]), np.array([last])]
    return pattern(np.concatenate(row), np.concatenate(col), (last + 1, last + 1))


def rope(blocks, rng):
    """Blocks of 6 in a line: each row is adjacent to its own column and to all of the next block; columns permuted."""
    r = np.arange(6 * blocks)
    row, col = [r], [r]
    for k in range(6):
        inner = r[: -6 or None]
        row.append(inner)
        col.append((inner // 6 + 1) * 6 + k)
    return pattern(np.concatenate(row), rng.permutation(len(r))[np.concatenate(col)], (len(r), len(r)))


def road(side, rng):
    """A square grid without a random 30 % of its edges, as a symmetric matrix."""
    i = np.arange(side * side).reshape(side, side)
    edges = np.vstack(
        [np.c_[i[:, :-1].ravel(), i[:, 1:].ravel()], np.c_[i[:-1].ravel(), i[1:].ravel()]],
    )
    a, b = edges[rng.random(len(edges)) < 0.7].T
    return pattern(np.r_[a, b], np.r_[b, a], (side * side, side * side))


def uniform(n, degree, rng):
    return pattern(rng.integers(0, n, n * degree), rng.integers(0, n, n * degree), (n, n))


@pytest.fixture(scope="session")
def tools():
    """The functions above; fixtures reach them without importing one test file from another."""
    return sys.modules[__name__]
