"""The methods that add single edges and read single segments: machine code, and the Python functions behind it."""

import inspect
import pickle
import sys

import numpy as np
import pytest

import gridcut.compat.maxflow as ours
from gridcut.compat.maxflow import packed_edges, quick_methods
from gridcut.compat.maxflow.flow_network import _Network
from gridcut.compat.maxflow.packed_edges import used_bytes


def grid(kind=int):
    graph = ours.Graph[kind]()
    return graph, graph.add_grid_nodes((2, 3))


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("number", [int, float, np.int64, np.float64, np.uint8, np.array])
def test_numbers_of_any_type(kind, number):
    """The same edges one at a time and as arrays, with an edge from a node to itself."""
    edges = np.array([[0, 1, 5, 1], [1, 2, 3, 0], [2, 2, 7, 7], [0, 2, 1, 0]])
    one, many = ours.Graph[kind](), ours.Graph[kind]()
    for graph in (one, many):
        graph.add_nodes(3)
    for edge in edges:
        one.add_edge(*map(number, edge))
    many.add_edges(*edges.T)
    for graph in (one, many):
        graph.add_tedge(number(0), number(9), number(0))
        graph.add_tedge(number(2), number(0), number(9))
        assert (graph.maxflow(), graph.get_edge_count()) == (4, 6)
        assert [graph.get_segment(number(node)) for node in range(3)] == [0, 0, 1]


@pytest.mark.parametrize("capacity", [2**63, 2**64])
def test_integers_beyond_int64_are_errors(capacity):
    def solve():
        graph.add_edge(0, 1, capacity, 0)
        graph.maxflow()

    graph = ours.GraphInt()
    graph.add_nodes(2)
    with pytest.raises(OverflowError, match="must fit int64"):
        solve()
    with pytest.raises(OverflowError, match="must fit int64"):
        graph.add_tedge(0, capacity, 0)


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("capacities", [(-1, 0), (0, -0.5), (0, np.nan)])
def test_bad_capacities_of_single_edges_are_errors(capacities, kind):
    graph, _ = grid(kind=kind)
    if (kind, capacities) == (int, (0, -0.5)):  # cut to 0
        graph.add_edge(0, 1, *capacities)
        return
    with pytest.raises((ValueError, TypeError), match="two capacities|must be 0 or more, and not NaN"):
        graph.add_edge(0, 1, *capacities)
    assert graph.get_edge_count() == 0


class Numbered:
    """Two numbers that are no Python numbers."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value

    def __float__(self):
        return float(self.value)


NUMBERS = [
    0, 1, 5, 6, -1, 2**30 - 1, 2**30, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, True, 1.0, 2.9, -1.0, -2.9,
    1e300, np.nan, np.inf, -np.inf, np.int8(3), np.uint64(2**64 - 1), np.float32(2.5), np.float64(-1), np.bool_(True),
    np.array(2), np.array(2.5), Numbered(1), Numbered(-1), None, "1", "a", b"1", [1], 1j,
]  # fmt: skip


@pytest.fixture(params=["values read from objects", "values from Python's functions"])
def graphs(request, monkeypatch):
    """The graphs by kind, with machine code for versions of Python that have values where it expects them, or not."""
    if request.param == "values read from objects":
        assert all(quick_methods._places_of_values())
        return ours.Graph
    monkeypatch.setattr(quick_methods, "_places_of_values", lambda: quick_methods._Places(0, False, False))
    monkeypatch.setattr(quick_methods, "_addresses", quick_methods._addresses.__wrapped__)
    names = "_dtype", "_cast", "_edge_form", "_terminals_form"
    bodies = {kind: {name: getattr(graph, name) for name in names} for kind, graph in ours.Graph.items()}
    return {kind: type(kind.__name__, (_Network,), body) for kind, body in bodies.items()}


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("name", ["add_edge", "add_tedge", "get_segment"])
def test_machine_code_does_what_the_python_functions_do(name, kind, graphs):
    """Each number at each place: the same bytes and results, or exceptions of the same type and text."""
    plain = {"add_edge": (4, 5, 3, 2), "add_tedge": (4, 3, 2), "get_segment": (4,)}[name]
    calls = [(*plain[:place], number, *plain[place + 1 :]) for place in range(len(plain)) for number in NUMBERS]
    calls += [(), plain[1:], (*plain, 1), (*plain, 1, 2, 3)]
    for arguments in calls:
        found = []
        for method in (name, f"_{name}"):
            graph = graphs[kind]()
            nodes = graph.add_grid_nodes((2, 3))
            graph.add_grid_tedges(nodes, 1, 3)
            graph.maxflow()
            try:
                answer = getattr(graph, method)(*arguments)
            except (TypeError, ValueError, RuntimeError, OverflowError) as error:
                answer = type(error), str(error)
            packed = graph._packed_edges, graph._packed_terminals
            found.append((answer, *(one[: used_bytes(one)] for one in packed)))
        assert found[0] == found[1], arguments


@pytest.mark.parametrize("kind", [int, float])
def test_machine_code_and_python_functions_add_to_the_same_edges(kind):
    """In turns, so that either has to enlarge the memory, and between copies, pickles and solutions."""
    rng = np.random.default_rng(4)
    edges = rng.integers(0, 50, (3000, 4))
    graph = ours.Graph[kind]()
    graph.add_nodes(50)
    for step, (edge, is_python) in enumerate(zip(edges.tolist(), rng.random(len(edges)) < 0.3, strict=True)):
        (graph._add_edge if is_python else graph.add_edge)(*edge)
        (graph._add_tedge if is_python else graph.add_tedge)(*edge[:3])
        if step % 1000 == 999:
            graph = pickle.loads(pickle.dumps(graph)).copy()
            graph.maxflow()
    many = ours.Graph[kind]()
    many.add_grid_tedges(many.add_nodes(50)[edges[:, 0]], edges[:, 1], edges[:, 2])
    many.add_edges(*edges.T)
    assert graph.maxflow() == many.maxflow()
    assert graph._all_arcs().forward.tolist() == many._all_arcs().forward.tolist()


def test_machine_code_keeps_no_references():
    graph, _ = grid(kind=float)
    objects = graph, graph.__dict__, graph._packed_edges, graph._packed_terminals, graph._segments, Numbered(1), None
    for warm in (True, False):
        before = [sys.getrefcount(one) for one in objects]
        for _ in range(1000):
            graph.add_edge(0, objects[5], 2.0, objects[5])
            graph.add_tedge(objects[5], 1.0, 2.0)
            graph.get_segment(objects[5])
            with pytest.raises(RuntimeError):
                graph.add_edge(0, 99, 1, 1)
        after = [sys.getrefcount(one) for one in objects]
        assert warm or max(abs(b - a) for a, b in zip(before, after, strict=True)) < 100


def test_machine_code_takes_keywords_subclasses_and_pickles():
    class Counting(ours.GraphFloat):
        calls = 0

        def add_edge(self, *arguments):
            self.calls += 1
            super().add_edge(*arguments)

    graph = Counting()
    graph.add_nodes(2)
    graph.add_edge(0, 1, 3, 2)
    graph.add_tedge(i=0, cap_source=7, cap_sink=0)
    graph.add_tedge(1, cap_sink=7, cap_source=0)
    assert (graph.maxflow(), graph.calls) == (3, 1)
    other, nodes = grid()
    other.add_edge(0, 1, 3, 2)
    other.add_tedge(0, 7, 0)
    other = pickle.loads(pickle.dumps(other))
    other.add_tedge(1, 0, 7)
    assert (other.maxflow(), [other.get_segment(node) for node in nodes.flat]) == (3, [0, 1, 0, 0, 0, 0])
    methods = inspect.getmembers(ours.GraphInt(), inspect.isbuiltin)
    assert {name for name, _ in methods} >= {"add_edge", "add_tedge", "get_segment"}
    assert ours.GraphInt.add_tedge.__doc__ == ours.GraphInt._add_tedge.__doc__


def test_negative_nodes_are_not_in_the_graph():
    graph, _ = grid()
    for call in (lambda: graph.add_edge(0, -1, 1, 1), lambda: graph.add_tedge(-1, 1, 1), lambda: graph.get_segment(-1)):
        with pytest.raises(RuntimeError, match="not in the graph"):
            call()


def test_the_memory_of_graphs_that_are_gone_is_used_again(monkeypatch):
    monkeypatch.setattr(packed_edges._spare, "kept", [])

    def star(leaves):
        graph = ours.GraphInt()
        graph.add_nodes(leaves + 1)
        for node in range(1, leaves + 1):
            graph.add_edge(0, node, 1, 0)
            graph.add_tedge(node, 0, 1)
        graph.add_tedge(0, leaves, 0)
        return graph

    graph = star(300)
    size = len(graph._packed_edges)
    assert graph.maxflow() == 300
    del graph
    first, second = star(2), star(3)
    assert len(first._packed_edges) == size > len(second._packed_edges)
    assert (first.maxflow(), second.maxflow(), first.get_edge_count(), second.get_edge_count()) == (2, 3, 4, 6)
