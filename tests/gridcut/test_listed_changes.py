"""Listed changes of terminals: each solve after them equals a cold one."""

import numpy as np
import pytest

import gridcut

OFFSETS = {(60,): [(1,), (3,)], (11, 13): [(0, 1), (1, -1)], (4, 5, 6): [(0, 1, 0), (1, 0, 0)]}


def draw(rng, shape, dtype):
    source, sink = rng.integers(0, 50, (2, *shape)).astype(dtype)
    return source, sink, {offset: rng.integers(0, 20, shape).astype(dtype) for offset in OFFSETS[shape]}


def some_pixels(rng, shape, count):
    return np.unravel_index(rng.integers(0, np.prod(shape), count), shape)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.int64])
@pytest.mark.parametrize("shape", list(OFFSETS), ids=str)
def test_equal_to_a_cold_solve(shape, dtype):
    rng = np.random.default_rng([len(shape), np.dtype(dtype).itemsize])
    source, sink, edges = draw(rng, shape, dtype)
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
            edges[offset].flat[step] += 3
            solver.update(edges={offset: edges[offset]})
        cut = solver.solve()
        cold = gridcut.max_flow(source, sink, edges, device="cpu")
        assert cut.value == cold.value
        assert (cut.labels == cold.labels).all()
        assert cut.stats.keys() == cold.stats.keys() | {"warm"}
        assert cut.stats["warm"]
        cut.check()


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
def test_invalid_updates_change_nothing(source, where, error, message):
    rng = np.random.default_rng(1)
    solver = gridcut.Solver(*draw(rng, (11, 13), np.int64), device="cpu")
    one = (np.array([5]), np.array([5]))
    solver.update(source=np.array([3]), where=one)
    solver.update(source=np.array([4]), where=one)
    cut = solver.solve()
    with pytest.raises(error, match=message):
        solver.update(source=np.array(source), where=tuple(map(np.array, where)))
    cut.check()
    solver.update(source=np.empty(0, np.int64), where=(np.empty(0, int), np.empty(0, int)))
    cut.check()


@pytest.mark.slow
def test_larger_values_and_other_types():
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
