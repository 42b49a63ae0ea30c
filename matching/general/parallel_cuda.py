"""Colour, propose, respond, match on a GPU: algorithms 3 and 4 of Fagginger Auer and Bisseling.

Returns the maximal matching that matching/general/parallel.py finds with the same seed: colours are its colours, and
what a vertex chooses depends on the step before only, between barriers of the whole grid.  All rounds are one kernel.

Arrays (n vertices)                                     paper [1]
  state[v]     BLUE, RED, DEAD or MATCHED               pi(v)
  choice[v]    whom v chose this round; NOBODY; NO_HOPE  sigma(v), there infinity and dead
  partner[v]   -1: free; partner[partner[v]] == v       pi(v), there min(v, partner of v)
  lists[here:here + n]   the blue in front, the red behind   V in lines 7, 12, 21 and 28

::

    deal     settle the round before; the next colour of who is live still    ── barrier ──  two a round, and one more
    propose  blue ones, who lie side by side, as many lanes as there are      ── barrier ──  with weights: respond
                                                                              deal.py, propose.py

No races: in each step a vertex is written by its own thread or lanes, which read nothing that the step writes, but for
two things.  Who is asked by several keeps the least of them, whoever writes last.  A red one that is live still is made
ready for proposals while others ask who it chose: it did not choose them, and still has not.

Deviates from [1] as the CPU's does, and: where edges have no weights, a red one does not look for blue ones that chose
it; they leave it the least of their names, which is the first of its neighbours, as they choose.  That it has no hope
it learns when it is blue.  The last vertices are left to a few blocks, then to one, whose barriers cost less.

[1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
    Algorithms 3 and 4; p in section 3.1.

O(n + m) expected time a round, fewer vertices each round; 17 bytes a vertex beside the graph.
"""

from functools import partial

import numpy as np
from numba import float64, int8, int32, int64, uint64

from gridcut.device.arrays import allocate, download
from gridcut.device.cuda import SIMULATED, cuda, cuda_kernel, device_function, grid_sync, relaxed_load
from matching.core.grid_cuda import add_up, next_grid_slot, run_kernel
from matching.core.limits_cuda import check_lists
from matching.general import parallel
from matching.general.common_cuda import BLOCKS_PER_SM, EDGES, IDS, LONGS, ROUNDS, THREADS, device_code, on_gpu, on_host
from matching.general.parallel import random_factor
from matching.general.propose_cuda import select_all
from matching.general.recolour_cuda import ARRIVALS, BLUE_LENGTHS, RED_LENGTHS, STATE_SIZE, settle_and_recolour

factor_of = device_code(random_factor)
REGISTERS = 64  # so that two blocks fit on a multiprocessor
FEW_BLOCKS, FEW_BLOCKS_VERTICES = 16, 4096  # blocks that go on alone, and live vertices from which on they do
ONE_BLOCK_VERTICES = 5 if SIMULATED else 128  # live vertices from which on one block goes on alone


@device_function
def barrier(state, blocks):
    """Barrier of the first `parties` blocks: of all, of FEW, or of one.

    Blocks leave for good where fewer go on.  One that is slow may read the number of live ones when it is of a later
    round; that is not more, so it leaves as well.
    """
    if blocks == cuda.gridDim.x:
        grid_sync()
        return
    cuda.syncthreads()
    if blocks > 1:
        if cuda.threadIdx.x == 0:
            cuda.threadfence()
            arrived = cuda.atomic.add(state, ARRIVALS, 1)
            all_arrived = int32(arrived - arrived % blocks + blocks)
            while relaxed_load(state, int32(ARRIVALS)) < all_arrived:
                pass
            cuda.threadfence()
        cuda.syncthreads()


@cuda_kernel(max_registers=REGISTERS)
def rounds_kernel(
    ptr, adj, weight, partner, colour, choice, lists, state, counts, heaviest, threshold, seed, max_rounds
):
    """Algorithm 3: rounds until nobody is live, at most `most`."""
    n = int32(partner.size)
    thread = int32(cuda.grid(1))
    blocks = int32(cuda.gridDim.x)
    source, target = n, int32(0)
    n_blue, n_active = int32(0), n
    grid_slot = int32(0)
    rounds = int32(0)
    edges = int64(0)
    while True:
        threads = int32(blocks * cuda.blockDim.x)
        following = next_grid_slot(state, int32(BLUE_LENGTHS), grid_slot, thread)
        next_grid_slot(state, int32(RED_LENGTHS), grid_slot, thread)
        r = factor_of(seed, uint64(rounds))
        previous = (source, n_blue, n_active, rounds == 0)
        settle_and_recolour(
            partner, colour, choice, lists, previous, target, state, grid_slot, r, threshold, thread, threads
        )
        barrier(state, blocks)
        source, target = target, source
        n_blue = relaxed_load(state, int32(BLUE_LENGTHS + grid_slot))
        n_red = relaxed_load(state, int32(RED_LENGTHS + grid_slot))
        n_active = int32(n_blue + n_red)
        grid_slot = following
        if n_active == 0 or rounds == max_rounds:
            break
        if n_active <= FEW_BLOCKS_VERTICES and blocks > FEW_BLOCKS:
            blocks = int32(FEW_BLOCKS)
        if n_active <= ONE_BLOCK_VERTICES:
            blocks = int32(1)
        if cuda.blockIdx.x >= blocks:
            break
        threads = int32(blocks * cuda.blockDim.x)
        edges += select_all(ptr, adj, weight, heaviest, colour, choice, lists, source, n_blue, True, thread, threads)
        barrier(state, blocks)
        if heaviest:
            last = int32(source + n - 1)
            edges += select_all(ptr, adj, weight, heaviest, colour, choice, lists, last, n_red, False, thread, threads)
            barrier(state, blocks)
        rounds = int32(rounds + 1)
    add_up(counts, int32(EDGES), edges)
    if thread == 0:
        counts[ROUNDS] = rounds


def solve(graph, partner, *, seed=0, p=0.53406, select=None, rounds=256):
    """Match free vertices by rounds of proposals; counts of what was done.

    p         probability of blue
    select    "first" neighbour or "heaviest" edge; None: "heaviest" where the graph has weights
    rounds    at most so many; what is left then is matched by algorithm 1, on the host
    """
    parallel.validate_options(p, select, rounds)
    check_lists("parallel", "vertices", graph.n, "'locally_dominant' or device='cpu'")
    heaviest = graph.weight is not None if select is None else select == "heaviest"
    threshold = np.int64(min(round(p * 2**32), 2**32 - 1))

    def run(ptr, adj, weight, on_device):
        n = len(partner)
        colour, choice, lists = allocate((n, np.int8), (n, np.int32), (2 * n, np.int32))
        state, counts = allocate((STATE_SIZE, np.int32), (2, np.int64), zero=True)
        work = (colour, choice, lists, state, counts, np.int32(heaviest), threshold, np.uint64(seed % 2**64))
        run_kernel(rounds_kernel, (ptr, adj, weight, on_device, *work, np.int32(rounds)), THREADS, n, BLOCKS_PER_SM)
        counts = download(counts)
        return {"edges": int(counts[EDGES]), "rounds": int(counts[ROUNDS])}

    stats = {"edges": 0, "rounds": 0} if rounds == 0 else on_gpu(graph, partner, heaviest, run)
    if stats["rounds"] == rounds and graph.edges:
        stats["edges"] += on_host(graph, partner, partial(parallel.solve, threads=1, rounds=0))["edges"]
    return stats


def kernels():
    """Name, kernel and argument types of what is compiled."""
    listed = []
    for name, kind in (("int64", int64), ("float64", float64)):
        types = (LONGS, IDS, kind[::1], IDS, int8[::1], IDS, IDS, IDS, LONGS, int32, int64, uint64, int32)
        listed.append((f"rounds {name}", rounds_kernel, types))
    return listed
