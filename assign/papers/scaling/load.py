"""From costs to a network of integers, and from the optimal flow back to pairs and prices.

Integers, and floats with integer values: costs are multiplied by one more than the number of edges in a cycle that may
cost -eps each (`Rules.losses`).  A 1-optimal flow is then optimal: the cost of a cycle is a multiple of the multiplier,
and greater than minus the multiplier.  This is the paper's "eps < 1 / n", exactly.  exact_prices.py computes the prices
of the original costs.

Other floats: costs are rounded to multiples of a unit, the smallest power of two for which prices cannot leave int64.
A relabeled node has a path to a node with a deficit whose price has not changed, and that path was eps-optimal in
reverse before eps was divided by alpha [1].  So prices stay above

    -C (L (alpha + 1) / (alpha - 1) + L + 3),     C the largest cost, L = 2 |X| edges of the longest path,

where the second L is for the prices of a warm start.  1-optimal prices deviate by at most two units, which is hundreds
of times less than the certificate allows.

[1] Goldberg, Tarjan. "Finding minimum-cost circulations by successive approximation." Math. Oper. Res. 15, 1990.
"""

from typing import NamedTuple

import numpy as np

from assign.papers.scaling.exact_prices import exact_prices, tighten
from assign.papers.scaling.network import Network, make_network, partner_of, restore_edges, with_dummy_columns

MAX_COST = 2**60  # largest absolute cost in the network


class Task(NamedTuple):
    """A network whose costs are the original ones * multiplier (integers), or / 2^exponent (floats)."""

    network: Network
    rows: int
    columns: int
    largest: int  # largest absolute cost in the network
    multiplier: int
    exponent: int | None
    floats: bool
    limit: np.ndarray | None


def rows_of_dense(cost):
    """A dense matrix in CSR form, without its infinite costs."""
    n, m = cost.shape
    if cost.dtype.kind == "f" and np.isinf(cost).any():
        allowed = np.isfinite(cost)
        indptr = np.zeros(n + 1, np.int64)
        np.cumsum(np.count_nonzero(allowed, axis=1), out=indptr[1:])
        return indptr, np.nonzero(allowed)[1].astype(np.int32), cost[allowed]
    return np.arange(n + 1, dtype=np.int64) * m, np.tile(np.arange(m, dtype=np.int32), n), cost.reshape(-1)


def load(indptr, indices, cost, m: int, limit, rules, alpha: int, ceiling: float = np.inf) -> Task:
    """The network of a problem in CSR form, with costs cut off at the ceiling; raises InfeasibleError."""
    m = int(m)
    rows, columns = len(indptr) - 1, m
    if cost.dtype.kind == "f" or (limit is not None and limit.dtype.kind == "f"):
        cost = cost.astype(np.float64, copy=False)
    if limit is not None:
        indptr, indices, cost, columns = with_dummy_columns(indptr, indices, cost, m, limit)
    if len(indices) < rows * m and not (limit is not None and np.isfinite(limit).all()):
        from assign.sparse.feasible import check_feasible

        check_feasible(indptr, indices, rows, columns)
    x_nodes = rows + (columns > rows)
    if ceiling < np.inf:
        cost = np.minimum(cost, ceiling)
    multiplier, exponent = rules.losses(x_nodes) + 1, None
    floats = cost.dtype.kind == "f"
    largest = max(cost.max(initial=0).item(), -cost.min(initial=0).item())
    if not floats and largest * multiplier > MAX_COST:
        raise ValueError(
            f"costs up to {largest} are too large for cost scaling, which accepts at most {MAX_COST // multiplier} "
            f"here; use method='auto'"
        )
    if floats and (largest * multiplier > MAX_COST or (cost != np.rint(cost)).any()):
        multiplier = 1
        paths = 2 * x_nodes * (alpha + 1) // (alpha - 1) + 2 * x_nodes + 3
        # frexp: largest < 2^its second result
        exponent = int(np.frexp(largest)[1]) + (2 * paths).bit_length() - 61
        integers = np.rint(np.ldexp(cost, -exponent)).astype(np.int64)
        largest = int(np.abs(integers).max())
    else:
        integers = cost.astype(np.int64) * multiplier
    largest = int(largest) * multiplier
    network = make_network(indptr, indices, integers, columns)
    return Task(network, rows, m, largest, multiplier, exponent, floats, limit)


def unload(task: Task):
    """Column of each row (-1: unmatched), and prices u and v of the original costs, from an optimal flow."""
    network, rows, columns = task.network, task.rows, task.columns
    x_nodes = network.x_nodes
    restore_edges(network)
    partner = np.empty(rows, np.int32)
    partner_of(network, rows, partner)
    tighten(network)
    if task.exponent is None:
        prices = exact_prices(network, task.multiplier)
    else:
        prices = network.p
    zero = prices[rows] if x_nodes > rows else 0  # price of z, so that unmatched columns have price 0
    u, v = zero - prices[:rows], prices[x_nodes : x_nodes + columns] - zero
    if task.exponent is not None:
        u, v = np.ldexp(u.astype(np.float64), task.exponent), np.ldexp(v.astype(np.float64), task.exponent)
    elif task.floats:
        u, v = u.astype(np.float64), v.astype(np.float64)
    matched = partner < columns
    if x_nodes > rows:
        # Exact for integers; floats deviate by up to two units.
        left_over = np.ones(columns, bool)
        left_over[partner[matched]] = False
        v[left_over] = 0
        np.minimum(v, 0, out=v)
    if task.limit is not None:
        np.minimum(u, task.limit, out=u, casting="unsafe")
        # The dummy column of a row may have a price below 0, and the row then a price above its limit.
        u[~matched] = task.limit[~matched]
    return np.where(matched, partner, -1).astype(np.int32), u, v
