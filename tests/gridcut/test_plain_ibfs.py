"""The plain version of the CPU default: labels and flow of a minimum cut, and forests of shortest paths."""

from collections import deque

import numpy as np
import pytest

import gridcut
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
