"""Metamorphic relations: the cut after flipping, transposing, scaling, splitting or combining the problem."""

import numpy as np
import pytest

import gridcut
from tests.tiers import in_quick_tier

SHAPE = (11, 14)


@pytest.fixture(params=in_quick_tier([4, 8], (4).__eq__))
def problem(tools, request):
    rng = np.random.default_rng(21)
    return tools.random_problem(rng, SHAPE, gridcut.neighbourhood(request.param), high=20, density=0.9)[:3]


def full(edges):
    return {o: np.broadcast_to(c, SHAPE) for o, c in edges.items()}


@pytest.mark.parametrize("axis", [0, 1])
def test_flipped(axis, method, problem, tools):
    source, sink, edges = problem
    cut = tools.solve(source, sink, edges, method)
    transformed = {}
    for offset, capacity in full(edges).items():
        mirrored = tuple(-i if a == axis else i for a, i in enumerate(offset))
        transformed[mirrored] = np.flip(capacity, axis)
    flipped = tools.solve(np.flip(source, axis), np.flip(sink, axis), transformed, method)
    assert flipped.value == cut.value
    assert (np.flip(flipped.labels, axis) == cut.labels).all()


def test_transposed(method, problem, tools):
    source, sink, edges = problem
    cut = tools.solve(source, sink, edges, method)
    other = tools.solve(source.T, sink.T, {o[::-1]: c.T for o, c in full(edges).items()}, method)
    assert other.value == cut.value
    assert (other.labels.T == cut.labels).all()


def test_as_one_slice_of_a_volume(problem, device, tools):
    source, sink, edges = problem
    cut = tools.solve(source, sink, edges, device=device)
    for axis in range(3):
        deep = {(*o[:axis], 0, *o[axis:]): np.expand_dims(c, axis) for o, c in full(edges).items()}
        other = tools.solve(np.expand_dims(source, axis), np.expand_dims(sink, axis), deep, device=device)
        assert other.value == cut.value
        assert (other.labels.reshape(SHAPE) == cut.labels).all()


@pytest.mark.parametrize("factor", [1, 7, 10**6, 10**12])
def test_scaled(factor, problem, device, tools):
    source, sink, edges = (np.int64(1) * a if i < 2 else a for i, a in enumerate(problem))
    cut = tools.solve(source, sink, edges, device=device)
    scaled = tools.solve(
        factor * source, factor * sink, {o: np.int64(factor) * c for o, c in edges.items()}, device=device
    )
    assert scaled.value == factor * cut.value
    assert (scaled.labels == cut.labels).all()


def test_constant_added_to_both_terminals(problem, device, tools):
    source, sink, edges = problem
    more = np.random.default_rng(22).integers(0, 50, SHAPE)
    cut = tools.solve(source, sink, edges, device=device)
    lifted = tools.solve(source + more, sink + more, edges, device=device)
    assert lifted.value == cut.value + more.sum()
    assert (lifted.labels == cut.labels).all()


def test_terminals_exchanged(problem, device, tools):
    source, sink, edges = problem
    transformed = {tuple(-i for i in o): c for o, c in full(edges).items()}
    reversed_edges = {**transformed, **{o: 0 for o in edges}}
    directed = {**full(edges), **{tuple(-i for i in o): 0 for o in edges}}
    cut = tools.solve(source, sink, directed, device=device)
    # With terminals exchanged, arc p -> q becomes q -> p, whose capacity is stored at q.
    moved = {o: np.roll(c, tuple(-i for i in o), (0, 1)) for o, c in reversed_edges.items() if np.ndim(c)}
    other = tools.solve(sink, source, {**reversed_edges, **moved}, device=device)
    assert other.value == cut.value


def test_split_by_a_column_without_edges(method, problem, tools):
    source, sink, edges = problem
    left, right = slice(0, 6), slice(6, None)
    walls = {}
    for offset, capacity in full(edges).items():
        walls[offset] = capacity.copy()
        for column in range(SHAPE[1]):
            if (column < 6) != (column + offset[1] < 6):
                walls[offset][:, column] = 0
    cut = tools.solve(source, sink, walls, method)
    parts = [
        tools.solve(source[:, part], sink[:, part], {o: c[:, part] for o, c in walls.items()}, method)
        for part in (left, right)
    ]
    assert cut.value == sum(part.value for part in parts)
    assert (cut.labels == np.hstack([part.labels for part in parts])).all()


def test_two_equal_directed_arcs_are_an_undirected_edge(problem, device, tools):
    source, sink, edges = problem
    both = {}
    for offset, capacity in full(edges).items():
        both[offset] = capacity
        both[tuple(-i for i in offset)] = np.roll(capacity, offset, (0, 1))
    cut = tools.solve(source, sink, edges, device=device)
    assert tools.solve(source, sink, both, device=device).value == cut.value
    backward = {tuple(-i for i in o): np.roll(c, o, (0, 1)) for o, c in full(edges).items()}
    assert (tools.solve(source, sink, backward, device=device).labels == cut.labels).all()
