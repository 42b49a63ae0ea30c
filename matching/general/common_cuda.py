"""Shared by the greedy methods on a GPU: transfers, lists of active vertices, the heaviest edge over lanes.

A round processes every active vertex and lists the ones that stay active. Lists are rebuilt each round, alternately in
one of two arrays. Their order varies between runs; no matching here depends on it.
"""

import time

import numpy as np

from gridcut.device.arrays import download, overwrite, refusing, synchronize, upload
from gridcut.device.cuda import SIMULATED, cuda, device_function, shuffle
from gridcut.device.cuda_types import int32
from matching.core.limits_cuda import check_sides
from matching.general.device_general_graph import DeviceGeneralGraph

THREADS = 32 if SIMULATED else 512
BLOCKS_PER_SM = 2  # at most: more blocks make barriers of the grid slower than the additional threads help
WARP_DEGREE = 2 if SIMULATED else 32  # neighbours that a thread scans by itself; above this degree its warp helps
LENGTHS = 0  # first of three slots of state: length of the list, one slot per round, see next_grid_slot
EDGES, ROUNDS = range(2)  # in counts


def device_code(function):
    """A CPU function compiled for kernels; in the simulator the function itself, as Python warns of overflows."""
    return function if SIMULATED else device_function(getattr(function, "py_func", function))


@device_function
def reserve(count, state, slot):
    """Reserve `count` entries of the list with length state[slot]: offset of this thread's entries.

    All threads of the block must call this.
    """
    block = cuda.shared.array(2, int32)
    if cuda.threadIdx.x == 0:
        block[0] = 0
    cuda.syncthreads()
    offset = cuda.atomic.add(block, 0, count) if count > 0 else int32(0)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0 and block[0] > 0:
        block[1] = cuda.atomic.add(state, slot, block[0])
    cuda.syncthreads()
    return int32(block[1] + offset)


@device_function
def heaviest_of(best, weight, lanes):
    """Heaviest of the entries `best` with weights `weight` over each group of `lanes` lanes, the first of equal ones.

    -1 if no lane of the group has an entry.
    """
    distance = int32(lanes >> 1)
    lane = int32(cuda.threadIdx.x & 31)
    while distance > 0:
        other_best = shuffle(best, lane ^ distance)
        other_weight = shuffle(weight, lane ^ distance)
        if other_best >= 0 and (best < 0 or other_weight > weight or (other_weight == weight and other_best < best)):
            best = other_best
            weight = other_weight
        distance = int32(distance >> 1)
    return best


def match_on_gpu(graph, partner, weighted: bool, run) -> dict:
    """Match by run(ptr, adj, weight, partner) -> stats with all arrays on the GPU.

    Accepts graph and partner on the GPU or on the host, and changes partner; "seconds" excludes the transfers.
    """
    if not graph.edges:
        return {"edges": 0, "rounds": 0}
    check_sides(graph.n)
    with refusing():
        on_device = isinstance(graph, DeviceGeneralGraph)
        if on_device and weighted and graph.weighted:
            weight = graph.weight
        elif weighted:
            weight = upload(np.ones(graph.adj.size, np.int64) if on_device else graph.weights())
        else:  # a kernel that reads no weights is compiled for integers, and gets a dummy
            weight = upload(np.zeros(1, np.int64))
        arrays = [a if on_device else upload(a) for a in (graph.ptr, graph.adj, partner)]
        arrays.insert(2, weight)
        synchronize()
        start = time.perf_counter()
        stats = run(*arrays)
        stats["seconds"] = {"search": time.perf_counter() - start}
        if not on_device:
            partner[:] = download(arrays[-1])
    return stats


def on_host(graph, partner, run) -> dict:
    """Match by run(graph, partner) -> stats on the host; graph and partner are on the GPU or on the host."""
    if not isinstance(graph, DeviceGeneralGraph):
        return run(graph, partner)
    copy = download(partner)
    stats = run(graph.host(), copy)
    overwrite(partner, copy)
    return stats
