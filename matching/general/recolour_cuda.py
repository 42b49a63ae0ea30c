"""Settle a round of `parallel` on a GPU and colour vertices for the next: lines 28 to 33 and 7 to 10 of algorithm 3.

A warp reads vertices that are contiguous in the source list, and writes the ones that stay active contiguously into the
target list. Vertices that are close in memory stay together, so that their cache lines are loaded once.

::

    source   |  warp 0: per_thread x 32   |  warp 1: per_thread x 32   |  ...     per_thread: at most MAX_PER_THREAD
    target   | blue | blue | ...                                   ... | red | red |
              from the front, space reserved once per block and share           from the back

Arrays, slots of state[], races: parallel_cuda.py. O(n) per round.

[1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
"""

from gridcut.device.cuda import SIMULATED, ballot, cuda, device_function, popcount, shuffle
from gridcut.device.cuda_types import int8, int32, int64, uint32
from matching.general.colour import colour_sum
from matching.general.parallel import BLUE, DEAD, MATCHED, NO_LIVE_NEIGHBOUR, RED


def device_code(function):
    """A CPU function compiled for kernels; in the simulator the function itself, as Python warns of overflows."""
    return function if SIMULATED else device_function(getattr(function, "py_func", function))


colour_of = device_code(colour_sum)
NO_PROPOSAL = 2**31 - 1  # choice of a red vertex without a proposal; more than any vertex
MAX_PER_THREAD = 8 if SIMULATED else 32  # vertices per thread between two reservations; at most 32 (bits)
UNROLL = 4  # vertices per thread whose loads are in flight together; `settle_unrolled` spells them out
LENGTHS = 0  # first of three slots of state: length of the list, one slot per round, see next_grid_slot
ARRIVALS, STATE_SIZE = LENGTHS + 3, LENGTHS + 4  # slots of state


@device_function
def vertex_at(lists, previous, i):
    """The i-th active vertex: blue vertices are stored from the front of the source list, red ones from its back.

    previous   offset of the list of the previous round (the source), its number of blue and of active vertices, and
               whether this is the first round, in which all vertices are active and no list exists
    """
    source, n_blue, _, first_round = previous
    if first_round:
        return i
    return lists[source + i] if i < n_blue else lists[source + lists.size // 2 - 1 - (i - n_blue)]


@device_function
def read_choice(choice, v):
    """v's choice, and whether the chosen vertex chose v."""
    w = choice[v]
    target = w if uint32(w) < NO_PROPOSAL else v  # choice[v] is never v, so this compares unequal
    return w, choice[target] == v


@device_function
def settle(partner, colour, v, w, is_mutual):
    """Lines 28 to 33 for one vertex; returns whether it stays active."""
    if is_mutual:
        partner[v] = w
        colour[v] = int8(MATCHED)
    elif w == NO_LIVE_NEIGHBOUR:
        colour[v] = int8(DEAD)
    return not is_mutual and w != NO_LIVE_NEIGHBOUR


@device_function
def settle_unrolled(partner, colour, choice, lists, previous, first, stop):
    """Settle UNROLL vertices, at first, first + 32, ... up to stop - 1; bit k: whether the k-th stays active."""
    last = int32(stop - 1)
    a = vertex_at(lists, previous, min(first, last))
    b = vertex_at(lists, previous, min(int32(first + 32), last))
    c = vertex_at(lists, previous, min(int32(first + 64), last))
    d = vertex_at(lists, previous, min(int32(first + 96), last))
    # Read all four entries before any write, so that the four loads are in flight together.
    of_a, a_mutual = read_choice(choice, a)
    of_b, b_mutual = read_choice(choice, b)
    of_c, c_mutual = read_choice(choice, c)
    of_d, d_mutual = read_choice(choice, d)
    active = int32(0)
    if first < stop and settle(partner, colour, a, of_a, a_mutual):
        active |= int32(1)
    if first + 32 < stop and settle(partner, colour, b, of_b, b_mutual):
        active |= int32(2)
    if first + 64 < stop and settle(partner, colour, c, of_c, c_mutual):
        active |= int32(4)
    if first + 96 < stop and settle(partner, colour, d, of_d, d_mutual):
        active |= int32(8)
    return active


@device_function
def both_lengths(n_blue, n_red):
    """Two lengths in one word, so that one atomic operation changes both and one load reads both."""
    return int64(n_red) << 32 | int64(n_blue)


@device_function
def n_blue_of(lengths):
    """The blue length, below 2^31."""
    return int32(lengths & 0x7FFFFFFF)


@device_function
def n_red_of(lengths):
    """The red length."""
    return int32(lengths >> 32)


@device_function
def reserve_two(n_blue, n_red, state, grid_slot):
    """Reserve space for the warp's n_blue and n_red vertices in the target list: (blue offset, red offset).

    All threads of the block must call this, those of a warp with the same numbers.
    """
    block = cuda.shared.array(2, int64)
    thread = int32(cuda.threadIdx.x)
    if thread == 0:
        block[0] = 0
    cuda.syncthreads()
    offset = int64(0)
    if thread & 31 == 0:
        offset = cuda.atomic.add(block, 0, both_lengths(n_blue, n_red))
    cuda.syncthreads()
    if thread == 0:
        block[1] = cuda.atomic.add(state, int32(LENGTHS + grid_slot), block[0]) if block[0] > 0 else int64(0)
    cuda.syncthreads()
    offset = shuffle(offset, int32(0)) + block[1]
    return n_blue_of(offset), n_red_of(offset)


@device_function
def settle_and_recolour(
    partner, colour, choice, lists, previous, target, state, grid_slot, r, threshold, thread, threads
):
    """Lines 28 to 33, then lines 7 to 10 of the next round for vertices that stay active, which are listed by colour.

    previous   see `vertex_at`;  target: offset of the list to write;  r, threshold: colour_r and p 2^32 of algorithm 4
    """
    _, _, n_active, first_round = previous
    target_end = int32(target + partner.size - 1)
    lane = int32(thread & 31)
    lower_lanes = (uint32(1) << uint32(lane)) - uint32(1)
    per_thread = min(int32(MAX_PER_THREAD), int32((n_active + threads - 1) // threads))
    base = int32(0)
    while base < n_active:
        start = int32(base + (thread >> 5) * 32 * per_thread)
        stop = min(n_active, int32(start + 32 * per_thread))
        active = int32(0)
        blue = int32(0)
        n_blue, n_red = int32(0), int32(0)
        j = int32(0)
        while start + 32 * j < stop:
            first = int32(start + 32 * j + lane)
            still_active = (
                int32(15) if first_round else settle_unrolled(partner, colour, choice, lists, previous, first, stop)
            )
            for k in range(UNROLL):
                is_active = first + 32 * k < stop and still_active >> k & 1 != 0
                is_blue = False
                if is_active:
                    v = vertex_at(lists, previous, int32(first + 32 * k))
                    is_blue = colour_of(uint32(v + 1), r) < threshold
                    if is_blue:
                        colour[v] = int8(BLUE)
                    else:
                        colour[v] = int8(RED)
                        choice[v] = int32(NO_PROPOSAL)
                active |= int32(is_active) << (j + k)
                blue |= int32(is_blue) << (j + k)
                n_blue = int32(n_blue + popcount(ballot(is_blue)))
                n_red = int32(n_red + popcount(ballot(is_active and not is_blue)))
            j = int32(j + UNROLL)
        blue_at, red_at = reserve_two(n_blue, n_red, state, grid_slot)
        blue_at = int32(target + blue_at)
        red_at = int32(target_end - red_at)
        j = int32(0)
        while start + 32 * j < stop:
            is_active = active >> j & 1 != 0
            is_blue = blue >> j & 1 != 0
            blue_lanes = ballot(is_blue)
            red_lanes = ballot(is_active and not is_blue)
            if is_active:
                v = vertex_at(lists, previous, int32(start + 32 * j + lane))
                if is_blue:
                    lists[blue_at + popcount(blue_lanes & lower_lanes)] = v
                else:
                    lists[red_at - popcount(red_lanes & lower_lanes)] = v
            blue_at = int32(blue_at + popcount(blue_lanes))
            red_at = int32(red_at - popcount(red_lanes))
            j = int32(j + 1)
        base = int32(base + per_thread * threads)
