"""Cost scaling whose Refine is lock-free push-relabel, on a GPU: Łupińska, algorithm 5.4 and section 5.5.

Returns an optimal assignment and prices that certify it.  Every node has its own thread; only this thread pushes from
it and relabels it.  Threads never wait for one another.  A node sends a unit along its *lowest* residual edge, and is
relabeled only if that edge is not admissible, so reading an outdated price is safe: an edge whose reduced cost is
temporarily below -eps (lemma 5.5) carries a unit to the node at its head, which sends the unit back first.

Arrays on the GPU (assign/papers/scaling/network.py; indices, units and flags are int32)
  u_f[a], e[x]   changed atomically; the reverse edge becomes residual before the unit arrives
  p[x]           written only by the thread of x
  state[WAITING] units that have not reached a node with a deficit; 0: the pseudoflow is a flow, and all threads end

Deviates from [1]: if the network has more nodes than the GPU has threads, a thread has several nodes.  The push that a
relabel makes admissible follows without another search.  z, which has many units, pushes along every admissible edge it
scans.  After the first launch of each Refine, prices are updated on the host if f is not a flow yet, and kernels fix
arcs when it is, as their rule requires (the paper does both after the first launch).  The result is checked for
eps-optimality; edges that violate it are saturated, and the host, which has no races, finishes the Refine.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, sections 5.3 to 5.5.
[2] Hong. "A lock-free multi-threaded algorithm for the maximum flow problem." IPDPS 2008.

O(n^2 m min(log(nC), m log n)) operations; memory 40 bytes per pair on the GPU, 34 on the host.
"""

import numpy as np

from assign.papers.scaling.network import INFINITY
from assign.papers.scaling.refine import (
    MIN_PRICE,
    REMOVED,
    UNMODIFIED,
    raise_price_range,
    saturate,
    take_out,
    until_flow,
    update_prices,
)
from assign.papers.scaling.scale import solve_rows
from gridcut.device.arguments import check_count
from gridcut.device.arrays import download, upload
from gridcut.device.cuda import cuda, cuda_kernel, device_function, relaxed_load
from gridcut.device.cuda_types import int32, int64
from gridcut.device.launch import launch, most_blocks

RULES = UNMODIFIED
COUNTS = ("launches", "repairs")
MAX_THREADS = 1024  # per block, on all GPUs
SLEEP_NANOSECONDS = 200  # pause of a thread without an active node
WAITING, FIXED, LOW, PUSHES, RELABELS = range(5)  # in state


@device_function
def push(head, mate, u_f, e, state, x, a):
    """Lines 13 to 16: push a unit along edge a."""
    y = head[a]
    cuda.atomic.add(u_f, a, int32(-1))
    cuda.atomic.add(u_f, mate[a], int32(1))
    cuda.threadfence()
    cuda.atomic.add(e, x, int32(-1))
    if cuda.atomic.add(e, y, int32(1)) < 0:
        cuda.atomic.add(state, int32(WAITING), int64(-1))


# args: the paper's names: the state of one node
@device_function
def operate(first, last, head, mate, c, u_f, e, p, state, x, left, x_nodes, eps):
    """Lines 3 to 17, for an active node: the numbers of pushes and relabels done."""
    price = p[x]
    least = int64(INFINITY)
    lowest = int32(-1)
    pushes = int32(0)
    relabels = int32(0)
    a = first[x]
    end = last[x]
    while a < end:
        # Read both unconditionally, so that no read waits for another.
        residual = relaxed_load(u_f, a)
        partly = int64(c[a] - relaxed_load(p, head[a]))
        if residual > 0:
            if left > 1 and x < x_nodes and partly < -price:
                push(head, mate, u_f, e, state, x, a)
                left = int32(left - 1)
                pushes = int32(pushes + 1)
            elif partly < least:
                least = partly
                lowest = a
        a = int32(a + 1)
    if lowest < 0:  # the unit was read before its reverse edge
        return pushes, relabels
    if least >= -price:
        p[x] = -(least + eps)
        relabels = int32(1)
    push(head, mate, u_f, e, state, x, lowest)
    return int32(pushes + 1), relabels


@cuda_kernel
def lock_free_kernel(first, last, head, mate, c, u_f, e, p, state, x_nodes, eps, cycle):
    """Algorithm 5.4, one node per thread, until f is a flow or every thread has checked its nodes `cycle` times."""
    nodes = int32(e.size)
    thread = int32(cuda.grid(1))
    threads = int32(cuda.gridsize(1))
    if thread >= nodes:
        return
    x = thread
    pushes = int64(0)
    relabels = int64(0)
    while cycle > 0 and relaxed_load(state, int32(WAITING)) > 0:
        left = relaxed_load(e, x)
        if left > 0 and p[x] > MIN_PRICE:
            pushed, relabeled = operate(first, last, head, mate, c, u_f, e, p, state, x, left, x_nodes, eps)
            pushes += pushed
            relabels += relabeled
        else:
            cuda.nanosleep(np.uint32(SLEEP_NANOSECONDS))
            x = int32(x + threads)
            if x >= nodes:
                x = thread
        cycle = int32(cycle - 1)
    if pushes > 0:
        cuda.atomic.add(state, int32(PUSHES), pushes)
        cuda.atomic.add(state, int32(RELABELS), relabels)


@cuda_kernel
def empty_kernel(first, last, head, c, u_f, d, e, p, x_nodes, eps):
    """Lines 3 to 6 of algorithm 5.2: no flow, and the lowest edge of every node of X at -eps."""
    x = int32(cuda.grid(1))
    if x >= int32(e.size):
        return
    least = int64(INFINITY)
    a = first[x]
    end = last[x]
    while a < end:
        if x < x_nodes:
            u_f[a] = int32(1)
            least = min(least, int64(c[a] - p[head[a]]))
        else:
            u_f[a] = int32(0)
        a = int32(a + 1)
    e[x] = d[x]
    if x < x_nodes and least < INFINITY:
        p[x] = -(least + eps)


@cuda_kernel
def low_kernel(first, last, head, c, u_f, p, state, low):
    """Count the residual edges with c_p < low in state[LOW]."""
    x = int32(cuda.grid(1))
    if x >= int32(p.size):
        return
    found = int64(0)
    a = first[x]
    end = last[x]
    while a < end:
        if u_f[a] == 1 and c[a] + p[x] - p[head[a]] < low:
            found += 1
        a = int32(a + 1)
    if found > 0:
        cuda.atomic.add(state, int32(LOW), found)


@cuda_kernel
def mark_kernel(first, last, head, mate, c, u_f, p, state, x_nodes, threshold):
    """Arc fixing: mark edges from X without flow whose c_p exceeds the threshold, and their mates."""
    x = int32(cuda.grid(1))
    if x >= x_nodes:
        return
    found = int64(0)
    a = first[x]
    end = last[x]
    while a < end:
        if u_f[a] == 1 and c[a] + p[x] - p[head[a]] > threshold:
            u_f[a] = int32(REMOVED)
            u_f[mate[a]] = int32(REMOVED)
            found += 1
        a = int32(a + 1)
    if found > 0:
        cuda.atomic.add(state, int32(FIXED), found)


@cuda_kernel
def take_out_kernel(first, last, head, mate, c, u_f, begin, end_node, kept):
    """Move marked edges behind the others of their node, for nodes of one side: their mates stay where they are."""
    x = int32(begin + cuda.grid(1))
    if x >= end_node:
        return
    end = first[x]
    a = first[x]
    stop = last[x]
    while a < stop:
        if u_f[a] == REMOVED:
            u_f[a] = kept
        else:
            if a != end:
                to, back, cost, residual = head[a], mate[a], c[a], u_f[a]
                head[a], mate[a], c[a], u_f[a] = head[end], mate[end], c[end], u_f[end]
                head[end], mate[end], c[end], u_f[end] = to, back, cost, residual
                mate[mate[a]] = a
                mate[back] = end
            end = int32(end + 1)
        a = int32(a + 1)
    last[x] = end


class Device:
    """A network on the GPU; the host copy is updated when it is needed."""

    def __init__(self, network, block: int, cycle: int):
        self.first, self.last = upload(network.first.astype(np.int32)), upload(network.last.astype(np.int32))
        self.head, self.mate, self.c = upload(network.head), upload(network.mate), upload(network.c)
        self.u_f, self.d = upload(network.u_f.astype(np.int32)), upload(network.d.astype(np.int32))
        self.e, self.p = upload(network.e.astype(np.int32)), upload(network.p)
        self.state = upload(np.zeros(5, np.int64))
        self.x_nodes, self.nodes = np.int32(network.x_nodes), len(network.p)
        self.network = network
        self.block, self.cycle = block, np.int32(min(cycle, 2**31 - 1))

    def each_node(self, kernel, *args, nodes=None) -> None:
        """Launch a kernel with one thread per node."""
        nodes = self.nodes if nodes is None else int(nodes)
        launch(kernel, -(-nodes // self.block), self.block, *args)

    def empty(self, eps: int) -> None:
        args = (self.first, self.last, self.head, self.c, self.u_f, self.d, self.e, self.p, self.x_nodes)
        self.each_node(empty_kernel, *args, np.int64(eps))

    def run(self, waiting: int, eps: int) -> dict:
        """Launch algorithm 5.4 once; returns its counters."""
        self.state = upload(np.array([waiting, 0, 0, 0, 0], np.int64))
        args = (self.first, self.last, self.head, self.mate, self.c, self.u_f, self.e, self.p, self.state)
        args = (*args, self.x_nodes, np.int64(eps), self.cycle)
        # All threads are resident at the same time: a thread waiting for a unit must not keep its sender from running.
        blocks = min(-(-self.nodes // self.block), most_blocks(lock_free_kernel, args, self.block))
        launch(lock_free_kernel, blocks, self.block, *args)
        return download(self.state)

    def count_low(self, low: int) -> int:
        """Number of residual edges that violate eps-optimality."""
        self.each_node(
            low_kernel, self.first, self.last, self.head, self.c, self.u_f, self.p, self.state, np.int64(low)
        )
        return int(download(self.state)[LOW])

    def fetch(self, network) -> None:
        """Copy prices, excesses and flows to the host."""
        network.p[:] = download(self.p)
        network.e[:] = download(self.e)
        network.u_f[:] = download(self.u_f)

    def send(self, network) -> None:
        """Copy prices, excesses and flows to the GPU."""
        self.p = upload(network.p)
        self.e = upload(network.e.astype(np.int32))
        self.u_f = upload(network.u_f.astype(np.int32))

    def fix(self, network, threshold: int) -> int:
        """Fix arcs on the GPU and, by their marks, on the host; returns their number."""
        lists = (self.first, self.last, self.head, self.mate, self.c, self.u_f)
        self.each_node(mark_kernel, *lists, self.p, self.state, self.x_nodes, np.int64(threshold), nodes=self.x_nodes)
        found = int(download(self.state)[FIXED])
        if found:
            self.fetch(network)
            take_out(network)
            nodes = np.int32(self.nodes)
            self.each_node(take_out_kernel, *lists, np.int32(0), self.x_nodes, np.int32(1), nodes=self.x_nodes)
            self.each_node(take_out_kernel, *lists, self.x_nodes, nodes, np.int32(0), nodes=nodes - self.x_nodes)
        return found


def refine(device: Device, network, eps: int, stats: dict, price_updates: bool) -> None:
    """Compute an eps-optimal flow."""
    _, _, low, _ = RULES.at(eps)
    device.empty(eps)
    waiting = int(network.d[: network.x_nodes].sum())
    launches = 0
    while waiting:
        state = device.run(waiting, eps)
        launches += 1
        stats["pushes"] += int(state[PUSHES])
        stats["relabels"] += int(state[RELABELS])
        waiting = int(state[WAITING])
        if waiting:
            device.fetch(network)
            if network.p.min() <= MIN_PRICE:
                raise_price_range()
            if price_updates and launches == 1:
                stats["price_updates"] += update_prices(network, RULES, eps)
                device.send(network)
    stats["launches"] += launches
    if device.count_low(low):
        device.fetch(network)
        saturate(network, low)
        until_flow(network, RULES, eps, stats, price_updates)
        device.send(network)
        stats["repairs"] += 1


def solve(
    indptr, indices, cost, m, *, alpha=10, cycle=500_000, block=512, price_updates=True, arc_fixing=True, **context
):
    """Solve a problem in CSR form; returns the column of each row (-1: unmatched), u, v, and counters.

    alpha          divisor of eps before each Refine
    cycle          maximum number of times a thread checks its nodes in one launch (the paper's CYCLE)
    block          threads per block (the paper: 32 x 16)
    price_updates  algorithm 5.3 after the first launch of each Refine, if it left nodes active
    arc_fixing     remove edges whose flow will not change
    """
    cycle, block = check_count("cycle", cycle), check_count("block", block, 1, MAX_THREADS)
    device = None

    def refine_on_gpu(network, eps, stats):
        nonlocal device
        if len(network.p):
            if device is None or device.network is not network:
                device = Device(network, block, cycle)
            refine(device, network, eps, stats, price_updates)
            if eps == 1:
                device.fetch(network)

    def fix(network, threshold):
        return device.fix(network, threshold) if device else 0

    fix = fix if arc_fixing else None
    return solve_rows((indptr, indices, cost), m, refine_on_gpu, RULES, alpha=alpha, fix=fix, counts=COUNTS, **context)
