"""No face changes an argument: arrays that are read-only, unsorted, repeated, or shared with another matrix."""

import cv2
import numpy as np
import pytest
import scipy.sparse

import apps.compat.cv2
import apps.compat.skimage
import assign
import assign.compat.lap as lap
import gridcut.compat.maxflow as maxflow
import matching

RNG = np.random.default_rng(2)
IMAGE = RNG.integers(0, 60, (30, 40, 3), dtype=np.uint8)
IMAGE[8:20, 10:25] += 150
SEEDS = np.zeros((30, 40))
SEEDS[1, 1], SEEDS[12, 15], SEEDS[29] = 3, 7, -1
COSTS = RNG.integers(1, 50, (3, 12, 12))


def grid_cut(source, sink, weights, loops):
    graph = maxflow.GraphFloat()
    nodes = graph.add_grid_nodes(source.shape)
    graph.add_grid_edges(nodes, weights, symmetric=True)
    graph.add_grid_tedges(nodes, source, sink)
    graph.add_edges(nodes[0], nodes[1], weights[0], loops)
    return graph.maxflow(), graph.get_grid_segments(nodes)


CALLS = {
    "grabCut": (
        lambda image: apps.compat.cv2.grabCut(image, None, (8, 6, 20, 18), None, None, 2, cv2.GC_INIT_WITH_RECT),
        IMAGE,
    ),
    "graph_cut": (lambda data, labels: apps.compat.skimage.graph_cut(data, labels), IMAGE[..., 0] * 1.0, SEEDS),
    "graph_cut of channels": (
        lambda data, labels, spacing: apps.compat.skimage.graph_cut(data, labels, channel_axis=-1, spacing=spacing),
        IMAGE,
        SEEDS.astype(int),
        np.array([1.0, 2.0]),
    ),
    "linear_sum_assignment": (assign.linear_sum_assignment, COSTS[0]),
    "linear_sum_assignment of floats": (lambda cost: assign.linear_sum_assignment(cost, True), COSTS[0][:, :9] / 7),
    "lapjv": (lap.lapjv, COSTS[0]),
    "lapjv with a limit": (lambda cost: lap.lapjv(cost, cost_limit=20), COSTS[0][:5] * 1.5),
    "lapjvx": (lap.lapjvx, COSTS[0]),
    "lapjvxa": (lap.lapjvxa, COSTS[0]),
    "lapjv_batch": (lap.lapjv_batch, COSTS),
    "lapjvx_batch": (lap.lapjvx_batch, COSTS),
    "lapjvxa_batch": (lap.lapjvxa_batch, COSTS * 0.5),
    "lapmod": (
        lambda costs, starts, columns: lap.lapmod(12, costs, starts, columns),
        COSTS[0].ravel(),
        np.arange(0, 145, 12),
        np.tile(np.arange(12), 12),
    ),
    "maxflow": (grid_cut, COSTS[0], COSTS[1], COSTS[2], np.zeros(12)),
}


@pytest.mark.parametrize("writeable", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_arrays(name, writeable):
    function, *given = CALLS[name]
    arrays = [array.copy() for array in given]
    for array in arrays:
        array.flags.writeable = writeable
    function(*arrays)
    for array, before in zip(arrays, given, strict=True):
        assert (array == before).all()


MATCHINGS = {
    "min_weight_full_bipartite_matching": assign.min_weight_full_bipartite_matching,
    "of maximum weight": lambda graph: assign.min_weight_full_bipartite_matching(graph, maximize=True),
    "maximum_bipartite_matching": matching.maximum_bipartite_matching,
    "structural_rank": matching.structural_rank,
}


@pytest.mark.parametrize("writeable", [False, True])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("name", MATCHINGS)
def test_matrices(name, kind, form, writeable):
    """Rows are unsorted and entries repeated; a second matrix shares the arrays of indices."""
    rows, cols = (RNG.integers(0, 20, 200) for _ in range(2))
    rows[:20] = cols[:20] = rows[20:40] = cols[20:40] = np.arange(20)
    order = np.argsort(rows if form != "csc" else cols, kind="stable")
    rows, cols, data = rows[order], cols[order], RNG.integers(1, 90, 200)
    cls = getattr(scipy.sparse, f"{form}_{kind}")
    if form == "coo":
        matrix, indices = cls((data, (rows, cols)), shape=(20, 20)), ("row", "col", "data")
    else:
        starts = np.searchsorted(rows if form == "csr" else cols, np.arange(21))
        matrix = cls((data, cols if form == "csr" else rows, starts), shape=(20, 20))
        indices = ("indices", "indptr", "data")
    arrays = [getattr(matrix, part) for part in indices]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = writeable
    found = MATCHINGS[name](matrix)
    for part, array, old in zip(indices, arrays, before, strict=True):
        assert getattr(matrix, part) is array or np.shares_memory(getattr(matrix, part), array)
        assert (array == old).all()
    again = MATCHINGS[name](matrix)
    assert all((one == other).all() for one, other in zip(np.atleast_1d(found), np.atleast_1d(again), strict=True))
