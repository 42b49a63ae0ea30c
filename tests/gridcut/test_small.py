"""Small grids: the fast path through one or two compiled calls equals the general path, label for label."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gridcut
from gridcut import maximum_flow
from gridcut.ibfs import small_grid
from tests.tiers import in_quick_tier

FOUR = ((0, 1), (1, 0))


def grid(shape, dtype, seed=0, offsets=FOUR, high=100):
    rng = np.random.default_rng([seed, *shape])
    draw = [rng.integers(0, high, shape) for _ in range(2 + len(offsets))]
    if np.dtype(dtype).kind == "f":
        draw = [array + rng.random(shape) for array in draw]
    source, sink, *edges = (array.astype(dtype) for array in draw)
    return source, sink, dict(zip(offsets, edges, strict=True))


@pytest.fixture
def both(monkeypatch):
    """Solve on both paths, compare and certify; returns the cut of the fast path."""

    def run(source, sink, edges):
        cut = gridcut.max_flow(source, sink, edges, device="cpu")
        assert isinstance(cut._solved._source, small_grid.SmallGrid)
        with monkeypatch.context() as patch:
            patch.setattr(maximum_flow, "solve_small_grid", lambda *_: None)
            expected = gridcut.max_flow(source, sink, edges, device="cpu")
        assert (cut.value, type(cut.value)) == (expected.value, type(expected.value))
        assert cut.labels.dtype == bool
        assert (cut.labels == expected.labels).all()
        assert (cut.method, cut.device) == (expected.method, expected.device) == ("ibfs", "cpu")
        assert cut.stats.keys() == expected.stats.keys()
        assert [cut.stats[key] for key in ("dtype", "unit")] == [expected.stats[key] for key in ("dtype", "unit")]
        cut.check()
        return cut

    return run


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64", "float32", "float64"])
@pytest.mark.parametrize("shapes", in_quick_tier(["wide", "narrow"], "wide".__eq__))
def test_equal_to_the_general_path(both, dtype, shapes):
    one_pixel = [] if np.dtype(dtype).kind == "f" else [(1, 1)]  # floats without arcs are clamped: the general path
    of = {"wide": [(2, 2), (8, 8), (16, 11), (33, 40)], "narrow": [*one_pixel, (1, 9), (9, 1)]}
    for seed, shape in enumerate(of[shapes]):
        both(*grid(shape, dtype, seed))


def test_unused_capacities_may_be_anything(both):
    source, sink, edges = grid((5, 6), "float64")
    edges[0, 1][:, -1], edges[1, 0][-1] = np.nan, -1
    both(source, sink, edges)


@pytest.mark.parametrize(("where", "value"), [("source", -1.0), ("sink", np.nan), ((0, 1), -2.0), ((1, 0), np.nan)])
def test_errors_are_those_of_the_general_path(where, value):
    source, sink, edges = grid((5, 6), "float64")
    array = {"source": source, "sink": sink, **edges}[where]
    array[2, 3] = value
    with pytest.raises(ValueError, match=r"holds .* at \(2, 3\)"):
        gridcut.max_flow(source, sink, edges)


def test_results_follow_the_callers_arrays(both):
    source, sink, edges = grid((6, 5), "int32")
    cut = both(source, sink, edges)
    copied = pickle.loads(pickle.dumps(cut))
    flow = cut.flow((0, 1))
    edges.clear()
    cut.check()
    source[0, 0] += 1
    with pytest.raises(gridcut.CertificateError):
        cut.check()
    copied.check()
    assert (copied.flow((0, 1)) == flow).all()


def test_threads_and_nested_calls_do_not_share_memory():
    problems = [grid((n, n + 1), "int32", seed) for n in (4, 12, 24) for seed in range(10)]
    expected = [gridcut.max_flow(*problem).value for problem in problems]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            cuts = list(pool.map(lambda problem: gridcut.max_flow(*problem), problems))
            assert [cut.value for cut in cuts] == expected
    for cut in cuts:
        cut.check()
    taken = small_grid.buffer.take(10)
    assert small_grid.buffer.take(10) is not taken
