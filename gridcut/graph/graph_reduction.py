"""Trees and chains of a graph, solved or contracted before the search: exact reductions of the residual graph.

`reduce_graph` changes the residual graph to one with fewer nodes to search, and `restore_graph` changes it back, with
the flow that the search has found.

1. A leaf, a node with a single neighbour, pushes its excess to that neighbour, or its deficit: as much as the arc
   carries.  It has no other use for either.  Then it is removed, and its neighbour may be the next leaf.  A tree, or a
   forest, is solved by this alone.
2. A chain of nodes without excess, each with two neighbours, becomes one arc between its ends, with the minimum
   capacity of its arcs.  The arcs of both ends are redirected, so two arcs may lead to the same node:

       arcs of a: ──► v        ──► w ... x ──►           arcs of b: ──► x        becomes        a ──► b,  b ──► a

No list is copied.  The residuals of a removed leaf and of the nodes of a chain are stored at these nodes too, so the
arcs of the others can be overwritten.  A leaf may keep some excess or a deficit, which its arc cannot carry; it is set
aside, so the search does not start at a removed node.

Arrays, in addition to those of residual_graph.py
  degree[u]       number of neighbours that are not removed; 0: u is removed, or the last node of its tree
  leaves[2 i]     the i-th removed leaf;  leaves[2 i + 1]: its arc to the remaining neighbour;  left[i]: its excess
  chains[6 i]     first arc a -> v of the i-th chain, v, and the arc v -> a;  the same at b: b -> x, x, x -> b

Time and memory O(nodes + arcs).
"""

from typing import NamedTuple

import numpy as np

from gridcut.device import inlined_kernel, plain_kernel
from gridcut.graph.graph_forest import move_flow
from gridcut.graph.residual_graph import ARC, BACK, OUT, REVERSE, ResidualGraph

MIN_NODES = 1000  # smaller graphs are solved in less time than these kernels take to compile and to call
MIN_NARROW_SHARE = 0.125  # nodes with at most two neighbours, per node, from which reductions take less than they save


class Reduction(NamedTuple):
    """What `restore_graph` needs: the removed leaves, their excess, the chains, and the numbers of neighbours."""

    leaves: np.ndarray
    left: np.ndarray
    chains: np.ndarray
    degree: np.ndarray


@plain_kernel
def count_narrow_nodes(first):
    """The number of nodes with one or two arcs."""
    count = 0
    for u in range(first.size - 1):
        arcs = first[u + 1] - first[u]
        if (arcs > 0) & (arcs <= 8):
            count += 1
    return count


@plain_kernel
def push_from_leaves(first, arcs, excess, degree, leaves, left):
    """Write the degrees, and solve and remove leaves until none is left; returns their number."""
    for u in range(excess.size):
        degree[u] = (first[u + 1] - first[u]) >> 2
    count = 0
    for u in range(excess.size):
        v = np.uint64(u)
        while degree[v] == 1:
            a = np.uint64(first[v])
            while degree[np.uint64(arcs[a])] == 0:
                a += ARC
            w = np.uint64(arcs[a])
            held = np.int64(excess[v])
            amount = min(max(held, -np.int64(arcs[a + BACK])), np.int64(arcs[a + OUT]))
            arcs[a + OUT] -= amount
            arcs[a + BACK] += amount
            excess[v] = 0
            excess[w] += amount
            left[count] = held - amount
            b = np.uint64(arcs[a + REVERSE])
            arcs[b + OUT] = 0
            arcs[b + BACK] = 0
            degree[v] = 0
            degree[w] -= 1
            leaves[2 * count] = v
            leaves[2 * count + 1] = a
            count += 1
            v = w
    return count


@inlined_kernel
def is_link(v, excess, degree):
    """Whether a node is an inner node of a chain."""
    return (degree[v] == 2) & (excess[v] == 0)


@inlined_kernel
def next_arc(v, back, first, arcs, degree):
    """The arc of an inner node of a chain to the neighbour that arc `back` does not lead to."""
    a = np.uint64(first[v])
    while a == back or degree[np.uint64(arcs[a])] == 0:
        a += ARC
    return a


@plain_kernel
def contract_chains(first, arcs, excess, degree, chains):
    """Redirect the arcs at both ends of every chain; returns the number of chains.

    A chain that leads from a node to itself remains.
    """
    count = 0
    for u in range(excess.size):
        if degree[u] == 0 or is_link(u, excess, degree):
            continue
        start = np.uint64(first[u])
        end = np.uint64(first[u + 1])
        while start < end:
            v = np.uint64(arcs[start])
            if is_link(v, excess, degree):
                back_arc = np.uint64(arcs[start + REVERSE])
                out, back = arcs[start + OUT], arcs[start + BACK]
                x, w = v, v
                a, last = back_arc, back_arc
                while is_link(w, excess, degree):
                    x = w
                    a = next_arc(x, a, first, arcs, degree)
                    out = min(out, arcs[a + OUT])
                    back = min(back, arcs[a + BACK])
                    w = np.uint64(arcs[a])
                    last, a = a, np.uint64(arcs[a + REVERSE])
                if w != u:
                    chains[6 * count] = start
                    chains[6 * count + 1] = v
                    chains[6 * count + 2] = back_arc
                    chains[6 * count + 3] = a
                    chains[6 * count + 4] = x
                    chains[6 * count + 5] = last
                    count += 1
                    arcs[start] = w
                    arcs[start + REVERSE] = a
                    arcs[start + OUT] = out
                    arcs[start + BACK] = back
                    arcs[a] = u
                    arcs[a + REVERSE] = start
                    arcs[a + OUT] = back
                    arcs[a + BACK] = out
            start += ARC
    return count


@plain_kernel
def restore_chains(first, arcs, degree, chains, n_chains, is_sink):
    """Restore the arcs of all chains, push the flow of the arc that replaced each, and label its inner nodes."""
    for i in range(n_chains):
        start, v, back_arc = np.uint64(chains[6 * i]), np.uint64(chains[6 * i + 1]), np.uint64(chains[6 * i + 2])
        end, x, last = np.uint64(chains[6 * i + 3]), np.uint64(chains[6 * i + 4]), np.uint64(chains[6 * i + 5])
        u, w = np.uint64(arcs[end]), np.uint64(arcs[start])
        left = np.int64(arcs[start + OUT])
        restore_pair(back_arc, start, v, arcs)
        restore_pair(last, end, x, arcs)
        # The flow is what is missing from the minimum capacity of the chain.
        a, y = start, v
        out = np.int64(arcs[a + OUT])
        while a != last:
            a = next_arc(y, np.uint64(arcs[a + REVERSE]), first, arcs, degree)
            out = min(out, np.int64(arcs[a + OUT]))
            y = np.uint64(arcs[a])
        flow = out - left
        # A node of the chain reaches a deficit through one of the ends, if at all.
        a, y = start, u
        reaches = is_sink[u]
        while True:
            if flow != 0:
                move_flow(arcs, a, flow)
            if a == last:
                break
            y = np.uint64(arcs[a])
            reaches &= arcs[a + BACK] > 0
            is_sink[y] = reaches
            a = next_arc(y, np.uint64(arcs[a + REVERSE]), first, arcs, degree)
        a = end
        reaches = is_sink[w]
        while reaches:
            y = np.uint64(arcs[a])
            reaches &= arcs[a + BACK] > 0
            if y == u or not reaches:
                break
            is_sink[y] = True
            a = next_arc(y, np.uint64(arcs[a + REVERSE]), first, arcs, degree)


@inlined_kernel
def restore_pair(a, b, head, arcs):
    """Restore arc b, which leads to node `head`, from its reverse a, which is an arc of that node."""
    arcs[b] = head
    arcs[b + REVERSE] = a
    arcs[b + OUT] = arcs[a + BACK]
    arcs[b + BACK] = arcs[a + OUT]


@plain_kernel
def restore_leaves(arcs, excess, leaves, left, is_sink):
    """Restore the arcs to all removed leaves and their excess, and label them, in the opposite order."""
    for i in range(left.size - 1, -1, -1):
        v, a = np.uint64(leaves[2 * i]), np.uint64(leaves[2 * i + 1])
        b = np.uint64(arcs[a + REVERSE])
        arcs[b + OUT] = arcs[a + BACK]
        arcs[b + BACK] = arcs[a + OUT]
        excess[v] = left[i]
        is_sink[v] = (left[i] < 0) | ((arcs[a + OUT] > 0) & is_sink[np.uint64(arcs[a])])


def reduce_graph(graph: ResidualGraph) -> Reduction | None:
    """Remove trees and contract chains in place.

    Returns None, and changes nothing, if the graph is small or few of its nodes have at most two neighbours.
    """
    if graph.nodes < MIN_NODES or count_narrow_nodes(graph.first) < MIN_NARROW_SHARE * graph.nodes:
        return None
    index_type = graph.first.dtype
    degree = np.empty(graph.nodes, index_type)
    leaves = np.empty(2 * graph.nodes, index_type)
    left = np.empty(graph.nodes, graph.excess.dtype)
    n_leaves = push_from_leaves(graph.first, graph.arcs, graph.excess, degree, leaves, left)
    chains = np.empty(6 * (graph.nodes - n_leaves), index_type)
    n_chains = contract_chains(graph.first, graph.arcs, graph.excess, degree, chains)
    return Reduction(leaves[: 2 * n_leaves], left[:n_leaves], chains[: 6 * n_chains], degree)


def restore_graph(graph: ResidualGraph, reduction: Reduction, is_sink: np.ndarray) -> None:
    """Restore the arcs of a reduced graph, with the flow of the reduced ones, and label the nodes that were removed.

    is_sink   nodes that can still reach a deficit; those of the reduced graph are set
    """
    leaves, left, chains, degree = reduction
    restore_chains(graph.first, graph.arcs, degree, chains, chains.size // 6, is_sink)
    restore_leaves(graph.arcs, graph.excess, leaves, left, is_sink)
