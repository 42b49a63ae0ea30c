"""The plain version of the CPU default: labels and flow of a minimum cut, and forests of shortest paths."""

from collections import deque

import numpy as np
import pytest

import gridcut
from gridcut.ibfs import ibfs
from gridcut.ibfs.plain_ibfs import SINK, SOURCE, Search, minimum_cut, residual_arcs

AXES = [(0, 1), (1, 0)]
DIAGONALS = [*AXES, (1, 1), (1, -1)]
VOLUME = [(0, 0, 1), (0, 1, 0), (1, 0, 0)]


def draw(rng, shape, offsets):
    """A problem with both directions of each arc given."""
    source, sink = rng.integers(0, 20, (2, *shape))
    both = [o for offset in offsets for o in (offset, tuple(-i for i in offset))]
    return source, sink, {offset: rng.integers(0, 9, shape) for offset in both}


@pytest.mark.parametrize(
    ("shape", "offsets"),
    [((1, 1), AXES), ((1, 7), AXES), ((9, 4), DIAGONALS), ((13, 17), AXES), ((13, 17), DIAGONALS), ((3, 4, 5), VOLUME)],
)
def test_labels_are_those_of_max_flow(shape, offsets):
    for seed in range(3):
        problem = draw(np.random.default_rng([608, seed]), shape, offsets)
        cut = gridcut.max_flow(*problem, device="cpu", method="ibfs")
        cut.check()
        assert (minimum_cut(*problem) == cut.labels).all()


@pytest.mark.parametrize(("shape", "offsets"), [((13, 17), AXES), ((13, 17), DIAGONALS), ((6, 4, 5), VOLUME)])
def test_labels_are_those_of_merged_strips(shape, offsets, monkeypatch):
    """A callback keeps these small grids from the solver of small grids, which has one strip."""
    monkeypatch.setattr(ibfs, "STRIP_CELLS", 20)
    monkeypatch.setattr(ibfs, "MIN_STRIP_LINES", 1)
    for seed in range(3):
        problem = draw(np.random.default_rng([611, seed]), shape, offsets)
        cut = gridcut.max_flow(*problem, device="cpu", method="ibfs", callback=lambda _: None)
        cut.check()
        assert cut.stats["strips"] > 1
        assert (minimum_cut(*problem) == cut.labels).all()


def shortest_depths(search, side):
    """Depths of a breadth-first search from the roots of one forest, of the pixels that it reaches."""
    depth = {p: 1 for p in search.residual if search.excess[p] * side > 0}
    queue = deque(depth)
    while queue:
        u = queue.popleft()
        for w in search.residual[u]:
            if w not in depth and search.can_adopt(side, w, u):
                depth[w] = depth[u] + 1
                queue.append(w)
    return depth


def test_forests_are_shortest_paths_after_each_level():
    """A repair that keeps a pixel too deep, or a level that misses one, still ends in a valid cut."""
    source, sink, edges = draw(np.random.default_rng(609), (12, 11), DIAGONALS)
    search = Search(source - sink, residual_arcs(edges))
    search.make_roots()
    levels = 0
    while search.waiting[SINK]:
        side = SOURCE if levels % 2 == 0 and search.waiting[SOURCE] else SINK
        search.grow_level(side)
        levels += 1
        for forest in (SOURCE, SINK):
            expected = {p: d for p, d in shortest_depths(search, forest).items() if d <= search.depth[forest]}
            assert expected == {p: search.label[p] * forest for p in search.residual if search.label[p] * forest > 0}
            for p, d in expected.items():
                parent = search.parent[p]
                assert (parent is None) == (d == 1)
                if parent is not None:
                    assert search.can_adopt(forest, p, parent)
                    assert search.label[parent] * forest == d - 1
    assert levels > 3
    assert sum(search.repaired.values()) > 0


def test_residuals_certify_the_cut():
    source, sink, edges = draw(np.random.default_rng(610), (8, 9), AXES)
    capacity = residual_arcs(edges)
    search = Search(source - sink, residual_arcs(edges))
    search.run()
    is_source = search.label >= 0
    assert (search.excess[is_source] >= 0).all()
    assert (search.excess[~is_source] <= 0).all()
    net = np.zeros((8, 9), int)
    for p, arcs in search.residual.items():
        for q, left in arcs.items():
            assert left >= 0
            assert left + search.residual[q][p] == capacity[p][q] + capacity[q][p]
            assert not (is_source[p] and not is_source[q] and left > 0)
            net[p] += capacity[p][q] - left
    assert (search.excess == source - sink - net).all()
