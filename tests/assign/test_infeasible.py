"""Deficient sets: found exactly when no matching of all rows exists, and fewer columns than rows every time."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from assign.core.infeasible import InfeasibleError
from assign.sparse.feasible import check_feasible


def as_csr(allowed):
    """indptr, indices of a boolean matrix."""
    csr = csr_matrix(allowed)
    csr.sort_indices()
    return csr.indptr.astype(np.int64), csr.indices.astype(np.int32)


def check(allowed):
    """Whether all rows can be matched; either answer is verified."""
    n, m = allowed.shape
    col_of, proof = None, None
    try:
        col_of = check_feasible(*as_csr(allowed), n, m)
    except InfeasibleError as error:
        proof = error
    if proof is None:
        assert len(np.unique(col_of)) == n
        assert allowed[np.arange(n), col_of].all()
        return True
    assert len(proof.cols) < len(proof.rows)
    assert len(np.unique(proof.rows)) == len(proof.rows)
    np.testing.assert_array_equal(np.flatnonzero(allowed[proof.rows].any(axis=0)), proof.cols)
    return False


def test_random_graphs_agree_with_scipy():
    rng = np.random.default_rng(1)
    answers = []
    for _ in range(2000):
        n = int(rng.integers(1, 13))
        m = int(rng.integers(n, 16))
        allowed = rng.random((n, m)) < rng.choice([0.1, 0.2, 0.3, 0.5])
        answers.append(check(allowed))
        matched = np.count_nonzero(maximum_bipartite_matching(csr_matrix(allowed), perm_type="column") >= 0)
        assert answers[-1] == (matched == n)
    assert 200 < sum(answers) < 1800


def test_the_rows_named_are_those_that_compete():
    allowed = np.ones((6, 6), bool)
    allowed[[1, 3, 4]] = False
    allowed[[1, 3, 4], 2] = True
    with pytest.raises(InfeasibleError, match=r"only 1 allowed column \(2\)"):
        check_feasible(*as_csr(allowed), 6, 6)
    assert not check(allowed)


def test_no_rows_and_empty_rows():
    assert check(np.zeros((0, 3), bool))
    assert check(np.zeros((0, 0), bool))
    with pytest.raises(InfeasibleError) as caught:
        check_feasible(np.array([0, 1, 1]), np.array([0], np.int32), 2, 2)
    assert caught.value.rows.tolist() == [1]
    assert caught.value.cols.tolist() == []
