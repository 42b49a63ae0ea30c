"""Residual graphs that are built on the GPU: form, types, errors, and their conversion for certificates."""

import pickle

import numpy as np
import pytest
import scipy.sparse

import gridcut
from gridcut.graph.graph_problem import check_graph_problem, lists_of

INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1

pytestmark = pytest.mark.sim


def solve(graph, source, sink):
    return gridcut.graph_max_flow(graph, source, sink, method="waves", device="cuda")


def is_paired(problem):
    from gridcut.graph.graph_load_cuda import load_on_device

    problem = check_graph_problem(*problem)
    return load_on_device(problem, lists_of(problem)).is_paired


def symmetric():
    """Six nodes, both directions of every edge, with different capacities."""
    rng = np.random.default_rng(1)
    dense = rng.integers(1, 9, (6, 6)) * (np.abs(np.subtract.outer(range(6), range(6))) == 1)
    return scipy.sparse.csr_array(dense), np.array([9, 0, 0, 3, 0, 0]), np.array([0, 0, 2, 0, 0, 9])


def parts(graph):
    return graph.indptr.copy(), graph.indices.copy(), graph.data.copy(), graph.shape


def with_entry(graph, u, v):
    """One more entry at the end of row u."""
    indptr, indices, capacity, shape = parts(graph)
    at = indptr[u + 1]
    indptr[u + 1 :] += 1
    return indptr, np.insert(indices, at, v), np.insert(capacity, at, 5), shape


def reversed_row(graph):
    indptr, indices, capacity, shape = parts(graph)
    for values in indices, capacity:
        values[indptr[2] : indptr[3]] = values[indptr[2] : indptr[3]][::-1].copy()
    return indptr, indices, capacity, shape


UNPAIRED = {
    "a direction is missing": lambda graph: with_entry(graph, 1, 4),
    "the diagonal": lambda graph: with_entry(graph, 5, 5),
    "a repetition": lambda graph: with_entry(graph, 2, 3),
    "a row that descends": reversed_row,
}


def test_paired_graphs_are_recognised():
    assert is_paired(symmetric())


@pytest.mark.parametrize("change", UNPAIRED)
def test_other_graphs_are_recognised(change):
    graph, source, sink = symmetric()
    problem = UNPAIRED[change](graph), source, sink
    assert not is_paired(problem)
    cut = solve(*problem)
    cut.check()
    expected = gridcut.graph_max_flow(*problem)
    assert cut.value == expected.value
    np.testing.assert_array_equal(cut.labels, expected.labels)


@pytest.mark.parametrize("change", [None, *UNPAIRED])
def test_residuals_have_the_form_of_the_host(change):
    """The capacities of both directions of a pair add up to those of the graph; one entry for each direction."""
    graph, source, sink = symmetric()
    given = graph if change is None else UNPAIRED[change](graph)
    cut, expected = solve(given, source, sink), gridcut.graph_max_flow(given, source, sink)
    found, of_host = cut.residual(), expected.residual()
    np.testing.assert_array_equal(found.indptr, of_host.indptr)
    np.testing.assert_array_equal(found.indices, of_host.indices)
    assert ((found + found.T) != (of_host + of_host.T)).nnz == 0


@pytest.mark.parametrize("dtype", ["bool", "uint8", "uint16", "int32", "int64"])
@pytest.mark.parametrize("index", ["int32", "int64"])
def test_every_type(dtype, index):
    graph, source, sink = symmetric()
    capacity = graph.data.astype(dtype)
    given = graph.indptr.astype(index), graph.indices.astype(index), capacity, graph.shape
    cut = solve(given, source.astype(dtype), sink.astype(dtype))
    cut.check()
    expected = gridcut.graph_max_flow(given, source.astype(dtype), sink.astype(dtype))
    assert (cut.value, type(cut.value), cut.stats["dtype"]) == (expected.value, int, "int32")


def test_scalars():
    graph, source, _ = symmetric()
    cut = solve((graph.indptr, graph.indices, 3, graph.shape), source, 2)
    cut.check()
    assert cut.value == gridcut.graph_max_flow((graph.indptr, graph.indices, 3, graph.shape), source, 2).value


@pytest.mark.parametrize(("total", "dtype"), [(INT32_MAX, "int32"), (INT32_MAX + 1, "int64"), (INT64_MAX - 1, "int64")])
def test_capacities_at_the_limits(total, dtype):
    part = total // 4
    graph = ([0, 1, 2, 2], [1, 2], np.array([part, part]), (3, 3))
    cut = solve(graph, [part, total - 3 * part, 0], [0, part, part])
    cut.check()
    assert (cut.stats["dtype"], cut.value) == (dtype, 2 * part)


def test_capacities_beyond_the_limits():
    graph = ([0, 1, 2, 2], [1, 2], np.array([2**62, 2**62]), (3, 3))
    with pytest.raises(ValueError, match="source, sink and graph are too large: the capacities incident to a node"):
        solve(graph, [1, 0, 0], [0, 0, 1])


@pytest.mark.parametrize("name", ["source", "sink", "graph"])
def test_negative_capacities(name):
    graph, source, sink = symmetric()
    {"source": source, "sink": sink, "graph": graph.data}[name][2] = -1
    with pytest.raises(ValueError, match=f"{name} .*-1"):
        solve(graph, source, sink)


@pytest.mark.parametrize("change", [None, "a repetition"])
def test_copies_hold_the_residuals(change):
    graph, source, sink = symmetric()
    cut = solve(graph if change is None else UNPAIRED[change](graph), source, sink)
    copy = pickle.loads(pickle.dumps(cut))
    copy.check()
    assert copy.value == cut.value
    assert copy.bound is cut.bound is None


def test_changed_capacities_are_not_certified():
    graph, source, sink = symmetric()
    cut = solve(graph, source, sink)
    graph.data += 1
    with pytest.raises(gridcut.CertificateError):
        cut.check()


def test_changed_entries_are_not_certified():
    graph, source, sink = symmetric()
    unpaired = with_entry(graph, 1, 4)
    for given, position, value in ((parts(graph), 0, 5), (parts(graph), 0, 99), (unpaired, 0, -1)):
        cut = solve(given, source, sink)
        given[1][position] = value
        with pytest.raises(gridcut.CertificateError):
            cut.check()
    cut = solve(unpaired[:1] + (np.abs(unpaired[1]),) + unpaired[2:], source, sink)
    unpaired[0][1] = unpaired[0][2]
    with pytest.raises(gridcut.CertificateError):
        cut.check()
