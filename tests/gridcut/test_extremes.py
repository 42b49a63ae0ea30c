"""Float capacities of every size, infinite ones too: values and labels against all cuts, summed in exact fractions."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import gridcut
from gridcut.core.cut_capacity import Measured
from gridcut.core.solve_exactly import Clock, solve_exactly
from tests.gridcut import oracles

OFFSETS = {1: [(1,), (-1,), (2,)], 2: [(0, 1), (1, 0), (0, -1)]}  # four arcs per pixel
SCALE = 2.0**-3
HUGE = [1e18, 1e20, 3.4e38, 1e200, 1e307, np.inf]


def draw(rng, shape, numbers, extremes, dtype=np.float64):
    """Capacities from `numbers`, some of them from `extremes`."""

    def capacity():
        part = rng.choice([0.0, 0.1, 0.4])
        values = np.where(rng.random(shape) < part, rng.choice(extremes, shape), rng.choice(numbers, shape))
        return values.astype(dtype)

    def edge():
        if rng.random() < 0.4:
            return np.zeros(shape, dtype)
        return capacity() if rng.random() < 0.8 else capacity().flat[0]

    return capacity(), capacity(), {offset: edge() for offset in OFFSETS[len(shape)]}


def oracle(source, sink, edges, mask=None):
    """The least capacity of all cuts as a fraction, the labels, and a function of labels: the capacity of their cut."""
    shape, *problem = oracles.grid_of(oracles.Instance("", source, sink, edges, mask, SCALE))
    value, labels = oracles.exhaustive(*problem)

    def capacity(labels):
        return exact(oracles.capacity_of(set(np.flatnonzero(labels).tolist()), *problem))

    return exact(value), np.reshape(labels, shape), capacity


def exact(units):
    return np.inf if units >= oracles.INFINITE else units * Fraction(SCALE)


def solve_and_check(problem, variant="auto", mask=None):
    """A certified cut within the promise for floats, or None where every cut is infinite; and the oracle's labels."""
    best, labels, capacity = oracle(*problem, mask)
    method, parameters = oracles.ON_CPU[variant]
    if best > np.finfo(np.float64).max:
        with pytest.raises(ValueError, match="every cut has infinite capacity"):
            gridcut.max_flow(*problem, mask=mask, method=method, **parameters)
        return None, labels
    cut = gridcut.max_flow(*problem, mask=mask, method=method, **parameters)
    cut.check()
    assert abs(Fraction(cut.value) - best) <= best / 10**9
    assert capacity(cut.labels) - best <= best / 10**9
    return cut, labels


def test_must_links_of_huge_capacity():
    links = np.array([1e20, 0.5, np.inf, 0])
    cut = gridcut.max_flow(
        np.array([1e20, 0, 0, 0]), np.array([0, 0, 0, np.inf]), {(1,): links, (2,): 0.0}, device="cpu"
    )
    cut.check()
    assert cut.value == 0.5
    assert cut.labels.tolist() == [True, True, False, False]
    assert cut.flow((1,)).tolist() == [0.5, 0.5, 0.5, 0]


@pytest.mark.parametrize(
    "problem",
    [
        ([np.inf, 0.0, 0.0], [np.inf, 1.0, 0.0], {(1,): 1.0, (2,): 0.0}),
        ([np.inf, 0.0, 0.0], [0.0, np.inf, 0.0], {(1,): np.inf, (2,): 0.0}),
        ([1.0, np.inf, 0.0], [np.inf, 0.0, 0.0], {(-1,): np.inf, (2,): 0.0}),
        (np.full(4, 1e308), np.full(4, 1e308), {(1,): 1.0, (2,): 0.0}),
    ],
)
def test_a_cut_of_no_float_is_refused(problem):
    with pytest.raises(ValueError, match="every cut has infinite capacity, or more than the largest float; .* edges"):
        gridcut.max_flow(*problem, device="cpu")


@pytest.mark.parametrize("variant", oracles.ON_CPU)
@pytest.mark.parametrize("shape", [(5,), (2, 3)])
def test_capacities_of_all_sizes(variant, shape):
    """Ordinary numbers are sums of few powers of two, so the labels too must be exact, whatever is next to them."""
    rng = np.random.default_rng(501)
    numbers = [0, 0.25, 0.5, 1, 2, 3, 5.5]
    solved = 0
    for _ in range(25):
        problem = draw(rng, shape, numbers, HUGE)
        mask = rng.random(shape) < 0.8 if rng.random() < 0.3 else None
        cut, labels = solve_and_check(problem, variant, mask)
        if cut is not None and cut.value < 1e6:
            solved += 1
            assert (cut.labels == labels).all()
    assert solved >= 10


def test_updates_to_infinite_and_back():
    solver = gridcut.Solver(np.array([1.0, 0.25, 0]), np.array([0, 0.75, 1.0]), {(1,): 0.5, (2,): 0.0}, device="cpu")
    assert solver.solve().value == 0.75
    solver.update(source=[np.inf, np.inf], where=([0, 1],))
    cut = solver.solve()
    cut.check()
    assert cut.value == 1.25
    assert cut.labels.tolist() == [True, True, False]
    solver.update(edges={(1,): np.array([np.inf, np.inf, 0])})
    cut = solver.solve()
    cut.check()
    assert cut.value == 1.75
    assert cut.labels.all()
    solver.update(source=np.array([1.0, 0.25, 0]), edges={(1,): 0.5})
    cut = solver.solve()
    cut.check()
    assert cut.value == 0.75
    assert cut.stats["unit"] < 1e-10


def test_capacities_that_cannot_count_together_are_rejected():
    """Of two solves, the second has no finer unit than the first, whose loss was too large."""
    loaded = []

    def load(bound):
        loaded.append(bound)
        return SimpleNamespace(unit=2.0**-60, dtype=np.int64)

    def solve_exactly_with(loss):
        return solve_exactly(load, lambda _: (None, {}), lambda *_: (None, 1.0, Measured(1.0, 1.0, loss)), Clock())

    match = r"source, sink and edges differ too much in magnitude: .* within 0\.5; scale them"
    with pytest.raises(ValueError, match=match):
        solve_exactly_with(0.5)
    assert loaded[0] is None
    assert loaded[1] == pytest.approx(1)
    assert solve_exactly_with(2.0**-40).value == 1.0
    assert loaded[2:] == [None]
