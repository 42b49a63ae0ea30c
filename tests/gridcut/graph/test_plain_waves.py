"""The plain version of waves on sparse graphs: the labels of every method, on a CPU, in the simulator and on a GPU."""

import numpy as np
import pytest
import scipy.sparse

import gridcut
from gridcut.graph.plain_waves import minimum_cut, search, wave
from tests.gridcut import oracles


def compare(problem, **options):
    graph, source, sink = problem
    entries = scipy.sparse.coo_array(graph)
    cut = gridcut.graph_max_flow(graph, source, sink, **options)
    cut.check()
    arcs = zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True)
    assert (minimum_cut(arcs, source, sink) == cut.labels).all()


def problems():
    return [oracles.random_graph(seed) for seed in range(8)]


def test_labels_are_those_of_max_flow():
    for problem in problems():
        compare(problem, device="cpu")


@pytest.mark.sim
def test_labels_are_those_of_the_kernel():
    for problem in problems():
        compare(problem, device="cuda", method="waves")


@pytest.mark.gpu
def test_labels_are_those_of_the_gpu():
    for problem in problems():
        compare(problem, device="cuda", method="waves")


def test_excess_passes_all_levels_in_one_wave():
    """A path 3 -> 2 -> 1 -> 0, and an arc 2 -> 1 that lets only 4 of 9 units pass."""
    excess = [-8, 0, 0, 9]
    residual = [{1: 0}, {0: 9, 2: 0}, {1: 4, 3: 0}, {2: 9}]
    levels = search(excess, residual)
    assert levels == [[0], [1], [2], [3], []]
    wave(levels, {x: x for x in range(4)}, excess, residual)
    assert excess == [-4, 0, 5, 0]
    assert residual == [{1: 4}, {0: 5, 2: 4}, {1: 0, 3: 9}, {2: 0}]


def test_empty_graph():
    assert minimum_cut([], np.array([1, 0, 0]), np.array([0, 1, 0])).tolist() == [True, False, True]
