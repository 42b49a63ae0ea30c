"""Arrays of the package "sparse", which SciPy's functions accept: the same results as for SciPy's own matrices."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph

import assign
import gridcut.compat.scipy
import matching
import matching.compat.scipy


class Converted:
    """What the conversion uses of an array of that package, which is not installed everywhere."""

    def __init__(self, matrix):
        self._matrix = scipy.sparse.coo_array(matrix)
        self.shape, self.ndim = self._matrix.shape, 2

    def to_scipy_sparse(self):
        return self._matrix

    @classmethod
    def from_scipy_sparse(cls, matrix):
        return cls(matrix)

    def todense(self):
        return self._matrix.toarray()


Converted.__module__ = "sparse._coo.core"


def forms(dense):
    yield Converted(dense)
    try:
        import sparse
    except ImportError:
        return
    yield sparse.COO.from_numpy(dense)
    yield sparse.GCXS.from_numpy(dense)


DENSE = np.array([[3, 3, 6], [4, 3, 5], [10, 1, 8]])


def test_assignments():
    expected = scipy.sparse.csgraph.min_weight_full_bipartite_matching(scipy.sparse.csr_array(DENSE))
    for form in forms(DENSE):
        np.testing.assert_array_equal(assign.min_weight_full_bipartite_matching(form), expected)


@pytest.mark.parametrize("kind", ["row", "column"])
def test_matchings(kind):
    for form in forms(np.triu(DENSE)):
        found = matching.compat.scipy.maximum_bipartite_matching(form, kind)
        expected = matching.compat.scipy.maximum_bipartite_matching(scipy.sparse.csr_array(np.triu(DENSE)), kind)
        np.testing.assert_array_equal(found, expected)
        assert matching.compat.scipy.structural_rank(form) == matching.maximum(form).cardinality == 3


def test_flows():
    dense = np.array([[0, 5, 0], [0, 0, 3], [0, 0, 0]])
    for form in forms(dense):
        found = gridcut.compat.scipy.maximum_flow(form, 0, 2)
        assert found.flow_value == 3
        assert isinstance(found.flow, type(form))
        np.testing.assert_array_equal(found.flow.todense(), [[0, 3, 0], [-3, 0, 3], [0, -3, 0]])
