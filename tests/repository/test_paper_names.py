"""Every call of docs/algorithms/names-in-papers.md runs, and its result is certified and as good as the default's."""

import re
from math import inf
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

import assign
import gridcut
import matching
from apps.motion.windows import match_windows

PAGE = Path(__file__).resolve().parents[2] / "docs/algorithms/names-in-papers.md"
CALLS = re.findall(r"^\| [^|]+ \| `(.+)` \|$", PAGE.read_text("utf-8"), re.MULTILINE)
ON_CPU = [call for call in CALLS if 'device="cuda"' not in call]
ON_CUDA = [call for call in CALLS if 'device="cuda"' in call]
# In the simulator each thread of a GPU is a Python thread, and tests that a launch is repeated need short launches.
SMALL = {
    "cudacuts": {"block": (8, 4), "global_every": 4},
    "cudacuts_pull": {"block": (8, 4), "global_every": 4},
    "hybrid": {"block": 32, "cycle": 6},
    "lock_free": {"block": 32},
}
SCALE = 6, 30, 40  # side of the grid, rows of costs and graphs, vertices of the network
TINY = 3, 4, 6


def given(scale) -> dict:
    """The arguments of the calls."""
    side, n, vertices = scale
    rng = np.random.default_rng(3)
    source, sink, right, down = rng.integers(0, 9, (4, side, side))
    unary = rng.integers(0, 20, (2, side, side))
    potts = np.array([[0, 5], [5, 0]])
    differ = np.full((2, 2, 2), 3)
    differ[0, 0, 0] = differ[1, 1, 1] = 0
    weights = np.triu(rng.integers(1, 9, (vertices, vertices)) * (rng.random((vertices, vertices)) < 0.3), 1)
    frames = rng.integers(0, 255, (96, 96), np.uint8).repeat(2, 0).repeat(2, 1)
    return {
        "grid": (source, sink, {(0, 1): right, (1, 0): down}),
        "energy": gridcut.BinaryEnergy(unary, {(0, 1): potts, (1, 0): potts}, {((0, 1), (0, 2)): differ}),
        "cost": rng.integers(0, 100, (n, n)),
        "arcs": (*np.indices((side, side)).reshape(2, -1) + [[0], [side]], 1, right.ravel(), np.repeat([1, -1], side)),
        "graph": scipy.sparse.csr_array(rng.random((n, n)) < 2.5 / n),
        "network": scipy.sparse.csr_array(weights + weights.T),
        "first": frames,
        "second": np.roll(frames, 2, axis=1),
        "inf": inf,
    }


def run(call: str, arguments: dict, small: dict | None = None):
    """The result of a call, with parameters of `small` instead of its own."""

    def reduced(function):
        return lambda *args, **of: function(*args, **{**of, **(small or {}).get(of.get("method"), {})})

    packages = {
        "gridcut": SimpleNamespace(max_flow=reduced(gridcut.max_flow), binary_minimum=reduced(gridcut.binary_minimum)),
        "assign": SimpleNamespace(solve=reduced(assign.solve), min_cost_flow=assign.min_cost_flow),
        "matching": SimpleNamespace(maximum=reduced(matching.maximum), greedy=reduced(matching.greedy)),
        "match_windows": match_windows,
    }
    return eval(call, {**arguments, **packages})  # noqa: S307


def certify(call: str, found, arguments: dict) -> None:
    if call.startswith("match_windows"):
        assert len(found.matches) > 20
        for one in (one for batch in found.batches for one in batch):
            one.check()
            assert one.method == "lock_free"
        return
    found.check()
    best = {
        "gridcut.max_flow": lambda: gridcut.max_flow(*arguments["grid"], device="cpu").value,
        "gridcut.binary_minimum": lambda: gridcut.binary_minimum(arguments["energy"], device="cpu").value,
        "assign.solve": lambda: assign.solve(arguments["cost"], device="cpu").cost,
        "assign.min_cost_flow": lambda: assign.min_cost_flow(*arguments["arcs"]).cost,
        "matching.maximum": lambda: matching.maximum(arguments["graph"], device="cpu").cardinality,
    }
    name = call.split("(")[0]
    if name in best:
        value = next(getattr(found, key) for key in ("value", "cost", "cardinality") if hasattr(found, key))
        assert value == best[name]()


@pytest.mark.slow
@pytest.mark.parametrize("call", ON_CPU)
def test_calls_on_a_cpu(call):
    arguments = given(SCALE)
    certify(call, run(call, arguments), arguments)


@pytest.mark.sim
@pytest.mark.parametrize("call", ON_CUDA)
def test_calls_on_a_gpu_in_the_simulator(call):
    arguments = given(TINY)
    certify(call, run(call, arguments, SMALL), arguments)


@pytest.mark.gpu
@pytest.mark.parametrize("call", ON_CUDA)
def test_calls_on_a_gpu(call):
    arguments = given(SCALE)
    certify(call, run(call, arguments), arguments)


def test_every_method_of_the_papers_is_named():
    text = PAGE.read_text("utf-8")
    named = set(re.findall(r'method="(\w+)"', text))
    papers = {name for name in (*gridcut.methods.METHODS, *assign.methods.METHODS, *matching.methods.METHODS)}
    ours = {"tiles", "ibfs", "shortest_paths", "jonker_volgenant", "auction", "portfolio"}
    assert papers - ours <= named
