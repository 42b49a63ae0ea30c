"""General graphs with weights that the tests of greedy matching share."""

import networkx as nx
import numpy as np
import scipy.sparse

KINDS = ["few", "equal", "wide", "float", "zeros"]


def graph_of(n, lower, upper, weight):
    """A symmetric array of edges, each given once."""
    both = (np.r_[lower, upper].astype(int), np.r_[upper, lower].astype(int))
    return scipy.sparse.csr_array((np.r_[weight, weight], both), shape=(n, n))


def random_graph(rng, n, density, kind="float"):
    lower, upper = np.nonzero(np.triu(rng.random((n, n)) < density, 1))
    return graph_of(n, lower, upper, random_weights(rng, len(lower), kind))


def random_weights(rng, m, kind):
    if kind == "float":
        return rng.random(m)
    high = {"few": 4, "equal": 2, "wide": 10**9, "zeros": 2}[kind]
    return rng.integers(0 if kind == "zeros" else 1, high, m)


def path(weight):
    n = len(weight) + 1
    return graph_of(n, np.arange(n - 1), np.arange(1, n), np.asarray(weight))


def star(n):
    return graph_of(n, np.zeros(n - 1), np.arange(1, n), np.arange(1, n))


def complete(n, weight):
    lower, upper = np.triu_indices(n, 1)
    return graph_of(n, lower, upper, weight)


def adversarial():
    rng = np.random.default_rng(5)
    ladder = scipy.sparse.csr_array(nx.to_scipy_sparse_array(nx.circular_ladder_graph(50)))
    hubs = nx.to_scipy_sparse_array(nx.complete_bipartite_graph(3, 60), dtype=np.int64)
    return {
        "empty": scipy.sparse.csr_array((0, 0)),
        "no edges": scipy.sparse.csr_array((7, 7)),
        "one edge": path([2.5]),
        "rising path": path(np.arange(1, 3001)),
        "falling path": path(np.arange(3000, 0, -1)),
        "level path": path(np.ones(501)),
        "star": star(400),
        "level complete": complete(40, np.ones(780, int)),
        "rising complete": complete(60, np.arange(1770)),
        "random complete": complete(120, rng.random(7140)),
        "ladder": ladder,
        "hubs": scipy.sparse.csr_array(hubs),
        "two parts": scipy.sparse.csr_array(scipy.sparse.block_diag([star(9), path([3, 1, 3])])),
    }
