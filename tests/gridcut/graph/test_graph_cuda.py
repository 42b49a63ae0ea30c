"""Which sparse graphs a GPU solves: in numba's simulator, and on a GPU if there is one."""

import pickle

import numpy as np
import pytest

import gridcut
from tests.gridcut import oracles


@pytest.mark.sim
def test_the_default_on_a_gpu():
    problem = oracles.random_graph(8)
    cut = gridcut.graph_max_flow(*problem, device="cuda")
    cut.check()
    assert (cut.method, cut.device, cut.value) == ("waves", "cuda", oracles.graph_cut(*problem)[0])


@pytest.mark.sim
def test_a_gpu_is_used_for_large_graphs_of_integers(monkeypatch):
    from gridcut.graph import graph_flow

    graph, source, sink = oracles.random_graph(8)
    graph = graph.tocsr()
    assert gridcut.graph_max_flow(graph, source, sink).device == "cpu"
    monkeypatch.setattr(graph_flow, "GPU_ENTRIES", graph.nnz)
    cut = gridcut.graph_max_flow(graph, source, sink)
    cut.check()
    assert (cut.method, cut.device) == ("waves", "cuda")
    assert gridcut.graph_max_flow(graph, source + 0.5, sink).device == "cpu"
    assert gridcut.graph_max_flow(graph, source, sink, method="ibfs").device == "cpu"
    monkeypatch.setattr(graph_flow, "GPU_ENTRIES", graph.nnz + 1)
    assert gridcut.graph_max_flow(graph, source, sink).device == "cpu"
    assert gridcut.graph_max_flow(graph, source, sink, method="waves").device == "cuda"


@pytest.mark.sim
def test_too_many_nodes_for_a_gpu(monkeypatch):
    from gridcut.graph import graph_flow, graph_waves_cuda

    problem = oracles.random_graph(1)
    monkeypatch.setattr(graph_waves_cuda, "MAX_NODES", 2)
    with pytest.raises(ValueError, match="graph must have less than 2 nodes and at most .* use device='cpu'"):
        gridcut.graph_max_flow(*problem, device="cuda")
    monkeypatch.setattr(graph_flow, "GPU_ENTRIES", 1)
    assert gridcut.graph_max_flow(*problem).device == "cpu"


@pytest.mark.sim
def test_a_cut_of_a_gpu_is_copied_and_certified():
    """Its residuals are on the host, in the form of a cut of the CPU; changed capacities are noticed."""
    graph, source, sink = oracles.random_graph(5)
    graph = graph.tocsr()
    cut, expected = (gridcut.graph_max_flow(graph, source, sink, device=device) for device in ("cuda", "cpu"))
    found, of_host = cut.residual(), expected.residual()
    np.testing.assert_array_equal(found.indptr, of_host.indptr)
    np.testing.assert_array_equal(found.indices, of_host.indices)
    assert ((found + found.T) != (of_host + of_host.T)).nnz == 0
    copy = pickle.loads(pickle.dumps(cut))
    copy.check()
    assert copy.value == cut.value
    graph.data += 1
    with pytest.raises(gridcut.CertificateError):
        cut.check()


def test_a_gpu_that_is_not_there(monkeypatch):
    from gridcut.device import choose

    monkeypatch.setattr(choose, "cuda_is_available", lambda: False)
    with pytest.raises(RuntimeError, match="device='cuda': .*; use device='cpu' or 'auto'"):
        gridcut.graph_max_flow(*oracles.random_graph(1), device="cuda")
