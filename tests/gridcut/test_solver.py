"""Solver: after any sequence of changes, certified results equal those of a cold solve."""

# ruff: noqa: E501  (tables of cases, one per line)

import numpy as np
import pytest

import gridcut
from tests.gridcut import oracles

OFFSETS = [(0, 1), (1, -1), (0, -1)]  # four arcs per pixel


def test_capacities_that_need_wider_integers(device):
    rng = np.random.default_rng(32)
    source, sink, edges, _ = oracles.random_problem(rng, (6, 7), OFFSETS[:2], np.int64, high=200, density=1.0)
    solver = gridcut.Solver(source, sink, edges, device=device)
    assert solver.solve().stats["dtype"] != "int64"
    for factor in (300, 10**7, 10**14, 1):
        solver.update(source=factor * source.astype(np.int64))
        cut = solver.solve()
        cut.check()
        assert cut.value == oracles.solve(factor * source.astype(np.int64), sink, edges).value
    edges = {offset: np.asarray(capacity, float) for offset, capacity in edges.items()}
    floats = gridcut.Solver(source.astype(float), sink.astype(float), edges, device=device)
    unit = floats.solve().stats["unit"]
    for factor in (1e3, 1e20, 1.0):
        floats.update(source=factor * source)
        cut = floats.solve()
        cut.check()
        assert cut.value == pytest.approx(oracles.solve(factor * source.astype(float), sink.astype(float), edges).value)
    assert unit <= cut.stats["unit"] <= unit * 2**10, "fine again once the large capacities are gone"


def test_arrays_are_copied_and_cuts_become_stale(device):
    rng = np.random.default_rng(33)
    source, sink, edges, _ = oracles.random_problem(rng, (6, 7), OFFSETS[:2], density=1.0)
    solver = gridcut.Solver(source, sink, edges, device=device)
    want = oracles.solve(source.copy(), sink.copy(), edges)
    source += 5
    first = solver.solve()
    assert first.value == want.value
    first.check()
    solver.update(source=source)
    with pytest.raises(RuntimeError, match="this cut is stale: its Solver was updated or solved"):
        first.check()
    with pytest.raises(RuntimeError, match="this cut is stale: its Solver was updated or solved"):
        first.flow((0, 1))
    assert (first.labels == want.labels).all()
    assert solver.solve().value == oracles.solve(source, sink, edges).value


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"source": np.ones((2, 2))}, TypeError, r"source must hold integers like the capacities so far, got float64"),
        ({"source": np.ones((2, 2), int)}, ValueError, r"source must .*shape \(3, 4\), got shape \(2, 2\)"),
        ({"sink": -np.ones((3, 4), int)}, ValueError, r"sink holds -1 at \(0, 0\); capacities must be 0 or more"),
        ({"edges": {(1, 1): 3}}, ValueError, r"offset \(1, 1\) had no edges when the solver was created; it has \(0, 1\)"),
        ({"edges": {(0, 1): -3}}, ValueError, r"edges\[\(0, 1\)\] holds -3 at \(0, 0\)"),
        ({"edges": [3]}, TypeError, r"edges must be a mapping"),
        ({"edges": {(0, 1): 3}, "where": np.ones((3, 4), bool)}, ValueError, r"where selects pixels of source and sink"),
        ({"source": 3, "where": np.ones((3, 3), bool)}, ValueError, r"where must have the grid's shape \(3, 4\)"),
        ({"source": 3, "where": (np.array([5]), np.array([0]))}, ValueError, r"where must be index arrays .* within the grid \(3, 4\)"),
        ({"source": 3, "where": (np.array([0]), np.array([-1]))}, ValueError, r"where must be index arrays .* within the grid \(3, 4\)"),
        ({"source": [7, 8, 9], "where": ([0, 1], [2, 3])}, ValueError, r"source must be a scalar or have the grid's shape"),
        ({"source": 3, "where": ([0.5], [0])}, TypeError, r"where must be index arrays .* only int indices"),
        ({"source": 3, "where": 7}, TypeError, r"where must be a bool array or a tuple of 2 index arrays"),
        ({"source": np.full((3, 4), 2**63 - 1)}, ValueError, r"too large: .* the limit is 9223372036854775807"),
    ],
)  # fmt: skip
def test_bad_updates_change_nothing(change, error, message, device):
    rng = np.random.default_rng(36)
    source, sink = rng.integers(0, 9, (2, 3, 4))
    solver = gridcut.Solver(source, sink, {(0, 1): 3, (1, 0): 3}, device=device)
    value = solver.solve().value
    with pytest.raises(error, match=message):
        solver.update(**change)
    cut = solver.solve()
    assert cut.value == value
    cut.check()


@pytest.mark.parametrize(
    ("dtype", "masked", "shape"),
    [
        (np.int64, None, (13, 17)),
        (np.float64, "random", (13, 17)),
        pytest.param(np.uint8, "random", (4, 5, 6), marks=pytest.mark.slow),
        pytest.param(np.int32, None, (4, 5, 6), marks=pytest.mark.slow),
    ],
)
def test_whole_arrays_change_as_in_a_cold_solve(dtype, masked, shape):
    """Terminals without lists of pixels, and edges of which most change, which load the grid again."""
    rng = np.random.default_rng(37)
    offsets = [(0, 1), (1, 0), (1, -1)] if len(shape) == 2 else [(0, 0, 1), (1, 0, 0), (0, 1, 0)]
    source, sink, edges, mask = oracles.random_problem(rng, shape, offsets, dtype, high=40, mask=masked)
    edges = {offset: np.broadcast_to(values, shape).copy() for offset, values in edges.items()}
    first = edges[offsets[0]]
    solver = gridcut.Solver(source, sink, edges, mask=mask, device="cpu")
    solver.solve()

    def new():
        return rng.integers(0, 40, shape).astype(dtype)

    for warm, change in (
        (True, lambda: {"source": new(), "sink": new()}),
        (True, lambda: {"sink": np.asfortranarray(new())}),
        (
            True,
            lambda: {
                "source": new()[..., ::-1],
                "edges": {offsets[0]: np.where(rng.random(shape) < 0.1, 1, first).astype(dtype)},
            },
        ),
        (False, lambda: {"edges": {offset: new() for offset in offsets}}),
        (False, lambda: {"source": new(), "sink": dtype(7), "edges": {offset: new() for offset in offsets[:2]}}),
        (True, lambda: {"sink": new()}),
    ):
        given = change()
        solver.update(**given)
        source, sink = given.get("source", source), given.get("sink", sink)
        edges = {**edges, **given.get("edges", {})}
        cut = solver.solve()
        assert cut.stats["warm"] == warm
        cut.check()
        cold = oracles.solve(source, sink, edges, mask=mask)
        assert cut.value == cold.value
        assert (cut.labels == cold.labels).all()


def test_a_bad_edge_among_many_new_ones_changes_nothing():
    rng = np.random.default_rng(39)
    source, sink = rng.integers(0, 9, (2, 6, 7)).astype(float)
    edges = {(0, 1): np.full((6, 7), 3.0), (1, 0): np.full((6, 7), 2.0)}
    solver = gridcut.Solver(source, sink, edges, device="cpu")
    cut = solver.solve()
    new = rng.random((6, 7))
    new[2, 3] = np.nan
    with pytest.raises(ValueError, match=r"edges\[\(0, 1\)\] holds nan at \(2, 3\)"):
        solver.update(source=sink, edges={(0, 1): new, (1, 0): new.T.copy().T})
    cut.check()
    new[2, 3], new[:, -1] = 1.0, np.nan  # in use nowhere: the arcs leave the grid
    solver.update(edges={(0, 1): new})
    cut = solver.solve()
    cut.check()
    assert cut.value == pytest.approx(oracles.solve(source, sink, {(0, 1): np.nan_to_num(new), (1, 0): 2.0}).value)
