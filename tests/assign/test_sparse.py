"""The sparse solver against SciPy and its certificate: small adversarial instances by the thousand, some large ones."""

import numpy as np
import pytest
from scipy.sparse import csr_array, hstack
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from tests.assign import oracles


@pytest.mark.parametrize("limited", [False, True])
def test_the_auction_where_columns_may_stay_unmatched(monkeypatch, limited):
    """Paths are cut short at once, so that the auction and the search from columns are used."""
    monkeypatch.setattr("assign.sparse.sparse.SCANS_BEFORE_AUCTION", -1)
    rng = np.random.default_rng(200 + limited)
    checked = bids = 0
    for _ in range(500):
        n = int(rng.integers(1, 12))
        cost = oracles.random_cost(rng, (n, n + int(rng.integers(0, 6)))).astype(rng.choice([np.int64, np.float64]))
        allowed = rng.random(cost.shape) < rng.choice([0.2, 0.4, 0.7, 1.0])
        plain = np.where(allowed, cost, np.inf)
        limit = rng.integers(-5, 1000, n) if limited else None
        best = oracles.best_partial(plain, limit) if limited else oracles.best_cost(plain)
        if best is None:
            continue
        found = oracles.solved(oracles.sparse_of(cost, allowed), limit, expected=False)
        checked += 1
        bids += found.stats["bids"]
        assert oracles.total_of(found, limit if limited else 0) == pytest.approx(best, rel=1e-12, abs=1e-9)
    assert checked > 150
    assert bids > checked


def random_sparse(rng, n, m, degree, high):
    rows = np.concatenate((np.repeat(np.arange(n), degree), np.arange(n)))
    cols = np.concatenate((rng.integers(0, m, n * degree), rng.permutation(m)[:n]))
    key = np.unique(rows * m + cols)
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(key // m, minlength=n), out=indptr[1:])
    return csr_array((rng.integers(1, high + 1, len(key)), (key % m).astype(np.int32), indptr), shape=(n, m))


@pytest.mark.parametrize("degree", [1, 5, 40])
@pytest.mark.parametrize(("high", "extra"), [(1, 0), (100, 500), (10**6, 3)])
def test_hundreds_of_rows(degree, high, extra):
    rng = np.random.default_rng(degree * high + extra)
    graph = random_sparse(rng, 400, 400 + extra, degree, high)
    row, col = min_weight_full_bipartite_matching(graph)
    assert oracles.solved(graph, expected=False).cost == graph[row, col].sum()
    limit = rng.integers(0, high + 1, 400)
    # One is added to all costs, for SciPy takes an explicit zero for a pair that is not allowed.
    more = graph.copy()
    more.data = more.data + 1.0
    private = csr_array((limit + 1.0, np.arange(400), np.arange(401)), shape=(400, 400))
    both = hstack((more, private)).tocsr()
    row, col = min_weight_full_bipartite_matching(both)
    found = oracles.solved(graph, limit, expected=False)
    assert oracles.total_of(found, limit) == both[row, col].sum() - 400
