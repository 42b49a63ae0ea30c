"""What the greedy methods on a GPU share: the way there and back, lists of live vertices, the heaviest edge of lanes.

A round lets every live vertex do something and keeps those that are live still.  Lists are written anew each round, by
turns into one of two arrays; their order is that of chance, on which no matching here depends.
"""

import time

import numpy as np
from numba import int32, int64

from gridcut.device.arrays import download, overwrite, refusing, synchronize, upload
from gridcut.device.cuda import SIMULATED, cuda, device_function, shuffle
from matching.core.limits_cuda import check_sides
from matching.general.device_general_graph import DeviceGeneralGraph

THREADS = 32 if SIMULATED else 512
BLOCKS = 2  # most on a multiprocessor: with more, barriers cost what more threads save
MANY = 2 if SIMULATED else 32  # neighbours a thread looks at alone; with more, its warp helps
LIVE = 0  # in state, three: the lengths of lists, by turns, so that one is cleared while another is read
EDGES, ROUNDS = range(2)  # in counts


def device_code(function):
    """A function of the CPU's for kernels; in the simulator itself, as Python would warn of sums that do not fit."""
    return function if SIMULATED else device_function(getattr(function, "py_func", function))


@device_function
def room_for(count, state, length):
    """Where this thread may write `count` entries of the list of state[length]; all threads of the block take part."""
    place = cuda.shared.array(2, int32)
    if cuda.threadIdx.x == 0:
        place[0] = 0
    cuda.syncthreads()
    mine = cuda.atomic.add(place, 0, count) if count > 0 else int32(0)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0 and place[0] > 0:
        place[1] = cuda.atomic.add(state, length, place[0])
    cuda.syncthreads()
    return int32(place[1] + mine)


@device_function
def heaviest_of(best, most, lanes):
    """Of the entries and weights of each `lanes` lanes the heaviest, the first of equal ones; -1: no lane has one."""
    distance = int32(lanes >> 1)
    lane = int32(cuda.threadIdx.x & 31)
    while distance > 0:
        other = shuffle(best, lane ^ distance)
        weight = shuffle(most, lane ^ distance)
        if other >= 0 and (best < 0 or weight > most or (weight == most and other < best)):
            best = other
            most = weight
        distance = int32(distance >> 1)
    return best


def on_gpu(graph, partner, weighted: bool, run) -> dict:
    """Match by run(ptr, adj, weight, partner) -> stats, all on the GPU; graph and partner lie there or on the host.

    Changes partner; "seconds" leaves the way there and back out.
    """
    if not graph.edges:
        return {"edges": 0, "rounds": 0}
    check_sides(graph.n)
    with refusing():
        there = isinstance(graph, DeviceGeneralGraph)
        if there and weighted and graph.weighted:
            weight = graph.weight
        elif weighted:
            weight = upload(np.ones(graph.adj.size, np.int64) if there else graph.weights())
        else:  # a kernel that asks for no weights is compiled for integers, and gets one
            weight = upload(np.zeros(1, np.int64))
        arrays = [a if there else upload(a) for a in (graph.ptr, graph.adj, partner)]
        arrays.insert(2, weight)
        synchronize()
        start = time.perf_counter()
        stats = run(*arrays)
        stats["seconds"] = {"search": time.perf_counter() - start}
        if not there:
            partner[:] = download(arrays[-1])
    return stats


def on_host(graph, partner, run) -> dict:
    """Match by run(graph, partner) -> stats on the host what is on the GPU, or there already."""
    if not isinstance(graph, DeviceGeneralGraph):
        return run(graph, partner)
    copy = download(partner)
    stats = run(graph.host(), copy)
    overwrite(partner, copy)
    return stats


IDS, LONGS = int32[::1], int64[::1]
