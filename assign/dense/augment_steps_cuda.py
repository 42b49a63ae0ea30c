"""The steps of a search for shortest augmenting paths on a GPU that do not read costs: see augment_cuda.py."""

from typing import NamedTuple

import numpy as np

from assign.dense.arc_lists_cuda import SHIFT
from assign.dense.auction_cuda import ROW, WIDTH
from assign.dense.costs_cuda import FORBIDDEN
from gridcut.device.cuda import SIMULATED, WARP, cuda, device_function, relaxed_load, shuffle

NEVER = 1 << 62
MAX_DISTANCE = NEVER >> SHIFT
CAPACITY = 8 if SIMULATED else 256  # rows in one of the two queues of a block
# Positions in `state`: three counters of queued rows, of which one is read and one is added to; two of rows to be
# scanned whole; the lowest bound at which the search continues; unmatched columns below the bound; unmatched rows;
# augmented paths
QUEUED, WHOLES, NEXT, REACHED, LEFT, AUGMENTED, STOPPED = 0, 3, 5, 6, 7, 8, 9
SEARCHES, SWEEPS, SCANS, PARTS, STATES = range(10, 15)


class Paths(NamedTuple):
    """The arrays of the search; see above."""

    price: object
    owner: object
    column: object
    u: object
    reach: object
    listed: object
    whole: object
    leaf: object
    queued: object
    waiting: object
    queue: object


class Grid(NamedTuple):
    """A thread of the grid, and the number of threads."""

    thread: object
    threads: object


class Out(NamedTuple):
    """Where rows are queued: in the queue of the block, or if that is full or half < 0, in that of the grid."""

    sweep: object  # of the grid, for which rows are queued
    half: object
    slot: object
    local: object
    number: object


@device_function
def enqueue(i, out, paths, state):
    """Queue row i, unless it is queued."""
    if cuda.atomic.exch(paths.queued, i, np.int32(1)) == 0:
        if out.half >= 0:
            at = cuda.atomic.add(out.number, out.slot, np.int32(1))
            if at < CAPACITY:
                out.local[out.half * CAPACITY + at] = np.int32(i)
                return
        at = cuda.atomic.add(state, QUEUED + out.sweep % 3, np.int64(1))
        paths.queue[(out.sweep & 1) * paths.u.size + at] = np.int32(i)


@device_function
def distance_of(i, paths):
    """The distance of row i: that of its column."""
    j = paths.column[i]
    return relaxed_load(paths.reach, j) >> SHIFT if j >= 0 else np.int64(0)


@device_function
def relax(i, j, x, old, r, bound, out, paths, state):
    """Reach column j, of row r, from row i at distance x, if it was not as near before; `old`: what `reach` was."""
    while x < old >> SHIFT:
        found = cuda.atomic.cas(paths.reach, j, old, (x << SHIFT) | np.int64(i))
        if found == old:
            if x < bound and r >= 0:
                enqueue(r, out, paths, state)
            break
        old = found


@device_function
def scan_list(i, lane, bound, parity, out, paths, lists, state):
    """Scan the list of row i by a warp, or put the row on the list of those to be scanned whole.

    Latency decides: what does not depend on the distance of the row is loaded first.
    """
    at = np.int64(i) * WIDTH + lane
    a, b = lists.col[at], lists.col[at + WARP]
    p, q = lists.cost[at], lists.cost[at + WARP]
    column, u, limit = paths.column[i], paths.u[i], lists.bound[i]
    first, second = max(a, np.int32(0)), max(b, np.int32(0))
    p -= paths.price[first]
    q -= paths.price[second]
    r, s = paths.owner[first], paths.owner[second]
    old, other = relaxed_load(paths.reach, first), relaxed_load(paths.reach, second)
    was = np.int32(0)
    if lane == 0:
        was = cuda.atomic.exch(paths.queued, i, np.int32(0))
    column += shuffle(was, 0) - np.int32(1)  # is 0: the distance is loaded after the row has left the queue
    d = relaxed_load(paths.reach, column) >> SHIFT if column >= 0 else np.int64(0)
    base = d - u
    if lane == 0:
        paths.listed[i] = d
    if limit < FORBIDDEN and base + limit < bound:
        if lane == 0 and cuda.atomic.exch(paths.waiting, i, np.int32(1)) == 0:
            k = cuda.atomic.add(state, WHOLES + parity, np.int64(1))
            paths.queue[(2 + parity) * paths.u.size + k] = i
        return
    if a >= 0 and base + p < MAX_DISTANCE:
        relax(i, a, base + p, old, r, bound, out, paths, state)
    if b >= 0 and base + q < MAX_DISTANCE:
        relax(i, b, base + q, other, s, bound, out, paths, state)


@device_function
def continuation(i, paths, lists):
    """The distance above which row i has to be scanned again, or NEVER."""
    d = distance_of(i, paths)
    found = np.int64(NEVER)
    if d < MAX_DISTANCE:
        if d < paths.listed[i]:
            found = d
        elif d < paths.whole[i] and lists.bound[i] < FORBIDDEN:
            found = d - paths.u[i] + lists.bound[i]
    return found


@device_function
def load(word, paths, grid):
    """Prices, owners and columns from the words of the auction."""
    j = grid.thread
    while j < word.size:
        paths.price[j] = word[j] >> SHIFT
        i = np.int32((word[j] & ROW) - 1)
        paths.owner[j] = i
        if i >= 0:
            paths.column[i] = np.int32(j)
        j += grid.threads


@device_function
def store(word, paths, grid):
    """The inverse of `load`."""
    j = grid.thread
    while j < word.size:
        word[j] = (max(paths.price[j], np.int64(-MAX_DISTANCE)) << SHIFT) | np.int64(paths.owner[j] + 1)
        j += grid.threads


@device_function
def begin_search(out, paths, state, grid):
    """No column is reached, and the unmatched rows are queued."""
    j = grid.thread
    while j < paths.u.size:
        paths.reach[j] = NEVER
        paths.listed[j] = NEVER
        paths.whole[j] = NEVER
        paths.leaf[j] = -1
        if paths.column[j] < 0:
            cuda.atomic.add(state, LEFT, np.int64(1))
            enqueue(j, out, paths, state)
        j += grid.threads


@device_function
def look_ahead(bound, paths, lists, state, grid):
    """Count the unmatched columns below the bound, and find the lowest bound that changes something."""
    reached = np.int64(0)
    nearest = np.int64(NEVER)
    j = grid.thread
    while j < paths.u.size:
        if paths.owner[j] < 0:
            d = paths.reach[j] >> SHIFT
            if d < bound:
                reached += 1
            elif d < MAX_DISTANCE:
                nearest = min(nearest, d)
        nearest = min(nearest, continuation(j, paths, lists))
        j += grid.threads
    if reached > 0:
        cuda.atomic.add(state, REACHED, reached)
    if nearest < NEVER:
        cuda.atomic.min(state, NEXT, nearest)


@device_function
def lower(bound, paths, grid):
    """Change the prices, and give each tree that reaches an unmatched column below the bound one such leaf."""
    price, owner, column, u, reach = paths.price, paths.owner, paths.column, paths.u, paths.reach
    j = grid.thread
    while j < u.size:
        d = reach[j] >> SHIFT
        if d < bound:
            price[j] -= bound - d
            i = owner[j]
            if i >= 0:
                u[i] += bound - d
            else:
                i = np.int32(reach[j] & ROW)
                while column[i] >= 0:
                    i = np.int32(reach[column[i]] & ROW)
                cuda.atomic.cas(paths.leaf, i, np.int32(-1), np.int32(j))
        if column[j] < 0:  # row j
            u[j] += bound
        j += grid.threads


@device_function
def flip(paths, state, grid):
    """Augment along the path to each leaf."""
    i = grid.thread
    while i < paths.u.size:
        j = paths.leaf[i]
        if j >= 0:
            cuda.atomic.add(state, AUGMENTED, np.int64(1))
        while j >= 0:
            r = np.int32(paths.reach[j] & ROW)
            before = paths.column[r]
            paths.column[r] = j
            paths.owner[j] = r
            j = before
        i += grid.threads
