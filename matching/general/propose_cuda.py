"""Choices of vertices in one round of `parallel` on a GPU: lines 12 to 26 of algorithm 3; see parallel_cuda.py.

::

    lanes      1 to 8 per vertex, by the number of idle threads; each loads UNROLL entries before it uses the first,
               since each entry costs two dependent memory accesses
    the rest   of a list with more than WARP_DEGREE entries per lane is scanned by the whole warp, one vertex at a time

O(entries up to the first eligible one, or all entries with "heaviest").

[1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
"""

from gridcut.device.cuda import SIMULATED, ballot, count_trailing_zeros, cuda, device_function, match_any, shuffle
from gridcut.device.cuda_types import int32, int64, uint32
from matching.general.order import NO_VERTEX, random_entry
from matching.general.parallel import BLUE, HEAVIEST, NO_LIVE_NEIGHBOUR, RANDOM, RED
from matching.general.recolour_cuda import device_code

entry_of = device_code(random_entry)

WARP_DEGREE = 2 if SIMULATED else 32  # neighbours that a thread scans by itself; above this degree its warp helps
MAX_LANES = 2 if SIMULATED else 8  # per vertex, if there are more threads than vertices
UNROLL = 2  # independent loads of a lane in flight


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


@device_function
def entry_at(position, wrap, middle):
    """Index in a list of the entry at a position after `middle`; the sum of both may exceed int32, so no remainder."""
    return int32(position - wrap) if position >= wrap else int32(position + middle)


# args: one scan of a list: the graph, the list's position, and the group of lanes that scans it
@device_function
def select(adj, weight, heaviest, colour, choice, v, start, wrap, middle, k, end, lanes, proposing):
    """Lines 14 to 17 (proposing) or 23 to 26 for v: its choice among the positions k to end of its list.

    Position i is adj[start + middle + i], from i = wrap on adj[start + i - wrap]: the list from entry `middle` on, and
    `wrap` its number of entries from there to its end.

    Each group of `lanes` lanes scans the list of one v, and all its lanes return the same value: a neighbour; NO_VERTEX
    (sigma(v) = infinity) if none is eligible; NO_LIVE_NEIGHBOUR (dead) if no neighbour is blue or red. A lane loads
    UNROLL entries before it uses the first, since each entry costs two dependent memory accesses.
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
            # Load some entry in any case: with a branch, the next load would wait for this one.
            entry = start + entry_at(int32(first + j), wrap, middle) if in_list else int64(0)
            w = adj[entry]
            colour_of_w = colour[w]
            has_active = has_active | (in_list & (colour_of_w <= RED))
            # A blue vertex may choose any red one, a red vertex a blue one that chose it.
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
    w = int32(NO_VERTEX) if actives != 0 else int32(NO_LIVE_NEIGHBOUR)
    if best >= 0:
        w = adj[start + entry_at(best, wrap, middle)]
    return shuffle(w, count_trailing_zeros(uint32(winners)) if winners != 0 else lane)


@device_function
def propose(choice, v, w, proposes):
    """Propose from v to w: store v in choice[w] unless a smaller vertex is there.

    All lanes of the warp must call this; only lanes with `proposes` propose. With skewed degrees, many vertices
    propose to the same w, and memory serialises their atomics. Therefore, of the lanes of a warp with the same w, only
    the first issues the atomic, and any other lane whose v is smaller than that of the first.
    """
    lane = int32(cuda.threadIdx.x & 31)
    same_target = match_any(w if proposes else int32(-1 - lane))
    first = shuffle(v, count_trailing_zeros(same_target))
    if proposes and not first < v:
        cuda.atomic.min(choice, w, v)


# args: a step of `rounds_kernel`, split off for reading: it takes what that has in its variables
@device_function
def select_all(ptr, adj, weight, rule, r, colour, choice, lists, first, count, proposing, thread, threads):
    """Lines 12 to 19 for `count` blue vertices from lists[first] up (proposing), or 21 to 26 for red ones from it down.

    Writes choice; returns the number of entries in the lists of these vertices.
    """
    heaviest = rule == HEAVIEST
    rotated = rule == RANDOM and proposing
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
        middle = int32(0)
        if i < count:
            v = lists[first + i] if proposing else lists[first - i]
            start = ptr[v]
            end = int32(ptr[v + 1] - start)
            if rotated:
                middle = int32(entry_of(v, r, end))
        if is_leader:
            edges += end
        # Most vertices find a partner among the first entries. The warp scans the rest of a long list, or all of it if
        # `heaviest`.
        own_end = min(end, int32(WARP_DEGREE * lanes))
        if heaviest and own_end < end:
            own_end = int32(0)
        wrap = int32(end - middle)
        w = select(adj, weight, heaviest, colour, choice, v, start, wrap, middle, int32(0), own_end, lanes, proposing)
        pending = ballot(is_leader and own_end < end and w < 0)
        while pending != 0:
            source = count_trailing_zeros(pending)
            pending = pending & (pending - 1)
            hub, hub_start, hub_middle, hub_k, hub_end = (
                shuffle(v, source),
                shuffle(start, source),
                shuffle(middle, source),
                shuffle(own_end, source),
                shuffle(end, source),
            )
            hub_wrap = int32(hub_end - hub_middle)
            hub_w = select(
                adj, weight, heaviest, colour, choice, hub, hub_start, hub_wrap, hub_middle, hub_k, hub_end, int32(32),
                proposing,
            )  # fmt: skip
            if lane == source:
                w = max(w, hub_w) if hub_w < 0 else hub_w
        writes = is_leader and i < count
        if writes:
            choice[v] = w
        if not heaviest:
            propose(choice, v, w, writes and w >= 0)
        base = int32(base + (threads >> shift))
    return edges
