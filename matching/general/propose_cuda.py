"""Whom vertices choose in a round of `parallel` on a GPU: lines 12 to 26 of algorithm 3.  Arrays, races: parallel.py.

::

    lanes      1 to 8 a vertex, as many as there are; AT_ONCE entries each, side by side: one after the other, each
               would wait for two memory accesses
    the rest   of a list longer than MANY for each lane is left to the warp, one vertex at a time

O(entries up to the first that suits, or all for the heaviest).
"""

from numba import int32, int64, uint32

from gridcut.device.cuda import SIMULATED, ballot, count_trailing_zeros, cuda, device_function, match_any, shuffle
from matching.general.common_cuda import WARP_DEGREE, heaviest_of
from matching.general.parallel import BLUE, NO_LIVE_NEIGHBOUR, NONE, RED

MAX_LANES = 2 if SIMULATED else 8  # of a vertex, where there are more threads than vertices
UNROLL = 2  # neighbours that a lane looks at side by side


@device_function
def select(adj, weight, heaviest, colour, choice, v, start, k, end, lanes, proposing):
    """Whom v chooses of adj[start + k : start + end], for each `lanes` lanes of a warp, which get the same answer.

    NOBODY: only who does not suit; NO_HOPE: nobody who is live.  Each lane looks at AT_ONCE entries side by side: one
    after the other, each would wait for two memory accesses.
    """
    lane = int32(cuda.threadIdx.x & 31)
    rank = int32(lane & (lanes - 1))
    group = ((int64(1) << lanes) - 1) << (lane - rank)
    has_active = False
    best = int32(-1)
    best_weight = weight[0]
    searching = k < end
    while ballot(searching) != 0:
        first = int32(k + UNROLL * rank)
        for j in range(UNROLL):
            in_list = searching and first + j < end
            # Some entry in any case: a branch would keep the next from being read meanwhile.
            entry = start + first + j if in_list else int64(0)
            w = adj[entry]
            colour_of_w = colour[w]
            has_active = has_active | (in_list & (colour_of_w <= RED))
            # Blues choose any red, reds a blue that chose them.
            suits = colour_of_w == RED if proposing else (colour_of_w == BLUE) & (choice[w] == v)
            if in_list & suits:
                if heaviest:
                    if best < 0 or weight[entry] > best_weight:
                        best = int32(first + j)
                        best_weight = weight[entry]
                elif best < 0:
                    best = int32(first + j)
        found = int64(ballot(best >= 0)) & group != 0
        k = int32(k + UNROLL * lanes)
        searching = searching and k < end and (heaviest or not found)
    if heaviest:
        best = heaviest_of(best, best_weight, lanes)
    winners = int64(ballot(best >= 0)) & group
    actives = int64(ballot(has_active)) & group
    w = adj[start + best] if best >= 0 else int32(NONE) if actives != 0 else int32(NO_LIVE_NEIGHBOUR)
    return shuffle(w, count_trailing_zeros(uint32(winners)) if winners != 0 else lane)


@device_function
def propose(choice, v, w, proposes):
    """Leave v's name with w, unless a lesser one is there; all lanes of a warp take part, those that ask.

    Many ask for the same neighbour where degrees are skewed, and the memory takes them one after the other: of those in
    a warp one goes, the first, whose name mostly is the least.
    """
    lane = int32(cuda.threadIdx.x & 31)
    same_target = match_any(w if proposes else int32(-1 - lane))
    first = shuffle(v, count_trailing_zeros(same_target))
    if proposes and not first < v:
        cuda.atomic.min(choice, w, v)


@device_function
def select_all(ptr, adj, weight, heaviest, colour, choice, lists, first, count, proposing, thread, threads):
    """Lines 12 to 19 (proposing) from lists[first] on, or 21 to 26 (responding) from there down, for `number` vertices.

    Writes choice, returns the entries that may have been looked at.
    """
    lane = int32(thread & 31)
    shift = int32(0)
    while (1 << shift) < MAX_LANES and int64(count) << (shift + 1) <= threads:
        shift = int32(shift + 1)
    lanes = int32(1 << shift)
    is_leader = lane & (lanes - 1) == 0
    base = int32((thread - lane) >> shift)
    edges = int64(0)
    while base < count:
        i = int32(base + (lane >> shift))
        v = int32(-1)
        start = int64(0)
        end = int32(0)
        if i < count:
            v = lists[first + i] if proposing else lists[first - i]
            start = ptr[v]
            end = int32(ptr[v + 1] - start)
        if is_leader:
            edges += end
        # The first entries mostly hold somebody; of long lists a warp looks at the rest, or at all for the heaviest.
        own_end = min(end, int32(WARP_DEGREE * lanes))
        if heaviest and own_end < end:
            own_end = int32(0)
        w = select(adj, weight, heaviest, colour, choice, v, start, int32(0), own_end, lanes, proposing)
        pending = ballot(is_leader and own_end < end and w < 0)
        while pending != 0:
            source = count_trailing_zeros(pending)
            pending = pending & (pending - 1)
            hub, hub_start, hub_k, hub_end = (
                shuffle(v, source),
                shuffle(start, source),
                shuffle(own_end, source),
                shuffle(end, source),
            )
            hub_w = select(adj, weight, heaviest, colour, choice, hub, hub_start, hub_k, hub_end, int32(32), proposing)
            if lane == source:
                w = max(w, hub_w) if hub_w < 0 else hub_w
        writes = is_leader and i < count
        if writes:
            choice[v] = w
        if not heaviest:
            propose(choice, v, w, writes and w >= 0)
        base = int32(base + (threads >> shift))
    return edges
