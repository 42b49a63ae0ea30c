"""Trees and chains, which are solved or contracted before the search: values and labels by SciPy, flows certified."""

import os

import numpy as np
import pytest
import scipy.sparse

import gridcut
from gridcut.graph import graph_reduction
from gridcut.graph.graph_problem import check_graph_problem, lists_of
from gridcut.graph.residual_graph import load_graph
from tests.gridcut import oracles

BASE = int(os.environ.get("CUTMATCH_SEED", "0"))
MIN_NODES = graph_reduction.MIN_NODES


@pytest.fixture
def reduces_all(monkeypatch):
    monkeypatch.setattr(graph_reduction, "MIN_NODES", 0)
    monkeypatch.setattr(graph_reduction, "MIN_NARROW_SHARE", 0.0)


def tree(rng):
    """Each node is connected to an earlier one; a few nodes are isolated."""
    n = int(rng.integers(1, 40))
    nodes = np.arange(1, n)
    ends = np.stack([nodes, (nodes * rng.random(n - 1)).astype(int)])
    return n, ends[:, rng.random(n - 1) < 0.9]


def path(rng):
    n = int(rng.integers(2, 40))
    return n, np.stack([np.arange(n - 1), np.arange(1, n)])


def cycle(rng):
    n = int(rng.integers(3, 20))
    return n, np.stack([np.arange(n), np.roll(np.arange(n), 1)])


def star(rng):
    n = int(rng.integers(2, 40))
    return n, np.stack([np.zeros(n - 1, int), np.arange(1, n)])


def subdivided(rng):
    """A random graph whose edges become chains; some are parallel, and some lead from a node to itself."""
    n = hubs = int(rng.integers(1, 8))
    ends = []
    for a, b in rng.integers(0, hubs, (int(rng.integers(1, 3 * hubs)), 2)):
        inner = range(n, n + int(rng.integers(0, 5)))
        n += len(inner)
        chain = [a, *inner, b]
        ends += zip(chain[:-1], chain[1:], strict=True)
    return n, np.array(ends).T


def streets(rng):
    """A grid without three edges in ten."""
    index = np.arange(42).reshape(6, 7)
    ends = np.stack([
        np.concatenate([index[:, :-1].ravel(), index[:-1].ravel()]),
        np.concatenate([index[:, 1:].ravel(), index[1:].ravel()]),
    ])  # fmt: skip
    return index.size, ends[:, rng.random(ends.shape[1]) < 0.7]


SHAPES = {shape.__name__: shape for shape in (tree, path, cycle, star, subdivided, streets)}


def problem_of(shape, seed):
    """A graph of a shape, its nodes in random order: directed or not, terminals at few, many or all nodes."""
    rng = np.random.default_rng(seed)
    n, ends = SHAPES[shape](rng)
    tails, heads = rng.permutation(n)[ends]
    high = int(rng.choice([2, 20, 1000]))
    there, back = rng.integers(0, high, (2, len(tails)))
    if seed % 3 == 0:
        back = there
    elif seed % 3 == 1:
        back = back * (rng.random(len(back)) < 0.5)
    both = np.concatenate([tails, heads]), np.concatenate([heads, tails])
    graph = scipy.sparse.coo_array((np.concatenate([there, back]), both), shape=(n, n))
    source, sink = (rng.integers(0, 2 * high, n) * (rng.random(n) < rng.choice([0.1, 0.4, 1])) for _ in range(2))
    return graph, source, sink


def check_seed(shape, seed):
    graph, source, sink = problem_of(shape, seed)
    value, labels = oracles.graph_cut(graph, source, sink)
    for scale in (1, 2**40, 0.375):
        cut = gridcut.graph_max_flow(graph * scale, source * scale, sink * scale)
        cut.check()
        assert cut.value == value * scale, f"seed {seed}"
        np.testing.assert_array_equal(cut.labels, labels, f"seed {seed}")


@pytest.mark.usefixtures("reduces_all")
@pytest.mark.parametrize("shape", SHAPES)
def test_random_reductions(shape):
    for seed in range(BASE, BASE + 70):
        check_seed(shape, seed)


@pytest.mark.thorough
@pytest.mark.usefixtures("reduces_all")
@pytest.mark.parametrize("shape", SHAPES)
def test_many_random_reductions(shape):
    for seed in range(BASE, BASE + 3000):
        check_seed(shape, seed)


def loaded(graph, source, sink):
    problem = check_graph_problem(graph, source, sink)
    return load_graph(problem, lists_of(problem))[0]


def ladder(rungs):
    """Two parallel paths with rungs: few nodes with at most two neighbours."""
    nodes = np.arange(2 * rungs)
    tails = np.concatenate([nodes[:-2], nodes[::2]])
    heads = np.concatenate([nodes[2:], nodes[1::2]])
    graph = scipy.sparse.coo_array((np.full(len(tails), 5), (tails, heads)), shape=(2 * rungs, 2 * rungs))
    source, sink = np.zeros((2, 2 * rungs), int)
    source[0] = sink[-1] = 20
    return graph + graph.T, source, sink


def test_graphs_that_are_small_or_wide_are_left_as_they_are():
    for problem in (problem_of("path", 0), ladder(MIN_NODES)):
        residual = loaded(*problem)
        before = [array.copy() for array in residual[:3]]
        assert graph_reduction.reduce_graph(residual) is None
        for array, same in zip(residual[:3], before, strict=True):
            np.testing.assert_array_equal(array, same)


def test_a_long_ladder():
    """Depths beyond the first buffers, and augmenting paths through half of the nodes."""
    cut = gridcut.graph_max_flow(*ladder(10_000))
    cut.check()
    assert cut.value == 10
    assert cut.stats["augmentations"] > 0
