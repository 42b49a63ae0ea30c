"""Results of every kind, as tests/corruption.py falsifies them."""

import numpy as np

import matching
from tests.matching import oracles

PROVED = {
    "Matching": ("row_match", "col_match", "cardinality"),
    "GreedyMatching": ("partner", "cardinality", "weight"),
    "CoarseGraph": ("graph", "labels", "vertex_weight"),
    "Hierarchy": ("levels", "vertex_counts"),
}


def general(seed):
    rng, n = np.random.default_rng(seed), 13 + seed
    weight = {(v, w): int(rng.integers(1, 50)) for v in range(n) for w in range(v + 1, n) if rng.random() < 0.35}
    return oracles.General(n, weight)


def maximum(seed, device):
    rng, shape = np.random.default_rng(seed + 2), (10 + seed, 8 + seed)
    edges = [(r, c) for r in range(shape[0]) for c in range(shape[1]) if rng.random() < 0.2]
    graph = oracles.bipartite_forms(oracles.Bipartite(shape, edges))["coo with duplicates"]
    return matching.maximum(graph, device=device), []


def of_general(function, *arguments, factor=1, **options):
    """make(seed, device) of a function of a general graph; of arguments that are functions, their values."""

    def make(seed, device="cpu"):
        graph = oracles.csr_of(general(seed)) * factor
        return function(graph, *arguments, **{name: value(graph.shape[0]) for name, value in options.items()}), []

    return make


def fine(n):
    return np.random.default_rng(n).integers(1, 9, n)


RESULTS = {
    "Matching": maximum,
    "GreedyMatching": of_general(matching.greedy),
    "GreedyMatching, floats": of_general(matching.greedy, factor=1 / 7, method=lambda n: "random"),
    "CoarseGraph": of_general(matching.coarsen, vertex_weight=fine),
    "CoarseGraph, floats": of_general(matching.coarsen, factor=1 / 7, vertex_weight=lambda n: fine(n) / 3),
    "Hierarchy": of_general(matching.hierarchy, 3),
}


def changed(array):
    """Arguments are matrices, whose changes tests/matching/test_certificates.py has."""
    return ()


def as_good(found) -> bool:
    """Whether an altered result is still right by the plain checkers: another solution of equal value."""
    if not isinstance(found, matching.GreedyMatching) or getattr(found.partner, "dtype", None) != np.int32:
        return False
    instance = general(1)
    if found.method == "random":
        instance = oracles.General(instance.n, {e: x * (1 / 7) for e, x in instance.weight.items()})
    try:
        oracles.check_greedy(instance, found.partner, found.cardinality, found.weight, found.method != "random")
    except (AssertionError, TypeError, IndexError):
        return False
    return True
