"""Instances and the oracle that the tests of sparse graphs share."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.csgraph import breadth_first_order, maximum_flow


def oracle(graph, source, sink):
    """Value and labels by SciPy: the sink side is what reaches the sink in the residual graph."""
    n = graph.shape[0]
    graph = graph.tocoo()
    nodes = np.arange(n)
    data = np.r_[graph.data, source, sink].astype(np.int32)
    rows, cols = np.r_[graph.row, np.full(n, n), nodes], np.r_[graph.col, nodes, np.full(n, n + 1)]
    kept = rows != cols
    network = scipy.sparse.csr_array((data[kept], (rows[kept], cols[kept])), shape=(n + 2, n + 2))
    solved = maximum_flow(network, n, n + 1)
    residual = scipy.sparse.csr_array(network - solved.flow)
    residual.eliminate_zeros()
    reaching = breadth_first_order(residual.T.tocsr(), n + 1, return_predecessors=False)
    labels = np.ones(n + 2, bool)
    labels[reaching] = False
    return int(solved.flow_value), labels[:n]


def random_problem(seed):
    """A small graph of random density, with repeated entries and loops, symmetric in a third of all cases."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    m = int(rng.integers(0, 5 * n))
    high = int(rng.choice([2, 20, 1000]))
    graph = scipy.sparse.coo_array((rng.integers(0, high, m), rng.integers(0, n, (2, m))), shape=(n, n))
    if seed % 3 == 0:
        graph = scipy.sparse.csr_array(graph)
        graph.setdiag(0)
        graph.eliminate_zeros()
        graph = (graph + graph.T).tocoo()
    source = rng.integers(0, high, n) * (rng.random(n) < 0.4)
    sink = rng.integers(0, high, n) * (rng.random(n) < 0.4)
    return graph, source, sink


def layered_problem(width=4, layers=40):
    """Goldberg's family: layers in which each unit of flow has to change its path."""
    n = width * layers
    rng = np.random.default_rng(1)
    tails, heads, capacity = [], [], []
    for layer in range(layers - 1):
        for i in range(width):
            for j in range(width):
                tails.append(layer * width + i)
                heads.append((layer + 1) * width + j)
                capacity.append(int(rng.integers(1, 1 << (1 + (i + j + layer) % 12))))
    graph = scipy.sparse.coo_array((capacity, (tails, heads)), shape=(n, n))
    source, sink = np.zeros(n, int), np.zeros(n, int)
    source[:width], sink[-width:] = 10**5, 10**5
    return graph, source, sink


def as_tuple(graph, rng=None):
    """The entries of a COO graph by rows, with repetitions; in random order within the rows."""
    order = np.arange(graph.nnz) if rng is None else rng.permutation(graph.nnz)
    order = order[np.argsort(graph.row[order], kind="stable")]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(graph.row, minlength=graph.shape[0]))])
    return indptr, graph.col[order], graph.data[order], graph.shape


@pytest.fixture(scope="session")
def graphs():
    return SimpleNamespace(
        oracle=oracle, random_problem=random_problem, layered_problem=layered_problem, as_tuple=as_tuple
    )
