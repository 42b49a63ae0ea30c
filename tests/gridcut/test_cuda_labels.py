"""Multi-label moves on a GPU: the parts of a move against plain NumPy, and whole descents against the CPU.

The tie rule makes minimum cuts unique, so labels and the energy after every move equal those of the CPU."""

import numpy as np
import pytest

import gridcut
from gridcut import alpha_beta_swap, alpha_expansion, neighbourhood
from gridcut.multilabel.validation import cheapest, check_labels
from tests.gridcut import oracles

sim = pytest.mark.sim


def instance(shape, count, seed, neighbours):
    """Unary costs, uneven weights, truncated linear costs of labels."""
    rng = np.random.default_rng(seed)
    unary = rng.integers(-5, 40, (count, *shape))
    weights = {o: rng.integers(0, 12, shape) for o in neighbourhood(neighbours)}
    label = np.arange(count)
    return unary, weights, np.minimum(np.abs(label[:, None] - label), 2)


def to_device(array):
    from gridcut.device.cuda import cuda

    return cuda.to_device(array)


def raster(problem, label):
    return problem.raster(label).copy_to_host().reshape(problem.shape)


def device_problem(unary, weights, cost, metric=True):
    from gridcut.multilabel.problem_cuda import DeviceProblem

    return DeviceProblem(unary, weights, cost, metric=metric)


# The parts of a move


@sim
@pytest.mark.parametrize(("shape", "neighbours"), [((9, 40), 4), ((35, 6), 8), ((5, 9, 10), 26)])
def test_loading(shape, neighbours):
    """Weights, cheapest labels, votes and energies are those of the host."""
    unary, weights, cost = instance(shape, 3, 1, neighbours)
    weights[tuple(-i for i in next(iter(weights)))] = 3  # adds up with its opposite
    host = check_labels(unary, weights, cost, metric=True)
    device = device_problem(unary, weights, cost)
    assert (device.number, device.unit) == (host.unary.dtype, host.unit)
    first = device.check_start(None)
    assert (raster(device, first) == cheapest(host.unary)).all()
    assert (device.votes() == host.votes()).all()
    paid = to_device(np.zeros(device.tiles.cells, device.number))
    device.update_paid(first, paid)
    assert device.energy(first, paid) == gridcut.energy_of(cheapest(unary), unary, weights, cost)


# Whole descents


def votes(unary):
    return np.bincount(unary.argmin(0).ravel(), minlength=len(unary))


def agree(solve, unary, weights, cost, seen=None, **options):
    """The result on the GPU, which must equal that of the CPU move for move, and is certified."""
    ours = solve(unary, weights, cost, device="cuda", callback=None if seen is None else seen.append, **options)
    theirs = solve(unary, weights, cost, device="cpu", **options)
    assert ours.device == "cuda"
    assert ours.stats["energies"] == theirs.stats["energies"]
    assert (ours.labels == theirs.labels).all()
    assert ours.labels.dtype == theirs.labels.dtype
    for name in ("moves", "cycles", "converged", "dtype", "unit"):
        assert ours.stats[name] == theirs.stats[name], name
    assert ours.energy == theirs.energy
    ours.check()
    return ours


@sim
def test_expansions_across_tile_boundaries():
    """With a restart, whose moves are reported to the callback but not recorded."""
    unary, weights, cost = instance((2, 34), 3, 3, 4)
    seen = []
    start = np.zeros((2, 34), int)
    result = agree(alpha_expansion, unary, weights, cost, seen, start=start, restarts=1, max_cycles=1)
    energies = result.stats["energies"]
    assert energies[0] > result.energy
    assert [event["energy"] for event in seen[:3]] == energies[1:4]
    assert [event["labels"] for event in seen[:3]] == [(-1, int(i)) for i in np.argsort(-votes(unary), kind="stable")]
    assert {event["cycle"] for event in seen} == {1, 2, 3}


@sim
def test_swaps():
    """Squares are not a metric."""
    unary, weights, cost = instance((5, 9), 3, 4, 4)
    result = agree(alpha_beta_swap, unary, weights, cost**2, start=np.zeros((5, 9), int), max_cycles=1)
    assert result.stats["changed"] > 0


@sim
def test_arrays_on_the_gpu():
    """Floats in a volume, with transposed strides; the labels stay on the GPU."""
    unary, weights, cost = instance((2, 3, 4), 3, 5, 6)
    unary = unary * 0.1
    weights = {o: w.astype(np.float32) for o, w in weights.items()}
    on_gpu = to_device(np.moveaxis(unary, 0, 3).copy())
    moved = on_gpu.transpose((3, 0, 1, 2))
    result = alpha_expansion(moved, {o: to_device(w) for o, w in weights.items()}, cost, restarts=0)
    expected = alpha_expansion(unary, weights, cost, restarts=0, device="cpu")
    assert hasattr(result.labels, "copy_to_host")
    assert (result.labels.copy_to_host() == expected.labels).all()
    assert result.stats["energies"] == expected.stats["energies"]
    assert result.energy == pytest.approx(expected.energy, rel=1e-12)
    result.check()


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("shape", "neighbours"), [((300,), 2), ((130, 170), 4), ((70, 65), 8), ((9, 30, 40), 6), ((6, 20, 40), 26)]
)
@pytest.mark.parametrize("solve", [alpha_expansion, alpha_beta_swap])
def test_larger_grids(solve, shape, neighbours):
    agree(solve, *instance(shape, 6, 6, neighbours))


@pytest.mark.gpu
@pytest.mark.parametrize("number", [np.int32, np.float32, np.float64])
@pytest.mark.parametrize("name", ["torch", "cupy"])
def test_arrays_of_other_libraries(name, number):
    to, back, kind = oracles.library(name)
    unary, weights, cost = instance((50, 70), 5, 8, 4)
    unary = (unary * (1 if number == np.int32 else 0.1)).astype(number)
    weights = {o: w.astype(number) for o, w in weights.items()}
    there = {o: to(w) for o, w in weights.items()}
    for solve in (alpha_expansion, alpha_beta_swap):
        expected = solve(unary, weights, cost, device="cpu")
        result = solve(to(unary), there, cost)
        assert result.device == "cuda"
        assert isinstance(result.labels, kind)
        assert (back(result.labels) == expected.labels).all()
        assert result.stats["energies"] == expected.stats["energies"]
        result.check()
        later = solve(to(unary), there, cost, start=result.labels)
        assert later.energy <= result.energy
    with pytest.raises(TypeError, match="device='cpu' was requested"):
        alpha_expansion(to(unary), weights, cost, device="cpu")


# Validation


@sim
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"weights": {(0, 2): 1}}, ValueError, "direct neighbours only; use device='cpu'"),
        ({"weights": {(0, 1): -np.ones((3, 4))}}, ValueError, r"weights\[\(0, 1\)\] holds -1.0 at \(0, 0\)"),
        ({"weights": {(0, 1): np.ones((3, 3))}}, ValueError, "a scalar or have the grid's shape"),
        ({"weights": 3}, TypeError, "weights must be a mapping"),
        ({"unary": np.full((2, 3, 4), np.nan)}, ValueError, r"unary holds nan at \(0, 0, 0\)"),
        ({"unary": np.full((2, 3, 4), 2**61), "weights": {}}, ValueError, "too large"),
        ({"unary": np.full((2, 3, 4), -(2**63)), "weights": {}}, ValueError, "too large"),
        ({"start": np.full((3, 4), 2)}, ValueError, "start must hold labels between 0 and 1, got 2 to 2"),
        ({"start": np.zeros((3, 4))}, TypeError, "start must hold integer labels"),
    ],
)
@pytest.mark.parametrize("where", ["host", "gpu"])
def test_bad_input(change, error, message, where):
    given = {"unary": np.zeros((2, 3, 4)), "weights": {(0, 1): np.ones((3, 4))}, "start": np.zeros((3, 4), int)}
    given |= change
    if where == "gpu":
        given["unary"], given["start"] = to_device(given["unary"]), to_device(given["start"])
        if isinstance(given["weights"], dict):
            given["weights"] = {o: to_device(w) if np.ndim(w) else w for o, w in given["weights"].items()}
    with pytest.raises(error, match=message):
        alpha_expansion(given["unary"], given["weights"], start=given["start"], device="cuda")
