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
