"""A function of another library may be replaced by its face at run time: no face calls the function it replaces."""

import sys

import cv2
import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from scipy.sparse import csgraph

import apps.compat.cv2
import assign
import assign.compat.lap
import gridcut.compat.maxflow
import gridcut.compat.scipy
import matching
from assign.compat import small_pairs

COSTS = np.random.default_rng(0).integers(1, 99, (40, 40))
GRAPH = scipy.sparse.csr_array(np.where(COSTS < 40, COSTS, 0).astype(np.int32))
IMAGE = np.random.default_rng(1).integers(0, 60, (30, 40, 3), dtype=np.uint8)
IMAGE[8:20, 10:25] += 150

REPLACED = [
    (
        cv2,
        "grabCut",
        apps.compat.cv2.grabCut,
        lambda f: (f(IMAGE, None, (8, 6, 20, 18), None, None, 3, 0)[0] & 1).sum(),
    ),
    (scipy.optimize, "linear_sum_assignment", assign.linear_sum_assignment, lambda f: COSTS[f(COSTS)].sum()),
    (
        csgraph,
        "min_weight_full_bipartite_matching",
        assign.min_weight_full_bipartite_matching,
        lambda f: COSTS[f(GRAPH)].sum(),
    ),
    (
        csgraph,
        "maximum_bipartite_matching",
        matching.maximum_bipartite_matching,
        lambda f: (f(GRAPH, perm_type="column") >= 0).sum(),
    ),
    (csgraph, "structural_rank", matching.structural_rank, lambda f: f(GRAPH)),
    (csgraph, "maximum_flow", gridcut.compat.scipy.maximum_flow, lambda f: f(GRAPH, 0, 39).flow_value),
]


@pytest.mark.parametrize(("module", "name", "face", "solve"), REPLACED, ids=[row[1] for row in REPLACED])
def test_functions_replaced_at_run_time(module, name, face, solve, monkeypatch):
    expected = solve(face)
    if name != "grabCut":  # another energy, so another object
        assert abs(solve(getattr(module, name)) - expected) == 0
    for replaced, function, ours, _ in REPLACED:  # all of them, since a face might call another one
        monkeypatch.setattr(replaced, function, ours)
    assert getattr(module, name) is face
    assert solve(getattr(module, name)) == expected
    if name == "linear_sum_assignment":
        assert assign.solve(COSTS).cost == expected
        assign.solve(COSTS).check()


def test_a_function_replaced_before_its_first_call(monkeypatch):
    small_pairs._scipy_function.cache_clear()
    monkeypatch.setattr(scipy.optimize, "linear_sum_assignment", assign.linear_sum_assignment)
    assert scipy.optimize.linear_sum_assignment(COSTS[:3, :4])[0].tolist() == [0, 1, 2]


def test_modules_replaced_at_run_time(monkeypatch):
    monkeypatch.setitem(sys.modules, "lap", assign.compat.lap)
    monkeypatch.setitem(sys.modules, "maxflow", gridcut.compat.maxflow)
    import lap
    import maxflow

    assert lap.lapjv(COSTS)[0] == COSTS[assign.linear_sum_assignment(COSTS)].sum()
    assert lap.lapmod(3, [1, 2, 3], [0, 1, 2, 3], [2, 0, 1])[0] == 6
    graph = maxflow.GraphInt()
    nodes = graph.add_grid_nodes((4, 5))
    graph.add_grid_edges(nodes, 3)
    graph.add_grid_tedges(nodes, COSTS[:4, :5], COSTS[4:8, :5])
    assert graph.maxflow() == gridcut.max_flow(COSTS[:4, :5], COSTS[4:8, :5], {(0, 1): 3, (1, 0): 3}).value
