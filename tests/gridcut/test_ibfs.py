"""Method "ibfs" with its limits set so that small grids take every path: strips, merges, searches, warm starts."""

from collections import Counter

import numpy as np
import pytest

import gridcut
from gridcut.core.load import load
from gridcut.core.problem import check_problem
from gridcut.ibfs import ibfs, small_grid
from tests.gridcut import oracles
from tests.tiers import in_quick_tier

THIN = {"STRIP_CELLS": 20, "MIN_STRIP_LINES": 1}
LIMITS = {
    "one strip": {},
    "merged": {**THIN, "MAX_MERGE_REPAIR": 1e9},
    "merged at first": {**THIN, "MAX_MERGE_REPAIR": 0.05},
    "never merged": {**THIN, "STRIP_CELLS": 50, "MAX_MERGE_REPAIR": 0.0},
    "from blocks": {**THIN, "MIN_FAR_STRIPS": 3, "SAMPLED_STRIPS": 1, "FAR": -1},
    "warm to the end": {**THIN, "MAX_MERGE_REPAIR": 1e9, "MAX_RESOLVE_REPAIR": 1e9, "MAX_CHANGED_SHARE": 2},
    "warm from scratch": {**THIN, "MAX_CHANGED_SHARE": 0},
    "warm abandoned": {**THIN, "STRIP_CELLS": 50, "MAX_RESOLVE_REPAIR": 0.0, "MAX_CHANGED_SHARE": 2},
}


def set_thin_strips(monkeypatch):
    for name, value in (THIN | {"STRIP_CELLS": 50}).items():
        monkeypatch.setattr(ibfs, name, value)


@pytest.fixture(params=LIMITS)
def limits(request, monkeypatch):
    monkeypatch.setattr(ibfs, "thread_count", lambda: 3)
    for name, value in LIMITS[request.param].items():
        monkeypatch.setattr(ibfs, name, value)


def random_problem(rng):
    ndim = rng.integers(1, 4)
    shape = tuple(int(d) for d in rng.integers(1, (60, 20, 8)[ndim - 1], ndim))
    offsets = list(gridcut.neighbourhood(((2,), (4, 8), (6, 26))[ndim - 1][rng.integers(min(ndim, 2))]))
    if ndim == 2 and rng.random() < 0.3:
        offsets.append((2, 1))
    strength = rng.choice([2, 20, 300])
    edges = {o: rng.integers(0, strength + 1, shape) for o in offsets}
    if rng.random() < 0.4:
        edges[tuple(-i for i in offsets[0])] = rng.integers(0, 20, shape)
    dense = rng.choice([0.05, 0.5, 1])
    source, sink = (rng.integers(0, 100, shape) * (rng.random(shape) < dense) for _ in range(2))
    return source, sink, edges


def reference(source, sink, edges):
    return gridcut.max_flow(source, sink, edges, method="push_relabel")


def has_few_arcs(seed):
    """4 arcs per pixel, as other tests have."""
    return len({max(o, tuple(-i for i in o)) for o in random_problem(np.random.default_rng(seed))[2]}) == 2


@pytest.mark.parametrize("seed", in_quick_tier(range(6), has_few_arcs))
def test_every_path_gives_the_same_cut(seed, limits):
    rng = np.random.default_rng(seed)
    source, sink, edges = random_problem(rng)
    cut = gridcut.max_flow(source, sink, edges, method="ibfs")
    cut.check()
    expected = reference(source, sink, edges)
    oracles.assert_equal_cuts(cut, expected)


@pytest.mark.parametrize("name", ["merged", "merged at first", "never merged", "from blocks"])
@pytest.mark.parametrize("threads", [1, 2, 5, 16])
def test_every_number_of_threads_gives_the_same_cut(threads, name, monkeypatch):
    for limit, value in LIMITS[name].items():
        monkeypatch.setattr(ibfs, limit, value)
    monkeypatch.setattr(ibfs, "thread_count", lambda: threads)
    monkeypatch.setattr(ibfs, "MASK_CELLS", 50)
    for seed in filter(has_few_arcs, range(200, 216)):
        source, sink, edges = random_problem(np.random.default_rng(seed))
        cut = gridcut.max_flow(source, sink, edges, method="ibfs", callback=None if seed % 2 else lambda counts: None)
        cut.check()
        oracles.assert_equal_cuts(cut, reference(source, sink, edges))


@pytest.mark.parametrize("seed", range(2))
def test_old_trees_of_strips_that_are_not_searched_yet_are_no_part_of_merges(seed, monkeypatch):
    """Strips are merged while others still wait; a forest of an earlier solve has parents beyond their seams."""
    set_thin_strips(monkeypatch)
    monkeypatch.setattr(ibfs, "thread_count", lambda: 1)
    source, sink = np.random.default_rng(seed).integers(0, 100, (2, 200, 20))
    problem = check_problem(source, sink, {(0, 1): 20, (1, 0): 20}, None)
    counts, forest = [], None
    for _ in range(2):
        grid = load(problem).grid
        run = ibfs.Run(grid.excess, grid.residual, grid.layout, None, forest)
        run.solve(ibfs.UNTIL_BOTH)
        counts.append(run.stats)
        forest = run.forest
    assert counts[0] == counts[1]
    assert counts[0]["strips"] > 8


@pytest.mark.parametrize("seed", in_quick_tier(range(100, 105), has_few_arcs))
def test_every_warm_path_gives_the_same_cut(seed, limits):
    rng = np.random.default_rng(seed)
    source, sink, edges = random_problem(rng)
    solver = gridcut.Solver(source, sink, edges, method="ibfs")
    for _ in range(4):
        cut = solver.solve()
        cut.check()
        expected = reference(source, sink, edges)
        oracles.assert_equal_cuts(cut, expected)
        changed = rng.random(source.shape) < rng.choice([0.02, 0.3])
        source, sink = (np.where(changed, rng.integers(0, 100, source.shape), a) for a in (source, sink))
        offset = list(edges)[rng.integers(len(edges))]
        edges = {**edges, offset: np.where(changed, rng.integers(0, 300, source.shape), edges[offset])}
        solver.update(source=source, sink=sink, edges={offset: edges[offset]})


# The paths that each of LIMITS must take.
REACHED = {
    "one strip": set(),
    "merged": {"strips", "merge"},
    "merged at first": {"strips", "merge", "search"},
    "never merged": {"strips", "merge", "search"},
    "from blocks": {"strips", "merge", "coarse grid"},
    "warm to the end": {"warm"},
    "warm from scratch": {"strips"},
    "warm abandoned": {"warm", "warm abandoned"},
}


def test_limits_reach_their_paths(limits, request, monkeypatch):
    name = request.node.callspec.params["limits"]
    seen = Counter()

    class Spied(ibfs.Run):
        resolving = False

        def solve(self, until):
            super().solve(until)
            seen["strips"] += self.stats["strips"] > 1

        def resolve(self, touched):
            self.resolving = True
            super().resolve(touched)
            seen["warm"] += 1

        def _run_tasks(self, bounds, until, samples):
            seen["merge"] += self.stats["strips"] > 1
            goes_far = super()._run_tasks(bounds, until, samples)
            seen["search"] += self.stats["searched"]
            return goes_far

        def _solve_blocks(self, excess, residual, layout):
            seen["coarse grid"] += 1
            super()._solve_blocks(excess, residual, layout)

        def _search_all(self, until, *find):
            seen["warm abandoned"] += self.resolving
            super()._search_all(until, *find)

    monkeypatch.setattr(ibfs, "Run", Spied)
    for seed in filter(has_few_arcs, range(100, 160)):
        rng = np.random.default_rng(seed)
        source, sink, edges = random_problem(rng)
        solver = gridcut.Solver(source, sink, edges, method="ibfs")
        for _ in range(3):
            solver.solve()
            source = np.where(rng.random(source.shape) < 0.1, rng.integers(0, 100, source.shape), source)
            solver.update(source=source)
    assert REACHED[name] <= {path for path, count in seen.items() if count}, seen
    if name == "one strip":
        assert not seen["strips"]


@pytest.mark.parametrize(("capacity", "coarse"), [(1 << 26, True), (1 << 27, False)])
def test_sums_of_blocks_must_fit(capacity, coarse, monkeypatch):
    """Capacities that 32 bits hold, and whose sums they hold or not."""
    for name, value in LIMITS["from blocks"].items():
        monkeypatch.setattr(ibfs, name, value)
    solved = []
    monkeypatch.setattr(ibfs.Run, "_solve_blocks", lambda run, *arrays: solved.append(arrays))
    source, sink = np.random.default_rng(7).integers(0, 1 << 20, (2, 13, 21)) * (np.arange(21) % 20 == 0)
    source[:, 20] = sink[:, 0] = 0
    arrays = source, sink, {(0, 1): capacity, (1, 0): capacity}
    cut = gridcut.max_flow(*arrays, method="ibfs", callback=lambda counts: None)
    cut.check()
    assert cut.stats["dtype"] == "int32"
    assert bool(solved) == coarse
    oracles.assert_equal_cuts(cut, reference(*arrays))


@pytest.mark.parametrize("limit", in_quick_tier([1, ibfs.MAX_ARCS // 2], (1).__eq__))
def test_error_for_too_many_offsets_names_another_method(limit, monkeypatch):
    monkeypatch.setattr(ibfs, "MAX_ARCS", 2 * limit)
    monkeypatch.setattr(small_grid, "MAX_PIXELS", 0)  # no fast path
    edges = {(0, i): 1 for i in range(1, limit + 2)}
    ones = np.ones((2, 40), int)
    with pytest.raises(ValueError, match=f"'ibfs' accepts at most {limit}, use method='push_relabel'"):
        gridcut.max_flow(ones, ones, edges, method="ibfs", device="cpu")


@pytest.mark.parametrize(
    ("shape", "threads", "strips"),
    [
        ((400, 400), 1, 2),
        ((400, 400), 2, 5),
        ((250, 250), 2, 1),
        pytest.param((16, 260, 260), 1, 2, marks=pytest.mark.slow),
        pytest.param((20, 30, 40), 1, 1, marks=pytest.mark.slow),
    ],
)
def test_strips_of_volumes_have_several_slices(shape, threads, strips, monkeypatch):
    """A slice of 260 x 260 exceeds a strip's cells, but a strip of one slice would have most arcs across its seams."""
    monkeypatch.setattr(ibfs, "thread_count", lambda: threads)
    source, sink = np.random.default_rng(7).integers(0, 100, (2, *shape))
    cut = gridcut.max_flow(source, sink, dict.fromkeys(gridcut.neighbourhood(2 * len(shape)), 2), method="ibfs")
    cut.check()
    assert cut.stats["strips"] == strips
