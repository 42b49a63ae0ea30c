"""The assignment problem as a minimum-cost flow: every edge has capacity one, and supply equals demand.

  rows ── 1 ──► columns                   d(row) = 1, d(column) = -1
  row i ─ limit[i] ─► column m + i        a dummy column: the row may stay unmatched at that cost
  z ────── 0 ──► every column             d(z) = columns - rows: sends a unit to each remaining column

Dummy columns and z exist only if they are needed: for a square problem without limits, this is the network of
Łupińska's section 5.  Both are ordinary nodes and edges, so the algorithms need no special cases and no "large enough"
cost.  Forbidden pairs have no edge.

Arrays (V nodes: rows, z, columns; an edge (x, y) is stored at x, and its reverse at y)         paper [1]
  first[x] ... last[x] - 1      edges of x; from last[x] to first[x + 1] those that are fixed    E
  head[a]                       y of edge a = (x, y)
  mate[a]                       the edge (y, x);  mate[mate[a]] == a
  c[a]                          c(x, y);  c[mate[a]] == -c[a]
  u_f[a]                        1: residual, 0: not;  u_f[mate[a]] == 1 - u_f[a]
  d[x]                          supply;  0 in sum                                                d(x)
  e[x]                          excess = d(x) - what leaves x;  > 0: active                      e(x)
  p[x]                          price                                                            p(x)

Load and unload: from costs to a network of integers, and from the optimal flow back to pairs and prices

Integers, and floats with integer values: costs are multiplied by one more than the number of edges in a cycle that may
cost -eps each (`Rules.losses`).  A 1-optimal flow is then optimal: the cost of a cycle is a multiple of the multiplier,
and greater than minus the multiplier.  This is the paper's "eps < 1 / n", exactly.  `exact_prices` computes the prices
of the original costs.

Other floats: costs are rounded to multiples of a unit, the smallest power of two for which prices cannot leave int64.
A relabeled node has a path to a node with a deficit whose price has not changed, and that path was eps-optimal in
reverse before eps was divided by alpha [2].  So prices stay above

    -C (L (alpha + 1) / (alpha - 1) + L + 3),     C the largest cost, L = 2 |X| edges of the longest path,

where the second L is for the prices of a warm start.  1-optimal prices deviate by at most two units, which is hundreds
of times less than the certificate allows.

Exact prices of the original integer costs, from prices that are optimal up to eps, satisfy c_p >= 0 for every pair, and
c_p == 0 for pairs with flow.  The prices of cost scaling are rounded down to multiples of the multiplier, and then
lowered where an edge requires it (Bellman's method with a queue).  This terminates because an optimal flow has no cycle
of negative cost.  Rounded prices deviate by less than one original unit, and the edges of a path by less than another,
so each price falls at most twice (unless fixed edges require more): three scans per node.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, sections 5 and 5.1.
[2] Goldberg, Tarjan. "Finding minimum-cost circulations by successive approximation." Math. Oper. Res. 15, 1990.
[3] Ahuja, Magnanti, Orlin. "Network Flows." Prentice Hall, 1993, sections 5.4 and 9.3.

Memory 34 bytes per pair.  Exact prices: time O(n m) for any optimal flow, O(m) for one that comes from cost scaling.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device import kernel, plain_kernel

MAX_EDGES = 2**31 - 1  # edge indices are int32
INFINITY = np.iinfo(np.int64).max  # more than any reduced cost or distance
MAX_COST = 2**60  # largest absolute cost in the network


class Network(NamedTuple):
    """The arrays above, and the number of nodes of X, which come first."""

    first: np.ndarray
    last: np.ndarray
    head: np.ndarray
    mate: np.ndarray
    c: np.ndarray
    u_f: np.ndarray
    d: np.ndarray
    e: np.ndarray
    p: np.ndarray
    x_nodes: int


@kernel
def connect(indptr, indices, cost, y_nodes, first, head, mate, c, u_f):
    """Store every pair at its row and at its column, without flow."""
    x_nodes = len(indptr) - 1
    pairs = len(indices)
    first[: x_nodes + 1] = indptr
    first[x_nodes + 1 :] = 0
    for k in range(pairs):
        first[x_nodes + 1 + indices[k]] += 1
    for y in range(x_nodes, x_nodes + y_nodes):
        first[y + 1] += first[y]
    next_free = first[x_nodes:-1].copy()
    for x in range(x_nodes):
        for a in range(indptr[x], indptr[x + 1]):
            y = indices[a]
            b = next_free[y]
            next_free[y] = b + 1
            head[a] = x_nodes + y
            head[b] = x
            mate[a] = b
            mate[b] = a
            c[a] = cost[a]
            c[b] = -cost[a]
            u_f[a] = 1
            u_f[b] = 0


def with_dummy_columns(indptr, indices, cost, columns: int, limit):
    """Rows in CSR, with an edge to a dummy column appended to each row with a finite limit."""
    finite = np.isfinite(limit)
    shifted = indptr.copy()
    shifted[1:] += np.cumsum(finite)
    numbers = columns + np.flatnonzero(finite).astype(np.int32)
    at = indptr[1:][finite]
    cost = cost.astype(np.result_type(cost, limit), copy=False)  # `insert` would wrap limits around in a narrower dtype
    return shifted, np.insert(indices, at, numbers), np.insert(cost, at, limit[finite]), columns + len(limit)


def make_network(indptr, indices, cost, columns: int) -> Network:
    """The network of rows in CSR with int64 costs; if there are more columns than rows, some stay empty."""
    rows = len(indptr) - 1
    over = columns - rows
    if over > 0:
        indptr = np.append(indptr, indptr[-1] + columns)
        indices = np.append(indices, np.arange(columns, dtype=np.int32))
        cost = np.append(cost, np.zeros(columns, np.int64))
    x_nodes = len(indptr) - 1
    nodes, edges = x_nodes + columns, 2 * len(indices)
    if edges > MAX_EDGES:
        raise ValueError(f"this method accepts at most {MAX_EDGES // 2} pairs, got {len(indices)}; use method='auto'")
    d = np.ones(nodes, np.int64)
    d[rows:x_nodes] = over
    d[x_nodes:] = -1
    network = Network(
        first=np.empty(nodes + 1, np.int64),
        last=np.empty(nodes, np.int64),
        head=np.empty(edges, np.int32),
        mate=np.empty(edges, np.int32),
        c=np.empty(edges, np.int64),
        u_f=np.empty(edges, np.int8),
        d=d,
        e=d.copy(),
        p=np.zeros(nodes, np.int64),
        x_nodes=x_nodes,
    )
    connect(indptr, indices, cost, columns, network.first, network.head, network.mate, network.c, network.u_f)
    restore_edges(network)
    return network


def restore_edges(network: Network) -> None:
    """Restore all fixed edges."""
    network.last[:] = network.first[1:]


@plain_kernel
def partner_of(network, rows, partner):
    """partner[x] = index of the column to which row x sends its unit."""
    for x in range(rows):
        for a in range(network.first[x], network.first[x + 1]):
            if network.u_f[a] == 0:
                partner[x] = network.head[a] - network.x_nodes
                break


@plain_kernel
def tighten(network):
    """Lower the price of each column with flow so that the edge of the flow has c_p >= 0.

    A full edge may have c_p < 0, because its capacity is one unit; but its column takes only one unit anyway.
    """
    for x in range(network.x_nodes):
        for a in range(network.first[x], network.first[x + 1]):
            if network.u_f[a] == 0:
                y = network.head[a]
                network.p[y] = min(network.p[y], network.c[a] + network.p[x])


@plain_kernel
def lower_prices(network, price, queue, waits):
    """Lower prices until no edge from X, full or not, and none with flow back to X, has a negative reduced cost."""
    first, head, c, u_f = network.first, network.head, network.c, network.u_f
    size = len(price)
    front = 0
    waiting = size
    for x in range(size):
        queue[x] = x
        waits[x] = True
    while waiting > 0:
        x = queue[front]
        front = front + 1 if front + 1 < size else 0
        waiting -= 1
        waits[x] = False
        base = price[x]
        for a in range(first[x], first[x + 1]):
            y = head[a]
            if base + c[a] < price[y] and (u_f[a] == 1 or x < network.x_nodes):
                price[y] = base + c[a]
                if not waits[y]:
                    waits[y] = True
                    at = front + waiting
                    queue[at if at < size else at - size] = y
                    waiting += 1


def exact_prices(network, multiplier: int):
    """Prices of the original costs for the flow of the network, which must be optimal; fixed edges count too.

    Every pair has c_p >= 0, and pairs with flow have c_p = 0.
    """
    price = network.p // multiplier * multiplier
    lower_prices(network, price, np.empty(len(price), np.int32), np.empty(len(price), np.bool_))
    return price // multiplier


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
