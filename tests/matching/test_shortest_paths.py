"""hopcroft_karp, hkdw and p_hk augment along shortest paths."""

import pytest
import scipy.sparse as sp

import matching

METHODS = ("hopcroft_karp", "hkdw", "p_hk")


@pytest.mark.parametrize("method", METHODS)
def test_levels_end_at_a_free_column(method):
    """Row 0 is adjacent to a free column and to a matched one, first in its list, that leads to another free column."""
    graph = sp.csr_array([[1, 1, 0], [1, 0, 1]])
    found = matching.maximum(graph, method=method, init="none", start=[-1, 0])
    found.check()
    assert found.stats["path_length"] == 1
