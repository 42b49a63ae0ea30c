"""Float capacities of every size, infinite ones too: values and labels against all cuts, summed in exact fractions."""

from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

import gridcut
from gridcut.core.cut_capacity import Measured
from gridcut.core.solve_exactly import Clock, solve_exactly

ON_CPU = {
    "auto": {},
    "push_relabel fifo": {"method": "push_relabel"},
    "push_relabel highest": {"method": "push_relabel", "order": "highest"},
    "lock_free": {"method": "lock_free", "threads": 2},
    "async_global": {"method": "async_global", "threads": 2},
}
OFFSETS = {1: [(1,), (-1,), (2,)], 2: [(0, 1), (1, 0), (0, -1)]}  # four arcs per pixel
HUGE = [1e18, 1e20, 3.4e38, 1e200, 1e307, np.inf]
TINY = [1e-310, 5e-324, 1e-200, 1e-30]


def exact(value):
    return value if value == np.inf else Fraction(float(value))


def arcs(source, sink, edges, mask=None):
    """(p, q, capacity) of all arcs, exactly; p = -1: from the source, q = -1: to the sink."""
    shape = np.shape(source)
    inside = np.ones(shape, bool) if mask is None else mask
    number = np.arange(inside.size).reshape(shape)
    found = []
    for p in np.ndindex(shape):
        if not inside[p]:
            continue
        found += [(-1, number[p], exact(source[p])), (number[p], -1, exact(sink[p]))]
        for offset, capacity in edges.items():
            q = tuple(int(a + b) for a, b in zip(p, offset, strict=True))
            if all(0 <= i < d for i, d in zip(q, shape, strict=True)) and inside[q]:
                c = exact(np.broadcast_to(capacity, shape)[p])
                found.append((number[p], number[q], c))
                if tuple(-i for i in offset) not in edges:
                    found.append((number[q], number[p], c))
    return found


def cost(listed, labels):
    """Capacity of a cut; labels: flat, True on the source side."""
    total = Fraction(0)
    for p, q, c in listed:
        if (p < 0 or labels[p]) and (q < 0 or not labels[q]):
            if p < 0 and q < 0:
                continue
            if c == np.inf:
                return np.inf
            total += c
    return total


def oracle(source, sink, edges, mask=None):
    """The least capacity of all cuts, and the labels by the rule for ties."""
    listed = arcs(source, sink, edges, mask)
    free = np.flatnonzero(np.ones(np.size(source), bool) if mask is None else mask.ravel())
    best, minima = np.inf, []
    for sides in product((False, True), repeat=free.size):
        labels = np.zeros(np.size(source), bool)
        labels[free] = sides
        total = cost(listed, labels)
        if total < best:
            best, minima = total, []
        if total == best:
            minima.append(labels)
    # Minimum cuts form a lattice: the largest source side is the union of all.
    return best, np.any(minima, axis=0).reshape(np.shape(source)), listed


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


def solve_and_check(problem, variant="auto", mask=None, dtype=np.float64):
    """A certified cut within the promise for floats, or the refusal where every cut is infinite; whether it was one."""
    source, sink, edges = problem
    best, labels, listed = oracle(source, sink, edges, mask)
    keywords = dict(ON_CPU[variant])
    if best == np.inf or best > np.finfo(np.float64).max:
        with pytest.raises(ValueError, match="every cut has infinite capacity|larger than the largest float"):
            gridcut.max_flow(source, sink, edges, mask=mask, device="cpu", **keywords)
        return None, labels
    cut = gridcut.max_flow(source, sink, edges, mask=mask, device="cpu", **keywords)
    cut.check()
    assert abs(Fraction(cut.value) - best) <= best / 10**9
    assert cost(listed, np.asarray(cut.labels).ravel()) - best <= best / 10**9
    return cut, labels


def test_huge_seeds_do_not_hide_the_rest():
    for huge in (1e18, 1e20, 1e308, np.inf):
        cut = gridcut.max_flow(np.array([huge, 0.2, 0]), np.array([0, 0.7, huge]), {(1,): 0.5}, device="cpu")
        cut.check()
        assert cut.value == 0.7
        assert cut.labels.tolist() == [True, False, False]
    huge = np.float32(3.4e38)
    source, sink = np.array([huge, 0.25, 0], np.float32), np.array([0, 0.75, huge], np.float32)
    cut = gridcut.max_flow(source, sink, {(1,): np.float32(0.5)}, device="cpu")
    assert cut.value == 0.75
    assert cut.labels.tolist() == [True, False, False]


def test_the_smallest_floats_are_solved_exactly():
    cut = gridcut.max_flow([3e-310, 0], [0, 5e-310], {(1,): 4e-310}, device="cpu")
    cut.check()
    assert cut.value == 3e-310
    assert cut.labels.tolist() == [False, False]
    assert gridcut.max_flow([5e-324, 0], [0, 5e-324], {(1,): 1.0}, device="cpu").value == 5e-324


def test_sums_of_capacities_that_are_not_cut_may_be_infinite():
    cut = gridcut.max_flow(np.array([3.0, 1, 2]), 1e308, {(1,): 0.5}, device="cpu")
    cut.check()
    assert cut.value == 6


def test_must_links_of_huge_capacity():
    links = np.array([1e20, 0.5, np.inf, 0])
    cut = gridcut.max_flow(np.array([1e20, 0, 0, 0]), np.array([0, 0, 0, np.inf]), {(1,): links}, device="cpu")
    cut.check()
    assert cut.value == 0.5
    assert cut.labels.tolist() == [True, True, False, False]
    assert cut.flow((1,)).tolist() == [0.5, 0.5, 0.5, 0]


@pytest.mark.parametrize(
    ("problem", "name"),
    [
        (([np.inf, 0.0], [np.inf, 1.0], {(1,): 1.0}), r"(source|sink) at \(0,\)"),
        (([np.inf, 0.0], [0.0, np.inf], {(1,): np.inf}), r"edges\[\(1,\)\] at \(0,\)"),
        (([1.0, np.inf], [np.inf, 0.0], {(1,): 0.0, (-1,): np.inf}), r"edges\[\(-1,\)\] at \(1,\)"),
    ],
)
@pytest.mark.parametrize("variant", ON_CPU)
def test_a_path_of_infinite_capacity_is_refused(problem, name, variant):
    with pytest.raises(ValueError, match=rf"every cut has infinite capacity: .*{name}"):
        gridcut.max_flow(*problem, device="cpu", **ON_CPU[variant])


def test_a_value_that_is_no_float_is_refused():
    with pytest.raises(
        ValueError, match="the capacity of the minimum cut is larger than the largest float; scale them down"
    ):
        gridcut.max_flow(np.full(4, 1e308), np.full(4, 1e308), {(1,): 1.0}, device="cpu")


@pytest.mark.parametrize("variant", ON_CPU)
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


@pytest.mark.parametrize("variant", ON_CPU)
def test_from_the_smallest_float_to_the_largest(variant):
    rng = np.random.default_rng(502)
    for _ in range(25):
        exponents = rng.integers(-1074, 1020, 6)
        numbers = [0, *(rng.integers(1, 8) * 2.0**e for e in exponents)]
        solve_and_check(draw(rng, (2, 3), numbers, HUGE + TINY), variant)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_narrow_floats(dtype):
    rng = np.random.default_rng(503)
    extremes = [float(np.finfo(dtype).max), np.inf, float(np.finfo(dtype).smallest_subnormal)]
    for _ in range(40):
        cut, labels = solve_and_check(draw(rng, (2, 3), [0, 0.5, 1, 2.5], extremes, dtype))
        if cut is not None and cut.value < 100 and cut.stats["unit"] <= 2.0**-149:
            assert (cut.labels == labels).all()


def test_flows_of_clamped_problems_are_flows():
    rng = np.random.default_rng(504)
    done = 0
    for _ in range(40):
        source, sink, edges = draw(rng, (2, 3), [0, 0.25, 0.5, 1, 2], HUGE)
        cut, _ = solve_and_check((source, sink, edges))
        if cut is None or cut.value > 1e6:
            continue
        done += 1
        net = np.zeros((2, 3))
        for offset in {*edges, *(tuple(-i for i in o) for o in edges)}:
            flow = cut.flow(offset)
            net += flow
            if offset in edges:
                assert (flow <= edges[offset]).all()
        assert net.sum() == 0
        assert (net <= source).all()
        assert (net >= -sink).all()
        through = np.minimum(source, sink + net)
        assert through.sum() == cut.value
    assert done > 10


def test_batches_of_all_sizes():
    rng = np.random.default_rng(505)
    for _ in range(10):
        while True:
            items = [draw(rng, (2, 3), [0, 0.25, 0.5, 1, 2], HUGE) for _ in range(4)]
            edges = items[0][2]
            if all(oracle(s, t, edges)[0] < 1e300 for s, t, _ in items):
                break
        batch = gridcut.max_flow_batch(
            np.stack([s for s, _, _ in items]), np.stack([t for _, t, _ in items]), edges, device="cpu"
        )
        batch.check()
        for i, (source, sink, _) in enumerate(items):
            best, labels, _ = oracle(source, sink, edges)
            assert abs(Fraction(batch.values[i]) - best) <= best / 10**9
            if best < 1e6:
                assert (batch.labels[i] == labels).all()
    with pytest.raises(ValueError, match=r"item 1: every cut has infinite capacity: .* over sink at \(0,\)"):
        gridcut.max_flow_batch([[1.0, 1], [np.inf, 1]], [np.inf, 1], {(1,): 0.5}, device="cpu")


@pytest.mark.parametrize("variant", ["auto", "push_relabel"])
def test_solvers_clamp_again_after_every_update(variant):
    rng = np.random.default_rng(506)
    for _ in range(6):
        source, sink, edges = draw(rng, (2, 3), [0, 0.25, 0.5, 1, 2], HUGE)
        edges = {(0, 1): np.full((2, 3), 0.5), **edges}
        solver = gridcut.Solver(source, sink, edges, device="cpu", method=variant)
        for _ in range(6):
            best, labels, _ = oracle(source, sink, edges)
            if best > 1e306:
                with pytest.raises(ValueError, match="every cut has infinite capacity|larger than the largest float"):
                    solver.solve()
            else:
                cut = solver.solve()
                cut.check()
                assert abs(Fraction(cut.value) - best) <= best / 10**9
                if best < 1e6:
                    assert (cut.labels == labels).all()
            source, sink, new = draw(rng, (2, 3), [0, 0.25, 0.5, 1, 2], HUGE)
            edges = {o: new.get(o, c) for o, c in edges.items()}
            solver.update(source=source, sink=sink, edges={o: new[o] for o in edges if o in new})


def test_updates_to_infinite_and_back():
    solver = gridcut.Solver(np.array([1.0, 0.25, 0]), np.array([0, 0.75, 1.0]), {(1,): 0.5}, device="cpu")
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


def test_ordinary_capacities_are_not_clamped():
    """Only what a finer unit needs is clamped: arrays of usual floats are read once."""
    rng = np.random.default_rng(507)
    source, sink = 1e6 * rng.random((2, 40, 50)) * (rng.random((2, 40, 50)) < 0.1)
    edges = {(0, 1): 50 * np.exp(-100 * rng.random((40, 50))), (1, 0): np.float32(20)}
    cut = gridcut.max_flow(source, sink, edges, device="cpu")
    cut.check()
    assert cut._solved().problem.bound is None


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
