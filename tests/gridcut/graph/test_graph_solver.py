"""GraphSolver: after random changes, each result equals that of a new solve, and is certified."""

import numpy as np
import pytest
import scipy.sparse

import gridcut


def problem(seed, n=40, high=30):
    rng = np.random.default_rng(seed)
    graph = scipy.sparse.csr_array((rng.integers(0, high, 4 * n), rng.integers(0, n, (2, 4 * n))), shape=(n, n))
    return rng, graph, rng.integers(0, high, n), rng.integers(0, high, n)


def changed(rng, values, share, factor=1):
    new = values.copy()
    where = rng.random(values.size) < share
    new[where] = rng.integers(0, 40, where.sum()) * factor
    return new


@pytest.mark.parametrize("factor", [0.37, 1, 2**50])
@pytest.mark.parametrize("share", [0.03, 0.5])
def test_warm_equals_cold(factor, share):
    for seed in range(4):
        rng, graph, source, sink = problem(seed)
        graph, source, sink = graph * factor, source * factor, sink * factor
        solver = gridcut.GraphSolver(graph, source, sink)
        for _ in range(8):
            kind = rng.integers(4)
            if kind == 0:
                source = changed(rng, source, share, factor)
                solver.update(source=source)
            elif kind == 1:
                sink = changed(rng, sink, share, factor)
                solver.update(sink=sink)
            elif kind == 2:
                graph = graph.copy()
                graph.data = changed(rng, graph.data, share, factor)
                solver.update(capacity=graph if rng.random() < 0.5 else graph.data)
            warm, cold = solver.solve(), gridcut.graph_max_flow(graph, source, sink)
            warm.check()
            assert warm.value == (pytest.approx(cold.value) if factor == 0.37 else cold.value)
            np.testing.assert_array_equal(warm.labels, cold.labels)


def test_growing_capacities_change_the_type():
    _, graph, source, sink = problem(3)
    solver = gridcut.GraphSolver(graph, source, sink)
    assert solver.solve().stats["dtype"] == "int32"
    for factor in (2**24, 2**27, 2**40, 1):
        solver.update(source=source * factor, sink=sink * factor, capacity=graph.data * factor)
        cut = solver.solve()
        cut.check()
        assert cut.value == gridcut.graph_max_flow(graph, source, sink).value * factor


def test_infinite_capacities_come_and_go():
    _, graph, source, sink = problem(4)
    graph, source, sink = graph * 1.0, source * 1.0, sink * 1.0
    solver = gridcut.GraphSolver(graph, source, sink)
    for place in (3, 7, None):
        now = source.copy()
        if place is not None:
            now[place] = np.inf
        solver.update(source=now)
        cut = solver.solve()
        cut.check()
        assert cut.value == pytest.approx(gridcut.graph_max_flow(graph, now, sink).value)
    both = np.full(40, np.inf)
    solver.update(source=both, sink=both)
    with pytest.raises(ValueError, match="every cut has infinite capacity"):
        solver.solve()
    solver.update(source=source, sink=sink)
    solver.solve().check()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"source": [1, 2]}, ValueError, "source must be a scalar or have one capacity for each of the 40 nodes"),
        ({"source": -1}, ValueError, "source holds -1 at"),
        ({"source": 0.5}, TypeError, "source must hold integers like the capacities so far, got float64"),
        ({"capacity": [1, 2]}, ValueError, "capacity must be a scalar or have one value for each of the"),
        (
            {"capacity": scipy.sparse.eye_array(40).tocsr()},
            ValueError,
            "capacity must have the entries of the solver's",
        ),
        ({"sink": "a"}, TypeError, "sink must be an array of"),
    ],
)
def test_wrong_updates_change_nothing(changes, error, message):
    _, graph, source, sink = problem(6)
    solver = gridcut.GraphSolver(graph, source, sink)
    value = solver.solve().value
    with pytest.raises(error, match=message):
        solver.update(**changes)
    cut = solver.solve()
    cut.check()
    assert cut.value == value
