"""Greedy matching on CUDA equals that of the CPU, in numba's simulator and on a GPU."""

import importlib

import numpy as np
import pytest
import scipy.sparse

import matching
from matching.core import limits_cuda as limits
from matching.general import parallel
from matching.general.general_graph import check_graph
from matching.general.greedy_certificate import certify, weight_of
from tests.matching import oracles
from tests.matching.gpu_arrays import WHERE, gpu

KINDS = ("plain", "few weights", "floats", "equal")


def parallel_cuda():
    return importlib.import_module("matching.general.parallel_cuda")


def symmetric(rng, n, degree, kind):
    """A graph of n vertices, some without neighbours, and a hub."""
    low, high = np.sort(rng.integers(0, n, (2, n * degree // 2)), axis=0)
    low, high = np.r_[low, np.zeros(n // 2, int)], np.r_[high, np.arange(n - n // 2, n)]
    low, high = np.unique(np.c_[low, high][low != high], axis=0).T
    size = len(low)
    weight = {
        "plain": np.ones(size, bool),
        "few weights": rng.integers(0, 4, size),
        "floats": rng.random(size),
        "equal": np.full(size, 3.0),
    }[kind]
    return oracles.weighted_graph(n, low, high, weight)


def matched(graph, solve, **parameters):
    """The partners computed by a method, certified to be a maximal matching."""
    partner = np.full(graph.n, -1, np.int32)
    stats = solve(graph, partner, **parameters)
    certify(graph, partner, np.count_nonzero(partner >= 0) // 2, weight_of(graph, partner), False)
    return partner, stats


def checked(*how):
    return check_graph(symmetric(*how), None)


def sizes(where):
    return (2, 3, 21) if where == "simulator" else (2, 33, 1000, 30_000)


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("kind", KINDS)
def test_parallel_equals_cpu(where, kind):
    for seed, n in enumerate(sizes(where)):
        graph = checked(np.random.default_rng(seed), n, 4, kind)
        for parameters in (
            {},
            {"select": "first"},
            {"select": "random"},
            {"select": "heaviest", "p": 0.4},
            {"rounds": 1},
            {"rounds": 0},
        ):
            expected, _ = matched(graph, parallel.solve, seed=seed, threads=1, **parameters)
            found, stats = matched(graph, parallel_cuda().solve, seed=seed, **parameters)
            assert (found == expected).all()
            assert stats["rounds"] <= parameters.get("rounds", 256)


@gpu
@pytest.mark.parametrize("kind", KINDS)
def test_ten_runs_on_a_gpu_agree(kind):
    graph = checked(np.random.default_rng(10), 200_000, 10, kind)
    expected, _ = matched(graph, parallel.solve)
    for _ in range(10):
        found, _ = matched(graph, parallel_cuda().solve)
        assert (found == expected).all()


@pytest.mark.sim
def test_too_large_graphs_are_rejected(monkeypatch):
    """The limits themselves are tested in test_limits.py."""
    graph = scipy.sparse.csr_array(1 - np.eye(5))
    monkeypatch.setattr(limits, "MAX_SIDE", 4)
    with pytest.raises(ValueError, match="graph has 5 vertices on one side, more than the 4 that CUDA"):
        matching.greedy(graph, method="parallel", device="cuda")
    monkeypatch.setattr(limits, "MAX_SIDE", 5)
    monkeypatch.setattr(limits, "MAX_LISTED", 4)
    with pytest.raises(
        ValueError, match="5 vertices, more than the 4 that 'parallel' accepts on CUDA; use device='cpu'"
    ):
        matching.greedy(graph, method="parallel", device="cuda")
    monkeypatch.setattr(limits, "MAX_LISTED", 5)
    assert matching.greedy(graph, method="parallel", device="cuda").cardinality == 2
