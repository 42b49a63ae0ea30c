"""Lock-free push-relabel on sparse graphs in numba's simulator, and on a GPU if there is one."""

import numpy as np
import pytest
import scipy.sparse

import gridcut
from gridcut.graph.graph_problem import check_graph_problem, lists_of
from gridcut.graph.residual_graph import load_graph

# A block of 32 threads, since each is a Python thread in the simulator.
PARAMETERS = {"method": "lock_free", "device": "cuda", "block": 32, "steps": 8, "global_every": 2}


def check(graph, source, sink, **keywords):
    """Solve on the GPU, certify, and compare with the CPU; the cut."""
    cut = gridcut.graph_max_flow(graph, source, sink, **{**PARAMETERS, **keywords})
    cut.check()
    assert (cut.method, cut.device) == ("lock_free", "cuda")
    expected = gridcut.graph_max_flow(graph, source, sink, device="cpu")
    assert cut.value == expected.value
    np.testing.assert_array_equal(cut.labels, expected.labels)
    return cut


@pytest.mark.sim
@pytest.mark.parametrize("seed", range(12))
def test_random_graphs(seed, graphs):
    problem = graphs.random_problem(seed)
    assert check(*problem).value == graphs.oracle(*problem)[0]


@pytest.mark.sim
def test_more_nodes_than_threads_of_a_block(graphs):
    """Several blocks, several strides of the search, and rows of different length in a warp."""
    rng = np.random.default_rng(3)
    n = 90
    tails = np.concatenate([np.zeros(60, int), rng.integers(0, n, 200)])
    graph = scipy.sparse.coo_array((rng.integers(0, 20, 260), (tails, rng.integers(0, n, 260))), shape=(n, n))
    source, sink = rng.integers(0, 40, (2, n)) * (rng.random((2, n)) < 0.3)
    check(graph + graph.T, source, sink)


@pytest.mark.sim
def test_a_long_path_with_a_dead_end():
    """Excess that enters the dead end has to return."""
    nodes = np.arange(39)
    graph = scipy.sparse.coo_array((np.full(39, 5), (nodes, nodes + 1)), shape=(40, 40))
    source, sink = np.zeros((2, 40), int)
    source[20], sink[0] = 9, 4
    cut = check(graph + graph.T, source, sink)
    assert cut.value == 4
    assert cut.stats["launches"] > 0
    assert min(cut.stats["pushes"], cut.stats["relabels"]) > 0


@pytest.mark.sim
def test_wide_capacities_and_floats(graphs):
    graph, source, sink = graphs.random_problem(4)
    assert check(graph * 2**40, source * 2**40, sink * 2**40).stats["dtype"] == "int64"
    check(graph / 7, source / 7, sink / 7)
    check(graph * 0.1, np.where(source > 0, np.inf, 0.0), sink * 0.1)


@pytest.mark.sim
@pytest.mark.parametrize("n", [0, 1, 5])
def test_nothing_to_do(n):
    empty = scipy.sparse.csr_array((n, n), dtype=np.int64)
    assert check(empty, np.arange(n), 2).stats["launches"] == 0
    assert check((range(n + 1), range(n), np.full(n, 7), (n, n)), 1, 3).stats["launches"] == 0


@pytest.mark.sim
def test_fallback_is_exact(graphs, monkeypatch):
    from gridcut.papers import graph_lock_free_cuda

    monkeypatch.setattr(graph_lock_free_cuda, "FALLBACK_ROUND", 1)
    problem = graphs.random_problem(7)
    assert check(*problem).value == graphs.oracle(*problem)[0]


@pytest.mark.sim
def test_the_default_on_a_gpu(graphs):
    problem = graphs.random_problem(8)
    cut = gridcut.graph_max_flow(*problem, device="cuda")
    cut.check()
    assert (cut.method, cut.device, cut.value) == ("waves", "cuda", graphs.oracle(*problem)[0])


@pytest.mark.sim
def test_a_gpu_is_used_for_large_graphs_of_integers(graphs, monkeypatch):
    from gridcut.graph import graph_methods

    graph, source, sink = graphs.random_problem(8)
    graph = graph.tocsr()
    assert gridcut.graph_max_flow(graph, source, sink).device == "cpu"
    monkeypatch.setattr(graph_methods, "GPU_ENTRIES", graph.nnz)
    cut = gridcut.graph_max_flow(graph, source, sink)
    cut.check()
    assert (cut.method, cut.device) == ("waves", "cuda")
    assert gridcut.graph_max_flow(graph, source + 0.5, sink).device == "cpu"
    assert gridcut.graph_max_flow(graph, source, sink, method="push_relabel").device == "cpu"
    monkeypatch.setattr(graph_methods, "GPU_ENTRIES", graph.nnz + 1)
    assert gridcut.graph_max_flow(graph, source, sink).device == "cpu"
    assert gridcut.graph_max_flow(graph, source, sink, method="waves").device == "cuda"


@pytest.mark.sim
@pytest.mark.parametrize("name", ["ibfs", "push_relabel"])
def test_methods_of_the_cpu_are_not_replaced(name, graphs):
    with pytest.raises(RuntimeError, match=f"method '{name}' does not run on device='cuda'; use device='cpu'"):
        gridcut.graph_max_flow(*graphs.random_problem(1), method=name, device="cuda")


@pytest.mark.sim
@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"block": 2000}, ValueError, "block must be at most 1024, got 2000"),
        ({"steps": 0}, ValueError, "steps must be 1 or more, got 0"),
        ({"global_every": 1.5}, TypeError, "global_every must be an integer, got 1.5"),
        ({"threads": 2}, TypeError, "it accepts steps, global_every, block"),
    ],
)
def test_bad_parameters(parameters, error, message, graphs):
    with pytest.raises(error, match=message):
        gridcut.graph_max_flow(*graphs.random_problem(1), method="lock_free", device="cuda", **parameters)


@pytest.mark.sim
def test_too_many_nodes_for_a_gpu(graphs, monkeypatch):
    from gridcut.papers import graph_global_relabel_cuda

    problem = graphs.random_problem(1)
    monkeypatch.setattr(graph_global_relabel_cuda, "MAX_NODES", 2)
    with pytest.raises(ValueError, match="graph must have less than 2 nodes and at most .* use device='cpu'"):
        gridcut.graph_max_flow(*problem, method="lock_free", device="cuda")


@pytest.mark.sim
def test_heights_are_those_of_the_cpu(graphs):
    """The same distances, whatever the order in which nodes are found."""
    from gridcut.device.arrays import download
    from gridcut.papers import graph_global_relabel, graph_global_relabel_cuda

    for seed in range(6):
        problem = check_graph_problem(*graphs.random_problem(seed))
        graph, _ = load_graph(problem, lists_of(problem))
        if graph.arcs.size == 0:
            continue
        height, queue = np.empty((2, graph.nodes), np.int32)
        active = graph_global_relabel.global_relabel(
            graph.first, graph.arcs, graph.excess, height, queue, graph.nodes + 1
        )
        there = graph_global_relabel_cuda.upload_graph(graph)
        assert graph_global_relabel_cuda.global_relabel(there) == active
        np.testing.assert_array_equal(download(there.height), height)


def test_a_gpu_that_is_not_there(graphs, monkeypatch):
    from gridcut.device import choose

    monkeypatch.setattr(choose, "cuda_is_available", lambda: False)
    with pytest.raises(RuntimeError, match="device='cuda': .*; use device='cpu' or 'auto'"):
        gridcut.graph_max_flow(*graphs.random_problem(1), device="cuda")


@pytest.mark.gpu
def test_large_graphs_on_a_gpu(graphs):
    rng = np.random.default_rng(5)
    n, m = 50_000, 200_000
    graph = scipy.sparse.coo_array((rng.integers(0, 99, m), rng.integers(0, n, (2, m))), shape=(n, n))
    source, sink = rng.integers(0, 200, (2, n)) * (rng.random((2, n)) < 0.3)
    check(graph, source, sink, block=256, steps=64, global_every=8)
    check(graph * 2**40, source * 2**40, sink * 2**40, block=256, steps=64, global_every=8)
    check(*graphs.layered_problem(), block=64)
