"""Invalid arguments: TypeError for a wrong type, ValueError for a wrong value, with the name of the argument."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import matching
from matching.core.parameters import checked
from tests.matching import oracles

DENSE = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0]])
PATTERN = sp.csr_array([[1, 1, 0], [1, 0, 1]])
GENERAL = oracles.csr_of(oracles.general_instances()["complete"])
TRIPLE = (GENERAL.indptr, GENERAL.indices, GENERAL.shape)
FUNCTIONS = {
    "maximum": (matching.maximum, PATTERN),
    "dulmage_mendelsohn": (matching.dulmage_mendelsohn, PATTERN),
    "greedy": (matching.greedy, GENERAL),
    "coarsen": (matching.coarsen, GENERAL),
    "hierarchy": (matching.hierarchy, GENERAL),
}
READERS = {
    **{name: function for name, (function, _) in FUNCTIONS.items()},
    "bipartite_graph": matching.bipartite_graph,
    "maximum_bipartite_matching": matching.maximum_bipartite_matching,
    "structural_rank": matching.structural_rank,
}


class DataFrame:
    """A stand-in for the class of pandas, which need not be installed."""

    __module__ = "pandas.core.frame"


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    ("graph", "hint"),
    [
        (DataFrame(), r"got DataFrame; scipy.sparse.csr_array\(graph.to_numpy\(\)\) converts it"),
        (np.eye(3), r"got ndarray; scipy.sparse.csr_array\(graph\) converts a dense matrix"),
        (np.eye(3).tolist(), r"got list; scipy.sparse.csr_array\(graph\)"),
        (np.ma.masked_array(np.eye(3), np.eye(3)), r"csr_array\(graph.filled\(0\)\) converts a masked array"),
        (None, "got NoneType"),
        (3, "got int"),
        ("a.mtx", "got str"),
    ],
    ids=["DataFrame", "ndarray", "list", "masked", "None", "int", "str"],
)
def test_other_types_of_graphs(name, graph, hint):
    with pytest.raises(TypeError, match=f"graph must be a .*SciPy sparse matrix.*{hint}"):
        READERS[name](graph)


def test_functions_of_matrices_reject_networkx():
    with pytest.raises(TypeError, match="got Graph; networkx.bipartite.biadjacency_matrix converts it"):
        matching.maximum_bipartite_matching(nx.path_graph(4))


@pytest.mark.parametrize("name", READERS)
def test_shapes(name):
    large = sp.coo_array((np.ones(1), ([5], [1])), shape=(2**41, 2))
    with pytest.raises(ValueError, match=r"shape must lie in 0 \.\.\. 2147483646, .* got \(2199023255552, 2\)"):
        READERS[name](large)
    one_axis = sp.coo_array(np.array([1, 0, 2]))
    with pytest.raises(ValueError, match=r"graph must have 2 axes, rows and columns, got shape \(3,\)"):
        READERS[name](one_axis)


@pytest.mark.parametrize("name", ["maximum", "greedy", "coarsen", "hierarchy"])
def test_masked_indices_are_rejected(name):
    masked = (GENERAL.indptr, np.ma.masked_array(GENERAL.indices, GENERAL.indices == 2), GENERAL.shape)
    with pytest.raises(TypeError, match="indices is a masked array"):
        READERS[name](masked)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_threads(name):
    function, graph = FUNCTIONS[name]
    for threads in (1, 2, np.int64(2), np.uint8(3), None):
        assert function(graph, threads=threads) is not None
    for threads in (2.0, "2", True, np.bool_(True), [2]):
        with pytest.raises(TypeError, match="threads must be an integer"):
            function(graph, threads=threads)
    for threads in (0, -1, np.int32(0)):
        with pytest.raises(ValueError, match="threads must be 1 or more"):
            function(graph, threads=threads)


@pytest.mark.parametrize("name", ["greedy", "coarsen", "hierarchy"])
def test_seeds(name):
    function, graph = FUNCTIONS[name]
    for seed in (0, np.int64(3), 2**64 - 1):
        function(graph, seed=seed)
    for seed, kind in ((-1, ValueError), (2**64, ValueError), (1.0, TypeError), ("1", TypeError), (None, TypeError)):
        with pytest.raises(kind, match="seed must be"):
            function(graph, seed=seed)


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("search", "dfs", ValueError, "search must be 'gpubfs' or 'gpubfs_wr'"),
        ("grid", "gt", ValueError, "grid must be 'ct' or 'mt'"),
        ("shrink_from", 0, ValueError, "shrink_from must be 1 or more"),
        ("block_levels", -1, ValueError, "block_levels must be 0 or more, got -1"),
        ("block_levels", 1.5, TypeError, "block_levels must be an integer, got 1.5"),
    ],
)
def test_parameters_of_methods_on_a_gpu(name, value, error, message):
    """They are checked before the method runs, wherever it does."""
    with pytest.raises(error, match=message):
        checked({name: value})


WRONG = [
    (
        "maximum",
        {"method": "push_relabel", "order": "first"},
        ValueError,
        "order must be 'fifo', 'lifo', 'highest' or 'lowest'",
    ),
    ("greedy", {"method": "random", "select": "heaviest"}, ValueError, "select='first' or 'random', got 'heaviest'"),
    ("maximum", {"method": "push_relabel", "frequency": -1}, ValueError, "frequency must be positive"),
    ("maximum", {"method": "push_relabel", "gap": "no"}, TypeError, "gap must be True or False, got 'no'"),
    ("maximum", {"method": "p_hk", "wide": 0}, ValueError, "wide must be 1 or more"),
    ("maximum", {"method": "pothen_fan", "fairness": "no"}, TypeError, "fairness must be True or False"),
    ("maximum", {"method": "ss_dfs", "lookahead": "no"}, TypeError, "lookahead must be True or False"),
    ("maximum", {"method": "ms_bfs_graft", "grafting": 1}, TypeError, "grafting must be True or False"),
    ("maximum", {"method": "ms_bfs_graft", "alpha": 0}, ValueError, "alpha must be positive"),
    ("maximum", {"method": "ms_bfs_graft", "side": "left"}, ValueError, "side must be 'rows' or 'columns'"),
    ("maximum", {"callback": 3}, TypeError, "method 'auto' accepts no parameters, got 'callback'"),
    ("maximum", {"start": np.ma.masked_array([0, 1], [True, False])}, TypeError, "start is a masked array"),
    ("maximum", {"start": "a"}, ValueError, "start must hold"),
    ("maximum", {"init": 3}, TypeError, "init must be a name"),
    ("greedy", {"method": "parallel", "p": "x"}, TypeError, "p must be a number"),
    ("greedy", {"method": "parallel", "p": 1.0}, ValueError, "p must be between 0 and 1"),
    ("greedy", {"method": "random", "shuffled": "no"}, TypeError, "shuffled must be True or False"),
    ("greedy", {"weight": np.ma.masked_array(GENERAL.data, GENERAL.data > 3)}, TypeError, "weight is a masked array"),
    ("greedy", {"weight": ["a"] * GENERAL.nnz}, TypeError, "weight must hold real numbers"),
    ("coarsen", {"vertex_weight": [np.nan] * 8}, ValueError, "vertex_weight holds values that are not finite"),
    ("coarsen", {"vertex_weight": [1e308] * 8}, ValueError, "not finite, or whose sum is not"),
    ("coarsen", {"vertex_weight": [-1] * 8}, ValueError, "vertex_weight must not be negative, got -1"),
    ("coarsen", {"vertex_weight": [2**63 - 1] * 8}, ValueError, "vertex_weight must add up to 9223372036854775807 or"),
    ("coarsen", {"vertex_weight": [2**62] * 2 + [0] * 6}, ValueError, "got 9223372036854775808"),
    ("coarsen", {"matching": [1, 0, -1]}, ValueError, "for each of 8 vertices"),
    ("coarsen", {"matching": [1, 0, 9] + [-1] * 5}, ValueError, "outside -1 to 7"),
    ("coarsen", {"matching": [1] + [-1] * 7}, ValueError, "not a valid matching of `graph`: .* not matched to it"),
    ("coarsen", {"matching": [0.5] * 8}, TypeError, "integers"),
    ("coarsen", {"matching": [1, 0] + [-1] * 6, "seed": 3}, TypeError, "'seed' is a parameter of matching.greedy"),
    ("coarsen", {"vertex_weight": [1, 2]}, ValueError, "vertex_weight must have shape"),
    ("coarsen", {"vertex_weight": ["a"] * 8}, TypeError, "real numbers"),
    ("hierarchy", {"vertices": 0}, ValueError, "vertices must be"),
    ("hierarchy", {"levels": -1}, ValueError, "levels must be"),
    ("hierarchy", {"dominance": 1.5}, ValueError, "dominance must be 0 to 1"),
    ("hierarchy", {"rating": "size"}, ValueError, "rating must be"),
    ("hierarchy", {"rating": lambda coarse: np.ones(3)}, ValueError, "one value per stored entry"),
    ("hierarchy", {"vertex_weight": [1] * 7 + [0]}, ValueError, "vertex_weight must be positive"),
    ("hierarchy", {"vertex_weight": [np.inf] * 8}, ValueError, "vertex_weight holds values that are not finite"),
    ("hierarchy", {"dominance": "a"}, TypeError, "dominance must be a number"),
    ("hierarchy", {"join": "no"}, TypeError, "join must be True or False"),
    ("hierarchy", {"rating": 3}, TypeError, "rating must be 'expansion', 'weight' or callable, got 3"),
    ("hierarchy", {"vertices": 2.0}, TypeError, "vertices must be an integer"),
    ("hierarchy", {"levels": "1"}, TypeError, "levels must be an integer"),
]


@pytest.mark.parametrize(("name", "keywords", "kind", "message"), WRONG)
def test_parameters(name, keywords, kind, message):
    function, graph = FUNCTIONS[name]
    with pytest.raises(kind, match=message):
        function(graph, **keywords)


def test_check_of_hierarchies_without_graphs():
    found = matching.hierarchy(GENERAL, 2, graphs=False)
    with pytest.raises(ValueError, match=r"no graph was kept.*check\(graph"):
        found.check()
    found.check(GENERAL)
    with pytest.raises(matching.CertificateError):
        found.check(2 * GENERAL)
    with pytest.raises(ValueError, match="the finer graph was not kept"):
        found.levels[0].check()
    found = matching.hierarchy(TRIPLE, 2, weight=GENERAL.data, vertex_weight=np.arange(1, 9), graphs=False)
    found.check(TRIPLE, weight=GENERAL.data, vertex_weight=np.arange(1, 9))
    with pytest.raises(matching.CertificateError, match="vertex_weight"):
        found.check(TRIPLE, weight=GENERAL.data)


def test_bipartite_graphs_are_checked_by_their_constructor():
    whole = matching.bipartite_graph(PATTERN)
    again = matching.BipartiteGraph(2, 3, whole.by_row, whole.by_col)
    assert matching.maximum(again).cardinality == 2
    assert matching.maximum(matching.BipartiteGraph(2, 3, by_col=whole.by_col)).cardinality == 2
    for arguments, kind, message in (
        ((2, 2), TypeError, r"needs by_row or by_col; matching.bipartite_graph\(graph\)"),
        ((2, 3, 5), TypeError, "by_row must be a pair"),
        ((2, 3, (whole.row_ptr, whole.row_adj + 7)), ValueError, "indices must lie in"),
        ((2, 3, ([0, 10**6, 4], whole.row_adj)), ValueError, "indptr must ascend"),
        ((2, 2, whole.by_row), ValueError, "indices must lie in"),
        ((2, 3, whole.by_row, (whole.col_ptr, whole.col_adj[::-1])), ValueError, "must hold the same edges"),
    ):
        with pytest.raises(kind, match=message):
            matching.BipartiteGraph(*arguments)


@pytest.mark.parametrize(
    ("graph", "error", "says"),
    [
        ((1, 2), TypeError, "indptr, indices, shape"),
        (([0, 1], [0.5], (1, 1)), TypeError, "indices"),
        (([[0, 1]], [0], (1, 1)), TypeError, "indptr"),
        (([0, 1], [0], (1, 1.5)), TypeError, "shape"),
        (([0, 1], [0], (2**31, 1)), ValueError, "shape"),
        (([0, 1], [0], (2, 1)), ValueError, "3 entries"),
        (([0, 2, 1], [0, 0], (2, 1)), ValueError, "ascend"),
        (([0, 2], [0], (1, 1)), ValueError, "ascend"),
        (([1, 2], [0, 0], (1, 1)), ValueError, "ascend"),
        (([0, 1], [1], (1, 1)), ValueError, "indices"),
        (([0, 1], [2**32], (1, 1)), ValueError, "indices"),
    ],
)
def test_invalid_graphs(graph, error, says):
    with pytest.raises(error, match=says):
        matching.maximum(graph)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"method": "blossom"}, ValueError, "hopcroft_karp"),
        ({"method": 3}, TypeError, "method"),
        ({"init": "best"}, ValueError, "karp_sipser"),
        ({"device": "tpu"}, ValueError, "device"),
        ({"device": "cuda", "method": "ss_bfs"}, RuntimeError, "device='cuda'"),
        ({"device": "cpu", "method": "apfb"}, RuntimeError, "use device='cuda'"),
        ({"method": "pothen_fan", "gap": True}, TypeError, "fairness"),
        ({"method": "hopcroft_karp", "gap": True}, TypeError, "no parameters"),
        ({"start": [0, 1]}, ValueError, "start"),
        ({"start": [0.0, 1.0, 2.0, 3.0]}, TypeError, "start"),
        ({"start": [0, 1, 3, -1]}, ValueError, "start"),
        ({"start": [0, 0, 2, -1]}, ValueError, "start"),
        ({"start": [2, -1, -1, -1]}, ValueError, "start"),
    ],
)
def test_invalid_arguments(arguments, error, says):
    with pytest.raises(error, match=says):
        matching.maximum(sp.csr_array(DENSE), **arguments)
