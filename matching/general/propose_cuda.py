"""Whom vertices choose in a round of `parallel` on a GPU: lines 12 to 26 of algorithm 3.  Arrays, races: parallel.py.

::

    lanes      1 to 8 a vertex, as many as there are; AT_ONCE entries each, side by side: one after the other, each
               would wait for two memory accesses
    the rest   of a list longer than MANY for each lane is left to the warp, one vertex at a time

O(entries up to the first that suits, or all for the heaviest).
"""

from numba import int32, int64, uint32

from gridcut.device.cuda import SIMULATED, ballot, count_trailing_zeros, cuda, device_function, match_any, shuffle
from matching.general.common_cuda import MANY, heaviest_of
from matching.general.parallel import BLUE, NO_HOPE, NOBODY, RED

MAX_LANES = 2 if SIMULATED else 8  # of a vertex, where there are more threads than vertices
AT_ONCE = 2  # neighbours that a lane looks at side by side


@device_function
def look(adj, weight, heaviest, state, choice, v, start, k, end, lanes, proposing):
    """Whom v chooses of adj[start + k : start + end], for each `lanes` lanes of a warp, which get the same answer.

    NOBODY: only who does not suit; NO_HOPE: nobody who is live.  Each lane looks at AT_ONCE entries side by side: one
    after the other, each would wait for two memory accesses.
    """
    lane = int32(cuda.threadIdx.x & 31)
    me = int32(lane & (lanes - 1))
    group = ((int64(1) << lanes) - 1) << (lane - me)
    hope = False
    best = int32(-1)
    most = weight[0]
    looking = k < end
    while ballot(looking) != 0:
        first = int32(k + AT_ONCE * me)
        for j in range(AT_ONCE):
            there = looking and first + j < end
            # Some entry in any case: a branch would keep the next from being read meanwhile.
            at = start + first + j if there else int64(0)
            w = adj[at]
            colour = state[w]
            hope = hope | (there & (colour <= RED))
            # Blues choose any red, reds a blue that chose them.
            suits = colour == RED if proposing else (colour == BLUE) & (choice[w] == v)
            if there & suits:
                if heaviest:
                    if best < 0 or weight[at] > most:
                        best = int32(first + j)
                        most = weight[at]
                elif best < 0:
                    best = int32(first + j)
        found = int64(ballot(best >= 0)) & group != 0
        k = int32(k + AT_ONCE * lanes)
        looking = looking and k < end and (heaviest or not found)
    if heaviest:
        best = heaviest_of(best, most, lanes)
    chosen = int64(ballot(best >= 0)) & group
    hopes = int64(ballot(hope)) & group
    w = adj[start + best] if best >= 0 else int32(NOBODY) if hopes != 0 else int32(NO_HOPE)
    return shuffle(w, count_trailing_zeros(uint32(chosen)) if chosen != 0 else lane)


@device_function
def propose(choice, v, w, asks):
    """Leave v's name with w, unless a lesser one is there; all lanes of a warp take part, those that ask.

    Many ask for the same neighbour where degrees are skewed, and the memory takes them one after the other: of those in
    a warp one goes, the first, whose name mostly is the least.
    """
    lane = int32(cuda.threadIdx.x & 31)
    same = match_any(w if asks else int32(-1 - lane))
    first = shuffle(v, count_trailing_zeros(same))
    if asks and not first < v:
        cuda.atomic.min(choice, w, v)


@device_function
def choose_all(ptr, adj, weight, heaviest, state, choice, lists, first, number, proposing, thread, threads):
    """Lines 12 to 19 (proposing) from lists[first] on, or 21 to 26 (responding) from there down, for `number` vertices.

    Writes choice, returns the entries that may have been looked at.
    """
    lane = int32(thread & 31)
    shift = int32(0)
    while (1 << shift) < MAX_LANES and int64(number) << (shift + 1) <= threads:
        shift = int32(shift + 1)
    lanes = int32(1 << shift)
    leads = lane & (lanes - 1) == 0
    some = int32((thread - lane) >> shift)
    edges = int64(0)
    while some < number:
        i = int32(some + (lane >> shift))
        v = int32(-1)
        start = int64(0)
        end = int32(0)
        if i < number:
            v = lists[first + i] if proposing else lists[first - i]
            start = ptr[v]
            end = int32(ptr[v + 1] - start)
        if leads:
            edges += end
        # The first entries mostly hold somebody; of long lists a warp looks at the rest, or at all for the heaviest.
        near = min(end, int32(MANY * lanes))
        if heaviest and near < end:
            near = int32(0)
        w = look(adj, weight, heaviest, state, choice, v, start, int32(0), near, lanes, proposing)
        left = ballot(leads and near < end and w < 0)
        while left != 0:
            which = count_trailing_zeros(left)
            left = left & (left - 1)
            hub, its, begin, stop = shuffle(v, which), shuffle(start, which), shuffle(near, which), shuffle(end, which)
            far = look(adj, weight, heaviest, state, choice, hub, its, begin, stop, int32(32), proposing)
            if lane == which:
                w = max(w, far) if far < 0 else far
        asks = leads and i < number
        if asks:
            choice[v] = w
        if not heaviest:
            propose(choice, v, w, asks and w >= 0)
        some = int32(some + (threads >> shift))
    return edges
