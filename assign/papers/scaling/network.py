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

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 5.

Memory 34 bytes per pair.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device import kernel

MAX_EDGES = 2**31 - 1  # edge indices are int32
INFINITY = np.iinfo(np.int64).max  # more than any reduced cost or distance


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


@kernel
def partner_of(network, rows, partner):
    """partner[x] = index of the column to which row x sends its unit."""
    for x in range(rows):
        for a in range(network.first[x], network.first[x + 1]):
            if network.u_f[a] == 0:
                partner[x] = network.head[a] - network.x_nodes
                break
