"""The plain version of tree grafting: matchings of maximum cardinality, on a CPU, in the simulator and on a GPU."""

import numpy as np
import pytest
import scipy.sparse

import matching
from matching.forest.plain_ms_bfs_graft import solve


def graphs():
    for seed in range(6):
        rng = np.random.default_rng([614, seed])
        n, m = rng.integers(1, 25, 2)
        yield scipy.sparse.csr_array((rng.random((n, m)) < rng.uniform(0.03, 0.3)).astype(np.int8))


def compare(graph, device, **options):
    rows, cols = graph.nonzero()
    edges = list(zip(rows.tolist(), cols.tolist(), strict=True))
    mate = solve(*graph.shape, edges, **options)
    matched = np.flatnonzero(mate >= 0)
    assert {(int(x), int(mate[x])) for x in matched} <= set(edges)
    assert len(set(mate[matched].tolist())) == len(matched)
    found = matching.maximum(graph, method="ms_bfs_graft", device=device)
    found.check()
    assert found.cardinality == len(matched)


@pytest.mark.parametrize("grafting", [True, False])
@pytest.mark.parametrize("alpha", [0.5, 5.0, 100.0])
def test_cardinality_is_that_of_maximum(grafting, alpha):
    for graph in graphs():
        compare(graph, "cpu", grafting=grafting, alpha=alpha)


@pytest.mark.sim
def test_cardinality_is_that_of_the_kernel():
    for graph in graphs():
        compare(graph, "cuda")


@pytest.mark.gpu
def test_cardinality_is_that_of_the_gpu():
    for graph in graphs():
        compare(graph, "cuda")
