"""Infinite, huge and tiny float capacities on a GPU: the state, and the cut, are those of the CPU.

In numba's simulator, where the CPU stands in for the kernels of "tiles", and on a GPU.  Results of the CPU are checked
in test_extremes.py.
"""

import numpy as np
import pytest

import gridcut
from gridcut.core.load import largest_capacities
from gridcut.core.load import load as load_on_host
from gridcut.core.problem import check_problem
from gridcut.cuda.tile_layout import to_flat

# Kernels multiply infinite and huge floats knowingly; only in the simulator does numpy say so.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")

NUMBERS = [0, 0.25, 0.5, 1, 2, 3, 5.5]
EXTREMES = [1e20, 3.4e38, 1e200, np.inf, 1e-30]


@pytest.fixture(
    params=[pytest.param("simulator", marks=pytest.mark.sim), pytest.param("gpu", marks=pytest.mark.gpu)],
    autouse=True,
)
def runs_on(request):
    """Where the kernels run; the simulator is too slow for those of "tiles"."""
    if request.param == "simulator" and "slabs" not in request.node.name and "load" not in request.node.name:
        request.getfixturevalue("stand_in")


def draw(rng, shape, numbers=NUMBERS, extremes=EXTREMES):
    def capacity(part):
        return np.where(rng.random(shape) < part, rng.choice(extremes, shape), rng.choice(numbers, shape))

    edges = {(0, 1): capacity(0.1), (0, -1): capacity(0.1), (1, 0): capacity(0.2), (1, 1): 0.5}
    return capacity(0.2), capacity(0.2), edges


def solved_on_cpu(problem, mask=None):
    """The cut, or None where every cut is infinite."""
    try:
        return gridcut.max_flow(*problem, mask=mask, device="cpu")
    except ValueError:
        return None


@pytest.mark.parametrize("tiled", [False, True], ids=["flat", "tiles"])
@pytest.mark.parametrize("bound", [None, 7.25, 1e20])
def test_loading_is_that_of_the_cpu(tiled, bound):
    from gridcut.cuda.device_load import CapacityArrays, choose_number_types, make_state_layout

    rng = np.random.default_rng(511)
    for shape, scale in (((5, 34), 1.0), ((4, 7), 1e-310), ((3, 5), 1e300)):
        source, sink, edges = draw(rng, shape, [n * scale for n in NUMBERS])
        mask = rng.random(shape) < 0.8
        problem = check_problem(source, sink, edges, mask)._replace(bound=bound)
        grid, views = load_on_host(problem)
        capacities = CapacityArrays(problem, make_state_layout(problem, tiled))
        bounds = capacities.bounds()
        assert bounds == largest_capacities(problem, views.layout)
        number_types = choose_number_types(problem, bounds, tiled)
        assert (number_types.unit, number_types.bound) == (grid.unit, views.bound)
        assert number_types.bound is not None
        state = capacities.fill(number_types)
        excess, residual = state.excess.copy_to_host(), state.residual.copy_to_host()
        if tiled:
            excess, residual = to_flat(state.layout.tiles, excess, residual, state.layout.flat)
        assert (excess == grid.excess).all()
        assert (residual == grid.residual).all()


def test_items_of_a_batch_are_as_fine_as_alone():
    rng = np.random.default_rng(513)
    items = []
    while len(items) < 4:
        source, sink, _ = draw(rng, (3, 5))
        edges = {(0, 1): np.where(np.arange(15).reshape(3, 5) == 6, np.inf, 0.5), (1, 0): 0.25}
        if solved_on_cpu((source, sink, edges)) is not None:
            items.append((source, sink))
    sources, sinks = map(np.stack, zip(*items, strict=True))
    batch = gridcut.max_flow_batch(sources, sinks, edges, device="cuda")
    batch.check()
    for i, (source, sink) in enumerate(items):
        expected = solved_on_cpu((source, sink, edges))
        assert batch.values[i] == pytest.approx(expected.value, rel=1e-12)
        assert (batch.labels[i] == expected.labels).all()
        assert (batch[i].labels == expected.labels).all()
    sources[2, 0, 0] = sinks[2, 0, 0] = np.inf
    with pytest.raises(ValueError, match="item 2: every cut has infinite capacity"):
        gridcut.max_flow_batch(sources, sinks, edges, device="cuda")


def test_solvers_clamp_again_after_every_update():
    rng = np.random.default_rng(514)
    source, sink, edges = draw(rng, (3, 5), extremes=[1.0])
    edges = {o: np.broadcast_to(c, (3, 5)).copy() for o, c in edges.items()}
    solver = gridcut.Solver(source, sink, edges, device="cuda")
    kinds = set()
    for step in range(6):
        expected = solved_on_cpu((source, sink, edges))
        if expected is None:
            with pytest.raises(ValueError, match="every cut has infinite capacity"):
                solver.solve()
        else:
            cut = solver.solve()
            cut.check()
            kinds.add(cut.stats["warm"])
            assert cut.value == pytest.approx(expected.value, rel=1e-12)
            assert (cut.labels == expected.labels).all()
        extremes = EXTREMES if step in (1, 2, 3, 6) else [1.0]
        source, sink, new = draw(rng, (3, 5), extremes=extremes)
        edges = {**edges, (1, 0): new[1, 0]}
        solver.update(source=source, sink=sink, edges={(1, 0): new[1, 0]})
    assert kinds == {False, True}


def test_slabs():
    rng = np.random.default_rng(515)
    source, sink, edges = draw(rng, (40, 3), extremes=[1e20, 1e200, 2.0])
    source[0, 0], sink[39, 2] = np.inf, np.inf
    expected = gridcut.max_flow(source, sink, edges, device="cpu")
    cut = gridcut.max_flow(source, sink, edges, devices=[0, 0])
    cut.check()
    assert cut.value == pytest.approx(expected.value, rel=1e-12)
    assert (cut.labels == expected.labels).all()
