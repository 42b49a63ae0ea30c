"""The CUDA methods of papers, on tiny grids in numba's simulator."""

import numpy as np
import pytest

import gridcut
from gridcut.core.certificate import certify
from gridcut.core.cut import labels_of
from gridcut.core.cut_capacity import cut_capacity
from gridcut.core.load import load
from gridcut.core.problem import check_problem
from gridcut.methods import METHODS
from gridcut.papers import push_relabel
from tests.gridcut import oracles

pytestmark = pytest.mark.sim

# Blocks of 32 threads, since each is a Python thread in the simulator.
SCHEMES = {
    "lock_free_cuda": {"block": 32, "steps": 8, "global_every": 2},
    "hybrid": {"block": 32, "cycle": 6},
    "cudacuts": {"block": (8, 4), "global_every": 4},
    "cudacuts_pull": {"block": (8, 4), "global_every": 4},
}


def solver_of(scheme):
    return METHODS[scheme.removesuffix("_cuda")].on("cuda").function


def cut_of(source, sink, edges, mask, scheme, **keywords):
    """Value, labels and stats, certified."""
    from gridcut.device.cuda import cuda

    problem = check_problem(source, sink, edges, mask)
    grid, views = load(problem)
    excess, residual = cuda.to_device(grid.excess), cuda.to_device(grid.residual)
    parameters = {**SCHEMES[scheme], **keywords}
    sink_side, stats = solver_of(scheme)(grid._replace(excess=excess, residual=residual), **parameters)
    grid = grid._replace(excess=excess.copy_to_host(), residual=residual.copy_to_host())
    labels = labels_of(problem, grid, sink_side.copy_to_host())
    value = cut_capacity(views, labels, problem.is_float)
    certify(value, labels, problem, views, grid)
    return value, labels, stats


def check(source, sink, edges, mask, scheme, **keywords):
    value, labels, stats = cut_of(source, sink, edges, mask, scheme, **keywords)
    expected = gridcut.max_flow(source, sink, edges, mask=mask, device="cpu")
    assert value == expected.value
    assert (labels == expected.labels).all()
    return stats


GRIDS = {
    "line": ((9,), [(1,), (2,)]),
    "4": ((6, 7), gridcut.neighbourhood(4)),
    "8": ((7, 5), gridcut.neighbourhood(8)),
    "knight": ((6, 6), [(1, 2), (2, -1)]),
    "6": ((3, 4, 4), gridcut.neighbourhood(6)),
    "26": ((3, 3, 3), gridcut.neighbourhood(26)),
}


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_random_grids(scheme, grid):
    shape, offsets = GRIDS[grid]
    rng = np.random.default_rng(sum(shape))
    check(*oracles.random_problem(rng, shape, offsets, mask="random"), scheme)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_floats(scheme):
    """Values in one unit of the fixed point everywhere: the CPU's labels, and its value to the last bit."""
    rng = np.random.default_rng(6)
    source, sink, edges, mask = oracles.random_problem(rng, (4, 5), gridcut.neighbourhood(4), np.float64, 50)
    check(source / 7, sink / 7, edges, mask, scheme)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_long_path_with_a_dead_end(scheme):
    """Excess flows along a snake; excess that enters the dead end has to return."""
    source = np.zeros((4, 6), int)
    sink = np.zeros((4, 6), int)
    source[0, 0] = 9
    sink[3, 0] = 5
    right = np.zeros((4, 6), int)
    right[:, :5] = [[6], [7], [6], [7]]
    down = np.zeros((4, 6), int)
    down[0, 5], down[1, 0], down[2, 5], down[2, 2] = 6, 6, 6, 3
    stats = check(source, sink, {(0, 1): right, (1, 0): down}, None, scheme)
    assert stats["launches"] > 0


@pytest.mark.parametrize("scheme", ["cudacuts", "cudacuts_pull"])
def test_several_pushes_after_each_relabel(scheme):
    rng = np.random.default_rng(9)
    check(*oracles.random_problem(rng, (6, 6), gridcut.neighbourhood(8)), scheme, pushes=3, global_every=2)


def test_cancelled_arcs_leave_the_same_problem():
    """Whichever arcs are cancelled, and whichever deficits result, the same cut is found."""
    from gridcut.papers.hybrid import cancel_kernel

    rng = np.random.default_rng(10)
    problem = check_problem(*oracles.random_problem(rng, (7, 7), gridcut.neighbourhood(8)))
    grid, views = load(problem)
    height = rng.integers(1, 9, grid.excess.size).astype(np.int32)
    assert cancel_kernel(grid.excess, grid.residual, grid.step, height) > 0
    steep = grid.residual.reshape(-1, grid.layout.arcs) > 0
    for k, step in enumerate(grid.step):
        for x in np.flatnonzero(steep[:, k]):
            assert height[x] <= height[x + step] + 1
    sink_side, _ = push_relabel.solve(grid)
    labels = labels_of(problem, grid, sink_side)
    certify(cut_capacity(views, labels, False), labels, problem, views, grid)


@pytest.mark.parametrize("scheme", ["lock_free_cuda", "hybrid"])
def test_fallback_is_exact(scheme, monkeypatch):
    monkeypatch.setitem(solver_of(scheme).__globals__, "FALLBACK_ROUND", 1)
    rng = np.random.default_rng(7)
    check(*oracles.random_problem(rng, (5, 5), gridcut.neighbourhood(8)), scheme)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_callback_is_called_and_may_stop(scheme):
    problem = oracles.random_problem(np.random.default_rng(8), (4, 4), gridcut.neighbourhood(4))
    reported = []
    cut_of(*problem, scheme, callback=reported.append)
    assert reported
    assert reported[-1]["global_relabels"] == len(reported)

    def stop(stats):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cut_of(*problem, scheme, callback=stop)


BAD = [
    ("lock_free_cuda", {"steps": 0}, ValueError, "steps must be 1 or more, got 0"),
    ("lock_free_cuda", {"block": 2000}, ValueError, "block must be at most 1024, got 2000"),
    ("hybrid", {"cycle": 10**30}, ValueError, "cycle must be at most 2147483647, got 10{30}"),
    ("lock_free_cuda", {"block": (32, 8)}, TypeError, "block must be an integer, got"),
    ("cudacuts", {"pushes": 0}, ValueError, "pushes must be 1 or more, got 0"),
    ("cudacuts", {"block": (64, 32)}, ValueError, r"block must have a product of at most 1024, got \(64, 32\)"),
    ("cudacuts", {"block": (0, 32)}, ValueError, r"block\[0\] must be 1 or more, got 0"),
    ("cudacuts_pull", {"block": 32}, TypeError, "block must be a pair of integers, got 32"),
]


@pytest.mark.parametrize(("scheme", "parameters", "error", "message"), BAD)
def test_bad_parameters(scheme, parameters, error, message):
    two = np.array([2, 3])
    with pytest.raises(error, match=message):
        cut_of(two, two[::-1], {(1,): 1}, None, scheme, **parameters)
