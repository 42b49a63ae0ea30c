"""lapx's further functions of the face of lap: plain tests, and the same results as lapx where it is installed."""

import numpy as np
import pytest
import scipy.optimize

from assign.compat import lap as ours

SINGLE = ("lapjvs", "lapjvr", "lapjvh")
SHAPES = [(1, 1), (5, 5), (4, 9), (9, 4), (40, 30)]


def arguments(name):
    return {} if name in ("lapjvc", "lapjvs", "lapjvsa") else {"extend_cost": True}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("shape", SHAPES)
def test_pairs_of_all_solvers(shape, dtype):
    cost = (1000 * np.random.default_rng(0).random(shape)).astype(dtype)
    row, col = scipy.optimize.linear_sum_assignment(cost)
    expected = float(cost[row, col].sum(dtype=np.float64))
    for name in ("lapjvc", *SINGLE):
        found = getattr(ours, name)(cost, **arguments(name))
        assert found[0] == pytest.approx(expected)
        assert cost[found[1], found[2]].sum(dtype=np.float64) == pytest.approx(expected)
        assert found[1].tolist() == row.tolist()
        assert found[1].dtype == found[2].dtype == (np.int32 if name == "lapjvc" else np.int64)
    total, pairs = ours.lapjvsa(cost)
    assert (total, pairs.dtype) == (pytest.approx(expected), np.int64)
    assert pairs.tolist() == np.stack(ours.lapjvs(cost, return_cost=False), axis=1).tolist()
    assert (ours.lapjvr(cost, True, return_cost=False, output="pairs") == pairs).all()
    x, y = ours.lapjvs(cost, return_cost=False, jvx_like=False)
    assert x[pairs[:, 0]].tolist() == pairs[:, 1].tolist()
    assert y[pairs[:, 1]].tolist() == pairs[:, 0].tolist()
    assert (x >= 0).sum() == (y >= 0).sum() == len(pairs)


def test_forbidden_pairs_of_lapjvc():
    nan, inf = np.nan, np.inf
    assert ours.lapjvc([[nan, 1.0, 2.0], [3.0, -inf, 4.0]])[0] == 4
    total, row, col = ours.lapjvc(np.array([[inf, inf, nan], [1.0, 2.0, 3.0]]))
    assert (total, row.tolist(), col.tolist()) == (1, [1], [0])
    with pytest.raises(RuntimeError, match="Number of dimensions must be two"):
        ours.lapjvc([1.0, 2.0])
    assert [len(part) for part in ours.lapjvc(np.full((2, 2), nan), return_cost=False)] == [0, 0]


@pytest.mark.parametrize("name", [*SINGLE, "lapjvsa"])
def test_without_an_assignment(name):
    cost = np.array([[np.inf, np.inf], [1, 2]])
    with pytest.raises(ValueError, match="infeasible"):
        getattr(ours, name)(cost)
    with pytest.raises(ValueError, match="infeasible at batch index 1"):
        getattr(ours, f"{name}_batch")(np.stack([np.ones((2, 2)), cost]))


def test_limits_and_options():
    cost = np.array([[1.0, 9.0, 7.0], [8.0, 9.0, 2.0]])
    total, row, col = ours.lapjvr(cost, cost_limit=1.5)
    assert (total, row.tolist(), col.tolist()) == (1, [0], [0])
    for function in (ours.lapjvr, ours.lapjvh):
        with pytest.raises(ValueError, match="Square cost array expected"):
            function(cost)
        with pytest.raises(ValueError, match="precision must be"):
            function(cost, True, precision="float16")
        with pytest.raises(ValueError, match="output must be"):
            function(cost, True, output="rows")
    for function in (ours.lapjvs, ours.lapjvsa):
        with pytest.raises(ValueError, match="requires a square cost matrix"):
            function(cost, extend_cost=False)
        with pytest.raises(ValueError, match="must be a 2D array"):
            function(cost[0])


@pytest.mark.parametrize("shape", [(7, 5, 5), (4, 3, 6), (0, 2, 2)])
@pytest.mark.parametrize("name", SINGLE)
def test_batches_are_single_problems(name, shape):
    costs = np.random.default_rng(1).random(shape)
    single, batch = getattr(ours, name), getattr(ours, f"{name}_batch")
    totals, rows, cols = batch(costs, extend_cost=True)
    expected = [single(cost, extend_cost=True) for cost in costs]
    assert totals == pytest.approx([one[0] for one in expected])
    assert [one.tolist() for one in rows] == [one[1].tolist() for one in expected]
    assert [one.tolist() for one in cols] == [one[2].tolist() for one in expected]
    pairs = ours.lapjvsa_batch(costs, True, False) if name == "lapjvs" else batch(costs, True, output="pairs")[1]
    assert [one.T.tolist() for one in pairs] == [[r.tolist(), c.tolist()] for r, c in zip(rows, cols, strict=True)]
    if shape[1] != shape[2]:
        with pytest.raises(ValueError, match="quare cost"):
            batch(costs)


@pytest.mark.parametrize("shape", SHAPES)
def test_results_of_lapx(shape):
    theirs = pytest.importorskip("lap", reason="lapx is not installed (extra 'bench')")
    cost = np.random.default_rng(2).random(shape)
    for name in ("lapjvc", "lapjvs", "lapjvsa", "lapjvr", "lapjvh"):
        if not hasattr(theirs, name):  # lapx 0.10 has neither of the last two
            continue
        found, expected = (getattr(one, name)(cost, **arguments(name)) for one in (ours, theirs))
        assert found[0] == pytest.approx(expected[0])
        assert [part.dtype for part in found[1:]] == [part.dtype for part in expected[1:]]
        assert [part.shape for part in found[1:]] == [part.shape for part in expected[1:]]
        assert sorted(np.column_stack(found[1:]).tolist()) == sorted(np.column_stack(expected[1:]).tolist())
        if name != "lapjvc":
            found, expected = (getattr(one, f"{name}_batch")(cost[None], True) for one in (ours, theirs))
            assert found[0] == pytest.approx(expected[0])
            assert sorted(np.column_stack([part[0] for part in found[1:]]).tolist()) == sorted(
                np.column_stack([part[0] for part in expected[1:]]).tolist()
            )
