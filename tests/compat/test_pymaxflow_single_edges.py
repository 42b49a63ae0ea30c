"""The methods that add single edges and read single segments."""

import pickle
import re

import numpy as np
import pytest

import gridcut.compat.maxflow as ours


def grid(kind=int):
    graph = ours.Graph[kind]()
    return graph, graph.add_grid_nodes((2, 3))


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("number", [int, np.float64, np.uint8, np.array])
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


@pytest.mark.parametrize("capacity", [2**63, np.inf])
def test_capacities_beyond_int64_are_errors(capacity):
    graph, _ = grid()
    for call in (graph.add_edge, lambda i, j, *capacities: graph.add_tedge(i, *capacities)):
        with pytest.raises(OverflowError, match=f"must fit int64, got {capacity}; use GraphFloat"):
            call(0, 1, capacity, 0)
    assert graph.get_edge_count() == 0


@pytest.mark.parametrize(
    ("kind", "capacities"), [(int, (-1, 0)), (int, (0, np.nan)), (float, (0, -0.5)), (float, (0, np.nan))]
)
def test_bad_capacities_of_single_edges_are_errors(capacities, kind):
    graph, _ = grid(kind=kind)
    with pytest.raises((ValueError, TypeError), match="two capacities|must be 0 or more, and not NaN"):
        graph.add_edge(0, 1, *capacities)
    assert graph.get_edge_count() == 0


@pytest.mark.parametrize("kind", [int, float])
def test_single_edges_between_solutions(kind):
    """The same edges one at a time, between copies, pickles and solutions, and as arrays."""
    rng = np.random.default_rng(4)
    edges = rng.integers(0, 50, (900, 4))
    graph = ours.Graph[kind]()
    graph.add_nodes(50)
    for step, edge in enumerate(edges.tolist()):
        graph.add_edge(*edge)
        graph.add_tedge(*edge[:3])
        if step % 300 == 299:
            graph = pickle.loads(pickle.dumps(graph)).copy()
            graph.maxflow()
    many = ours.Graph[kind]()
    many.add_grid_tedges(many.add_nodes(50)[edges[:, 0]], edges[:, 1], edges[:, 2])
    many.add_edges(*edges.T)
    assert (graph.maxflow(), graph.get_edge_count()) == (many.maxflow(), many.get_edge_count())
    assert [graph.get_segment(node) for node in range(50)] == many.get_grid_segments(np.arange(50)).tolist()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("add_edge", (0, 1, "a", 1)),
        ("add_tedge", (0, 1, [1])),
    ],
)
def test_errors_name_what_was_given(name, arguments):
    graph, _ = grid()
    with pytest.raises(TypeError, match=re.escape(f"two capacities, got {', '.join(map(repr, arguments))}")):
        getattr(graph, name)(*arguments)


def test_keywords_subclasses_and_pickles():
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
