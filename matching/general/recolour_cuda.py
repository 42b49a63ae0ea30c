"""Who is live and of which colour, round by round, of `parallel` on a GPU: lines 28 to 33 of algorithm 3, and 7 to 10.

A warp takes vertices that stand side by side in the list, and puts them side by side again: those that lie near each
other in memory stay together, and their lines are read once.

::

    list     |  warp 0: share x 32   |  warp 1: share x 32   |  ...        a share: vertices of a thread, at most LISTED
    lists    | blue | blue | ...                                 ... | red | red |
              from the front, room taken once a block and share                from the back

Arrays and races: parallel.py.  O(n) a round.
"""

from numba import int8, int32, uint32

from gridcut.device.cuda import SIMULATED, ballot, cuda, device_function, popcount, shuffle
from matching.general.colour import colour_sum
from matching.general.common_cuda import LIVE, device_code
from matching.general.parallel import BLUE, DEAD, MATCHED, NO_HOPE, RED

colour_of = device_code(colour_sum)
NOT_ASKED = 2**31 - 1  # choice of a red one until somebody proposes
LISTED = 8 if SIMULATED else 32  # vertices of a thread between two calls for room in the lists; at most 32
ABREAST = 4  # vertices of a thread that wait for memory side by side; `settled` names each
REDS, STATES = LIVE + 3, LIVE + 6  # in state: lengths of the lists of blue (LIVE) and of red ones, three of each


@device_function
def listed(lists, of_before, i):
    """The i-th of the live vertices: the blue ones lie in front, the red ones behind.

    of_before   where the lists begin that were made last, how many blue ones they hold, how many of both colours, and
                whether there are none yet, all vertices being live
    """
    here, blues, _, none_yet = of_before
    if none_yet:
        return i
    return lists[here + i] if i < blues else lists[here + lists.size // 2 - 1 - (i - blues)]


@device_function
def answer(choice, v):
    """Whom v chose, and whether that one chose v."""
    w = choice[v]
    asked = w if uint32(w) < NOT_ASKED else v  # nobody chooses himself
    return w, choice[asked] == v


@device_function
def settle(partner, colour, v, w, agreed):
    """Lines 28 to 33 for one vertex: whether it is live still."""
    if agreed:
        partner[v] = w
        colour[v] = int8(MATCHED)
    elif w == NO_HOPE:
        colour[v] = int8(DEAD)
    return not agreed and w != NO_HOPE


@device_function
def settled(partner, colour, choice, lists, of_before, first, stop):
    """Settle those at first, first + 32, ..., ABREAST of them, but none from stop on; bits: who is live still."""
    last = int32(stop - 1)
    a = listed(lists, of_before, min(first, last))
    b = listed(lists, of_before, min(int32(first + 32), last))
    c = listed(lists, of_before, min(int32(first + 64), last))
    d = listed(lists, of_before, min(int32(first + 96), last))
    # All is read before any of it is written, so that the four wait for memory side by side.
    of_a, a_agreed = answer(choice, a)
    of_b, b_agreed = answer(choice, b)
    of_c, c_agreed = answer(choice, c)
    of_d, d_agreed = answer(choice, d)
    live = int32(0)
    if first < stop and settle(partner, colour, a, of_a, a_agreed):
        live |= int32(1)
    if first + 32 < stop and settle(partner, colour, b, of_b, b_agreed):
        live |= int32(2)
    if first + 64 < stop and settle(partner, colour, c, of_c, c_agreed):
        live |= int32(4)
    if first + 96 < stop and settle(partner, colour, d, of_d, d_agreed):
        live |= int32(8)
    return live


@device_function
def rooms_for(blues, reds, state, turn):
    """Where this warp may write so many; all threads of the block take part, all of a warp with the same counts."""
    place = cuda.shared.array(4, int32)
    me = int32(cuda.threadIdx.x)
    if me < 2:
        place[me] = 0
    cuda.syncthreads()
    front = int32(0)
    back = int32(0)
    if me & 31 == 0:
        front = cuda.atomic.add(place, 0, blues)
        back = cuda.atomic.add(place, 1, reds)
    cuda.syncthreads()
    if me < 2:
        length = int32((REDS if me > 0 else LIVE) + turn)
        place[me + 2] = cuda.atomic.add(state, length, place[me]) if place[me] > 0 else int32(0)
    cuda.syncthreads()
    return int32(shuffle(front, int32(0)) + place[2]), int32(shuffle(back, int32(0)) + place[3])


@device_function
def deal(partner, colour, choice, lists, of_before, there, state, turn, r, limit, thread, threads):
    """Lines 28 to 33, then 7 to 10 of the next round for those that are live still, who are listed by colour.

    of_before   see `listed`;  there: where lists go
    """
    _, _, number, first_round = of_before
    back_end = int32(there + partner.size - 1)
    lane = int32(thread & 31)
    below = (uint32(1) << uint32(lane)) - uint32(1)
    share = min(int32(LISTED), int32((number + threads - 1) // threads))  # of a thread
    around = int32(0)
    while around < number:
        start = int32(around + (thread >> 5) * 32 * share)
        stop = min(number, int32(start + 32 * share))
        live = int32(0)
        blue = int32(0)
        blues, reds = int32(0), int32(0)
        j = int32(0)
        while start + 32 * j < stop:
            first = int32(start + 32 * j + lane)
            here = int32(15) if first_round else settled(partner, colour, choice, lists, of_before, first, stop)
            for k in range(ABREAST):
                is_live = first + 32 * k < stop and here >> k & 1 != 0
                is_blue = False
                if is_live:
                    v = listed(lists, of_before, int32(first + 32 * k))
                    is_blue = colour_of(uint32(v + 1), r) < limit
                    if is_blue:
                        colour[v] = int8(BLUE)
                    else:
                        colour[v] = int8(RED)
                        choice[v] = int32(NOT_ASKED)
                live |= int32(is_live) << (j + k)
                blue |= int32(is_blue) << (j + k)
                blues = int32(blues + popcount(ballot(is_blue)))
                reds = int32(reds + popcount(ballot(is_live and not is_blue)))
            j = int32(j + ABREAST)
        front, back = rooms_for(blues, reds, state, turn)
        front = int32(there + front)
        back = int32(back_end - back)
        j = int32(0)
        while start + 32 * j < stop:
            is_live = live >> j & 1 != 0
            is_blue = blue >> j & 1 != 0
            all_blue = ballot(is_blue)
            all_red = ballot(is_live and not is_blue)
            if is_live:
                v = listed(lists, of_before, int32(start + 32 * j + lane))
                if is_blue:
                    lists[front + popcount(all_blue & below)] = v
                else:
                    lists[back - popcount(all_red & below)] = v
            front = int32(front + popcount(all_blue))
            back = int32(back - popcount(all_red))
            j = int32(j + 1)
        around = int32(around + share * threads)
