"""Instances, oracle and checks shared by all tests of gridcut."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from numba.core import event
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_flow

import gridcut
from gridcut.core.grid import Grid, make_layout

# name, parameters: every solver, and every variant of it
ON_CPU = {
    "auto": ("auto", {"device": "cpu"}),
    "push_relabel fifo": ("push_relabel", {"device": "cpu", "order": "fifo"}),
    "push_relabel highest": ("push_relabel", {"device": "cpu", "order": "highest"}),
    "lock_free": ("lock_free", {"device": "cpu", "threads": 3}),
    "async_global": ("async_global", {"device": "cpu", "threads": 3, "global_every": 0.1}),
}
ON_CUDA = {
    "auto cuda": ("auto", {"device": "cuda"}),
    "lock_free cuda": ("lock_free", {"device": "cuda"}),
    "hybrid": ("hybrid", {"device": "cuda"}),
    "cudacuts": ("cudacuts", {"device": "cuda"}),
    "cudacuts_pull": ("cudacuts_pull", {"device": "cuda"}),
}
METHODS = ON_CPU | ON_CUDA
MANY_NEIGHBOURS = ("18", "26", "asymmetric")  # neighbourhoods by the names of test_max_flow.py


def pytest_generate_tests(metafunc):
    if "method" in metafunc.fixturenames:
        on_cuda = [pytest.param(name, marks=pytest.mark.gpu) for name in ON_CUDA]
        metafunc.parametrize("method", [*ON_CPU, *on_cuda])


def pytest_collection_modifyitems(items):
    """Run CUDA solvers except the default on some neighbourhoods only, since each takes seconds to compile."""

    def left_out(item):
        params = item.callspec.params if hasattr(item, "callspec") else {}
        method = params.get("method")
        return method in ON_CUDA and method != "auto cuda" and params.get("offsets") in MANY_NEIGHBOURS

    items[:] = [item for item in items if not left_out(item)]


def opposite(offset):
    return tuple(-i for i in offset)


def ends(offset, shape):
    """Indices of p and of p + offset, over all pixels p for which both are inside."""
    near = tuple(slice(max(0, -o), max(0, d - max(0, o))) for o, d in zip(offset, shape, strict=True))
    far = tuple(slice(max(0, o), max(0, d + min(0, o))) for o, d in zip(offset, shape, strict=True))
    return near, far


def capacity_along(edges, offset, shape):
    """Capacity p -> p + offset, 0 where that leaves the grid; an absent offset has that of its opposite."""
    near, far = ends(offset, shape)
    given = np.asarray(edges[offset] if offset in edges else edges[opposite(offset)])
    room = np.zeros(shape, given.dtype)
    if offset in edges:
        room[near] = np.broadcast_to(given, shape)[near]
    else:
        room[near] = np.broadcast_to(given, shape)[far]
    return room


def oracle(source, sink, edges, mask=None):
    """Maximum flow by SciPy on an explicit graph; capacities are integers whatever the dtype."""
    shape = np.shape(source)
    inside = np.ones(shape, bool) if mask is None else mask
    numbers = np.arange(inside.size).reshape(shape)
    s, t = inside.size, inside.size + 1
    rows, columns, capacities = [], [], []

    def add(p, q, capacity):
        rows.append(np.ravel(p))
        columns.append(np.ravel(q))
        capacities.append(np.ravel(capacity))

    add(np.full(inside.sum(), s), numbers[inside], np.asarray(source)[inside])
    add(numbers[inside], np.full(inside.sum(), t), np.asarray(sink)[inside])
    for offset, capacity in edges.items():
        near, far = ends(offset, shape)
        both = inside[near] & inside[far]
        c = np.broadcast_to(capacity, shape)[near][both]
        add(numbers[near][both], numbers[far][both], c)
        if opposite(offset) not in edges:
            add(numbers[far][both], numbers[near][both], c)
    graph = coo_array(
        (np.concatenate(capacities).astype(np.int32), (np.concatenate(rows), np.concatenate(columns))),
        shape=(t + 1, t + 1),
    ).tocsr()
    return int(maximum_flow(graph, s, t).flow_value)


def solve(source, sink, edges, method="auto", **keywords):
    """max_flow by a name of METHODS (default: the CPU's default), certified."""
    name, parameters = METHODS[method]
    cut = gridcut.max_flow(source, sink, edges, method=name, **{**parameters, **keywords})
    cut.check()
    return cut


def assert_equal_cuts(cut, expected):
    """Equal values and labels: the tie rule makes labels unique."""
    assert cut.value == expected.value
    assert (cut.labels == expected.labels).all()


def check_flow(cut, source, sink, edges, mask=None):
    """Check that flow() satisfies the capacities and the balance of every pixel and has the cut's value.

    residual() must be what it leaves of the capacities.
    """
    shape = np.shape(source)
    source, sink = (np.asarray(a, np.float64) for a in (source, sink))
    if mask is not None:
        source, sink = np.where(mask, source, 0), np.where(mask, sink, 0)
    net_out = np.zeros(shape)
    for offset in {*edges, *map(opposite, edges)}:
        flow = cut.flow(offset)
        assert flow.shape == shape
        net_out += flow
        room = capacity_along(edges, offset, shape)
        used = flow > 0
        assert (flow[used] <= room[used]).all()
        # The flow that leaves one end arrives at the other.
        near, far = ends(offset, shape)
        assert (flow[near] == -cut.flow(opposite(offset))[far]).all()
        both = np.ones(shape, bool)[near] if mask is None else mask[near] & mask[far]
        assert (cut.residual(offset)[near] == room[near] - flow[near])[both].all()
    # A pixel receives at most its source capacity and sends at most its sink capacity.
    assert (net_out <= source).all()
    assert (net_out >= -sink).all()
    assert net_out.sum() == 0
    # The flow from the source, minus the flow from the source side to the sink, crosses the cut.
    through = np.minimum(source, sink + net_out).sum()
    assert through == cut.value


def random_problem(rng, shape, offsets, dtype=np.int64, high=10, density=None, mask=None):
    """Capacities 0 .. high - 1, some of them scalars, on a random part of the pixels."""

    def capacity():
        part = rng.choice([0.1, 0.5, 1.0]) if density is None else density
        return (rng.integers(0, high, shape) * (rng.random(shape) < part)).astype(dtype)

    edges = {o: capacity() if rng.random() < 0.8 else dtype(rng.integers(0, high)) for o in offsets}
    if mask == "random":
        mask = rng.random(shape) < 0.7
    return capacity(), capacity(), edges, mask


class WhileNotCompiling(event.Listener):
    """Functions in place of those of NumPy, except while numba compiles: it knows NumPy's own only."""

    def __init__(self, functions):
        self._own = {name: getattr(np, name) for name in functions}
        self._functions = functions
        self._depth = 0

    def on_start(self, event):
        self._depth += 1
        self.put(self._own)

    def on_end(self, event):
        self._depth -= 1
        if not self._depth:
            self.put(self._functions)

    def put(self, functions):
        for name, function in functions.items():
            setattr(np, name, function)


@pytest.fixture
def poison(monkeypatch, request):
    """Make uninitialised reads visible: np.empty returns arrays of a sentinel.

    Not on a GPU, whose memory np.empty does not allocate.
    """
    if "cuda" in request.node.name:
        yield
        return

    def poisoned(make):
        def empty(*args, **keywords):
            array = make(*args, **keywords)
            if array.dtype.kind in "iu":
                array.fill(np.iinfo(array.dtype).max - 7)
            return array

        return empty

    functions = {name: poisoned(getattr(np, name)) for name in ("empty", "empty_like")}
    with event.install_listener("numba:compile", WhileNotCompiling(functions)):
        for name, function in functions.items():
            monkeypatch.setattr(np, name, function)
        yield


@pytest.fixture
def stand_in(monkeypatch):
    """Let the CPU solve instead of method "tiles"."""
    from gridcut.cuda.tile_layout import to_flat
    from gridcut.device.cuda import cuda
    from gridcut.papers import push_relabel
    from tests.gridcut.tile_arrays import from_flat

    def solve(excess, residual, layout, warm, callback, steps_per_pixel=1):
        flat = make_layout(layout.extent, layout.offsets)
        e, r = excess.copy_to_host(), residual.copy_to_host()
        parts = []
        for item in range(layout.items):
            flat_e, flat_r = to_flat(layout, e, r, flat, item)
            side, _ = push_relabel.solve(Grid(flat, flat_e, flat_r, 1))
            lanes, _ = from_flat(layout, side.astype(np.uint32), flat_r, flat)
            words = (lanes.reshape(-1, 32) << np.arange(32, dtype=np.uint32)).sum(axis=1, dtype=np.uint32)
            parts.append((*from_flat(layout, flat_e, flat_r, flat, r.dtype), words))
        e, r, words = (np.concatenate(part) for part in zip(*parts, strict=True))
        excess.copy_to_device(e)
        residual.copy_to_device(r)
        return SimpleNamespace(reach_bits=cuda.to_device(words)), {"given_back": warm is not None}

    monkeypatch.setattr("gridcut.tiles.tiles.solve", solve)


def library(name):
    """to(array) and back(array) of a library, and the type of its arrays."""
    module = pytest.importorskip(name)
    if name == "torch":
        return (
            lambda a: module.as_tensor(np.ascontiguousarray(a), device="cuda"),
            lambda t: t.cpu().numpy(),
            module.Tensor,
        )
    return module.asarray, module.asnumpy, module.ndarray


@pytest.fixture
def tools():
    """The functions above; fixtures reach them without importing one test file from another."""
    return sys.modules[__name__]
