"""The parameter `method`, and fixtures shared by all tests of gridcut."""

from types import SimpleNamespace

import numpy as np
import pytest
from numba.core import event

from gridcut.core.grid import Grid, make_layout
from tests.gridcut.oracles import ON_CPU, ON_CUDA


def pytest_generate_tests(metafunc):
    if "method" in metafunc.fixturenames:
        on_cuda = [pytest.param(name, marks=pytest.mark.gpu) for name in ON_CUDA]
        metafunc.parametrize("method", [*ON_CPU, *on_cuda])


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
