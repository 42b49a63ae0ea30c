"""Small grids: the fast path through one or two compiled calls equals the general path, label for label."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gridcut
from gridcut import maximum_flow, small

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
        assert isinstance(cut._solved._source, small.SmallGrid)
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
def test_equal_to_the_general_path(both, dtype):
    one_pixel = [] if np.dtype(dtype).kind == "f" else [(1, 1)]  # floats without arcs are clamped: the general path
    for seed, shape in enumerate([*one_pixel, (1, 9), (9, 1), (2, 2), (8, 8), (16, 11), (33, 40)]):
        both(*grid(shape, dtype, seed))


def test_sums_beyond_int32(both):
    cut = both(*grid((6, 7), "int64", high=2**40))
    assert cut.stats["dtype"] == "int64"
    cut = both(*grid((6, 7), "int32", high=2**31 - 1))
    assert cut.stats["dtype"] == "int64"


def test_negative_zeros(both):
    source, sink, edges = grid((6, 7), "float64")
    for array in (source, sink, *edges.values()):
        array[::2, 1::3] = -0.0
    both(source, sink, edges)


@pytest.mark.slow
def test_scalars_and_mixed_types(both):
    source, sink, edges = grid((7, 6), "int32")
    both(source, sink, dict.fromkeys(FOUR, 20))
    both(source, 50, edges)
    both(50, sink, {(0, 1): 3, (1, 0): np.float32(0.5) * np.ones((7, 6), np.float32)})
    both(source, sink.astype(np.float64), {**edges, (0, 1): 0.25})
    both(source, sink, {(0, 1): np.int32(7), (1, 0): np.uint8(9)})
    both(source, sink, {(0, 1): np.float64(7), (1, 0): np.float32(0.5)})
    both(source.astype(bool), np.array(1), {(0, 1): np.array(2), (1, 0): 1})


def test_directed_edges(both):
    rng = np.random.default_rng(1)
    source, sink, edges = grid((9, 8), "int32")
    both(source, sink, {**edges, (0, -1): rng.integers(0, 100, (9, 8)), (-1, 0): 0})


def test_offsets_longer_than_the_grid(both):
    both(*grid((2, 9), "int32", offsets=((0, 1), (2, 0))))
    both(*grid((2, 2), "int32", offsets=()))


def test_layouts(both):
    source, sink, edges = grid((8, 10), "int32")
    frozen = source.copy()
    frozen.flags.writeable = False
    both(frozen, np.asfortranarray(sink), {(0, 1): edges[0, 1][::-1], (1, 0): np.broadcast_to(edges[1, 0][0], (8, 10))})


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


def test_infinite_and_uneven_capacities_take_the_general_path():
    source, sink, edges = grid((5, 6), "float64")
    source[0, 0] = np.inf
    cut = gridcut.max_flow(source, sink, edges)
    cut.check()
    assert cut.labels[0, 0]
    edges[0, 1][:] = 1e-300
    edges[1, 0][:] = 1e-300
    gridcut.max_flow(source, sink, edges).check()
    gridcut.max_flow(np.zeros((2, 2)), np.zeros((2, 2)), {(0, 1): 1.0}).check()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"device": "gpu"}, ValueError, "device must be"),
        ({"method": "none"}, ValueError, "method must be"),
        ({"order": "fifo"}, TypeError, "unexpected parameter 'order'"),
        ({"sink": np.zeros((2, 3), np.int32)}, ValueError, "sink must have the shape"),
        ({"edges": {(0, 0): 1}}, ValueError, "connects a pixel to itself"),
        ({"edges": {(1,): 1}}, ValueError, "must have 2 entries"),
        ({"edges": {(0.0, 1.0): 1}}, TypeError, "must be a tuple of 2 integers"),
        ({"edges": {(0, 1): 2**70}}, TypeError, "edges"),
        ({"sink": np.zeros((5, 6), complex)}, TypeError, "sink must be an array"),
    ],
)
def test_bad_arguments_are_not_overlooked(change, error, message):
    source, sink, edges = grid((5, 6), "int32")
    gridcut.max_flow(source, sink, edges)  # its plan is kept
    with pytest.raises(error, match=message):
        gridcut.max_flow(**{"source": source, "sink": sink, "edges": edges, "device": "cpu", **change})


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


def test_altered_labels_are_rejected(both):
    cut = both(*grid((6, 5), "int32"))
    cut.labels[3, 2] ^= True
    with pytest.raises(gridcut.CertificateError):
        cut.check()


def test_threads_and_nested_calls_do_not_share_memory():
    problems = [grid((n, n + 1), "int32", seed) for n in (4, 12, 24) for seed in range(10)]
    expected = [gridcut.max_flow(*problem).value for problem in problems]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            cuts = list(pool.map(lambda problem: gridcut.max_flow(*problem), problems))
            assert [cut.value for cut in cuts] == expected
    for cut in cuts:
        cut.check()
    taken = small.buffer.take(10)
    assert small.buffer.take(10) is not taken
