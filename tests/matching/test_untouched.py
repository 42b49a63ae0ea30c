"""No public function of matching writes to an argument of any format, and all accept read-only arrays."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp

import matching
from tests.matching import oracles

BIPARTITE = oracles.bipartite_instances()
GENERAL = oracles.general_instances()
NAMES = ["band", "stored twice, unsorted", "rows without edges"]
GRAPHS = ["complete", "neighbouring floats", "two parts"]


def arrays_of(value) -> list:
    """The arrays in the attributes and parts of an argument."""
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, tuple | list):
        return [array for part in value for array in arrays_of(part)]
    if sp.issparse(value):
        if value.format == "dok":
            return []
        names = ("data", "indices", "indptr", "row", "col", "offsets", "rows")
        return [getattr(value, name) for name in names if isinstance(getattr(value, name, None), np.ndarray)]
    if isinstance(value, matching.BipartiteGraph):
        return arrays_of([value.by_row, value.by_col])
    if isinstance(value, matching.Matching):
        return arrays_of([value.row_match, value.col_match])
    if isinstance(value, matching.GreedyMatching):
        return [value.partner]
    return []


def contents(value):
    if sp.issparse(value) and value.format == "dok":
        return dict(value.items())
    return copy.deepcopy(value) if isinstance(value, list) else [array.copy() for array in arrays_of(value)]


def run(function, *arguments, locked: bool, **keywords):
    """Call a function, and compare all arguments with copies."""
    passed = [*arguments, *keywords.values()]
    before = [contents(value) for value in passed]
    writeable = [(array, array.flags.writeable) for value in passed for array in arrays_of(value)]
    for array, _ in writeable:
        # Lists built by the package are not locked: kernels would be compiled again for them.
        if locked and not isinstance(arguments[0], matching.BipartiteGraph):
            array.setflags(write=False)
    try:
        found = function(*arguments, **keywords)
        if hasattr(found, "check"):
            found.check()
    finally:
        for array, flag in writeable:
            array.setflags(write=flag)
    for value, kept in zip(passed, before, strict=True):
        for now, then in zip(contents(value), kept, strict=True):
            np.testing.assert_array_equal(now, then)
    return found


@pytest.mark.parametrize("locked", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_functions_of_bipartite_graphs(name, locked):
    instance = BIPARTITE[name]
    start = np.full(instance.shape[0], -1)
    for graph in [*oracles.bipartite_forms(instance).values(), matching.bipartite_graph(graph_of(instance))]:
        found = run(matching.maximum, graph, locked=locked)
        run(matching.maximum, graph, start=start, init="karp_sipser", method="push_relabel", locked=locked)
        run(matching.maximum, graph, start=found, locked=locked)
        run(matching.structural_rank, graph, locked=locked)
        run(matching.dulmage_mendelsohn, graph, start=found, locked=locked)
        run(matching.bipartite_graph, graph, locked=locked)
        if sp.issparse(graph):
            run(matching.maximum_bipartite_matching, graph, locked=locked)


def graph_of(instance):
    return oracles.bipartite_forms(instance)["coo with duplicates"]


@pytest.mark.parametrize("locked", [False, True])
@pytest.mark.parametrize("name", GRAPHS)
def test_functions_of_general_graphs(name, locked):
    instance = GENERAL[name]
    vertex_weight = np.arange(1, instance.n + 1)
    for graph in oracles.general_forms(instance).values():
        for method in ("auto", "parallel"):
            found = run(matching.greedy, graph, method=method, locked=locked)
        run(matching.coarsen, graph, found, vertex_weight=vertex_weight, locked=locked)
        run(matching.coarsen, graph, found.partner, locked=locked)
        run(matching.hierarchy, graph, vertex_weight=vertex_weight.astype(float), locked=locked)
        run(matching.hierarchy, graph, rating=lambda coarse: coarse.graph.data * 0 + 1, locked=locked)
    csr = oracles.csr_of(instance)
    triple = csr.indptr, csr.indices, csr.shape
    for weight in (csr.data, csr.data.tolist(), csr.data.astype(np.float32), np.repeat(csr.data, 2)[::2]):
        run(matching.greedy, triple, weight, locked=locked)
        run(matching.hierarchy, triple, weight=weight, locked=locked)
    run(matching.greedy, tuple(np.repeat(a, 2)[::2] for a in triple[:2]) + (csr.shape,), locked=locked)
