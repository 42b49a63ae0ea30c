"""No public function of matching writes to an argument of any format, and all accept read-only arrays."""

import numpy as np
import pytest
import scipy.sparse as sp

import matching
from tests.matching import oracles
from tests.untouched import untouched

BIPARTITE = oracles.bipartite_instances()
GENERAL = oracles.general_instances()
NAMES = ["band", "stored twice, unsorted", "rows without edges"]
GRAPHS = ["complete", "neighbouring floats", "two parts"]


@pytest.mark.parametrize("locked", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_functions_of_bipartite_graphs(name, locked):
    instance = BIPARTITE[name]
    start = np.full(instance.shape[0], -1)
    forms = oracles.bipartite_forms(instance)
    for graph in [*forms.values(), matching.bipartite_graph(forms["coo with duplicates"])]:
        found = untouched(matching.maximum, graph, locked=locked)
        untouched(matching.maximum, graph, start=start, init="karp_sipser", method="push_relabel", locked=locked)
        untouched(matching.maximum, graph, start=found, locked=locked)
        untouched(matching.structural_rank, graph, locked=locked)
        untouched(matching.dulmage_mendelsohn, graph, start=found, locked=locked)
        untouched(matching.bipartite_graph, graph, locked=locked)
        if sp.issparse(graph):
            untouched(matching.maximum_bipartite_matching, graph, locked=locked)


@pytest.mark.parametrize("locked", [False, True])
@pytest.mark.parametrize("name", GRAPHS)
def test_functions_of_general_graphs(name, locked):
    instance = GENERAL[name]
    vertex_weight = np.arange(1, instance.n + 1)
    for graph in oracles.general_forms(instance).values():
        for method in ("auto", "parallel"):
            found = untouched(matching.greedy, graph, method=method, locked=locked)
        untouched(matching.coarsen, graph, found, vertex_weight=vertex_weight, locked=locked)
        untouched(matching.coarsen, graph, found.partner, locked=locked)
        untouched(matching.hierarchy, graph, vertex_weight=vertex_weight.astype(float), locked=locked)
        untouched(matching.hierarchy, graph, rating=lambda coarse: coarse.graph.data * 0 + 1, locked=locked)
    csr = oracles.csr_of(instance)
    triple = csr.indptr, csr.indices, csr.shape
    for weight in (csr.data, csr.data.tolist(), csr.data.astype(np.float32), np.repeat(csr.data, 2)[::2]):
        untouched(matching.greedy, triple, weight, locked=locked)
        untouched(matching.hierarchy, triple, weight=weight, locked=locked)
    untouched(matching.greedy, tuple(np.repeat(a, 2)[::2] for a in triple[:2]) + (csr.shape,), locked=locked)
