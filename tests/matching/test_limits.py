"""Limits on the number of vertices, checked by number, without graphs of that size."""

import re

import numpy as np
import pytest
import scipy.sparse

import matching
from matching.core.limits_cuda import (
    MAX_LABELLED,
    MAX_LISTED,
    MAX_SIDE,
    MAX_THREADS,
    check_labels,
    check_lists,
    check_sides,
)
from matching.initial import karp_sipser
from matching.papers import push_relabel


def fits(*values) -> bool:
    return all(-(2**31) <= value < 2**31 for value in values)


def test_largest_index_fits_int32():
    last = MAX_SIDE - 1
    assert fits(last + MAX_THREADS)  # v = int32(v + threads), before v < n is tested
    assert not fits(last + MAX_THREADS + 2)
    last = MAX_LISTED - 1
    assert fits(MAX_LISTED + last)  # int32(previous + i), int32(here + n - 1)
    assert not fits(MAX_LISTED + last + 1)
    assert fits(last + 32 * MAX_THREADS)  # int32(around + share * threads)
    assert fits(MAX_LABELLED + 2)  # labels rise by 2 to at most n + m


@pytest.mark.parametrize(
    ("check", "limit", "message"),
    [
        (
            check_sides,
            MAX_SIDE,
            "vertices on one side, more than the 2143289343 that CUDA methods accept; use device='cpu'",
        ),
        (lambda n: check_sides(3, n), MAX_SIDE, "vertices on one side, more than the 2143289343"),
        (check_labels, MAX_LABELLED, "vertices, more than the 2147483644 that labels can number; use 'ms_bfs_graft'"),
        (
            lambda n: check_lists("g_pr_shr", "columns", n, "'apfb'"),
            MAX_LISTED,
            "columns, more than the 1073741824 that 'g_pr_shr' accepts on CUDA; use 'apfb'",
        ),
    ],
)
def test_limits_of_cuda(check, limit, message):
    check(limit)
    with pytest.raises(ValueError, match=f"^graph has {limit + 1} {re.escape(message)}"):
        check(limit + 1)


@pytest.mark.parametrize(
    ("module", "how", "instead"),
    [
        (karp_sipser, {"init": "karp_sipser"}, "use init='cheap'"),
        (push_relabel, {"method": "push_relabel", "init": "none"}, "use 'pothen_fan'"),
    ],
)
def test_limits_of_the_cpu(monkeypatch, module, how, instead):
    assert fits(module.MAX_VERTICES)
    graph = scipy.sparse.csr_array(np.ones((3, 4)))
    monkeypatch.setattr(module, "MAX_VERTICES", 6)
    with pytest.raises(ValueError, match=f"graph has 7 vertices, more than the 6 that '[a-z_]+' accepts; {instead}"):
        matching.maximum(graph, device="cpu", **{"method": "hopcroft_karp", **how})
    monkeypatch.setattr(module, "MAX_VERTICES", 7)
    assert matching.maximum(graph, device="cpu", **{"method": "hopcroft_karp", **how}).cardinality == 3
