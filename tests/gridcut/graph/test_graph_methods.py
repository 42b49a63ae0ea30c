"""The table of methods of graph_max_flow, and families of graphs that are hard for some of them."""

import numpy as np
import pytest
import scipy.sparse

import gridcut
from gridcut.graph import graph_methods

INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1

# method, device
SOLVERS = {("ibfs", "cpu"), ("waves", "cuda")}


def solve(graph, source, sink):
    """The cut on the CPU, certified."""
    cut = gridcut.graph_max_flow(graph, source, sink, device="cpu")
    cut.check()
    return cut


def test_a_path_that_flow_has_to_come_back_on():
    """Most of the excess reaches the end of a long path, where little of it can leave."""
    n = 2000
    nodes = np.arange(n - 1)
    graph = scipy.sparse.coo_array((np.full(n - 1, 50), (nodes, nodes + 1)), shape=(n, n))
    source, sink = np.zeros(n, int), np.zeros(n, int)
    source[0], sink[-1], sink[n // 2] = 40, 7, 3
    cut = solve(graph + graph.T, source, sink)
    assert cut.value == 10
    assert cut.labels.all()


def test_long_rows():
    """A hub with an arc to every node: each of its arcs is scanned a few times, not once per push."""
    n = 20_000
    rng = np.random.default_rng(0)
    leaves = np.arange(1, n)
    ends = np.zeros((2, n - 1), int)
    ends[1] = leaves
    graph = scipy.sparse.coo_array((rng.integers(0, 9, n - 1), ends), shape=(n, n))
    source, sink = np.zeros(n, int), rng.integers(0, 9, n)
    source[0] = 10**6
    cut = solve(graph, source, sink)
    flow = np.minimum(graph.toarray()[0, 1:], sink[1:]).sum()
    assert cut.value == flow


def test_components_without_a_source_or_a_sink():
    """Excess that cannot reach a sink stays, next to a component in which it can."""
    edges = np.array([[0, 1, 1, 2, 3, 4, 4, 5], [1, 0, 2, 1, 4, 3, 5, 4]])
    graph = scipy.sparse.coo_array((np.full(8, 3), edges), shape=(7, 7))
    cut = solve(graph, [9, 0, 0, 9, 0, 0, 4], [0, 0, 0, 0, 0, 2, 0])
    assert cut.value == 2
    assert cut.labels.all()


@pytest.mark.parametrize(("total", "dtype"), [(INT32_MAX, "int32"), (INT32_MAX + 1, "int64"), (INT64_MAX - 1, "int64")])
def test_capacities_at_the_limits(total, dtype):
    """A diamond whose middle has capacities that sum to the largest integer of the type."""
    part = total // 4
    graph = ([0, 1, 2, 2], [1, 2], np.array([part, part]), (3, 3))
    cut = solve(graph, [part, total - 3 * part, 0], [0, part, part])
    assert cut.stats["dtype"] == dtype
    assert cut.value == 2 * part


def test_every_solver_of_the_table_is_listed_here():
    table = {(name, d) for name, entry in graph_methods.METHODS.items() for d in ("cpu", "cuda") if getattr(entry, d)}
    assert table == SOLVERS


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"device": "gpu"}, ValueError, "device must be 'auto', 'cpu' or 'cuda', got 'gpu'"),
        ({"device": None}, TypeError, "device must be 'auto', 'cpu' or 'cuda', got NoneType"),
    ],
)
def test_bad_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        gridcut.graph_max_flow(([0, 1, 2], [1, 0], [3, 4], (2, 2)), [9, 0], [0, 9], **parameters)
