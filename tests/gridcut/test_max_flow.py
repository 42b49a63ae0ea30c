"""Values against drawings and SciPy, certificates of all results, and the same labels from every method."""

import numpy as np
import pytest

import gridcut
from gridcut.core import load
from gridcut.ibfs import small_grid
from tests.gridcut import oracles

OFFSETS = {
    "2": [(1,)],
    "4": gridcut.neighbourhood(4),
    "directed": gridcut.neighbourhood(4, both=True),
    "26": gridcut.neighbourhood(26),
    "asymmetric": [(0, 1), (0, -1), (1, 0), (-1, 3)],
}


@pytest.mark.parametrize(
    ("shape", "offsets", "dtype", "masked"),
    [
        ((9, 13), "4", np.int64, None),
        ((9, 13), "4", np.float64, "random"),
        *(
            pytest.param(*row, marks=pytest.mark.slow)
            for row in (((4, 5, 6), "26", np.uint8, "random"), ((37,), "2", np.int64, None))
        ),
    ],
)
def test_lines_loaded_by_several_threads(dtype, masked, shape, offsets, monkeypatch):
    """More threads than bands of lines too; every cell is loaded once, whatever the number of threads."""
    monkeypatch.setattr(small_grid, "MAX_PIXELS", 0)  # no fast path
    monkeypatch.setattr(load, "BAND_PIXELS", 20)
    monkeypatch.setattr(load, "SHARED_CELLS", 1)
    rng = np.random.default_rng(15)
    source, sink, edges, mask = oracles.random_problem(
        rng, shape, OFFSETS[offsets], dtype, high=200, density=0.7, mask=masked
    )
    for threads in (1, 3, 40):
        monkeypatch.setattr(load, "thread_count", lambda threads=threads: threads)
        cut = oracles.solve(source, sink, edges, mask=mask, device="cpu")
        assert cut.value == oracles.value_of(source, sink, edges, mask)
        oracles.check_flow(cut, source, sink, edges, mask)


def test_what_points_out_of_the_grid_or_the_mask_is_ignored(device):
    right = np.array([[1, 1, -5], [2, 2, 10**9]])
    down = np.array([[1, 1, 1], [-1, -(10**6), -1]])
    mask = np.ones((2, 3), bool)
    source, sink = np.array([[5, 0, 0], [0, 0, 0]]), np.array([[0, 0, 0], [0, 0, 5]])
    assert oracles.solve(source, sink, {(0, 1): right, (1, 0): down}, device=device).value == 2
    mask[1] = False
    source[1] = -1
    right[1] = -1
    assert oracles.solve(source, sink, {(0, 1): right, (1, 0): down}, mask=mask, device=device).value == 0
    floats = right.astype(float)
    floats[:, -1] = np.nan
    assert (
        oracles.solve(source, sink.astype(float), {(0, 1): floats, (1, 0): down}, mask=mask, device=device).value == 0
    )


def test_the_value_may_exceed_64_bits(device):
    big = np.full((8, 8), 2**62)
    edges = dict.fromkeys(OFFSETS["4"], 0)
    assert oracles.solve(big, big * 0, edges, device=device).value == 0
    cut = oracles.solve(np.where(np.eye(8), big, 0), np.where(np.eye(8), big - 1, 0), edges, device=device)
    assert cut.value == 8 * (2**62 - 1)


@pytest.mark.parametrize("number", [np.int64, np.float64])
def test_what_is_left_to_the_sink_may_exceed_64_bits(device, number):
    source, sink = np.ones((8, 8), number), np.full((8, 8), 2**61, number)
    assert oracles.solve(source, sink, {(0, 1): number(3), (1, 0): number(0)}, device=device).value == 64


def test_floats_are_rounded_to_a_reported_unit(device):
    rng = np.random.default_rng(9)
    for scale in (1.0, 1e-30, 1e30):
        source, sink = rng.random((2, 9, 9)) * scale
        edges = {(0, 1): rng.random((9, 9)) * scale, (1, 0): 0.3 * scale}
        cut = oracles.solve(source, sink, edges, device=device)
        unit = cut.stats["unit"]
        assert np.log2(unit) == int(np.log2(unit))
        assert unit < 1e-15 * scale
        doubled = oracles.solve(2 * source, 2 * sink, {o: 2 * c for o, c in edges.items()}, device=device)
        assert doubled.value == pytest.approx(2 * cut.value, rel=1e-12)
        assert (doubled.labels == cut.labels).all()


def test_callback_is_called_and_may_stop(method):
    rng = np.random.default_rng(11)
    source, sink, edges, _ = oracles.random_problem(rng, (20, 20), OFFSETS["4"], density=1.0)
    name, parameters = oracles.METHODS[method]
    seen = []
    gridcut.max_flow(source, sink, edges, method=name, **parameters, callback=seen.append)
    assert seen
    assert all(isinstance(s, dict) for s in seen)

    def stop(stats):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gridcut.max_flow(source, sink, edges, method=name, **parameters, callback=stop)
