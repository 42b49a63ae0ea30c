"""Out-of-core cuts equal those of the solver in memory, also on grids with much flow across block boundaries."""

import numpy as np
import pytest

import gridcut
from gridcut.out_of_core import sweeps
from tests.tiers import in_quick_tier

NEIGHBOURHOODS = {
    "4": ((40, 30), gridcut.neighbourhood(4)),
    "8": ((40, 30), gridcut.neighbourhood(8)),
    "6": ((40, 9, 8), gridcut.neighbourhood(6)),
    "26": ((28, 9, 8), gridcut.neighbourhood(26)),
    "line": ((100,), [(1,)]),
    "long line": ((100,), [(1,), (2,), (-3,)]),
    "far": ((60, 20), [(0, 2), (1, 2), (-2, 1)]),
    "one-way": ((60, 20), [(0, 1), (0, -1), (-1, 3)]),
    "no columns": ((40, 9, 8), [(0, 0, 1), (1, 0, 0)]),
    "rows alone": ((60, 20), [(0, 1)]),
    "longer than the grid": ((9, 20), [(0, 1), (1, 0), (30, 0)]),
}


# Grids and volumes with at most four arcs per pixel, for which other tests compile the same kernels.
QUICK = ("4", "one-way", "no columns", "rows alone", "longer than the grid")


@pytest.mark.parametrize("name", in_quick_tier(NEIGHBOURHOODS, QUICK.__contains__))
@pytest.mark.parametrize("density", [0.02, 0.2])
def test_same_cut_as_in_memory(name, density, cut_in, tools, assert_same):
    shape, offsets = NEIGHBOURHOODS[name]
    rng = np.random.default_rng(len(name))
    for count in (1, 3, 8, 20):
        for mask in (None, "random"):
            source, sink, edges, mask = tools.random_problem(rng, shape, offsets, density=density, mask=mask)
            edges = {o: c if np.ndim(c) == 0 else rng.integers(0, 9, shape, dtype=np.int64) for o, c in edges.items()}
            want = tools.solve(source, sink, edges, mask=mask)
            assert_same(cut_in(count)(source, sink, edges, mask=mask), want)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("neighbours", [4, pytest.param(8, marks=pytest.mark.slow)])
def test_capacity_types(dtype, neighbours, cut_in, tools, assert_same):
    rng = np.random.default_rng(3)
    offsets = gridcut.neighbourhood(neighbours)
    source, sink, edges, mask = tools.random_problem(rng, (30, 20), offsets, dtype, 200, 0.7, "random")
    assert_same(cut_in(5)(source, sink, edges, mask=mask), tools.solve(source, sink, edges, mask=mask))


def test_large_integers_stay_exact(cut_in, tools, assert_same):
    rng = np.random.default_rng(4)
    source, sink, edges, _ = tools.random_problem(rng, (30, 9), gridcut.neighbourhood(4), np.int64, 2**58, 0.5)
    cut = cut_in(6)(source, sink, edges)
    assert cut.stats["dtype"] == "int64"
    assert_same(cut, tools.solve(source, sink, edges))


def snake(height, width):
    """A path alternately down and up the columns: all flow crosses all boundaries `width` times."""
    source, sink = np.zeros((2, height, width), np.int64)
    source[0, 0] = 7
    sink[0 if width % 2 == 0 else height - 1, width - 1] = 9
    down, up = (np.zeros((height, width), np.int64) for _ in range(2))
    down[:-1, ::2] = 5
    up[1:, 1::2] = 5
    right = np.zeros((height, width), np.int64)
    right[-1, :-1:2] = 6
    right[0, 1:-1:2] = 6
    return source, sink, {(1, 0): down, (-1, 0): up, (0, 1): right, (0, -1): 0}


@pytest.mark.parametrize("count", [2, 5, 12])
@pytest.mark.parametrize("fallback", [0, 64])
def test_flow_that_crosses_every_boundary_many_times(count, fallback, cut_in, tools, monkeypatch, assert_same):
    """fallback=0: the same blocks in all sweeps, as the bound on the number of sweeps requires."""
    monkeypatch.setattr(sweeps, "FALLBACK_ROUND", fallback)
    source, sink, edges = snake(24, 9)
    cut = cut_in(count)(source, sink, edges)
    assert cut.value == 5
    assert cut.stats["sweeps"] > 1 or count == 2, "two strips are one block"
    assert_same(cut, tools.solve(source, sink, edges))


def test_flow_that_has_to_return(cut_in, tools, assert_same):
    """The path down is wide but ends at a narrow exit; the remaining flow returns and leaves at the top."""
    source, sink = np.zeros((2, 40, 6), np.int64)
    source[20] = 50
    sink[-1, 0] = 3
    sink[0] = 40
    edges = {(1, 0): 30, (0, 1): 30, (-1, 0): 9, (0, -1): 30}
    for count in (2, 4, 10):
        assert_same(cut_in(count)(source, sink, edges), tools.solve(source, sink, edges))


def test_excess_that_cannot_reach_the_sink_terminates(cut_in, tools, assert_same):
    """A tie at every boundary: all arcs are saturated, and excess cut off from the sink does not oscillate."""
    source = np.full((30, 5), 3, np.int64)
    sink = np.zeros((30, 5), np.int64)
    sink[-1] = 1
    cut = cut_in(10)(source, sink, {(1, 0): 1, (0, 1): 1})
    assert_same(cut, tools.solve(source, sink, {(1, 0): 1, (0, 1): 1}))
    assert cut.stats["sweeps"] < 15


def test_residuals_are_those_of_a_preflow(cut_in, tools):
    rng = np.random.default_rng(5)
    for shape, offset in (((30, 20), (1, 0)), ((50,), (1,))):
        source, sink, _, _ = tools.random_problem(rng, shape, [], density=0.5)
        capacity = rng.integers(0, 9, shape, dtype=np.int64)
        cut = cut_in(5)(source, sink, {offset: capacity})
        there, back = cut.residual(offset), cut.residual(tools.opposite(offset))
        inner = capacity[:-1].astype(np.int64)
        assert there.shape == shape
        assert np.array_equal(there[:-1] + back[1:], 2 * inner)
        assert not (there[:-1] > 0)[cut.labels[:-1] & ~cut.labels[1:]].any()
    with pytest.raises(ValueError, match="offset \\(7,\\) has no edges"):
        cut.residual((7,))
    with pytest.raises(RuntimeError, match="whole grid in memory"):
        cut.flow((1,))


def test_a_grid_without_pixels():
    cut = gridcut.max_flow(np.zeros((0, 4), np.int64), 0, {(0, 1): 1}, method="out_of_core")
    assert (cut.value, cut.labels.shape) == (0, (0, 4))
