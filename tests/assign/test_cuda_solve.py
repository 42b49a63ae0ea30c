"""assign.solve and solve_batch with device="cuda": the border of the device path, in the simulator and on a GPU."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import assign
from tests.assign import oracles

WHERE = [pytest.param("simulator", marks=pytest.mark.sim), pytest.param("gpu", marks=pytest.mark.gpu)]
SHAPES = [(1, 1), (4, 4), (3, 5), (5, 3)]


def on_gpu(array):
    from gridcut.device.cuda import cuda

    return cuda.to_device(array)


def host(array):
    from gridcut.device.arrays import to_host

    return to_host(array)


def certified(cost, **options):
    found = assign.solve(cost, device="cuda", method="auction", **options)
    found.check()
    assert (found.device, found.method) == ("cuda", "auction")
    return found


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_costs_from_the_host(where, dtype):
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        cost = rng.integers(-20, 20, shape).astype(dtype)
        for maximize in (False, True):
            found = certified(cost, maximize=maximize)
            assert found.cost == oracles.best_cost(cost, maximize)
            assert isinstance(found.row, np.ndarray)
            assert found.row_price.shape == (shape[0],)


@pytest.mark.parametrize("where", WHERE)
def test_the_cpu_starts_and_a_gpu_takes_over(where, monkeypatch):
    monkeypatch.setattr("assign.methods.resolve", lambda device: "cuda")
    monkeypatch.setattr("assign.methods.GPU_MIN_ROWS", 4)
    monkeypatch.setattr("assign.dense.dense.MAX_SHARE_TO_KEEP", 0.0)
    monkeypatch.setattr("assign.dense.dense.sorted_prices", lambda cost, kind: None)
    rng = np.random.default_rng(2)
    easy = 100 - 90 * np.eye(5, dtype=int)[rng.permutation(5)]
    sums = rng.integers(0, 10**6, (5, 1)) + rng.integers(0, 10**6, 5) + rng.integers(0, 10**5, (5, 5))
    for cost, device in ((easy, "cpu"), (sums, "cuda")):
        found = assign.solve(cost, callback=lambda stats: None)  # a callback, so not the fast path of small matrices
        found.check()
        assert found.cost == oracles.best_cost(cost, False)
        assert found.device == device


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("order", ["C", "F"])
def test_costs_on_the_gpu_stay_there(where, order):
    rng = np.random.default_rng(1)
    for shape in SHAPES:
        cost = np.asarray(rng.integers(-20, 20, shape), np.int32, order=order)
        for maximize in (False, True):
            found = certified(on_gpu(cost), maximize=maximize)
            assert found.cost == oracles.best_cost(cost, maximize)
            row, col = host(found.row), host(found.col)
            assert not isinstance(found.row, np.ndarray)
            assert cost[row, col].sum() == found.cost
            assert (host(found.col_of_row)[row] == col).all()


@pytest.mark.parametrize("where", WHERE)
def test_options(where):
    rng = np.random.default_rng(2)
    cost = rng.random((4, 5))
    first = certified(cost)
    assert certified(cost * 1.01, start=first).cost == pytest.approx(1.01 * first.cost)
    found = certified(cost, max_cost=0.3)
    assert oracles.total_of(found, 0.3) == pytest.approx(oracles.best_partial(cost, 0.3))
    infinite = np.full((3, 4), np.inf)
    infinite[:, 1] = 1.0
    with pytest.raises(assign.InfeasibleError, match="allowed column"):
        certified(infinite)
    with pytest.raises(assign.InfeasibleError, match="allowed row"):
        certified(on_gpu(infinite.T.copy()))


@pytest.mark.parametrize("where", WHERE)
def test_bad_values_on_the_gpu(where):
    for bad, message in ((np.nan, "must not hold NaN"), (-np.inf, "must not hold -inf when it is minimised")):
        cost = np.ones((3, 3))
        cost[1, 2] = bad
        with pytest.raises(ValueError, match=message):
            certified(on_gpu(cost))
    forbidden = np.array([[-np.inf, 1.0], [2.0, -np.inf]])
    assert certified(on_gpu(forbidden), maximize=True).cost == 3
    with pytest.raises(ValueError, match="must not hold .inf when it is maximised"):
        certified(on_gpu(-forbidden), maximize=True)
    with pytest.raises(ValueError, match="2.31, which int32 cannot negate"):
        certified(on_gpu(np.full((2, 2), -(2**31), np.int32)), maximize=True)
    with pytest.raises(ValueError, match="prices fit int64"):
        certified(on_gpu(np.full((2, 2), 2**61)))
    with pytest.raises(ValueError, match="mask is for costs on the host"):
        certified(on_gpu(np.ones((2, 2))), mask=np.ones((2, 2), bool))
    with pytest.raises(TypeError, match="device='cpu' was requested"):
        assign.solve(on_gpu(np.ones((2, 2))), device="cpu")


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize(("maximize", "dtype"), [(False, np.float64), (True, np.int32)])
def test_the_certificate_finds_faults_of_arrays_on_the_gpu(where, maximize, dtype):
    """Of fields on the GPU, whatever the shape and the sign, from costs on the GPU."""
    rng = np.random.default_rng(3)
    for shape in ((4, 6), (6, 4), (5, 5)):
        cost = rng.integers(0, 50, shape).astype(dtype)
        found = certified(on_gpu(cost), maximize=maximize)
        for name in ("row", "col", "row_price", "col_price"):
            assert not isinstance(getattr(found, name), np.ndarray)
            changed = host(getattr(found, name)).copy()
            changed[1] += 30
            with pytest.raises(assign.CertificateError):
                replace(found, **{name: on_gpu(changed)}).check()
            with pytest.raises(assign.CertificateError, match=f"{name} must be an array"):
                replace(found, **{name: on_gpu(changed.astype(np.float32))}).check()
        with pytest.raises(assign.CertificateError, match="but the pairs cost"):
            replace(found, cost=found.cost + 1).check()
        for copied in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
            assert isinstance(copied.row, np.ndarray)
            copied.check()
        copy.copy(found).check()


@pytest.mark.parametrize("where", WHERE)
def test_batches_on_the_gpu_stay_there(where):
    costs = np.random.default_rng(4).integers(0, 30, (3, 4, 5)).astype(np.int32)
    found = assign.solve_batch(on_gpu(costs))
    found.check()
    assert not isinstance(found.col_of_row, np.ndarray)
    assert host(found.cost).tolist() == [oracles.best_cost(c) for c in costs]
    assert host(found.feasible).all()
    for copied in (found, pickle.loads(pickle.dumps(found)), copy.copy(found), copy.deepcopy(found)):
        copied.check()
        assert host(copied.cost).tolist() == host(found.cost).tolist()
    worse = host(found.col_of_row).copy()
    worse[1] = worse[1][::-1]
    with pytest.raises(assign.CertificateError, match="item 1: "):
        replace(found, col_of_row=on_gpu(worse)).check()
    with pytest.raises(ValueError, match="max_cost must be integers"):
        assign.solve_batch(on_gpu(costs), max_cost=2.5)


@pytest.mark.parametrize("where", WHERE)
def test_starts_that_are_far_off(where):
    """Prices are as large as a cold start's, so they lose as few digits; those of integers never wrap."""
    rng = np.random.default_rng(5)
    for shape in SHAPES[1:]:
        cost = rng.random(shape)
        for power in (3, 300):
            start = [rng.normal(size=size) * 10.0**power for size in shape]
            for given in (cost, on_gpu(cost)):
                found = certified(given, start=start)
                assert found.cost == pytest.approx(oracles.best_cost(cost), rel=1e-13)
                assert max(np.abs(host(a)).max() for a in (found.row_price, found.col_price)) < 40 * sum(shape)
            whole = rng.integers(-50, 50, shape)
            assert certified(whole, start=start).cost == oracles.best_cost(whole)
        ends = [rng.choice([2**63 - 1, -(2**63)], size) for size in shape]
        assert certified(whole, start=ends).cost == oracles.best_cost(whole)


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_batches_of_large_problems_stay_on_the_gpu(where, dtype, monkeypatch):
    """Problems that are solved one by one: their results are GPU arrays like the others."""
    monkeypatch.setattr("assign.batch.batch_team_cuda.MAX_COLUMNS", 5)
    rng = np.random.default_rng(9)
    for shape in ((2, 4, 6), (2, 6, 4)):
        costs = rng.integers(0, 50, shape).astype(dtype)
        found = assign.solve_batch(on_gpu(costs))
        found.check()
        assert found.stats["alone"] == 2
        assert host(found.cost).tolist() == [oracles.best_cost(cost) for cost in costs]
        for name in ("col_of_row", "row_price", "col_price"):
            assert not isinstance(getattr(found, name), np.ndarray)


@pytest.mark.parametrize("where", WHERE)
def test_the_cpu_solves_batches_of_large_problems_by_default(where, monkeypatch):
    monkeypatch.setattr("assign.batch.batch_team_cuda.MAX_COLUMNS", 5)
    monkeypatch.setattr("assign.batch_solving.GPU_MIN_COSTS", 1)
    costs = np.random.default_rng(9).integers(0, 50, (2, 4, 6))
    for given, device in ((costs, "cpu"), (costs[:, :, :5], "cuda")):
        found = assign.solve_batch(given)
        found.check()
        assert found.device == device
