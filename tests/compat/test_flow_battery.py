"""Flows of sparse graphs with many leaves and chains, whose trees are solved before the search, in every face.

Each flow is conserved at every node, within the capacities, and of SciPy's value.
"""

import os

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from scipy.sparse import csgraph

import gridcut
from gridcut.compat.scipy import maximum_flow
from gridcut.graph.flow_between import certify_flow_matrix
from gridcut.graph.graph_certificate import certify_graph
from gridcut.graph.graph_cut import complete_graph
from gridcut.graph.graph_problem import check_graph_problem, lists_of
from gridcut.graph.graph_reduction import MIN_NODES
from gridcut.graph.graph_search import solve
from gridcut.graph.residual_graph import load_graph

BASE = int(os.environ.get("CUTMATCH_SEED", "0"))


def chain(rng, n):
    return np.arange(n - 1), np.arange(1, n)


def tree(rng, n):
    return (np.arange(1, n) * rng.random(n - 1)).astype(int), np.arange(1, n)


def broom(rng, n):
    """A chain whose last node has many leaves."""
    return np.minimum(np.arange(n - 1), n // 2), np.arange(1, n)


def hub(rng, n):
    """Paths of a few nodes from one node."""
    head = np.arange(1, n)
    return np.where(head % int(rng.integers(1, 9)) == 0, 0, head - 1), head


def nearly_tree(rng, n):
    tails, heads = tree(rng, n)
    extra = rng.integers(0, n, (2, n // 10))
    return np.append(tails, extra[0]), np.append(heads, extra[1])


def sparse(rng, n):
    return rng.integers(0, n, (2, int(rng.uniform(1, 2) * n)))


FAMILIES = {family.__name__: family for family in (chain, tree, broom, hub, nearly_tree, sparse)}


def random_graph(family, n, seed):
    """Capacities in one or both directions, nodes in random order or in that of the family; a source and a sink."""
    rng = np.random.default_rng([seed, n])
    tails, heads = FAMILIES[family](rng, n)
    ends = rng.permutation(n) if rng.random() < 0.5 else np.arange(n)
    there, back = rng.integers(1, int(rng.choice([2, 20, 10**5])), (2, len(tails)))
    back *= rng.random(len(back)) < rng.choice([0, 0.5, 1])
    where = np.append(ends[tails], ends[heads]), np.append(ends[heads], ends[tails])
    graph = scipy.sparse.csr_array((np.append(there, back).astype(np.int32), where), shape=(n, n))
    graph.setdiag(0)
    graph.eliminate_zeros()
    source, sink = (0, n - 1) if rng.random() < 0.5 else rng.choice(n, 2, replace=False).tolist()
    return graph, int(ends[source]), int(ends[sink])


def check_flow(flow, graph, source, sink, value, most=0):
    """A flow between two nodes, negative in the opposite direction; `most`: allowed at floats."""
    assert abs(flow + flow.T).max() <= most
    assert (flow - graph).max() <= most
    net = flow.sum(axis=1)
    net[source] -= value
    net[sink] += value
    assert abs(net).max() <= most


def by_scipy(graph, source, sink):
    found = maximum_flow(graph, source, sink)
    return found.flow_value, found.flow.astype(np.int64)


def by_networkx(graph, source, sink):
    network = nx.from_scipy_sparse_array(graph, create_using=nx.DiGraph, edge_attribute="capacity")
    value, flow = nx.maximum_flow(network, source, sink, backend="cutmatch")
    entries = [(u, v, amount) for u, ends in flow.items() for v, amount in ends.items()]
    tail, head, amounts = np.array(entries, np.int64).reshape(-1, 3).T
    assert (amounts >= 0).all()
    sent = scipy.sparse.csr_array((amounts, (tail, head)), shape=graph.shape)
    assert (sent - graph).max() <= 0
    return value, sent - sent.T


def terminals(graph, source, sink):
    """A source and a sink that no cut contains."""
    capacity = np.zeros((2, graph.shape[0]), np.int64)
    capacity[0, source] = capacity[1, sink] = int(graph.data.sum()) + 1
    return capacity


def flow_of(cut, graph):
    cut.check()
    residual = cut.residual()
    assert residual.data.min(initial=0) >= 0
    flow = scipy.sparse.csr_array(graph - residual)
    assert (flow - cut.flow()).count_nonzero() == 0
    return cut.value, flow


def by_graph_max_flow(graph, source, sink):
    return flow_of(gridcut.graph_max_flow(graph.astype(np.int64), *terminals(graph, source, sink)), graph)


def by_solver(graph, source, sink):
    """After a solve with larger capacities, so that flow is in the way."""
    wide = graph.copy()
    wide.data = (graph.data.astype(np.int64) * 3 + 5) % 1000 + graph.data
    solver = gridcut.GraphSolver(wide, *terminals(wide, source, sink))
    flow_of(solver.solve(), wide)
    solver.update(capacity=graph.data)
    return flow_of(solver.solve(), graph)


FACES = {face.__name__[3:]: face for face in (by_scipy, by_networkx, by_graph_max_flow, by_solver)}
SIZES = (MIN_NODES - 1, MIN_NODES, 1500)


def check_graph(family, face, n, seed):
    graph, source, sink = random_graph(family, n, seed)
    value, flow = FACES[face](graph, source, sink)
    assert value == csgraph.maximum_flow(graph, source, sink).flow_value
    check_flow(flow, graph, source, sink, value)


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("family", FAMILIES)
def test_flows_of_sparse_graphs(family, face):
    for n in SIZES:
        for seed in range(BASE, BASE + 2):
            check_graph(family, face, n, seed)


@pytest.mark.thorough
@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("family", FAMILIES)
def test_many_flows_of_sparse_graphs(family, face):
    for seed in range(BASE + 2, BASE + 37):
        check_graph(family, face, int(np.random.default_rng(seed).integers(900, 5000)), seed)


@pytest.mark.parametrize(("family", "largest"), list(zip(FAMILIES, [10, 1e30, np.inf] * 2, strict=True)))
def test_flows_of_floats_between_many_terminals(family, largest):
    """What a node passes on is at most its source, and at least minus its sink; what arrives is the cut's value."""
    for seed in range(BASE, BASE + 3):
        rng = np.random.default_rng(seed)
        graph = random_graph(family, MIN_NODES, seed)[0] * rng.random()
        source, sink = rng.random((2, MIN_NODES)) * (rng.random((2, MIN_NODES)) < 0.1)
        source[0], sink[1] = largest, largest
        cut = gridcut.graph_max_flow(graph, source, sink)
        cut.check()
        flow = cut.flow()
        most = 1e-12 * abs(flow).sum(axis=1)
        assert (flow + flow.T).count_nonzero() == 0
        assert (flow - graph).max() <= 0
        assert cut.residual().data.min(initial=0) >= 0
        assert abs(flow - (graph - cut.residual())).max() <= 2 * cut.stats["unit"] + 1e-12 * graph.max()
        net = flow.sum(axis=1)
        assert (net <= source + most).all()
        assert (-net <= sink + most).all()
        through = np.minimum(source, sink + net)
        assert through.sum() == pytest.approx(cut.value, rel=1e-9)


@pytest.mark.parametrize("where", ["a node", "an edge", "the value"])
def test_wrong_flows_are_found(where):
    """The certificate of the faces, and that of a cut, which holds what `flow` returns."""
    graph, source, sink = random_graph("nearly_tree", MIN_NODES, 1)
    cut = gridcut.graph_max_flow(graph.astype(np.int64), *terminals(graph, source, sink))
    flow, value = cut.flow(), cut.value
    certify_flow_matrix(graph, flow, source, sink, value)
    if where == "the value":
        value += 1
    elif where == "a node":
        flow[source, flow.indices[flow.indptr[source]]] -= 1
        flow[flow.indices[flow.indptr[source]], source] += 1
    else:
        flow.data[0] += 10**6
    with pytest.raises(gridcut.CertificateError):
        certify_flow_matrix(graph, flow, source, sink, value)


def test_a_state_that_is_no_flow_is_found():
    """The solver's own state of a chain, whose leaves were solved before the search."""
    n = MIN_NODES
    capacity = np.append(np.full(n - 2, 5), 1)
    graph = scipy.sparse.csr_array((capacity, (np.arange(n - 1), np.arange(1, n))), shape=(n, n))
    problem = check_graph_problem(graph, *terminals(graph, 0, n - 1))
    state = load_graph(problem, lists_of(problem)).graph
    labels = ~solve(state)[0]
    with pytest.raises(gridcut.CertificateError, match="passes on more flow than it gets"):
        certify_graph(1, labels, problem, state)
    certify_graph(1, labels, problem, complete_graph(problem, state))
