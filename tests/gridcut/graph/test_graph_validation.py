"""Invalid arguments of graph_max_flow are rejected in one line that names the argument."""

import numpy as np
import pytest
import scipy.sparse

import gridcut
from gridcut.graph import graph_forest

GOOD = ([0, 1, 2], [1, 0], [3, 4], (2, 2))
NAN = float("nan")


def csr(data, shape=(2, 2)):
    return scipy.sparse.csr_array((np.array(data), np.array([1, 0]), np.array([0, 1, 2])), shape=shape)


def damaged():
    matrix = csr([1, 2])
    matrix.indices[0] = 7
    return matrix


BAD = [
    ("dense", (np.eye(2), 1, 1), TypeError, "graph must be a SciPy sparse matrix or array, or a tuple"),
    ("short tuple", (GOOD[:3], 1, 1), TypeError, "got 3 parts"),
    ("not square", ((*GOOD[:3], (2, 3)), 1, 1), ValueError, r"graph must be square.*got shape \(2, 3\)"),
    ("no shape", ((*GOOD[:3], 2), 1, 1), TypeError, "graph: shape must be a pair of integers, got 2"),
    ("float shape", ((*GOOD[:3], (2.0, 2)), 1, 1), TypeError, "graph: shape must be a pair of integers"),
    ("negative shape", (([0], [], [], (-1, -1)), 1, 1), ValueError, "graph must be square"),
    ("indptr", (([0, 2, 1], *GOOD[1:]), 1, 1), ValueError, "graph: indptr must ascend"),
    ("length of indptr", (([0, 2], *GOOD[1:]), 1, 1), ValueError, "graph: indptr must have 3 entries"),
    ("index", (([0, 1, 2], [1, 2], *GOOD[2:]), 1, 1), ValueError, "graph: indices must be from 0 to 1"),
    ("negative index", (([0, 1, 2], [1, -1], *GOOD[2:]), 1, 1), ValueError, "graph: indices must be from 0 to 1"),
    ("float indices", (([0, 1, 2], [1.0, 0.0], *GOOD[2:]), 1, 1), TypeError, "graph: indices must be a one-dim"),
    ("damaged matrix", (damaged(), 1, 1), ValueError, "graph: indices must be from 0 to 1"),
    ("capacity", ((*GOOD[:2], [3], (2, 2)), 1, 1), ValueError, "graph: capacity must be a scalar or have one value"),
    ("negative capacity", (csr([3, -4]), 1, 1), ValueError, r"graph holds -4 at \(1, 0\); capacities must be 0"),
    ("nan capacity", (csr([3, NAN]), 1, 1), ValueError, r"graph holds nan at \(1, 0\)"),
    ("text capacity", ((*GOOD[:2], ["a", "b"], (2, 2)), 1, 1), TypeError, "graph: capacity must be an array of"),
    ("complex", (csr([1j, 1]), 1, 1), TypeError, "graph must be an array of"),
    (
        "source shape",
        (GOOD, [1, 2, 3], 1),
        ValueError,
        "source must be a scalar or have one capacity for each of the 2",
    ),
    ("sink shape", (GOOD, 1, [[1], [2]]), ValueError, "sink must be a scalar or have one capacity for each of the 2"),
    ("negative source", (GOOD, [1, -2], 1), ValueError, r"source holds -2 at \(1,\)"),
    ("nan sink", (GOOD, 1, [NAN, 1]), ValueError, r"sink holds nan at \(0,\)"),
    ("masked", (GOOD, np.ma.array([1, 2], mask=[0, 1]), 1), TypeError, "source is a masked array"),
    ("none", (GOOD, None, 1), TypeError, "source must be an array"),
    ("one axis", (scipy.sparse.coo_array(np.ones(3)), 1, 1), ValueError, "graph must have two axes"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
@pytest.mark.parametrize("call", [gridcut.graph_max_flow, gridcut.GraphSolver])
def test_bad_arguments(call, arguments, error, message):
    with pytest.raises(error, match=message) as caught:
        call(*arguments)
    assert "\n" not in str(caught.value)


def test_bad_methods():
    with pytest.raises(ValueError, match="method must be one of 'auto', 'ibfs'.*got 'best'"):
        gridcut.graph_max_flow(GOOD, 1, 1, method="best")
    with pytest.raises(TypeError, match="method must be a name, got int"):
        gridcut.graph_max_flow(GOOD, 1, 1, method=3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'order'"):
        gridcut.graph_max_flow(GOOD, 1, 1, method="ibfs", order="fifo")


def test_changed_arguments_are_found():
    graph = csr([3, 4])
    source, sink = np.array([5, 0]), np.array([0, 5])
    cut = gridcut.graph_max_flow(graph, source, sink)
    cut.check()
    for array, value in ((graph.data, 9), (source, 1), (graph.indices, 0), (graph.indptr, 7), (graph.data, -1)):
        kept = array[0]
        array[0] = value
        with pytest.raises(gridcut.CertificateError):
            cut.check()
        array[0] = kept
    cut.check()


def test_damaged_states_are_found():
    """Every number of the residual graph counts."""
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((8, 8)) < 0.5, rng.integers(1, 9, (8, 8)), 0)
    np.fill_diagonal(dense, 0)
    cut = gridcut.graph_max_flow(scipy.sparse.csr_array(dense), *rng.integers(0, 9, (2, 8)))
    _, graph = cut._kept()
    for array in (graph.first, graph.arcs, graph.excess):
        for place in range(array.size):
            for change in (1, -1):
                array[place] += change
                with pytest.raises(gridcut.CertificateError):
                    cut.check()
                array[place] -= change
    cut.check()


def test_too_many_arcs(monkeypatch):
    monkeypatch.setattr(graph_forest, "MAX_ARCS", 1)
    with pytest.raises(ValueError, match="graph must have at most 1 arcs, got 2"):
        gridcut.graph_max_flow(GOOD, [3, 0], [0, 3])
