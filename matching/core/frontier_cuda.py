"""A queue of vertices that is processed level by level, in one of three modes chosen by the length of the frontier.

The frontier is queue[head:tail]; vertices pushed while it is processed are appended to the queue.

  ALL_BLOCKS   more than MAX_BLOCK_SHARE vertices per block: all blocks work on one level. A block collects its pushes
               in shared memory and reserves space in the queue once.
  PER_BLOCK    fewer: each block takes its share of the frontier and continues from there independently, for several
               levels, with its frontier in shared memory; then the frontiers of all blocks are redistributed.
  ONE_BLOCK    at most NARROW_FRONTIER vertices, as on thousands of levels of long paths: one block continues while
               frontiers stay narrow.

A barrier of a block takes a fiftieth of the time of the grid's. In mode PER_BLOCK a vertex may be reached along a path
that is not shortest. Use it where any forest will do, not where the minimum number of levels matters.

::

    ALL_BLOCKS ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│  PER_BLOCK   ▒▒│▒▒│▒▒│▒▒│▒▒│▒▒│    ▒ a level of one block
               ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│              ▒▒▒│▒▒│▒▒▒│▒│      │    │ barrier: of a block,
               ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│              ▒▒│▒▒│▒▒│▒▒▒│▒▒│▒▒│      through all lines: of the grid

`Frontier` and `Out` bundle the arrays of a queue, and the destination of a level's pushes, under the names below.
"""

from typing import NamedTuple

from gridcut.device.cuda import SIMULATED, cuda, device_function
from gridcut.device.cuda_types import int32, int64
from matching.core.grid_cuda import next_grid_slot

ALL_BLOCKS, PER_BLOCK, ONE_BLOCK = range(3)
# Slots of state. PUSHED: three counters, one per grid slot. ALL_PUSHED: likewise, all pushes in mode PER_BLOCK, with
# those already processed. HEAD, TAIL: the frontier where ONE_BLOCK ended.
PUSHED, ALL_PUSHED, HEAD, TAIL, STATE_SIZE = 0, 3, 6, 7, 8

NARROW_FRONTIER = 4 if SIMULATED else 512  # frontier up to which mode ONE_BLOCK starts
SHARED_CAPACITY = 8 if SIMULATED else 1024  # vertices per frontier in shared memory, up to which a block continues
MAX_BLOCK_SHARE = 8 if SIMULATED else 512  # vertices per block up to which mode PER_BLOCK runs; at most SHARED_CAPACITY
SHARED_SIZE = 2 * SHARED_CAPACITY if SIMULATED else 4 * SHARED_CAPACITY  # of shared_frontier: at least two frontiers
UNLIMITED_LEVELS = int64(2**62)  # max_levels without a limit
# Slots of block_counts: three counters of pushes of a level of this block; pushes in mode ALL_BLOCKS; queue offset.
COLLECTED, RESERVED, BLOCK_COUNTS_SIZE = 3, 4, 5


class Frontier(NamedTuple):
    """The arrays of a queue."""

    queue: object
    state: object  # counters of the grid; see the slots above
    shared: object  # shared memory. ALL_BLOCKS: pushes of the block. Other modes: two frontiers, used alternately
    block_counts: object  # shared memory: counts of pushes, and offsets in the queue


class Out(NamedTuple):
    """The destination of a level's pushes."""

    frontier: object
    mode: object  # ALL_BLOCKS, PER_BLOCK or ONE_BLOCK
    grid_slot: object  # which of the grid's three counters is in use; one is read and one is cleared in the same step
    slot: object  # likewise for block_counts
    half: object  # where the next frontier starts in `shared`
    tail: object  # end of the queue when the level started


@device_function
def all_blocks_out(frontier, grid_slot, tail):
    """`Out` for a level of all blocks."""
    return Out(frontier, int32(ALL_BLOCKS), grid_slot, int32(0), int32(0), tail)


@device_function
def frontier_vertex(out, head, i):
    """Vertex i of the frontier that a level processes: of queue[head:], or of the shared frontier."""
    if out.mode == ALL_BLOCKS:
        return out.frontier.queue[head + i]
    return out.frontier.shared[SHARED_CAPACITY - out.half + i]


@device_function
def next_level_slot(state, grid_slot, thread):
    """The grid slot after this one, for levels that may be in mode PER_BLOCK; its counters are cleared."""
    next_grid_slot(state, int32(ALL_PUSHED), grid_slot, thread)
    return next_grid_slot(state, int32(PUSHED), grid_slot, thread)


@device_function
def push(out, x):
    """Append x to the next frontier."""
    queue, state, shared, block_counts = out.frontier
    if out.mode == ALL_BLOCKS:
        i = cuda.atomic.add(block_counts, int32(COLLECTED), int32(1))
        if i < SHARED_SIZE:
            shared[i] = x
            return
    else:
        i = cuda.atomic.add(block_counts, out.slot, int32(1))
        if i < SHARED_CAPACITY:
            shared[out.half + i] = x
        if out.mode == ONE_BLOCK:
            queue[out.tail + i] = x
            return
        if i < SHARED_CAPACITY:
            return
    queue[out.tail + cuda.atomic.add(state, int32(PUSHED + out.grid_slot), int32(1))] = x


@device_function
def load_share(frontier, first, count):
    """Load queue[first : first + count] as the first frontier of a block; all threads of the block must call this."""
    i = int32(cuda.threadIdx.x)
    if i < COLLECTED:
        frontier.block_counts[i] = 0
    while i < count:
        frontier.shared[i] = frontier.queue[first + i]
        i = int32(i + cuda.blockDim.x)
    cuda.syncthreads()


@device_function
def append_to_queue(frontier, grid_slot, tail, first, count):
    """Append shared[first : first + count] to the queue; all threads of the block call this alike."""
    queue, state, shared, block_counts = frontier
    me = int32(cuda.threadIdx.x)
    if me == 0 and count > 0:
        block_counts[RESERVED] = cuda.atomic.add(state, int32(PUSHED + grid_slot), count)
    cuda.syncthreads()
    if count > 0:
        start = int32(tail + block_counts[RESERVED])
        i = me
        while i < count:
            queue[start + i] = shared[first + i]
            i = int32(i + cuda.blockDim.x)


@device_function
def flush(frontier, grid_slot, tail):
    """Append this block's pushes of an ALL_BLOCKS level to the queue; all threads of the block must call this."""
    cuda.syncthreads()
    collected = min(frontier.block_counts[COLLECTED], int32(SHARED_SIZE))
    append_to_queue(frontier, grid_slot, tail, int32(0), collected)
    if cuda.threadIdx.x == 0:
        frontier.block_counts[COLLECTED] = 0


def make_narrow_levels(level):
    """A device function for one block, which processes levels while they are narrow.

    level   a device function: level(problem, work, out, head, thread, threads) -> number of edges scanned
    """

    @device_function
    def narrow_levels(problem, work, frontier, head, tail, max_levels):
        """At most `max_levels` levels: (head, tail, levels, edges). All threads of the block must call this."""
        me = int32(cuda.threadIdx.x)
        threads = int32(cuda.blockDim.x)
        load_share(frontier, head, int32(tail - head))
        slot = int32(0)
        half = int32(SHARED_CAPACITY)
        levels = int64(0)
        edges = int64(0)
        while head < tail <= head + SHARED_CAPACITY and levels < max_levels:
            following = int32(slot + 1) if slot < 2 else int32(0)
            if me == 0:
                frontier.block_counts[following] = 0
            out = Out(frontier, int32(ONE_BLOCK), int32(0), slot, half, tail)
            edges += level(problem, work, out, head, me, threads)
            cuda.syncthreads()
            head = tail
            tail = int32(tail + frontier.block_counts[slot])
            half = int32(SHARED_CAPACITY - half)
            slot = following
            levels += 1
        return head, tail, levels, edges

    return narrow_levels


def make_block_levels(level):
    """A device function for each block of a grid, which processes levels from its share of the frontier."""

    @device_function
    def block_levels(problem, work, frontier, grid_slot, head, tail, max_levels):
        """At most `max_levels` levels: (levels, edges). The share of a block is at most MAX_BLOCK_SHARE vertices.

        After the next barrier of the grid, the remaining frontier is in the queue from `tail` on, its length is in
        state[PUSHED + grid_slot], and the number of all pushes is in state[ALL_PUSHED + grid_slot].
        """
        block_counts = frontier.block_counts
        me = int32(cuda.threadIdx.x)
        threads = int32(cuda.blockDim.x)
        share = int32((tail - head + cuda.gridDim.x - 1) // cuda.gridDim.x)
        first = int32(head + cuda.blockIdx.x * share)
        count = max(int32(0), min(share, int32(tail - first)))
        load_share(frontier, first, count)
        slot = int32(0)
        half = int32(SHARED_CAPACITY)
        pushed = int32(0)
        levels = int64(0)
        edges = int64(0)
        while 0 < count <= MAX_BLOCK_SHARE and levels < max_levels:
            following = int32(slot + 1) if slot < 2 else int32(0)
            if me == 0:
                block_counts[following] = 0
            out = Out(frontier, int32(PER_BLOCK), grid_slot, slot, half, tail)
            edges += level(problem, work, out, int32(tail - count), me, threads)
            cuda.syncthreads()
            pushed = int32(pushed + block_counts[slot])
            count = min(block_counts[slot], int32(SHARED_CAPACITY))
            half = int32(SHARED_CAPACITY - half)
            slot = following
            levels += 1
        if me == 0 and pushed > 0:
            cuda.atomic.add(frontier.state, int32(ALL_PUSHED + grid_slot), pushed)
        append_to_queue(frontier, grid_slot, tail, int32(SHARED_CAPACITY - half), count)
        return levels, edges

    return block_levels
