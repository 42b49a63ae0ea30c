"""A queue of vertices that is worked off level by level, in one of three ways by how many there are.

The frontier is queue[head:tail]; what is pushed meanwhile comes behind.

  TOGETHER   more than SHARE for each block: all blocks work on one level.  A block collects what it pushes in shared
             memory and takes room in the queue once.
  EACH       fewer: a block takes its share of the frontier and goes on from there by itself, for some levels, its
             frontier in shared memory; then what all have got is shared out anew.
  ALONE      at most NARROW, which long paths have by the thousand: one block goes on, as long as that is so.

A barrier of a block takes a fiftieth of the time of the grid's.  With EACH a vertex may be reached over a longer path
than there is: it is for who needs a forest, and not the least number of levels.

::

    TOGETHER   ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│       EACH   ▒▒│▒▒│▒▒│▒▒│▒▒│▒▒│    ▒ a level of one block
               ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│              ▒▒▒│▒▒│▒▒▒│▒│      │    │ barrier: of a block,
               ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│              ▒▒│▒▒│▒▒│▒▒▒│▒▒│▒▒│      through all lines: of the grid

`out`, which says where a level pushes to, is (near, place, way, turn, lap, half, tail)
  near    shared memory: TOGETHER what the block has pushed; else two frontiers, by turns, `half` where the next begins
  place   shared memory: counts of pushes
  way     TOGETHER, EACH or ALONE
  turn    which of three counts of the grid is in use: one is read and one cleared meanwhile;  lap: likewise of `place`
"""

from numba import int32, int64

from gridcut.device.cuda import SIMULATED, cuda, device_function
from matching.core.grid_cuda import next_grid_slot

ALL_BLOCKS, PER_BLOCK, ONE_BLOCK = range(3)
# In state.  PUSHED: three, by turns; GROWN likewise: all pushes of EACH, also those that were worked off since.
# HEAD and TAIL: where one block alone has left off.
PUSHED, ALL_PUSHED, HEAD, TAIL, STATE_SIZE = 0, 3, 6, 7, 8

NARROW_FRONTIER = 4 if SIMULATED else 512  # frontier up to which one block goes on alone
SHARED_CAPACITY = 8 if SIMULATED else 1024  # frontier up to which it goes on once it has begun
MAX_BLOCK_SHARE = (
    8 if SIMULATED else 512
)  # of the frontier that a block gets, up to which each goes on by itself; at most NEAR
SHARED_SIZE = 2 * SHARED_CAPACITY if SIMULATED else 4 * SHARED_CAPACITY  # room in `near`, at least for two frontiers
UNLIMITED_LEVELS = int64(2**62)  # levels, for who does not count them
# In place: pushes of a level of this block (three, by turns), of all blocks together; room taken in the queue.
COLLECTED, RESERVED, BLOCK_COUNTS_SIZE = 3, 4, 5


@device_function
def all_blocks_out(shared_frontier, block_counts, grid_slot, tail):
    """`out` of a level of all blocks."""
    return shared_frontier, block_counts, int32(ALL_BLOCKS), grid_slot, int32(0), int32(0), tail


@device_function
def next_level_slot(state, grid_slot, thread):
    """The turn after this one, for levels that may be of EACH; its counts are cleared."""
    next_grid_slot(state, int32(ALL_PUSHED), grid_slot, thread)
    return next_grid_slot(state, int32(PUSHED), grid_slot, thread)


@device_function
def push(queue, state, out, x):
    """Put x into the next frontier."""
    shared_frontier, block_counts, mode, grid_slot, slot, half, tail = out
    if mode == ALL_BLOCKS:
        i = cuda.atomic.add(block_counts, int32(COLLECTED), int32(1))
        if i < SHARED_SIZE:
            shared_frontier[i] = x
            return
    else:
        i = cuda.atomic.add(block_counts, slot, int32(1))
        if i < SHARED_CAPACITY:
            shared_frontier[half + i] = x
        if mode == ONE_BLOCK:
            queue[tail + i] = x
            return
        if i < SHARED_CAPACITY:
            return
    queue[tail + cuda.atomic.add(state, int32(PUSHED + grid_slot), int32(1))] = x


@device_function
def load_share(queue, shared_frontier, block_counts, first, count):
    """Begin the levels of a block by itself with queue[first : first + number]; all its threads take part."""
    i = int32(cuda.threadIdx.x)
    if i < COLLECTED:
        block_counts[i] = 0
    while i < count:
        shared_frontier[i] = queue[first + i]
        i = int32(i + cuda.blockDim.x)
    cuda.syncthreads()


@device_function
def append_to_queue(queue, shared_frontier, block_counts, state, grid_slot, tail, first, count):
    """Bring near[first : first + number] into the queue; all threads of the block take part, with the same numbers."""
    me = int32(cuda.threadIdx.x)
    if me == 0 and count > 0:
        block_counts[RESERVED] = cuda.atomic.add(state, int32(PUSHED + grid_slot), count)
    cuda.syncthreads()
    if count > 0:
        start = int32(tail + block_counts[RESERVED])
        i = me
        while i < count:
            queue[start + i] = shared_frontier[first + i]
            i = int32(i + cuda.blockDim.x)


@device_function
def flush(queue, shared_frontier, block_counts, state, grid_slot, tail):
    """Bring what this block has pushed TOGETHER with others into the queue; all its threads take part."""
    cuda.syncthreads()
    append_to_queue(
        queue,
        shared_frontier,
        block_counts,
        state,
        grid_slot,
        tail,
        int32(0),
        min(block_counts[COLLECTED], int32(SHARED_SIZE)),
    )
    if cuda.threadIdx.x == 0:
        block_counts[COLLECTED] = 0


def make_narrow_levels(level):
    """A function for one block, which works off levels as long as they are narrow.

    level   a device function: level(graph, work, out, head, thread, threads) -> edges looked at
    """

    @device_function
    def narrow_levels(graph, work, queue, shared_frontier, block_counts, head, tail, max_levels):
        """At most `most` levels: (head, tail, levels, edges).  All threads of the block take part."""
        me = int32(cuda.threadIdx.x)
        threads = int32(cuda.blockDim.x)
        load_share(queue, shared_frontier, block_counts, head, int32(tail - head))
        slot = int32(0)
        half = int32(SHARED_CAPACITY)
        levels = int64(0)
        edges = int64(0)
        while head < tail <= head + SHARED_CAPACITY and levels < max_levels:
            following = int32(slot + 1) if slot < 2 else int32(0)
            if me == 0:
                block_counts[following] = 0
            out = (shared_frontier, block_counts, int32(ONE_BLOCK), int32(0), slot, half, tail)
            edges += level(graph, work, out, head, me, threads)
            cuda.syncthreads()
            head = tail
            tail = int32(tail + block_counts[slot])
            half = int32(SHARED_CAPACITY - half)
            slot = following
            levels += 1
        return head, tail, levels, edges

    return narrow_levels


def make_block_levels(level):
    """A function for each block of a grid, which works off levels from its share of the frontier; `level` as above."""

    @device_function
    def block_levels(graph, work, queue, shared_frontier, block_counts, state, grid_slot, head, tail, max_levels):
        """At most `most` levels: (levels, edges).  The share of a block is SHARE vertices at most.

        The frontier left over is in the queue behind `tail` after the next barrier of the grid, its length in
        state[PUSHED + turn], and in state[GROWN + turn] the number of all pushes.
        """
        me = int32(cuda.threadIdx.x)
        threads = int32(cuda.blockDim.x)
        share = int32((tail - head + cuda.gridDim.x - 1) // cuda.gridDim.x)
        first = int32(head + cuda.blockIdx.x * share)
        count = max(int32(0), min(share, int32(tail - first)))
        load_share(queue, shared_frontier, block_counts, first, count)
        slot = int32(0)
        half = int32(SHARED_CAPACITY)
        pushed = int32(0)
        levels = int64(0)
        edges = int64(0)
        while 0 < count <= MAX_BLOCK_SHARE and levels < max_levels:
            following = int32(slot + 1) if slot < 2 else int32(0)
            if me == 0:
                block_counts[following] = 0
            out = (shared_frontier, block_counts, int32(PER_BLOCK), grid_slot, slot, half, tail)
            edges += level(graph, work, out, int32(tail - count), me, threads)
            cuda.syncthreads()
            pushed = int32(pushed + block_counts[slot])
            count = min(block_counts[slot], int32(SHARED_CAPACITY))
            half = int32(SHARED_CAPACITY - half)
            slot = following
            levels += 1
        if me == 0 and pushed > 0:
            cuda.atomic.add(state, int32(ALL_PUSHED + grid_slot), pushed)
        append_to_queue(
            queue, shared_frontier, block_counts, state, grid_slot, tail, int32(SHARED_CAPACITY - half), count
        )
        return levels, edges

    return block_levels
