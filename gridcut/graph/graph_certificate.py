"""The certificate that a cut of a graph is minimal, checked against the caller's capacities.

The conditions (1) to (5) are those of gridcut/core/certificate.py, with nodes for pixels.  By the following one, the
state holds a flow: what is left at a node was not taken from the source, or does not go to the sink.

  (6)  -t(u) <= e(u) <= s(u)

The capacity of each arc is
summed here again from the caller's entries, whose arc is found by binary search, and the structure of the residual
graph is checked first; no code is shared with the construction or with a solver.
"""

import numpy as np

from gridcut.core import cut_capacity
from gridcut.core.certificate import CertificateError, Sums, certify_value, check_array, check_number, made_again
from gridcut.core.cut_capacity import to_sink_kernel
from gridcut.core.load import plane
from gridcut.core.units import difference, scale_of, units
from gridcut.device import plain_kernel
from gridcut.device.sparse import check_compressed
from gridcut.graph.graph_problem import GraphProblem, lists_of
from gridcut.graph.graph_value import float_cut, integer_cut
from gridcut.graph.residual_graph import ResidualGraph, find_arc


@plain_kernel
def structure_kernel(first, arcs):
    """Whether heads ascend at every node, and the arcs are paired with their reverses, whose residuals they repeat."""
    nodes = first.size - 1
    if first[0] != 0 or first[nodes] != arcs.size:
        return False
    for u in range(nodes):
        if first[u + 1] < first[u] or first[u] % 4 != 0:
            return False
    for u in range(nodes):
        before = -1
        for a in range(first[u], first[u + 1], 4):
            v = arcs[a]
            b = arcs[a + 1]
            if v <= before or v >= nodes or v == u or b < first[v] or b >= first[v + 1] or b % 4 != 0:
                return False
            if arcs[b] != u or arcs[b + 1] != a or arcs[b + 3] != arcs[a + 2]:
                return False
            before = v
    return True


@plain_kernel
def capacities_kernel(indptr, indices, capacity, scale, first, arcs, total):
    """Add the capacity of every entry to that of its arc; the first entry without an arc, -1: none."""
    for u in range(indptr.size - 1):
        for i in range(indptr[u], indptr[u + 1]):
            v = indices[i]
            if v == u:
                continue
            a = find_arc(first, arcs, u, v)
            if a == first[u + 1] or arcs[a] != v:
                return i
            total[a >> 2] += units(capacity[i], scale)
    return -1


@plain_kernel
def terminals_kernel(source, sink, scale, is_clamped, first, arcs, total, highest, lowest):
    """Write source and -sink of every node; if the problem is clamped, their difference in one of them, clamped."""
    for u in range(highest.size):
        highest[u] = units(source[u], scale)
        lowest[u] = -units(sink[u], scale)
        if scale is not None:
            if is_clamped:
                out = np.int64(1)
                into = np.int64(1)
                for a in range(first[u], first[u + 1], 4):
                    out += total[a >> 2]
                    into += total[arcs[a + 1] >> 2]
                start = max(-into, min(out, difference(source[u], sink[u], scale)))
                highest[u] = max(start, np.int64(0))
                lowest[u] = min(start, np.int64(0))


@plain_kernel
def certify_graph_kernel(first, arcs, excess, highest, lowest, total, labels):
    """The first of the conditions (1) to (3) and (6) that fails, and where: (condition, node, head of the arc)."""
    for u in range(excess.size):
        net_out = np.int64(0)
        for a in range(first[u], first[u + 1], 4):
            v = arcs[a]
            r = np.int64(arcs[a + 2])
            if r < 0 or r + np.int64(arcs[a + 3]) != total[a >> 2] + total[arcs[a + 1] >> 2]:
                return 1, u, v
            if r > 0 and labels[u] and not labels[v]:
                return 3, u, v
            net_out += total[a >> 2] - r
        if np.int64(excess[u]) != highest[u] + lowest[u] - net_out:
            return 2, u, -1
        if excess[u] > highest[u] or excess[u] < lowest[u]:
            return 6, u, -1
        if (labels[u] and excess[u] < 0) or (not labels[u] and excess[u] > 0):
            return 3, u, -1
    return 0, -1, -1


@plain_kernel
def reaches_deficit_kernel(first, arcs, excess, reached, queue):
    """Mark the nodes from which a deficit can be reached: a breadth-first search that no solver uses."""
    tail = 0
    for u in range(excess.size):
        if excess[u] < 0:
            reached[u] = True
            queue[tail] = u
            tail += 1
    front = 0
    while front < tail:
        v = queue[front]
        front += 1
        for a in range(first[v], first[v + 1], 4):
            u = arcs[a]
            if not reached[u] and arcs[arcs[a + 1] + 2] > 0:
                reached[u] = True
                queue[tail] = u
                tail += 1


def certify_graph(value, labels, problem: GraphProblem, graph: ResidualGraph) -> None:
    """Check all conditions; raises CertificateError for the first that fails."""
    check_array("labels", labels, np.bool_, (problem.nodes,))
    check_number("value", value, problem.is_float)
    with made_again():
        check_compressed("graph", problem.indptr, problem.indices, (problem.nodes, problem.nodes))
    lists = lists_of(problem)
    first, arcs, excess, unit = graph
    if first.size != problem.nodes + 1 or excess.size != problem.nodes or not structure_kernel(first, arcs):
        raise CertificateError("the residual graph is damaged: its arcs are not paired")
    scale = scale_of(unit, problem.bound)
    total = np.zeros(arcs.size // 4, np.int64)
    missing = capacities_kernel(lists.indptr, lists.indices, lists.capacity, scale, first, arcs, total)
    if missing >= 0:
        raise CertificateError(f"entry {missing} of the graph has no arc; were its indices changed after the solve?")
    highest, lowest = np.empty((2, problem.nodes), np.int64)
    terminals_kernel(lists.source, lists.sink, scale, problem.bound is not None, first, arcs, total, highest, lowest)
    _certify_flow(first, arcs, excess, highest, lowest, total, labels)
    left = cut_capacity.total(excess[~labels])
    to_sink = cut_capacity.total(-lowest) if problem.bound is not None else _total_units(lists.sink, scale)
    if isinstance(unit, float):
        cut = float_cut(problem, lists, labels, unit)
        certify_value(value, Sums(cut.value, cut.reduced, to_sink, left), unit)
    else:
        cut_value = integer_cut(lists, labels)
        certify_value(value, Sums(cut_value, cut_value, to_sink, left), unit)


def _certify_flow(first, arcs, excess, highest, lowest, total, labels) -> None:
    """Check (1) to (3), (5) and (6)."""
    failed, u, v = certify_graph_kernel(first, arcs, excess, highest, lowest, total, labels)
    if failed == 1:
        raise CertificateError(f"the residuals between nodes {u} and {v} do not fit the capacities")
    if failed == 2:
        raise CertificateError(f"the excess of node {u} is not what the flow leaves there")
    if failed == 6:
        raise CertificateError(f"node {u} passes on more flow than it gets, or less")
    if failed == 3:
        where = f"node {u}" if v < 0 else f"the arc from node {u} to node {v}"
        raise CertificateError(f"flow can still pass from the source side to the sink side at {where}")
    reached = np.zeros(labels.size, bool)
    reaches_deficit_kernel(first, arcs, excess, reached, np.empty(labels.size, first.dtype))
    wrong = np.flatnonzero(reached == labels)
    if len(wrong):
        raise CertificateError(f"node {wrong[0]} is on the wrong side by the tie-breaking rule")


def _total_units(values, scale) -> int:
    """Sum of capacities in units."""
    low, high = to_sink_kernel(plane(values, values.shape), None, scale, (1, 1, values.size))
    return int(low) + (int(high) << 32)
