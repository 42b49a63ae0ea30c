"""The plain version of waves on sparse graphs: the labels of every method, on a CPU, in the simulator and on a GPU."""

import pytest
import scipy.sparse

import gridcut
from gridcut.graph.plain_waves import minimum_cut
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
