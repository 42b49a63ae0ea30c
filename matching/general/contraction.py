"""Contraction: the coarse graph of a clustered graph, and the merges that create the clusters.

Returns a GeneralGraph: each cluster is a coarse vertex, numbered in the order of its lowest vertex; edges between the
same two clusters become one, with the sum of their weights; edges within a cluster vanish.

Arrays (n fine vertices, c coarse vertices)
  parent[v]      v belongs to the cluster of parent[v] and of parent[parent[v]]; v: a root
  label[v]       the coarse vertex of v
  following[v]   the next vertex of v's cluster in ascending order, -1: v is the last
  position[d]    position of the edge to coarse vertex d, if it is in the range of the current cluster

[1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012,
    section 1: coarsening merges the pairs of a matching.
[2] Holtgrewe, Sanders, Schulz. "Engineering a scalable high quality graph partitioner." IPDPS 2010: expansion*2.

Indices are unsigned: numba then omits its test for negative indices.

O(n + m) time.
"""

import numpy as np

from gridcut.device import plain_kernel
from matching.general.general_graph import GeneralGraph
from matching.general.order import ONE


@plain_kernel
def list_merges_kernel(ptr, adj, weight, partner, join, dominance, max_weight, child, into, rate):
    """List the pairs of a matching, and with `join` each unmatched vertex with the neighbour along its heaviest edge.

    Also lists the weights of these edges; returns their number.

    max_weight[v]   weight of v's heaviest edge; edges below `dominance` times it at either end are omitted

    The neighbours of unmatched vertices are matched, so the edges form a forest without paths of more than three edges:
    any subset of them merges as many vertices as it has edges.
    """
    for v in range(np.uint64(partner.size)):
        heaviest = weight.dtype.type(0)
        for k in range(np.uint64(ptr[v]), np.uint64(ptr[v + ONE])):
            heaviest = max(heaviest, weight[k])
        max_weight[v] = heaviest
    count = 0
    for v in range(np.uint64(partner.size)):
        w = np.int64(partner[v])
        best = np.int64(-1)
        if w > np.int64(v):
            best = ptr[v]
            while adj[np.uint64(best)] != w:
                best += 1
        elif w < 0 and join:
            for k in range(np.uint64(ptr[v]), np.uint64(ptr[v + ONE])):
                if best < 0 or weight[k] > weight[np.uint64(best)]:
                    best = np.int64(k)
        if best >= 0:
            other = adj[np.uint64(best)]
            entry_weight = weight[np.uint64(best)]
            if entry_weight >= dominance * max(max_weight[v], max_weight[np.uint64(other)]):
                child[count] = w if w >= 0 else np.int64(v)
                into[count] = np.int64(v) if w >= 0 else other
                rate[count] = entry_weight
                count += 1
    return count


@plain_kernel
def label_kernel(parent, number, last, label, following):
    """Number the clusters and link their vertices; returns the number of clusters.

    number[v]   cluster whose root is v; last[c]   highest vertex of cluster c so far
    """
    count = 0
    number[:] = -1
    for v in range(parent.size):
        root = parent[parent[v]]
        c = number[root]
        if c < 0:
            c = count
            number[root] = c
            count += 1
        else:
            following[last[c]] = v
        last[c] = v
        label[v] = c
        following[v] = -1
    return count


@plain_kernel
def merge_kernel(ptr, adj, weight, label, following, position, upper_ptr, upper_adj, upper_weight, degree):
    """Edges from each coarse vertex to those of higher number, in any order, and the degrees of all."""
    count = np.int64(0)
    c = np.int64(0)
    position[:] = -1
    degree[:] = 0
    for v in range(np.uint64(label.size)):
        if label[v] != c:  # done with the lowest of its cluster
            continue
        begin = count
        member = np.int64(v)
        while member >= 0:
            m = np.uint64(member)
            for k in range(np.uint64(ptr[m]), np.uint64(ptr[m + ONE])):
                d = np.int64(label[np.uint64(adj[k])])
                if d <= c:
                    continue
                at = position[np.uint64(d)]
                if at >= begin:
                    upper_weight[np.uint64(at)] += weight[k]
                else:
                    position[np.uint64(d)] = count
                    upper_adj[np.uint64(count)] = d
                    upper_weight[np.uint64(count)] = weight[k]
                    count += 1
                    degree[np.uint64(d)] += 1
            member = np.int64(following[m])
        degree[c] += count - begin
        c += 1
        upper_ptr[c] = count


@plain_kernel
def mirror_kernel(upper_ptr, upper_adj, upper_weight, ptr, free, adj, weight):
    """Edges stored at both ends, ascending in each row; `free` holds a copy of the starts of the rows.

    Lower neighbours come first in a row, and ascend because c does; then a walk over them in the order of d puts the
    higher ones after them, which ascend because d does.
    """
    n = np.uint64(upper_ptr.size - 1)
    for c in range(n):
        for k in range(np.uint64(upper_ptr[c]), np.uint64(upper_ptr[c + ONE])):
            d = np.uint64(upper_adj[k])
            at = np.uint64(free[d])
            adj[at] = c
            weight[at] = upper_weight[k]
            free[d] += 1
    for d in range(n):
        k = np.uint64(ptr[d])
        # What the second walk has put into this row itself is higher than d.
        while k < np.uint64(ptr[d + ONE]) and k < np.uint64(free[d]) and np.uint64(adj[k]) < d:
            c = np.uint64(adj[k])
            at = np.uint64(free[c])
            adj[at] = d
            weight[at] = weight[k]
            free[c] += 1
            k += ONE


@plain_kernel
def expansion_kernel(ptr, adj, weight, root, rated):
    """weight / sqrt(product of the weights of the ends), bitwise equal at both ends.

    root[v]   the square root of v's weight
    """
    for v in range(np.uint64(ptr.size - 1)):
        for k in range(np.uint64(ptr[v]), np.uint64(ptr[v + ONE])):
            rated[k] = weight[k] / (root[v] * root[np.uint64(adj[k])])


def list_merges(rated: GeneralGraph, partner, join: bool, dominance: float):
    """The possible merges: distinct children, the vertex each is merged into, and the weights of these edges."""
    child, into = np.empty(rated.n, np.int32), np.empty(rated.n, np.int32)
    weight = rated.weights()
    rate = np.empty(rated.n, weight.dtype)
    max_weight = np.empty(rated.n, weight.dtype)
    count = list_merges_kernel(rated.ptr, rated.adj, weight, partner, join, dominance, max_weight, child, into, rate)
    return child[:count].copy(), into[:count].copy(), rate[:count].copy()  # a hierarchy keeps them: no spare memory


def heaviest_merges(merges, count: int):
    """The `count` heaviest merges, in the order in which they are listed; of equal ones the first."""
    child, into, rate = merges
    if count >= len(rate):
        return merges
    if not count:
        return child[:0], into[:0], rate[:0]
    lowest = np.partition(rate, len(rate) - count)[len(rate) - count]
    kept = rate > lowest
    kept[np.flatnonzero(rate == lowest)[: count - np.count_nonzero(kept)]] = True
    return child[kept], into[kept], rate[kept]


def cluster(n: int, child, into):
    """(label, following, number of clusters) of n vertices after the given merges."""
    parent = np.arange(n, dtype=np.int32)
    parent[child] = into
    number, last, label, following = (np.empty(n, np.int32) for _ in range(4))
    return label, following, label_kernel(parent, number, last, label, following)


def contract(graph: GeneralGraph, label, following, n: int) -> GeneralGraph:
    """The coarse graph of n clusters."""
    fine_weight = graph.weights()
    upper_ptr = np.zeros(n + 1, np.int64)
    upper_adj = np.empty(graph.edges, np.int32)
    upper_weight = np.empty(graph.edges, fine_weight.dtype)
    position, degree = np.empty(n, np.int64), np.empty(n, np.int64)
    merge_kernel(
        graph.ptr, graph.adj, fine_weight, label, following, position, upper_ptr, upper_adj, upper_weight, degree
    )
    ptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(degree)])
    adj, weight = np.empty(ptr[-1], np.int32), np.empty(ptr[-1], fine_weight.dtype)
    mirror_kernel(upper_ptr, upper_adj, upper_weight, ptr, ptr[:-1].copy(), adj, weight)
    return GeneralGraph(ptr, adj, weight)
