"""Expansions and swaps on sparse graphs: the moves of grids, enumeration, certificates, validation."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import scipy.sparse

from gridcut import LabelSolver, alpha_beta_swap, alpha_expansion, convex_labels, energy_of
from gridcut.core.problem import ends
from gridcut.device import CertificateError
from gridcut.multilabel import device_choice
from gridcut.multilabel.labelling import move_minimum

SOLVERS = [alpha_expansion, alpha_beta_swap]
LINEAR = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))


def grid_as_graph(shape, weights):
    """The edges of a grid as a sparse matrix, half of them below the diagonal."""
    nodes = np.arange(np.prod(shape)).reshape(shape)
    parts = [
        (nodes[p].ravel(), nodes[q].ravel(), w[p].ravel()) for o, w in weights.items() for p, q in [ends(shape, (o,))]
    ]
    tail, head, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
    flipped = tail % 2 == 1
    ends_of = np.where(flipped, head, tail), np.where(flipped, tail, head)
    return scipy.sparse.coo_array((weight, ends_of), shape=(nodes.size,) * 2)


def random_graph(seed, dtype=np.int64, nodes=7, labels=3):
    """Costs and edges with parallel and opposite ones, edges from a node to itself, and nodes without edges."""
    rng = np.random.default_rng(seed)
    unary = rng.integers(-9, 20, (labels, nodes)).astype(dtype)
    tail, head = rng.integers(0, nodes, (2, rng.integers(1, 16)))
    weight = (rng.integers(0, 9, tail.size) / (1 if dtype == np.int64 else 4)).astype(dtype)
    return unary, scipy.sparse.coo_array((weight, (tail, head)), shape=(nodes, nodes))


def energy_by_terms(labels, unary, graph, cost):
    paid = sum(unary[a, u].item() for u, a in enumerate(labels))
    edges = zip(graph.row, graph.col, graph.data, strict=True)
    return paid + sum(w.item() * int(cost[labels[u], labels[v]]) for u, v, w in edges)


@pytest.mark.parametrize("restarts", [0, 2])
@pytest.mark.parametrize("solve", SOLVERS)
def test_moves_are_those_of_the_grid(solve, restarts):
    rng = np.random.default_rng(0)
    unary = rng.integers(0, 40, (4, 9, 8))
    weights = {(1, 0): rng.integers(0, 12, (9, 8)), (0, 1): rng.integers(0, 12, (9, 8))}
    grid = solve(unary, weights, LINEAR, restarts=restarts, device="cpu")
    found = solve(unary.reshape(4, -1), grid_as_graph((9, 8), weights), LINEAR, restarts=restarts)
    found.check()
    assert (found.labels.reshape(9, 8) == grid.labels).all()
    assert found.labels.dtype == grid.labels.dtype
    assert found.energy == grid.energy
    if solve is alpha_expansion:  # swaps of grids that change nothing are not all made
        assert found.stats["energies"] == grid.stats["energies"]


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("solve", SOLVERS)
def test_certified_local_minima(solve, dtype):
    cost = np.minimum(LINEAR[:3, :3], 2)
    for seed in range(6):
        unary, graph = random_graph(seed, dtype)
        result = solve(unary, graph, cost)
        result.check()
        assert result.stats["converged"]
        assert result.energy == energy_by_terms(result.labels, unary, graph, cost)
        assert result.energy == energy_of(result.labels, unary, graph, cost)
        energies = {
            labels: energy_by_terms(labels, unary, graph, cost) for labels in product(range(3), repeat=unary.shape[1])
        }
        problem = result._history.problem
        for first, second in [(-1, a) for a in range(3)] if solve is alpha_expansion else [(0, 1), (0, 2), (1, 2)]:
            own = result.labels.tolist()
            if first < 0:
                choices = ({a, second} for a in own)
            else:
                choices = ({first, second} if a in (first, second) else {a} for a in own)
            lowest = min(energies[labels] for labels in product(*choices))
            assert lowest == result.energy
            assert move_minimum(result.labels, first, second, problem) * problem.unit == pytest.approx(lowest)
        bound = 2 * cost.max()  # of expansions, times the minimum of costs that are not negative
        shift = unary.min(axis=0).sum()
        if solve is alpha_expansion:
            assert result.energy - shift <= bound * (min(energies.values()) - shift)


@pytest.mark.parametrize("changed", ["energy", "labels", "move"])
def test_corruption_is_found(changed):
    unary, graph = random_graph(5, nodes=12)
    found = alpha_expansion(unary, graph, start=np.zeros(12, int))
    found.check()
    assert found.stats["energies"][-1] < found.stats["energies"][0]
    if changed == "energy":
        found = replace(found, energy=found.energy - 1)
    elif changed == "labels":
        found = replace(found, labels=(found.labels + 1) % 3)
    else:
        moves = [move._replace(pixels=move.pixels[:0], labels=move.labels[:0]) for move in found._history.moves]
        found = replace(found, _history=found._history._replace(moves=moves))
    with pytest.raises(CertificateError):
        found.check()


UNARY, GRAPH = random_graph(0)


@pytest.mark.parametrize(
    ("unary", "weights", "error", "message"),
    [
        (UNARY, scipy.sparse.csr_array((6, 6), dtype=int), ValueError, r"shape \(7, 7\), as unary has 7 nodes"),
        (UNARY[None], GRAPH, ValueError, r"unary must have shape \(labels, nodes\)"),
        (UNARY, GRAPH * -1, ValueError, "weights must be finite and 0 or more"),
        (UNARY, GRAPH * np.nan, ValueError, "weights holds nan at"),
        (UNARY, GRAPH.astype(complex), TypeError, "weights must hold integers"),
        (UNARY, GRAPH * 2**59, ValueError, "too large"),
    ],
)
@pytest.mark.parametrize("solve", SOLVERS)
def test_invalid_arguments(solve, unary, weights, error, message):
    with pytest.raises(error, match=message):
        solve(unary, weights)


def test_graphs_are_cut_on_the_cpu(monkeypatch):
    monkeypatch.setattr(device_choice, "choose_device", lambda *_, **__: "cuda")
    with pytest.raises(ValueError, match="weights of a graph are supported on the CPU only"):
        alpha_expansion(UNARY, GRAPH)


@pytest.mark.parametrize("solve", [LabelSolver, convex_labels])
def test_functions_for_grids_only(solve):
    with pytest.raises(TypeError, match="weights must be a mapping"):
        solve(UNARY, GRAPH, LINEAR[:3, :3])
