"""The search of graph_waves_cuda.py: levels of nodes by their distance to a deficit, and the nodes with excess in them.

Breadth-first search backwards from the deficits, one level between two barriers of the grid, in a kernel that goes on
with the result.  A level of at most NARROW nodes is expanded by one block, which continues while levels are
narrow; the other blocks wait at a barrier of the grid.  Barriers of a block are shorter, and long paths have thousands
of narrow levels.  Up to 2^MAX_SHIFT threads scan one row if there are more threads than nodes in a level.

Arrays (n nodes; ceiling = n + 1), in addition to those of device_graph_cuda.py
  active          nodes with excess, in the order in which the search found them, level by level
  active_end[l]   number of nodes in `active` of the levels up to l
  tally           counters as named below; those of levels rotate: one is read, one is added to, and one is 0
"""

from gridcut.core.warp_queue_cuda import append
from gridcut.device.cuda import (
    SIMULATED,
    WARP,
    ballot,
    count_trailing_zeros,
    cuda,
    device_function,
    popcount,
    relaxed_load,
    shuffle,
)
from gridcut.device.cuda_types import int32, int64

THREADS = WARP if SIMULATED else 512  # per block
NARROW = 4 if SIMULATED else 512  # nodes of a level that one block processes
LAST_BIT = 1 << 30  # a lane scans up to 30 arcs before the warp reserves space for what it has found
MAX_SHIFT = 3  # up to 2^3 threads scan the row of one node in a search
# Slots of tally: the three rotating counters of each kind, then the state in which one block has ended.  FRONT and
# WAITING: position and number of the nodes of the next level in `queue`.  HEIGHT: that level.  FOUND: nodes with excess
# that the search has found.  TOP: the highest level with such a node.  WITH_EXCESS: all nodes with excess.  LEVELS:
# number of levels of the search.
NODE_COUNTS, EXCESS_COUNTS, RECEIVED_COUNTS = 0, 3, 6
FRONT, WAITING, HEIGHT, FOUND, TOP, WITH_EXCESS, LEVELS, TALLY_SIZE = 9, 10, 11, 12, 13, 14, 15, 16


@device_function
def next_slot(slot):
    """The slot after this one of three that rotate."""
    return int32(slot + 1) if slot < 2 else int32(0)


@device_function
def reserve(tally, slot, count):
    """Add the counts of all lanes of the warp to tally[slot]; the lane's share starts at the returned position.

    All lanes of the warp must call this.  One atomic addition per warp.
    """
    lane = int32(cuda.laneid)
    upto = int32(count)
    distance = int32(1)
    while distance < WARP:
        before = int32(shuffle(upto, (lane - distance) & (WARP - 1)))
        if lane >= distance:
            upto = int32(upto + before)
        distance = int32(2 * distance)
    total = int32(shuffle(upto, WARP - 1))
    at = int32(0)
    if lane == 0 and total > 0:
        at = int32(cuda.atomic.add(tally, slot, total))
    return int32(int32(shuffle(at, 0)) + upto - count)


@device_function
def write_heads(target, at, head, first, step, bits):
    """Write the heads of the arcs first + k * step, for all bits k that are set, to `target` from `at` on."""
    while bits != 0:
        target[at] = head[first + count_trailing_zeros(bits) * step]
        bits = int32(bits & (bits - 1))
        at = int32(at + 1)


@device_function
def reset_heights(excess, height, queue, tally, ceiling):
    """List the deficits, which are level 1, and count the nodes with excess."""
    size = int32(excess.size)
    thread = int32(cuda.grid(1))
    threads = int32(cuda.gridsize(1))
    lane = int32(cuda.laneid)
    base = int32(thread - lane)  # all lanes of a warp execute the same iterations
    while base < size:
        x = int32(base + lane)
        has_deficit = False
        has_excess = False
        if x < size:
            e = excess[x]
            has_deficit = e < 0
            has_excess = e > 0
            height[x] = int32(1) if has_deficit else ceiling
        append(queue, tally, int32(NODE_COUNTS), int32(0), has_deficit, x)
        bits = ballot(has_excess)
        if bits != 0 and lane == count_trailing_zeros(bits):
            cuda.atomic.add(tally, int32(WITH_EXCESS), popcount(bits))
        base = int32(base + threads)


@device_function
def reaches(head, mate, residual, height, a, level, ceiling):
    """The node that arc a leads to, and whether this thread has found that it is one level above."""
    y = head[a]
    found = False
    if relaxed_load(height, y) == ceiling and residual[mate[a]] > 0:
        found = cuda.atomic.cas(height, y, ceiling, int32(level + 1)) == ceiling
    return y, found


@device_function
def shift_of(nodes, threads):
    """Logarithm of the number of threads that scan one row: as many as there are per node, up to 2^MAX_SHIFT."""
    shift = int32(0)
    while shift < MAX_SHIFT and int64(nodes) << (shift + 1) <= threads:
        shift = int32(shift + 1)
    return shift


# args: not bundled yet
@device_function
def expand_by_grid(
    row, head, mate, residual, excess, height, queue, tally, ceiling, active, level, front, waiting, found, coming
):
    """List the nodes one level above queue[front : front + waiting], by all blocks."""
    threads = int32(cuda.gridsize(1))
    lane = int32(cuda.laneid)
    shift = shift_of(waiting, threads)
    step = int32(1 << shift)
    end = int32(front + waiting)
    base = int32(int32(cuda.grid(1)) - lane)
    while base < waiting << shift:
        a = int32(0)
        last = int32(0)
        i = int32(base + lane)
        if i < waiting << shift:
            x = queue[front + (i >> shift)]
            a = int32(row[x] + (i & (step - 1)))
            last = row[x + 1]
        while ballot(a < last) != 0:
            begin = a
            bits = int32(0)
            excess_bits = int32(0)
            bit = int32(1)
            while a < last and bit < LAST_BIT:
                y, is_found = reaches(head, mate, residual, height, a, level, ceiling)
                if is_found:
                    bits = int32(bits | bit)
                    if excess[y] > 0:
                        excess_bits = int32(excess_bits | bit)
                bit = int32(bit << 1)
                a = int32(a + step)
            at = reserve(tally, int32(NODE_COUNTS + coming), popcount(bits))
            write_heads(queue, int32(end + at), head, begin, step, bits)
            if ballot(excess_bits != 0) != 0:
                at = reserve(tally, int32(EXCESS_COUNTS + coming), popcount(excess_bits))
                write_heads(active, int32(found + at), head, begin, step, excess_bits)
        base = int32(base + threads)


# args: not bundled yet
@device_function
def expand_narrow_levels(
    row, head, mate, residual, excess, height, queue, tally, ceiling, active, active_end,
    level, front, waiting, found, wanted, top,
):  # fmt: skip
    """Expand levels by one block while they are narrow, and write the state to tally; all its threads call this."""
    counts = cuda.shared.array(6, int32)
    me = int32(cuda.threadIdx.x)
    threads = int32(cuda.blockDim.x)
    if me < 6:
        counts[me] = 0
    cuda.syncthreads()
    slot = int32(0)
    while 0 < waiting <= NARROW and (wanted == 0 or found < wanted):
        following = next_slot(slot)
        end = int32(front + waiting)
        shift = shift_of(waiting, threads)
        step = int32(1 << shift)
        if me == 0:
            counts[following] = 0
            counts[EXCESS_COUNTS + following] = 0
            active_end[level] = found
        i = me
        while i < waiting << shift:
            x = queue[front + (i >> shift)]
            a = int32(row[x] + (i & (step - 1)))
            last = row[x + 1]
            while a < last:
                y, is_found = reaches(head, mate, residual, height, a, level, ceiling)
                if is_found:
                    queue[end + cuda.atomic.add(counts, slot, int32(1))] = y
                    if excess[y] > 0:
                        active[found + cuda.atomic.add(counts, int32(EXCESS_COUNTS + slot), int32(1))] = y
                a = int32(a + step)
            i = int32(i + threads)
        cuda.syncthreads()
        front = end
        waiting = counts[slot]
        level = int32(level + 1)
        if counts[EXCESS_COUNTS + slot] > 0:
            found = int32(found + counts[EXCESS_COUNTS + slot])
            top = level
        slot = following
    if me == 0:
        tally[FRONT] = front
        tally[WAITING] = waiting
        tally[HEIGHT] = level
        tally[FOUND] = found
        tally[TOP] = top
