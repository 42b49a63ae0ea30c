"""`ResidualGraph`: the arcs of a graph with their residual capacities, grouped by node, each with its reverse arc.

    a = first[u], first[u] + 4, ..., first[u + 1] - 4         the arcs of node u, by ascending head v

    arcs[a]: the head v    arcs[a + 1]: the arc v -> u    arcs[a + 2]: residual u -> v    arcs[a + 3]: residual v -> u

An arc is named by its position.  Every residual is stored twice, at both ends: a search grows with or against the arcs
of a node by reading one line of memory, and only a push touches the reverse arcs.  There is one arc from u to v, and
one from v to u, if the graph has an entry at (u, v) or (v, u); entries at the same position are summed, entries at
(u, u) are ignored.

Construction, O(nodes + entries).  Most graphs are stored with both directions of every edge and sorted rows.  Then the
nodes v that refer to u come in ascending order, which is the order of row u: one cursor per node finds the reverse arcs
in one pass over the pairs, and shows whether the graph is so.  If it is not, the entries are grouped by their ends with
a counting sort (twice if rows are not sorted), and rows and columns are merged.
"""

from typing import Any, NamedTuple

import numpy as np

from gridcut.core.load import INT32_MAX, INT64_MAX
from gridcut.core.units import choose_unit, difference, scale_of, units
from gridcut.device import inlined_kernel, plain_kernel
from gridcut.device.intrinsics import prefetch
from gridcut.graph.graph_problem import GraphProblem, Lists, clamped, first_bad_value, lists_of

AHEAD = 4  # the reverse arcs of a row are prefetched this number of rows before it is read
AHEAD_IN_COLUMN = 16  # capacities of the entries of a column are prefetched this number of entries before
ONE = np.uint64(1)
REVERSE = np.uint64(1)  # positions in an arc
OUT = np.uint64(2)
BACK = np.uint64(3)
ARC = np.uint64(4)


class ResidualGraph(NamedTuple):
    """Arcs and excesses of all nodes; `unit` is 1 for integers, or the power of two that one unit of flow is."""

    first: np.ndarray
    arcs: np.ndarray
    excess: np.ndarray
    unit: float | int

    @property
    def nodes(self) -> int:
        return self.excess.size

    @property
    def dtype(self) -> np.dtype:
        return self.excess.dtype


class LoadedProblem(NamedTuple):
    """A residual graph, and its problem with the bound to which capacities were clamped.

    memory   what a GraphSolver keeps for the next solve
    """

    graph: ResidualGraph
    problem: GraphProblem
    memory: Any = None

    @property
    def unit(self) -> float | int:
        return self.graph.unit

    @property
    def dtype(self) -> np.dtype:
        return self.graph.dtype


@plain_kernel
def copy_reverse_residuals(arcs):
    """Restore the second copies of the residuals, arcs[a + 3], from the first."""
    for a in range(0, arcs.size, 4):
        arcs[a + 3] = arcs[arcs[a + 1] + 2]


@plain_kernel
def largest_value(values):
    """The largest of some capacities, and whether one is negative or NaN."""
    largest = values[0] if values.size else 0
    bad = False
    for i in range(values.size):
        value = values[i]
        bad |= not value >= 0
        largest = value if value > largest else largest
    return largest, bad


@plain_kernel
def largest_incident_sum(indptr, indices, capacity, limit, factor, total):
    """The largest sum of factor * min(capacity, limit) over the entries incident to a node.

    total   zeros, one per node; receives the sums
    """
    for u in range(indptr.size - 1):
        for i in range(indptr[u], indptr[u + 1]):
            v = indices[i]
            if v != u:
                value = min(np.float64(capacity[i]), limit) * factor
                total[u] += value
                total[v] += value
    largest = 0.0
    for u in range(total.size):
        largest = max(largest, total[u])
    return largest


@inlined_kernel
def find_arc(first, arcs, u, v):
    """The arc from u to v; if there is none, the first arc of u to a larger node, or its end."""
    low, high = np.int64(first[u]) >> 2, np.int64(first[u + 1]) >> 2
    while low < high:
        middle = (low + high) >> 1
        if arcs[4 * middle] < v:
            low = middle + 1
        else:
            high = middle
    return 4 * low


@inlined_kernel
def saturated_sum(a, b):
    """The sum of two integers that are not negative, at most INT64_MAX."""
    # Unsigned, because the compiler of numba 0.61 assumes that signed sums do not wrap.
    return np.int64(min(np.uint64(a) + np.uint64(b), np.uint64(INT64_MAX)))


@plain_kernel
def load_symmetric(indptr, indices, capacity, scale, cursor, arcs):
    """Write the arcs of a graph that holds both directions of every edge once, in ascending rows.

    Returns the length of the longest row, or -1 if the graph is not so.

    cursor   a copy of the first pointers of all rows
    """
    longest = np.int64(0)
    for u in range(cursor.size):
        # The arcs before the cursor were written together with those of smaller nodes; the others lead to larger nodes.
        before = np.int64(u)
        if u + AHEAD < cursor.size:
            for entry in range(cursor[u + AHEAD], indptr[u + AHEAD + 1]):
                later = cursor[np.uint64(indices[np.uint64(entry)])]
                prefetch(indices, later)
                prefetch(capacity, later)
                prefetch(arcs, 4 * later)
        for entry in range(cursor[u], indptr[u + 1]):
            i = np.uint64(entry)
            head = np.int64(indices[i])
            v = np.uint64(head)
            reverse = cursor[v]
            j = np.uint64(reverse)
            if head <= before or reverse >= indptr[v + ONE] or indices[j] != u:
                return np.int64(-1)
            before = head
            cursor[v] = reverse + 1
            out = units(capacity[i], scale)
            back = units(capacity[j], scale)
            a, b = ARC * i, ARC * j
            arcs[a] = head
            arcs[a + REVERSE] = b
            arcs[a + OUT] = out
            arcs[a + BACK] = back
            arcs[b] = u
            arcs[b + REVERSE] = a
            arcs[b + OUT] = back
            arcs[b + BACK] = out
        longest = max(longest, indptr[u + 1] - indptr[u])
    return longest


@plain_kernel
def rows_ascend(indptr, indices):
    """Whether the indices of every row ascend; they may repeat."""
    for u in range(indptr.size - 1):
        for i in range(indptr[u] + 1, indptr[u + 1]):
            if indices[i] < indices[i - 1]:
                return False
    return True


@plain_kernel
def transpose(indptr, ends, entry, into_indptr, into_ends, into_entry):
    """Group entries by their other end: a counting sort, after which the ends of every row ascend."""
    for i in range(ends.size):
        into_indptr[np.uint64(ends[i]) + ONE] += 1
    for v in range(into_indptr.size - 1):
        into_indptr[v + 1] += into_indptr[v]
    for u in range(indptr.size - 1):
        for row_entry in range(indptr[u], indptr[u + 1]):
            i = np.uint64(row_entry)
            v = np.uint64(ends[i])
            at = np.uint64(into_indptr[v])
            into_indptr[v] = at + ONE
            into_ends[at] = u
            into_entry[at] = entry[i]
    for v in range(into_indptr.size - 1, 0, -1):
        into_indptr[v] = into_indptr[v - 1]
    into_indptr[0] = 0


@plain_kernel
def merge_rows_and_columns(rows, heads, row_entry, columns, tails, column_entry, capacity, scale, first, arcs):
    """Write the arcs of any graph, given the entries of its rows and of its columns in ascending order.

    Returns the length of all arcs, and the largest capacity of an arc, which the type of `arcs` may not hold.
    """
    count = 0
    largest = np.int64(0)
    final = heads.size - 1
    for u in range(first.size - 1):
        first[u] = count
        i, j = rows[u], columns[u]
        last_i, last_j = rows[u + 1], columns[u + 1]
        before = np.int64(-1)
        total_out = np.int64(0)
        total_back = np.int64(0)
        while i < last_i or j < last_j:
            # Both entries are read whether they are used or not: which one comes next is unpredictable.
            p, q = np.uint64(min(i, final)), np.uint64(min(j, final))
            prefetch(capacity, column_entry[np.uint64(min(j + AHEAD_IN_COLUMN, final))])
            head = np.int64(heads[p]) if i < last_i else np.int64(INT64_MAX)
            tail = np.int64(tails[q]) if j < last_j else np.int64(INT64_MAX)
            v = min(head, tail)
            is_out, is_back = np.int64(head == v), np.int64(tail == v)
            out = is_out * units(capacity[np.uint64(row_entry[p])], scale)
            back = is_back * units(capacity[np.uint64(column_entry[q])], scale)
            i += is_out
            j += is_back
            if v == u:
                continue
            if v == before:
                out, back = saturated_sum(total_out, out), saturated_sum(total_back, back)
            else:
                count += 4
            before, total_out, total_back = v, out, back
            largest = max(largest, max(out, back))
            arcs[count - 4] = v
            arcs[count - 2] = out
            arcs[count - 1] = back
    first[first.size - 1] = count
    return count, largest


@plain_kernel
def link_reverse(first, cursor, arcs):
    """Write the reverse of every arc; `cursor`: a copy of the first arc of all nodes."""
    a = np.uint64(0)
    end = np.uint64(first[cursor.size])
    while a < end:
        v = np.uint64(arcs[a])
        b = cursor[v]
        arcs[a + REVERSE] = b
        cursor[v] = b + 4
        a += ARC


@plain_kernel
def load_excess(first, arcs, source, sink, scale, is_clamped, reads_arcs, excess):
    """Write the excess of every node, and return the largest sum of the capacities incident to one.

    is_clamped   the terminals are clamped by the arcs, see gridcut/core/units.py
    reads_arcs   False: the sums are those of the terminals alone
    """
    largest = np.int64(0)
    for u in range(excess.size):
        out = np.int64(0)
        into = np.int64(0)
        if reads_arcs:
            for a in range(first[u], first[u + 1], 4):
                out = saturated_sum(out, np.int64(arcs[a + 2]))
                into = saturated_sum(into, np.int64(arcs[a + 3]))
        s = units(source[u], scale)
        t = units(sink[u], scale)
        excess[u] = s - t
        if scale is not None:
            if is_clamped:
                excess[u] = max(-into - 1, min(out + 1, difference(source[u], sink[u], scale)))
        largest = max(largest, saturated_sum(saturated_sum(s, t), saturated_sum(out, into)))
    return largest


def load_graph(problem: GraphProblem, lists: Lists) -> LoadedProblem:
    """The residual graph of a problem without flow, and the problem with the bound that was used.

    Integers are stored as int32 if the capacities incident to every node allow it, else as int64; if that does not hold
    their sums, they are clamped.  Raises ValueError for negative capacities and NaN.
    """
    largest = [0, 0, 0]
    for i, values in enumerate((lists.source, lists.sink, lists.capacity)):
        value, bad = largest_value(values)
        if bad:
            raise first_bad_value(problem, lists)
        largest[i] = value
    if problem.is_float:
        unit, bound = float_unit(problem, lists)
        problem = problem._replace(bound=bound)
        return LoadedProblem(fill_graph(problem, lists, np.int64, unit)[0], problem)
    if sum(largest) <= INT32_MAX:
        graph, total = fill_graph(problem, lists, np.int32, 1, largest)
        if total <= INT32_MAX:
            return LoadedProblem(graph, problem)
        del graph
    graph, total = fill_graph(problem, lists, np.int64, 1)
    if total >= INT64_MAX:
        problem = clamped(problem)
        graph, _ = fill_graph(problem, lists_of(problem), np.int64, 1)
    return LoadedProblem(graph, problem)


def float_unit(problem: GraphProblem, lists: Lists) -> tuple[float, float | None]:
    """The unit, and the bound if capacities have to be clamped."""

    def incident(limit: float, factor: float) -> list[float]:
        sums = np.zeros(problem.nodes, np.float64)
        return [largest_incident_sum(lists.indptr, lists.indices, lists.capacity, limit, factor, sums)]

    largest = [float(largest_value(values)[0]) for values in (lists.source, lists.sink, lists.capacity)]
    return choose_unit(largest, problem.bound, incident)


def fill_graph(
    problem: GraphProblem, lists: Lists, flow_type, unit, largest: list[int] | None = None
) -> tuple[ResidualGraph, int]:
    """The residual graph in this unit, and the largest sum of the capacities incident to a node, or a bound of it.

    largest   of integers, the largest capacity of source, sink and graph: if the rows are so short that no sum of these
              exceeds 32 bits, the arcs are not read again
    """
    scale = scale_of(unit, problem.bound)
    first, arcs, longest, widest = _arcs_of(lists, flow_type, scale)
    excess = np.empty(problem.nodes, flow_type)
    bound = None
    if largest is not None and longest >= 0:
        bound = int(largest[0]) + int(largest[1]) + 2 * longest * int(largest[2])
    reads_arcs = bound is None or bound > INT32_MAX
    is_clamped = problem.bound is not None
    total = int(load_excess(first, arcs, lists.source, lists.sink, scale, is_clamped, reads_arcs, excess))
    return ResidualGraph(first, arcs, excess, unit), max(total, widest) if bound is None or reads_arcs else bound


def _arcs_of(lists: Lists, flow_type, scale) -> tuple[np.ndarray, np.ndarray, int, int]:
    """The arcs with their capacities: first and arcs of a ResidualGraph, and the result of `load_symmetric`.

    Also returns the largest sum of entries at the same position, 0 if there are none: if flow_type does not hold it,
    the arcs are wrong.
    """
    indptr, indices, capacity = lists.indptr, lists.indices, lists.capacity
    entries = indices.size
    index_type = np.int32 if 8 * entries <= INT32_MAX else np.int64
    arc_type = np.promote_types(index_type, flow_type)
    arcs = np.empty(4 * entries, arc_type)
    longest = int(load_symmetric(indptr, indices, capacity, scale, indptr[:-1].copy(), arcs))
    if longest >= 0:
        return (4 * indptr).astype(index_type), arcs, longest, 0
    entry = np.arange(entries, dtype=index_type)
    columns, tails, column_entry = _transposed(indptr, indices, entry, index_type)
    heads = indices
    if not rows_ascend(indptr, indices):
        _, heads, entry = _transposed(columns, tails, column_entry, index_type)
    arcs = np.empty(8 * entries, arc_type)
    first = np.empty(indptr.size, index_type)
    count, widest = merge_rows_and_columns(
        indptr, heads, entry, columns, tails, column_entry, capacity, scale, first, arcs
    )
    arcs = arcs[:count]
    link_reverse(first, first[:-1].copy(), arcs)
    return first, arcs, -1, int(widest)


def _transposed(indptr, ends, entry, index_type):
    into = np.zeros(indptr.size, np.int64), np.empty(ends.size, index_type), np.empty(ends.size, index_type)
    transpose(indptr, ends, entry, *into)
    return into
