"""Certificates of matchings: consistent changes of two fields, and graphs that changed after they were solved."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

import matching
from tests.matching import oracles
from tests.matching.corruption import general

GENERAL = general(1)
PAIRS = sp.csr_array(np.random.default_rng(3).random((11, 9)) < 0.2)


def test_consistent_changes_of_two_fields():
    """Another maximum matching is accepted; one pair less is not."""
    square = sp.csr_array(np.ones((2, 2)))
    found = matching.maximum(square)
    other = dataclasses.replace(found, row_match=found.row_match[::-1].copy(), col_match=found.col_match[::-1].copy())
    other.check()
    row_match, col_match = found.row_match.copy(), found.col_match.copy()
    col_match[row_match[0]], row_match[0] = -1, -1
    fewer = dataclasses.replace(found, row_match=row_match, col_match=col_match, cardinality=1)
    with pytest.raises(matching.CertificateError, match="not covered|not maximum"):
        fewer.check()


def test_counts_of_pairs_in_stats():
    found = matching.maximum(PAIRS)
    for stats in (None, {}, {**found.stats, "initial": 1}, {**found.stats, "augmentations": "1"}):
        with pytest.raises(matching.CertificateError, match="stats must count"):
            dataclasses.replace(found, stats=stats).check()


def test_unknown_method_is_rejected():
    found = matching.greedy(oracles.csr_of(GENERAL))
    with pytest.raises(matching.CertificateError, match="method must be the name of a greedy method"):
        dataclasses.replace(found, method="best").check()


@pytest.mark.parametrize("change", ["indices", "indptr", "data"])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_changed_graph_is_detected(change, form):
    """The arrays are shared with the caller, so indices out of range must not be followed."""
    for find in (matching.maximum, matching.greedy, matching.coarsen, matching.hierarchy):
        if change == "data" and find is matching.maximum:
            continue
        graph = oracles.csr_of(GENERAL).astype(np.int64).asformat(form)
        graph.indices, graph.indptr = graph.indices.astype(np.int32), graph.indptr.astype(np.int64)
        found = find(graph)
        array = getattr(graph, change)
        array[:] = {"indices": 10**6, "indptr": 10**6, "data": np.arange(len(array)) - 10**6}[change]
        try:
            found.check()
        except matching.CertificateError:
            continue
        # Only copied arrays may be unchanged: SciPy and the contraction copy arrays of another dtype.
        fine_graph = getattr(found, "_fine", None) or getattr(found, "_graph", None)
        fine_graph = getattr(fine_graph, "graph", fine_graph)
        if isinstance(fine_graph, matching.BipartiteGraph):
            kept = fine_graph.by_col if form == "csc" else fine_graph.by_row
        else:
            kept = tuple(fine_graph)[:3]
        assert not any(np.shares_memory(array, part) for part in kept if part is not None), find.__name__
