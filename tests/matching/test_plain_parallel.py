"""The plain version of greedy matching by proposals: the same matching as on threads and on a GPU, for every seed."""

import numpy as np
import pytest
import scipy.sparse as sp

import matching
from matching.general.plain_parallel import match


def draw(rng, n, degree):
    upper = sp.triu(sp.random_array((n, n), density=min(1, degree / n), rng=rng), 1)
    return sp.csr_array(upper + upper.T)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_partners_are_those_of_the_method(device, weighted):
    rng = np.random.default_rng(602)
    for seed, (n, degree) in enumerate([(1, 1), (2, 2), (40, 1), (60, 4), (80, 30)]):
        graph = draw(rng, n, degree)
        select = "heaviest" if weighted else "first"
        found = matching.greedy(graph, method="parallel", seed=seed, select=select, device=device)
        found.check()
        assert match(graph.indptr, graph.indices, graph.data if weighted else None, seed=seed) == list(found.partner)


def test_what_rounds_leave_is_matched():
    path = sp.csr_array(sp.diags_array([[1.0] * 9, [1.0] * 9], offsets=[-1, 1]))
    expected = matching.greedy(path, method="parallel", rounds=0)
    assert match(path.indptr, path.indices, rounds=0) == list(expected.partner)
