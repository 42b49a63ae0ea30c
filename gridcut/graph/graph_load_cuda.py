"""The residual graph of integer capacities, built on the GPU from the caller's arrays.

Arrays as in gridcut/graph/device_graph_cuda.py; `row`, `indices` and `capacity` are the caller's entries.
There are two forms:

  paired     every edge has an entry in both directions, and every row is sorted, without repetitions and diagonal.  The
             arcs are the entries; the reverse of an entry is found by binary search in the row of its head.
  unpaired   any other graph: each entry becomes an arc at its tail, and an empty reverse arc at its head::

                 arcs of u    its entries, in their order │ the reverse arcs of entries that lead to u, in any order

             An entry on the diagonal becomes an arc without capacity that is its own reverse arc.

Repeated and antiparallel entries are not merged, in contrast to gridcut/graph/residual_graph.py.  Neither the value of
a maximum flow nor the nodes that can reach a deficit depend on that.  `fetch_graph` converts the result to that form.

O(n + m log(degree)) work if paired, else O(n + m).  Memory on the GPU in addition to that of the solver: 24 bytes per
node and 16 per entry; 40 if unpaired.
"""

from typing import NamedTuple

import numpy as np

from gridcut.core.certificate import CertificateError, made_again
from gridcut.device import kernel
from gridcut.device.arrays import allocate, download, upload, upload_all
from gridcut.device.cuda import SIMULATED, WARP, cuda, cuda_kernel, device_function, grid_sync, relaxed_load
from gridcut.device.cuda_types import int32, int64
from gridcut.device.launch import blocks_of, launch, most_blocks
from gridcut.device.number_limits import INT32_MAX, INT64_MAX
from gridcut.device.sparse import check_compressed
from gridcut.graph.device_graph_cuda import MAX_ARCS, MAX_NODES, GraphOnDevice
from gridcut.graph.graph_problem import GraphProblem, Lists, lists_of
from gridcut.graph.residual_graph import ResidualGraph, copy_reverse_residuals, find_arc, load_graph

THREADS = WARP if SIMULATED else 256  # per block
MAX_BLOCKS = 1 if SIMULATED else 4096  # of kernels without barriers; threads take several items
SUM_SLOTS = 256  # partial sums: enough that blocks do not wait for the same one
BAD_VALUE, UNPAIRED, FLAGS = 0, 1, 2  # what `found` reports: a negative capacity, entries that are not paired


class LoadedGraph(NamedTuple):
    """A residual graph on the GPU, and the entries and terminals from which it was built, all on the GPU."""

    graph: GraphOnDevice
    row: object
    indices: object
    capacity: object
    source: object
    sink: object
    is_paired: bool

    @property
    def unit(self) -> int:
        return 1

    @property
    def dtype(self) -> np.dtype:
        return self.graph.excess.dtype


@cuda_kernel
def convert_kernel(values, target):
    """Copy to an array of another type."""
    i = int64(cuda.grid(1))
    while i < target.size:
        target[i] = values[i]
        i += int64(cuda.gridsize(1))


@cuda_kernel
def negative_kernel(values, found):
    """Report negative values."""
    i = int64(cuda.grid(1))
    while i < values.size:
        if values[i] < 0:
            found[BAD_VALUE] = 1
        i += int64(cuda.gridsize(1))


@device_function
def position_in_row(row, indices, u, v):
    """Position of the first entry of row v that is u or larger, if the row ascends."""
    low = row[v]
    high = row[v + 1]
    while low < high:
        middle = int32(low + ((high - low) >> 1))
        if indices[middle] < u:
            low = int32(middle + 1)
        else:
            high = middle
    return low


@cuda_kernel
def pair_kernel(row, indices, mate, found):
    """Write the reverse of every entry, and report whether there is one without; a warp per row."""
    thread = int64(cuda.grid(1))
    u = thread >> 5
    while u < row.size - 1:
        first = row[u]
        i = first + (thread & 31)
        while i < row[u + 1]:
            v = indices[i]
            j = position_in_row(row, indices, u, v)
            mate[i] = j
            if v == u or (i > first and indices[i - 1] >= v) or j == row[v + 1] or indices[j] != u:
                found[UNPAIRED] = 1
            i += 32
        u += int64(cuda.gridsize(1)) >> 5


@cuda_kernel
def count_kernel(row, indices, arriving):
    """Count the entries that lead to every node, except those on the diagonal; a warp per row."""
    thread = int64(cuda.grid(1))
    u = thread >> 5
    while u < row.size - 1:
        i = row[u] + (thread & 31)
        while i < row[u + 1]:
            if indices[i] != u:
                cuda.atomic.add(arriving, indices[i], int32(1))
            i += 32
        u += int64(cuda.gridsize(1)) >> 5


@cuda_kernel
def rows_kernel(row, arriving, first, block_sums):
    """Write the first arc of every node, and clear `arriving`; requires a cooperative launch."""
    sums = cuda.shared.array(THREADS, int64)
    nodes = int64(row.size - 1)
    me = int32(cuda.threadIdx.x)
    # A thread sums contiguous nodes.
    share = (nodes + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    x = min(int64(cuda.grid(1)) * share, nodes)
    last = min(x + share, nodes)
    total = int64(row[last] - row[x])
    i = x
    while i < last:
        total += arriving[i]
        i += 1
    sums[me] = total
    cuda.syncthreads()
    before = int64(0)
    i = int64(0)
    while i < me:
        before += sums[i]
        i += 1
    if me == THREADS - 1:
        block_sums[cuda.blockIdx.x] = before + total
    grid_sync()
    i = int64(0)
    while i < cuda.blockIdx.x:
        before += block_sums[i]
        i += 1
    while x < last:
        first[x] = before
        before += row[x + 1] - row[x] + arriving[x]
        arriving[x] = 0
        x += 1
    if last == nodes:
        first[nodes] = before  # threads without nodes write the same


@cuda_kernel
def place_kernel(row, indices, capacity, first, arriving, head, mate, residual):
    """Write the arc and the reverse arc of every entry; a warp per row."""
    thread = int64(cuda.grid(1))
    u = thread >> 5
    while u < row.size - 1:
        i = row[u] + (thread & 31)
        while i < row[u + 1]:
            v = indices[i]
            a = first[u] + (i - row[u])
            head[a] = v
            if v == u:
                mate[a] = a
                residual[a] = 0
            else:
                b = first[v] + (row[v + 1] - row[v]) + cuda.atomic.add(arriving, v, int32(1))
                mate[a] = b
                residual[a] = capacity[i]
                head[b] = u
                mate[b] = a
                residual[b] = 0
            i += 32
        u += int64(cuda.gridsize(1)) >> 5


@device_function
def saturated_sum(a, b):
    """The sum of two integers that are not negative, at most INT64_MAX."""
    return a + b if a <= INT64_MAX - b else int64(INT64_MAX)


@cuda_kernel
def excess_kernel(row, mate, residual, source, sink, excess, largest):
    """Write the excess of every node, and find the largest sum of the capacities incident to one."""
    highest = int64(0)
    u = int64(cuda.grid(1))
    while u < excess.size:
        total = saturated_sum(source[u], sink[u])
        a = row[u]
        while a < row[u + 1]:
            total = saturated_sum(total, saturated_sum(residual[a], residual[mate[a]]))
            a += 1
        excess[u] = source[u] - sink[u]
        highest = max(highest, total)
        u += int64(cuda.gridsize(1))
    if highest > relaxed_load(largest, int32(0)):
        cuda.atomic.max(largest, int32(0), highest)


@cuda_kernel
def labels_kernel(row, indices, capacity, source, sink, height, ceiling, labels, sums):
    """Write the labels, and sum the capacities across the cut in halves of 32 bits."""
    low = int64(0)
    high = int64(0)
    u = int64(cuda.grid(1))
    while u < labels.size:
        is_source = height[u] >= ceiling
        labels[u] = 1 if is_source else 0
        value = sink[u] if is_source else source[u]
        if is_source:
            i = row[u]
            while i < row[u + 1]:
                if height[indices[i]] < ceiling:
                    low += capacity[i] & 0xFFFFFFFF
                    high += capacity[i] >> 32
                i += 1
        low += value & 0xFFFFFFFF
        high += value >> 32
        u += int64(cuda.gridsize(1))
    slot = int32(2 * (int32(cuda.blockIdx.x) % SUM_SLOTS))
    if low > 0:
        cuda.atomic.add(sums, slot, low)
    if high > 0:
        cuda.atomic.add(sums, int32(slot + 1), high)


def fits_device(problem: GraphProblem) -> bool:
    """Whether `load_on_device` accepts a problem: integers, at least one entry, and indices of 32 bits suffice."""
    return not problem.is_float and problem.nodes < MAX_NODES and 0 < 2 * problem.entries <= MAX_ARCS


def load_on_device(problem: GraphProblem, lists: Lists) -> LoadedGraph:
    """The residual graph of a problem without flow; raises ValueError as `load_graph`."""
    nodes, entries = problem.nodes, problem.entries
    row, indices, capacity, source, sink = _uploaded(lists)
    found, largest = upload(np.zeros(FLAGS, np.int32)), upload(np.zeros(1, np.int64))
    for values in (capacity, source, sink):
        _launch(negative_kernel, values.size, values, found)
    (mate,) = allocate((entries, np.int32))
    _launch(pair_kernel, WARP * nodes, row, indices, mate, found)
    flags = download(found)
    if flags[BAD_VALUE]:
        load_graph(problem, lists)  # raises the error
    is_paired = not flags[UNPAIRED]
    if is_paired:
        arcs = row, indices, mate, capacity
    else:
        del mate
        arcs = _place_arcs(row, indices, capacity)
    (excess,) = allocate((nodes, np.int64))
    _launch(excess_kernel, nodes, arcs[0], arcs[2], arcs[3], source, sink, excess, largest)
    total = int(download(largest)[0])
    if total >= INT64_MAX:
        load_graph(problem, lists)  # raises the error
    flow_type = np.int32 if total <= INT32_MAX else np.int64
    residual = arcs[3]
    if is_paired or flow_type == np.int32:
        residual = _converted(residual, flow_type)
    if flow_type == np.int32:
        excess = _converted(excess, flow_type)
    height, queue = allocate((nodes, np.int32), (nodes, np.int32))
    tally = upload(np.zeros(4, np.int32))
    graph = GraphOnDevice(*arcs[:3], residual, excess, height, queue, tally, np.int32(nodes + 1))
    return LoadedGraph(graph, row, indices, capacity, source, sink, is_paired)


def _place_arcs(row, indices, capacity) -> tuple:
    """The arrays row, head, mate and residual of an unpaired graph."""
    nodes = row.size - 1
    first, arriving = allocate((nodes + 1, np.int32), (nodes, np.int32), zero=True)
    _launch(count_kernel, WARP * nodes, row, indices, arriving)
    (block_sums,) = allocate((MAX_BLOCKS, np.int64))
    arguments = row, arriving, first, block_sums
    blocks = min(most_blocks(rows_kernel, arguments, THREADS), MAX_BLOCKS, blocks_of(nodes, THREADS))
    launch(rows_kernel, blocks, THREADS, *arguments)
    arcs = int(download(first[nodes : nodes + 1])[0])
    head, mate, residual = allocate((arcs, np.int32), (arcs, np.int32), (arcs, np.int64))
    _launch(place_kernel, WARP * nodes, row, indices, capacity, first, arriving, head, mate, residual)
    return first, head, mate, residual


def labels_and_value(loaded: LoadedGraph) -> tuple[np.ndarray, int]:
    """The labels from heights that are distances, True on the source side, and the capacity of the cut."""
    graph = loaded.graph
    (labels,) = allocate((graph.height.size, np.uint8))
    sums = upload(np.zeros(2 * SUM_SLOTS, np.int64))
    entries = loaded.row, loaded.indices, loaded.capacity, loaded.source, loaded.sink
    _launch(labels_kernel, graph.height.size, *entries, graph.height, graph.ceiling, labels, sums)
    halves = download(sums)
    value = sum(int(low) for low in halves[::2]) + (sum(int(high) for high in halves[1::2]) << 32)
    return download(labels).view(np.bool_), value


class FlowOnDevice(NamedTuple):
    """The part of a LoadedGraph that holds the flow."""

    row: object
    residual: object
    excess: object
    is_paired: bool


def fetch_graph(flow: FlowOnDevice, problem: GraphProblem) -> ResidualGraph:
    """The residual graph in the form of the host, with the flow that was found on the GPU.

    Raises CertificateError if the caller's arrays have been changed so that they are no graph any more.
    """
    with made_again():
        check_compressed("graph", problem.indptr, problem.indices, (problem.nodes, problem.nodes))
        lists = lists_of(problem)
        graph = load_graph(problem, lists).graph
    row, residual, excess = (download(array) for array in flow[:3])
    is_changed = (np.diff(row) < np.diff(lists.indptr)).any()  # of nodes with fewer arcs than entries
    if is_changed or (flow.is_paired and residual.size != graph.arcs.size // 4):
        raise CertificateError("the entries of the graph have been changed since the solve")
    if flow.is_paired:
        graph.arcs[2::4] = residual
        copy_reverse_residuals(graph.arcs)
    else:
        apply_flow(lists.indptr, lists.indices, lists.capacity, row, residual, graph.first, graph.arcs)
    graph.excess[:] = excess
    return graph


@kernel
def apply_flow(indptr, indices, capacity, row, residual, first, arcs):
    """Push the flow of every entry, which is its capacity less its residual, along its arc on the host."""
    for u in range(indptr.size - 1):
        for i in range(indptr[u], indptr[u + 1]):
            v = indices[i]
            flow = np.int64(capacity[i]) - np.int64(residual[row[u] + (i - indptr[u])])
            if v == u or flow == 0:
                continue
            a = find_arc(first, arcs, u, v)
            b = arcs[a + 1]
            arcs[a + 2] -= flow
            arcs[b + 3] -= flow
            arcs[a + 3] += flow
            arcs[b + 2] += flow


def _uploaded(lists: Lists) -> list:
    """Copies of indptr and indices on the GPU as int32, and of the capacities as int64."""
    given = [lists.indptr, lists.indices, lists.capacity, lists.source, lists.sink]
    # All are transferred as int32 or int64.
    copies = upload_all([a if a.dtype in (np.int32, np.int64) else a.astype(np.int32) for a in given])
    dtypes = [np.int32, np.int32, np.int64, np.int64, np.int64]
    return [a if a.dtype == dtype else _converted(a, dtype) for a, dtype in zip(copies, dtypes, strict=True)]


def _converted(values, dtype):
    """A copy of an array on the GPU as another type, or as the same."""
    (target,) = allocate((values.size, dtype))
    _launch(convert_kernel, values.size, values, target)
    return target


def _launch(kernel, items: int, *arguments) -> None:
    launch(kernel, min(blocks_of(items, THREADS), MAX_BLOCKS), THREADS, *arguments)
