"""Listed changes of terminals of small grids: the fast path through two compiled calls equals a cold solve."""

import numpy as np
import pytest

import gridcut
from gridcut.solver_states.small_state import SmallState

OFFSETS = {(60,): [(1,), (3,)], (11, 13): [(0, 1), (1, -1)], (4, 5, 6): [(0, 1, 0), (1, 0, 0)]}


def draw(rng, shape, dtype):
    source, sink = rng.integers(0, 50, (2, *shape)).astype(dtype)
    return source, sink, {offset: rng.integers(0, 20, shape).astype(dtype) for offset in OFFSETS[shape]}


def some_pixels(rng, shape, count):
    return np.unravel_index(rng.integers(0, np.prod(shape), count), shape)


@pytest.fixture
def fast_paths(monkeypatch):
    """Results of all attempts to take the fast path, in order: True or False per update, "cut" or None per solve."""
    seen = []
    change, solve = SmallState.change_terminals, SmallState.solve_fast

    def changing(state, *args):
        seen.append(change(state, *args))
        return seen[-1]

    def solving(state, *args):
        cut = solve(state, *args)
        seen.append(cut and "cut")
        return cut

    monkeypatch.setattr(SmallState, "change_terminals", changing)
    monkeypatch.setattr(SmallState, "solve_fast", solving)
    return seen


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.int64])
@pytest.mark.parametrize("shape", list(OFFSETS), ids=str)
def test_equal_to_a_cold_solve(shape, dtype, fast_paths):
    rng = np.random.default_rng([len(shape), np.dtype(dtype).itemsize])
    source, sink, edges = draw(rng, shape, dtype)
    source.flat[0] = sink.flat[0] = 50  # the largest values, above which the fast path is left
    solver = gridcut.Solver(source, sink, edges, device="cpu")
    solver.solve().check()
    for step in range(30):
        for _ in range(1 + step % 3):
            where = some_pixels(rng, shape, 1 + step % 5)
            new = {}
            for name, array in (("source", source), ("sink", sink))[step % 4 // 2 : 2 - step % 2]:
                new[name] = rng.integers(0, 50, len(where[0])).astype(dtype)
                array[where] = new[name]
            solver.update(**new, where=where)
        if step % 7 == 6:
            offset = OFFSETS[shape][step % len(edges)]
            edges[offset] = edges[offset].copy()
            edges[offset].flat[step] += 3  # takes the general path
            solver.update(edges={offset: edges[offset]})
        cut = solver.solve()
        cold = gridcut.max_flow(source, sink, edges, device="cpu")
        assert cut.value == cold.value
        assert (cut.labels == cold.labels).all()
        assert cut.stats.keys() == cold.stats.keys() | {"warm"}
        cut.check()
    assert fast_paths.count(True) > 20
    assert fast_paths.count("cut") > 5


@pytest.mark.parametrize(
    ("source", "where", "error", "message"),
    [
        ([7, -1], ([0, 1], [2, 3]), ValueError, r"source holds -1 at \(1, 3\)"),
        ([7, 8], ([0, 1], [2, 13]), ValueError, "where must be between 0 and 12 on axis 1, got 2 to 13"),
        ([7, 8], ([0, -1], [2, 3]), ValueError, "where must be between 0 and 10 on axis 0, got -1 to 0"),
        ([7, 8], ([0.0, 1.0], [2, 3]), TypeError, "where must hold integers, got float64 for axis 0"),
        ([7, 8], ([0, 1],), TypeError, "where must be a bool array or a tuple of 2 index arrays"),
        ([7, 8, 9], ([0, 1], [2, 3]), ValueError, r"source must be a scalar or have the grid's shape"),
        ([7.0, 8.0], ([0, 1], [2, 3]), TypeError, "source must hold integers like the capacities so far"),
    ],
)
def test_invalid_updates_are_left_to_the_general_path(source, where, error, message, fast_paths):
    rng = np.random.default_rng(1)
    solver = gridcut.Solver(*draw(rng, (11, 13), np.int64), device="cpu")
    one = (np.array([5]), np.array([5]))
    solver.update(source=np.array([3]), where=one)
    solver.update(source=np.array([4]), where=one)
    cut = solver.solve()
    with pytest.raises(error, match=message):
        solver.update(source=np.array(source), where=tuple(map(np.array, where)))
    assert fast_paths == [True, True, None, False]
    cut.check()
    solver.update(source=np.empty(0, np.int64), where=(np.empty(0, int), np.empty(0, int)))
    cut.check()


@pytest.mark.slow
def test_larger_values_and_other_types_are_left_to_the_general_path(fast_paths):
    rng = np.random.default_rng(2)
    source, sink, edges = draw(rng, (11, 13), np.int32)
    solver = gridcut.Solver(source, sink, edges, device="cpu")
    where = (np.array([5, 6]), np.array([5, 6]))
    for new in (np.array([3, 4], np.int32), [5, 6], np.array([7, 2**31 - 1], np.int32), np.array([8, 9], np.uint8)):
        source[where] = new
        solver.update(source=new, where=where)
        cut = solver.solve()
        cut.check()
        assert cut.value == gridcut.max_flow(source, sink, edges, device="cpu").value
    assert [path for path in fast_paths if isinstance(path, bool)] == [True, False, False, False]


def test_a_solve_beyond_its_budget_takes_the_general_path(fast_paths):
    rng = np.random.default_rng(3)
    source, sink, edges = draw(rng, (11, 13), np.int32)
    source[0, 0] = sink[0, 0] = 50
    solver = gridcut.Solver(source, sink, edges, device="cpu")
    for step in range(6):
        where = some_pixels(rng, (11, 13), 10)
        source[where] = new = rng.integers(0, 50, 10, dtype=np.int32)
        solver.update(source=new, where=where)
        solver._state.budget = -1 if step == 4 else 500
        cut = solver.solve()
        cut.check()
        cold = gridcut.max_flow(source, sink, edges, device="cpu")
        assert cut.value == cold.value
        assert (cut.labels == cold.labels).all()
    assert cut.stats["warm"]
    assert fast_paths.count(None) >= 1
    assert fast_paths.count("cut") >= 1
