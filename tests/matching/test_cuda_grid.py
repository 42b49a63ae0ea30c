"""Kernels on grids of several blocks, which numba's simulator cannot run: one simulated block represents the grid.

Its warps play the blocks. Each warp gets its own shared memory and its own block barrier here; the simulator's block
barrier is the grid barrier. This tests flags, queues and barriers between blocks, and the agreement of blocks.
"""

import importlib
import pkgutil
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import matching
from matching import methods
from matching.core.certificate import certify
from matching.core.graph_input import bipartite_graph
from matching.general import parallel
from matching.general.general_graph import check_graph
from tests.matching import oracles

pytestmark = pytest.mark.sim
BLOCKS = 3
GRAFT = "forest.ms_bfs_graft_cuda"
METHODS = [name for name, method in methods.METHODS.items() if method.cuda]


def thread_id():
    return threading.current_thread().thread_id


class Shared:
    """Arrays of each block, keyed by the line that requests them."""

    def __init__(self):
        self.arrays = {}

    def array(self, shape, dtype):
        caller = sys._getframe(1)
        key = (thread_id() // 32, caller.f_code.co_filename, caller.f_lineno)
        if key not in self.arrays:
            self.arrays[key] = np.full(shape, np.iinfo(dtype.name).max, dtype.name)
        return self.arrays[key]


class Blocks:
    """numba.cuda for kernels on a grid whose blocks are the warps of one block."""

    blockDim, gridDim = SimpleNamespace(x=32), SimpleNamespace(x=BLOCKS)
    threadIdx = property(lambda self: SimpleNamespace(x=thread_id() % 32))
    blockIdx = property(lambda self: SimpleNamespace(x=thread_id() // 32))

    def __init__(self, room):
        self.room = room
        self.shared = Shared()

    def syncthreads(self):
        self.room.exchange(None)

    def __getattr__(self, name):
        return getattr(self.room.cuda, name)


@pytest.fixture
def grid(monkeypatch):
    """Grids of BLOCKS blocks for all cooperative kernels."""
    room = importlib.import_module("gridcut.device.cuda")
    blocks = Blocks(room)
    for found in pkgutil.walk_packages(matching.__path__, "matching."):
        module = importlib.import_module(found.name)
        # Kernels that are launched otherwise do not use the grid.
        if getattr(module, "cuda", None) is room.cuda and not hasattr(module, "launch"):
            monkeypatch.setattr(module, "cuda", blocks)
    module = importlib.import_module("matching.core.grid_cuda")
    monkeypatch.setattr(module, "cuda", blocks)
    launch = module.launch

    def on_all_blocks(kernel, _, threads, *args):
        assert threads == 32
        blocks.shared.arrays.clear()
        launch(kernel, 1, 32 * BLOCKS, *args)

    monkeypatch.setattr(module, "launch", on_all_blocks)


def permuted_graphs(rng):
    """Wide and narrow levels; more vertices than threads."""
    return [
        oracles.permuted(graph, rng) for graph in (oracles.uniform(110, 3, rng), oracles.rope(9, rng), oracles.path(60))
    ]


def on_gpu(name, function, *arguments, **parameters):
    """A function of a CUDA method, for a graph and a matching on the host."""
    function = getattr(importlib.import_module(f"matching.{name}"), function)
    return importlib.import_module("matching.core.problem_cuda").on_gpu(function, *arguments, **parameters)


@pytest.mark.parametrize("method", METHODS)
def test_searches(grid, method):
    parameters = {"shrink_from": 1} if method == "g_pr_shr" else {}
    for graph in permuted_graphs(np.random.default_rng(1)):
        checked = bipartite_graph(graph)
        row_match, col_match = np.full(checked.rows, -1, np.int32), np.full(checked.cols, -1, np.int32)
        methods.solver(method, "cuda")(checked, row_match, col_match, **parameters)
        certify(checked, row_match, col_match)


@pytest.mark.parametrize("block_levels", [0, 1, 8])
def test_block_levels(grid, block_levels):
    """A frontier in mode ALL_BLOCKS, then one that the blocks process independently."""
    rng = np.random.default_rng(4)
    graph = bipartite_graph(oracles.permuted(oracles.road(9, rng), rng))
    row_match, col_match = np.full(graph.rows, -1, np.int32), np.full(graph.cols, -1, np.int32)
    stats = on_gpu(GRAFT, "solve", graph, row_match, col_match, block_levels=block_levels, direction_optimising=False)
    certify(graph, row_match, col_match)
    assert stats["levels"] > stats["block_levels"]
    assert (stats["block_levels"] > 0) == (block_levels > 0)


def test_block_level_overflows_shared_memory(grid):
    """Two free rows per block, with six columns each; the rows matched to these are the next level."""
    from matching.core.frontier_cuda import SHARED_CAPACITY

    free, each = 2 * BLOCKS, 6
    assert 2 * each > SHARED_CAPACITY
    col = np.arange(free * each)
    matched = free + col
    last = matched[each - 1 :: each]
    row = np.r_[col // each, matched, last]
    graph = oracles.pattern(row, np.r_[col, col, free * each + np.arange(free)], (free + len(col), free + len(col)))
    graph = bipartite_graph(graph)
    row_match, col_match = np.full(graph.rows, -1, np.int32), np.full(graph.cols, -1, np.int32)
    row_match[matched], col_match[col] = col, matched
    stats = on_gpu(GRAFT, "solve", graph, row_match, col_match, direction_optimising=False)
    certify(graph, row_match, col_match)
    assert stats["augmentations"] == free
    assert stats["block_levels"] > 0


def test_greedy(grid):
    rng = np.random.default_rng(3)
    graph = oracles.uniform(110, 3, rng) * rng.integers(1, 5)
    graph = check_graph((graph + graph.T).astype(np.int64), None)
    expected, found = np.full(graph.n, -1, np.int32), np.full(graph.n, -1, np.int32)
    parallel.solve(graph, expected)
    importlib.import_module("matching.general.parallel_cuda").solve(graph, found)
    assert (found == expected).all()
