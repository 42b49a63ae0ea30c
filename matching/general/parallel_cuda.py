"""Colour, propose, respond, match on a GPU: algorithms 3 and 4 of Fagginger Auer and Bisseling.

plain_parallel.py is the algorithm without the tricks of this file; read it first.

Returns the same maximal matching as matching/general/parallel.py with the same seed: the colours are the same, and
the choices of a step depend only on earlier steps, from which barriers of the whole grid separate it. A single
cooperative kernel runs all rounds.

One round, by the line numbers of algorithm 3 in [1]; its r is random_factor(seed, round):

::

    settle_and_recolour   lines 28-33 of the previous round, then lines 5-10   recolour_cuda.py; colour_r is algorithm 4
    ── barrier ──         lines 3, 4, 6 and 9: the kernel ends without active vertices
    select_all            lines 12-19, for the blue list                       propose_cuda.py
    ── barrier ──
    select_all            lines 21-26, for the red list, if `heaviest`         propose_cuda.py
    ── barrier ──         if `heaviest`

Arrays (n vertices)                                                            paper [1]
  colour[v]      BLUE, RED, DEAD or MATCHED                                    pi(v)
  choice[v]      the vertex that v chose in this round; NO_VERTEX;             sigma(v); infinity; dead
                 NO_LIVE_NEIGHBOUR (none is blue or red); NO_PROPOSAL (red vertices)
  partner[v]     partner, or -1                                                pi(v), there min(v, partner of v)
  lists[source:source + n]   active vertices, the blue ones from the front     V in lines 7, 12, 21 and 28
                 and the red ones from the back; the halves of lists, `source` and `target`, alternate

  array    written by                                                          read by
  colour   settle_and_recolour, the thread with v in its share                 select_all
  choice   blue v: select_all, the leader lane of v                            settle_and_recolour;
           red v: settle_and_recolour stores NO_PROPOSAL; then propose, any    select_all of red vertices
           leader lane, by atomic minimum, or if `heaviest` select_all
  partner  settle_and_recolour, as colour                                      the host
  lists    settle_and_recolour, in `target`, at positions of reserve_two       select_all, settle_and_recolour

Slots of state[]; s is the grid slot of the round, 0, 1 or 2, see next_grid_slot
  slot              meaning                        written by                            read by
  LENGTHS + s       lengths of both lists, the     reserve_two: atomic add, one thread   all threads, after the first
                    red one in the upper half      per block; next_grid_slot clears it   barrier of the round
  ARRIVALS          arrivals at barriers of        barrier: atomic add, thread 0 of      barrier: thread 0 of each block
                    FEW_BLOCKS blocks, in total    each block                            spins until all have arrived
counts[EDGES] and counts[ROUNDS]: entries in the lists of vertices that chose, and rounds; read by the host.

Races
  In each step, the thread or lanes of v write the entries of v, and no thread reads an entry that the step writes,
  with four exceptions:
  propose   The leader lanes of several blue vertices update choice[w] of the same red w. The atomic minimum keeps the
            smallest vertex in any order of the updates, and no thread reads choice[w] before the next barrier.
  respond   select loads choice[w] for each neighbour w of a red v, also for red w, whose leader lane may be storing it.
            The value is used only if colour[w] is BLUE, and this step stores only choices of red vertices.
  settle_unrolled   A lane whose position is beyond the end of its share loads the choice of the last vertex of the
            share, while that vertex's own lane may store NO_PROPOSAL there. The lane does not use the value.
            Loads of choice[w] for w = choice[v] do not race: the step stores only choices of vertices that stay active,
            and w leaves. If v is blue, w got a proposal, hence chose one of its proposers, and each of these chose w.
            If v is red, w is a proposer of v. In both cases w is matched in this step.
  leaving blocks   A thread of a block that leaves after round i has passed its last barrier. Its load of
            state[LENGTHS + s] can therefore be delayed until thread 0 of block 0 has cleared this slot for round
            i + 3, i + 6, ..., and while the continuing blocks add to it. Both lengths are in one 64-bit word, which
            the thread reads by one load. So it reads lengths of round i, or partial sums of one later round. Either
            way their sum is at most n_active of round i, which never increases, and the thread leaves. With one
            word per length, a blue length of round i and a red length of round i + 3 could be read; their sum can
            exceed n_active, and the block would stay in the kernel alone.

Maximality
  A vertex becomes DEAD in the step after it found no blue or red neighbour (NO_LIVE_NEIGHBOUR). No colour changes while
  vertices choose, and v itself is then active. Suppose that v becomes dead in one round, and its neighbour u in the
  same round or a later one. Then u was active when v chose, so v saw it: a contradiction. So no two dead vertices are
  adjacent, and once no vertex is active, every edge has a matched end.

Termination
  All threads of the blocks that continue read the same n_active, the sum of the two lengths. It never increases, and
  the kernel ends at 0, or after `max_rounds` rounds. Algorithm 1 then matches the remaining vertices on the host.

Deviates from [1] as the CPU version does, and in three points. Without `heaviest`, a red vertex does not scan its list
(line 26): blue vertices store themselves by atomic minimum, and the smallest proposer is the first in the list, which
`select` returns. Such a red vertex detects only when it is blue that it has no active neighbour (lines 23 and 24).
The last vertices are left to FEW_BLOCKS blocks, then to one, whose barriers are cheaper. A flag `done`, which [1] sets
by compare-and-swap, is not needed: the lengths of the lists are known.

[1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
    Algorithms 3 and 4; p in section 3.1.

O(n + m) expected time per round, with fewer active vertices each round; 17 bytes per vertex in addition to the graph.
"""

import time

import numpy as np

from gridcut.device.arrays import allocate, download, overwrite, refusing, synchronize, upload
from gridcut.device.cuda import SIMULATED, cuda, cuda_kernel, device_function, grid_sync, relaxed_load
from gridcut.device.cuda_types import int32, int64, uint64
from matching.core.grid_cuda import add_up, next_grid_slot, run_kernel
from matching.core.limits_cuda import check_lists, check_sides
from matching.general import parallel
from matching.general.general_graph import DeviceGeneralGraph
from matching.general.order import random_factor
from matching.general.parallel import HEAVIEST
from matching.general.propose_cuda import select_all
from matching.general.recolour_cuda import (
    ARRIVALS,
    LENGTHS,
    STATE_SIZE,
    device_code,
    n_blue_of,
    n_red_of,
    settle_and_recolour,
)

factor_of = device_code(random_factor)
THREADS = 32 if SIMULATED else 512
BLOCKS_PER_SM = 2  # at most: more blocks make barriers of the grid slower than the additional threads help
EDGES, ROUNDS = range(2)  # in counts
REGISTERS = 64  # per thread, so that two blocks fit on a multiprocessor
FEW_BLOCKS, FEW_BLOCKS_VERTICES = 16, 4096  # up to that many active vertices, only FEW_BLOCKS blocks continue
ONE_BLOCK_VERTICES = 5 if SIMULATED else 128  # up to that many active vertices, only one block continues


@device_function
def barrier(state, blocks):
    """Barrier of the first `blocks` blocks: all blocks of the grid, FEW_BLOCKS, or one.

    Where fewer blocks continue, the others leave the kernel; see "leaving blocks" in the file header.
    """
    if blocks == cuda.gridDim.x:
        grid_sync()
        return
    cuda.syncthreads()
    if blocks > 1:
        if cuda.threadIdx.x == 0:
            cuda.threadfence()
            arrived = cuda.atomic.add(state, ARRIVALS, 1)
            all_arrived = arrived - arrived % blocks + blocks
            while relaxed_load(state, int32(ARRIVALS)) < all_arrived:
                pass
            cuda.threadfence()
        cuda.syncthreads()


# args: an entry call, which takes twice as long to pack with several tuples
@cuda_kernel(max_registers=REGISTERS)
def rounds_kernel(ptr, adj, weight, partner, colour, choice, lists, state, counts, rule, threshold, seed, max_rounds):
    """Algorithm 3: rounds until no vertex is active, at most `max_rounds`."""
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
        following = next_grid_slot(state, int32(LENGTHS), grid_slot, thread)
        r = factor_of(seed, uint64(rounds))
        previous = (source, n_blue, n_active, rounds == 0)
        settle_and_recolour(
            partner, colour, choice, lists, previous, target, state, grid_slot, r, threshold, thread, threads
        )
        barrier(state, blocks)
        source, target = target, source
        lengths = relaxed_load(state, int32(LENGTHS + grid_slot))
        n_blue, n_red = n_blue_of(lengths), n_red_of(lengths)
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
        edges += select_all(ptr, adj, weight, rule, r, colour, choice, lists, source, n_blue, True, thread, threads)
        barrier(state, blocks)
        if rule == HEAVIEST:
            last = int32(source + n - 1)  # of this half of lists: the position of the first red vertex
            edges += select_all(ptr, adj, weight, rule, r, colour, choice, lists, last, n_red, False, thread, threads)
            barrier(state, blocks)
        rounds = int32(rounds + 1)
    add_up(counts, int32(EDGES), edges)
    if thread == 0:
        counts[ROUNDS] = rounds


def solve(graph, partner, *, seed=0, p=0.53406, select=None, rounds=256):
    """Match unmatched vertices by rounds of proposals; returns counts of the work done.

    p         probability of blue
    select    "first" neighbour, "random" neighbour or "heaviest" edge; None: "heaviest" if the graph has weights,
              else "first"
    rounds    maximum number of rounds; the remaining vertices are matched by algorithm 1 on the host
    """
    check_lists("parallel", "vertices", graph.n, "device='cpu'")
    rule = parallel.rule_of(select, graph.weight is not None)
    threshold = np.int64(min(round(p * 2**32), 2**32 - 1))
    stats = {"edges": 0, "rounds": 0}
    if graph.edges and rounds:
        stats = run_rounds(graph, partner, rule, threshold, np.uint64(seed % 2**64), np.int32(rounds))
    if graph.edges and stats["rounds"] == rounds:
        stats["edges"] += match_rest(graph, partner)["edges"]
    return stats


def run_rounds(graph, partner, rule, threshold, seed, rounds) -> dict:
    """Algorithm 3, for graph and partner on the GPU or on the host; "seconds" excludes the transfers."""
    check_sides(graph.n)
    with refusing():
        on_device = isinstance(graph, DeviceGeneralGraph)
        if rule != HEAVIEST:  # a kernel that reads no weights is compiled for integers, and gets a dummy
            weight = upload(np.zeros(1, np.int64))
        elif on_device and graph.weighted:
            weight = graph.weight
        else:
            weight = upload(np.ones(graph.adj.size, np.int64) if on_device else graph.weights())
        ptr, adj, there = (a if on_device else upload(a) for a in (graph.ptr, graph.adj, partner))
        synchronize()
        start = time.perf_counter()
        n = graph.n
        colour, choice, lists = allocate((n, np.int8), (n, np.int32), (2 * n, np.int32))
        state, counts = allocate((STATE_SIZE, np.int64), (2, np.int64), zero=True)
        work = (colour, choice, lists, state, counts, rule, threshold, seed, rounds)
        run_kernel(rounds_kernel, (ptr, adj, weight, there, *work), THREADS, n, BLOCKS_PER_SM)
        counts = download(counts)
        seconds = time.perf_counter() - start
        if not on_device:
            partner[:] = download(there)
    return {"edges": int(counts[EDGES]), "rounds": int(counts[ROUNDS]), "seconds": {"search": seconds}}


def match_rest(graph, partner) -> dict:
    """Algorithm 1 on the host, for graph and partner on the GPU or on the host."""
    if not isinstance(graph, DeviceGeneralGraph):
        return parallel.solve(graph, partner, threads=1, rounds=0)
    copy = download(partner)
    stats = parallel.solve(graph.host(), copy, threads=1, rounds=0)
    overwrite(partner, copy)
    return stats
