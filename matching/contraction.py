"""Contraction: the coarse graph of a graph whose vertices fall into clusters, and the merges that make the clusters.

Returns a GeneralGraph: each cluster is a coarse vertex, numbered in the order of the lowest of its vertices; edges
between the same two clusters become one, their weights are added; edges within a cluster vanish.

Arrays (n fine vertices, c coarse ones)
  parent[v]      v's cluster is that of parent[parent[v]], and of parent[v]; v: nothing takes it further
  label[v]       the coarse vertex that v belongs to
  following[v]   the next vertex of v's cluster in ascending order, -1: v is the last
  place[d]       where the edge to coarse vertex d stands, if that is within what belongs to the present one

Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012,
section 1: coarsening merges the pairs of a matching.
Holtgrewe, Sanders, Schulz. "Engineering a scalable high quality graph partitioner." IPDPS 2010: expansion*2.

O(n + m) time.
"""

import numpy as np

from gridcut.device import kernel
from matching.general_graph import GeneralGraph


@kernel
def list_merges_kernel(ptr, adj, weight, partner, join, dominance, most, child, into, rate):
    """The pairs of a matching, and where `join` is set each free vertex with the neighbour it is joined to by its
    heaviest edge; with the weights of these edges.  Returns their number.

    most[v]   weight of v's heaviest edge; those that are not at least `dominance` times it at both ends are left out

    The neighbours of free vertices are matched, so the edges form a forest in which no path is longer than three: any
    choice of them merges as many vertices as it has edges.
    """
    for v in range(partner.size):
        most[v] = 0
        for k in range(ptr[v], ptr[v + 1]):
            most[v] = max(most[v], weight[k])
    count = 0
    for v in range(partner.size):
        w = partner[v]
        best = -1
        if w > v:
            best = ptr[v]
            while adj[best] != w:
                best += 1
        elif w < 0 and join:
            for k in range(ptr[v], ptr[v + 1]):
                if best < 0 or weight[k] > weight[best]:
                    best = k
        if best >= 0 and weight[best] >= dominance * max(most[v], most[adj[best]]):
            child[count] = w if w >= 0 else v
            into[count] = v if w >= 0 else adj[best]
            rate[count] = weight[best]
            count += 1
    return count


@kernel
def label_kernel(parent, number, last, label, following):
    """Number the clusters and chain their vertices; returns how many clusters there are.

    number[v]   of the cluster whose vertices lead to v; last[c]   the highest vertex of cluster c so far
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


@kernel
def merge_kernel(ptr, adj, weight, label, following, place, upper_ptr, upper_adj, upper_weight, degree):
    """Edges from each coarse vertex to those of higher number, in any order, and the degrees of all."""
    count = 0
    c = 0
    place[:] = -1
    degree[:] = 0
    for v in range(label.size):
        if label[v] != c:  # done with the lowest of its cluster
            continue
        begin = count
        member = v
        while member >= 0:
            for k in range(ptr[member], ptr[member + 1]):
                d = label[adj[k]]
                if d <= c:
                    continue
                if place[d] >= begin:
                    upper_weight[place[d]] += weight[k]
                else:
                    place[d] = count
                    upper_adj[count] = d
                    upper_weight[count] = weight[k]
                    count += 1
                    degree[d] += 1
            member = following[member]
        degree[c] += count - begin
        c += 1
        upper_ptr[c] = count


@kernel
def mirror_kernel(upper_ptr, upper_adj, upper_weight, ptr, free, adj, weight):
    """Edges stored at both ends, ascending in each row; `free` holds a copy of the starts of the rows.

    Lower neighbours come first in a row, and ascend because c does; then a walk over them in the order of d puts the
    higher ones after them, which ascend because d does.
    """
    n = upper_ptr.size - 1
    for c in range(n):
        for k in range(upper_ptr[c], upper_ptr[c + 1]):
            d = upper_adj[k]
            adj[free[d]] = c
            weight[free[d]] = upper_weight[k]
            free[d] += 1
    for d in range(n):
        k = ptr[d]
        # What the second walk has put into this row itself is higher than d.
        while k < ptr[d + 1] and k < free[d] and adj[k] < d:
            c = adj[k]
            adj[free[c]] = d
            weight[free[c]] = weight[k]
            free[c] += 1
            k += 1


@kernel
def expansion_kernel(ptr, adj, weight, vertex_weight, rated):
    """weight / sqrt(product of the weights of the ends), which is the same at both ends to the last bit."""
    for v in range(ptr.size - 1):
        for k in range(ptr[v], ptr[v + 1]):
            rated[k] = weight[k] / (np.sqrt(vertex_weight[v]) * np.sqrt(vertex_weight[adj[k]]))


def list_merges(rated: GeneralGraph, partner, join: bool, dominance: float):
    """What may be merged: children, no two of them the same, what each goes into, and the weights of these edges."""
    child, into = np.empty(rated.n, np.int32), np.empty(rated.n, np.int32)
    weight = rated.weights()
    rate = np.empty(rated.n, weight.dtype)
    most = np.empty(rated.n, weight.dtype)
    count = list_merges_kernel(rated.ptr, rated.adj, weight, partner, join, dominance, most, child, into, rate)
    return child[:count], into[:count], rate[:count]


def heaviest(merges, count: int):
    """The heaviest so many of the merges, in the order in which they are listed; of equal ones the first."""
    child, into, rate = merges
    if count >= len(rate):
        return merges
    if not count:
        return child[:0], into[:0], rate[:0]
    least = np.partition(rate, len(rate) - count)[len(rate) - count]
    kept = rate > least
    kept[np.flatnonzero(rate == least)[: count - np.count_nonzero(kept)]] = True
    return child[kept], into[kept], rate[kept]


def cluster(n: int, child, into):
    """(label, following, number of clusters) of n vertices after merges."""
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
    place, degree = np.empty(n, np.int64), np.empty(n, np.int64)
    merge_kernel(graph.ptr, graph.adj, fine_weight, label, following, place, upper_ptr, upper_adj, upper_weight, degree)
    ptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(degree)])
    adj, weight = np.empty(ptr[-1], np.int32), np.empty(ptr[-1], fine_weight.dtype)
    mirror_kernel(upper_ptr, upper_adj, upper_weight, ptr, ptr[:-1].copy(), adj, weight)
    return GeneralGraph(ptr, adj, weight)
