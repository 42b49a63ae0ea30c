"""SciPy's functions for assignments and matchings: SciPy's own tests, values, and the exceptions of both."""

import subprocess
import sys
import warnings
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from scipy.sparse import csgraph

import assign
import matching
from assign.compat import small_pairs
from tests.compat.borrowed_tests import borrowed
from tests.tiers import in_quick_tier


def without_scipy(cost_matrix, maximize=False):
    """`linear_sum_assignment`, which would leave small matrices to SciPy."""
    with patch("assign.compat.small_pairs.MAX_SCANS", 0):
        return assign.linear_sum_assignment(cost_matrix, maximize)


OURS = {
    "linear_sum_assignment": without_scipy,
    "min_weight_full_bipartite_matching": assign.min_weight_full_bipartite_matching,
    "maximum_bipartite_matching": matching.maximum_bipartite_matching,
}
globals().update(
    borrowed("scipy.optimize.tests.test_linear_assignment", **{name: OURS[name] for name in list(OURS)[:2]})
)
if "test_linear_sum_assignment_input_bool" in globals():  # kernels for int32, which no other quick test needs
    pytest.mark.slow(globals()["test_linear_sum_assignment_input_bool"])
globals().update(borrowed("scipy.sparse.csgraph.tests.test_matching", **{name: OURS[name] for name in list(OURS)[1:]}))

EYE = np.eye(3)
MATRICES = {
    "strings": EYE.astype(str),
    "words": [["a"]],
    "complex": EYE.astype(complex),
    "objects": EYE.astype(object),
    "long double": EYE.astype(np.longdouble),
    "fractions": [[Fraction(1, 3), 2], [0, Fraction(1)]],
    "nan": np.diag([np.nan, 1, 1]),
    "-inf": np.diag([-np.inf, 1, 1]),
    "+inf": np.diag([np.inf, 1, 1]),
    "all inf": np.full((2, 2), np.inf),
    "nan in a row of inf": np.array([[np.inf, np.inf], [1, np.nan]]),
    "uint64": np.array([[2**64 - 1, 1], [2, 2**64 - 1]], np.uint64),
    "int64": np.array([[2**63 - 1, -(2**63)], [-(2**63), 5]]),
    "integers beyond int64": [[2**70, 1], [1, 2**70]],
    "None": None,
    "sparse": scipy.sparse.csr_array(EYE),
    "empty": np.empty((0, 3)),
    "three axes": np.zeros((2, 2, 2)),
    "wide": np.array([[4, 1, 3]], np.int8),
}


def outcome(solver, *arguments):
    """Type and text of the exception, or the rows, the number of columns, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            row, col = solver(*arguments)
        except Exception as error:  # noqa: BLE001
            return type(error), str(error)
    return row.dtype.kind, row.tolist(), len(col), [(note.category, str(note.message)) for note in caught]


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("name", in_quick_tier(MATRICES, "wide".__ne__))
def test_linear_sum_assignment_answers_as_scipy(name, maximize):
    cost = MATRICES[name]
    expected = outcome(scipy.optimize.linear_sum_assignment, cost, maximize)
    solvers = assign.linear_sum_assignment, without_scipy
    assert [outcome(solver, cost, maximize) for solver in solvers] == [expected] * 2
    if not isinstance(expected[0], type):
        cost = np.asarray(cost, float)
        total = cost[scipy.optimize.linear_sum_assignment(cost, maximize)].sum()
        assert [cost[solver(cost, maximize)].sum() for solver in solvers] == [total] * 2


@pytest.mark.parametrize("large", [2**53, 2**57])
def test_integers_are_exact_in_small_matrices(large):
    """SciPy calculates in float64, in which 2**53 + 1 does not exist."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        cost = large + rng.integers(0, 3, (4, 5))
        total = cost[assign.linear_sum_assignment(cost)].sum()
        assert total == assign.solve(cost).cost
        assert cost[assign.linear_sum_assignment(cost, maximize=True)].sum() == assign.solve(cost, maximize=True).cost


REFUSED = [  # what trackers and matchers pass where there is nothing to match, or nothing may be
    "numpy.zeros((0, 0))", "numpy.empty((3, 0), numpy.int32)", "numpy.empty((0, 4), bool)", "[[]]", "[]",
    "[[inf, inf], [1, 2]]", "[[inf, 1], [inf, 2], [inf, 3]]", "numpy.full((33, 33), inf)",
    "[[nan, 1], [1, 2]]", "[[-inf, 1], [1, 2]]", "numpy.zeros((2, 2, 2))",
]  # fmt: skip


def test_small_matrices_and_those_without_an_assignment_need_no_numba():
    """The answers of SciPy, whose texts callers match on; and of lap, which leaves rows unmatched."""
    lines = (
        "import sys, numpy, assign",
        "from numpy import inf, nan",
        "from assign.compat import lap",
        f"for cost in ({', '.join(REFUSED)}):",
        "    for maximize in (False, True):",
        "        try:",
        "            print(assign.linear_sum_assignment(cost, maximize))",
        "        except ValueError as error:",
        "            print(error)",
        "print(*lap.lapjv([[inf, inf], [1, 2]]))",
        "print(assign.linear_sum_assignment([[4, 1, 3], [2, 0, 5], [3, 2, 2]]))",
        "assert not {'numba', 'scipy.optimize'} & sys.modules.keys()",
    )
    found = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    expected = []
    for cost in REFUSED:
        for maximize in (False, True):
            try:
                one = scipy.optimize.linear_sum_assignment(eval(cost, {"numpy": np, **vars(np)}), maximize)
            except ValueError as error:
                one = error
            expected.append(str(one))
    assert found.stdout.splitlines() == [*expected, "inf [-1  0] [ 1 -1]", "(array([0, 1, 2]), array([1, 0, 2]))"]


@patch("assign.compat.small_pairs.find_spec", lambda name: None)
def test_a_scipy_without_its_compiled_module_is_imported():
    small_pairs._scipy_function.cache_clear()
    with patch.dict(sys.modules):
        del sys.modules["scipy.optimize._lsap"]
        assert small_pairs._scipy_function() is scipy.optimize.linear_sum_assignment
    small_pairs._scipy_function.cache_clear()


def edges(array):
    return scipy.sparse.csr_array(np.asarray(array))


WEIGHTS = edges([[3, 3, 6], [4, 3, 5], [10, 1, 8]])
GRAPHS = {
    "dense": EYE,
    "None": None,
    "dok": WEIGHTS.todok(),
    "coo": WEIGHTS.tocoo(),
    "bool": WEIGHTS.astype(bool),
    "stored zero": scipy.sparse.csr_array(((2, 0, 3), (0, 1, 1), (0, 2, 3))),
    "inf": edges(np.diag([np.inf, 1, 1]) + np.roll(EYE, 1, 0) + np.roll(EYE, 2, 0)),
    "duplicates": scipy.sparse.coo_array(([1, 2, 3], ([0, 0, 1], [0, 0, 1])), shape=(2, 2)),
    "int64": edges(np.array([[2**62, 1], [1, 2**62]])),
    "uint64": edges(np.array([[2**63 + 1, 1], [1, 2**63]], np.uint64)),
    "no edges": scipy.sparse.csr_array((2, 2)),
    "no full matching": edges([[1, 1, 1], [1, 0, 0], [1, 0, 0]]),
    "wide": edges([[1, 2, 3]]),
    "empty": scipy.sparse.csr_array((0, 3)),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_full_matching_answers_as_scipy(name):
    """SciPy 1.15.0 cannot read the COO format."""
    given = GRAPHS[name].tocsr() if getattr(GRAPHS[name], "format", None) == "coo" else GRAPHS[name]
    expected = outcome(csgraph.min_weight_full_bipartite_matching, given)
    assert outcome(assign.min_weight_full_bipartite_matching, GRAPHS[name]) == expected


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.int8])
def test_full_matchings_of_random_graphs(dtype, maximize):
    rng = np.random.default_rng(5)
    for shape in ((40, 40), (30, 50), (50, 30)):
        graph = scipy.sparse.random_array(
            shape, density=0.3, rng=rng, data_sampler=lambda size: rng.integers(1, 99, size)
        )
        graph = graph.astype(dtype)
        row, col = assign.min_weight_full_bipartite_matching(graph, maximize)
        dense = graph.toarray().astype(float)
        assert (dense[row, col] != 0).all()
        assert len(row) == len(set(col.tolist())) == min(shape)
        expected = dense[csgraph.min_weight_full_bipartite_matching(graph.tocsr(), maximize)].sum()
        assert dense[row, col].sum() == expected


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_weights_that_are_not_numbers(value):
    """SciPy returns a matching or says that none exists."""
    with pytest.raises(ValueError, match="invalid numeric entries"):
        assign.min_weight_full_bipartite_matching(edges(np.diag([value, 1, 1])))
    assert matching.structural_rank(edges(np.diag([value, 1, 1]))) == 3


def test_cardinalities():
    rng = np.random.default_rng(6)
    for shape, density in (((60, 60), 0.005), ((40, 70), 0.02), ((70, 40), 0.1)):
        graph = scipy.sparse.csr_array(scipy.sparse.random_array(shape, density=density, rng=rng))
        expected = int((csgraph.maximum_bipartite_matching(graph) >= 0).sum())
        for form in (graph, graph.tocsc(), graph.tocoo()):
            assert int((matching.maximum_bipartite_matching(form) >= 0).sum()) == expected
            assert matching.structural_rank(form) == csgraph.structural_rank(form) == expected
        found = matching.maximum_bipartite_matching(graph)
        assert found.dtype == csgraph.maximum_bipartite_matching(graph).dtype
