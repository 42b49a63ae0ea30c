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
from matching.core.grid_cuda import next_turn

TOGETHER, EACH, ALONE = range(3)
# In state.  PUSHED: three, by turns; GROWN likewise: all pushes of EACH, also those that were worked off since.
# HEAD and TAIL: where one block alone has left off.
PUSHED, GROWN, HEAD, TAIL, STATES = 0, 3, 6, 7, 8

NARROW = 4 if SIMULATED else 512  # frontier up to which one block goes on alone
NEAR = 8 if SIMULATED else 1024  # frontier up to which it goes on once it has begun
SHARE = 8 if SIMULATED else 512  # of the frontier that a block gets, up to which each goes on by itself; at most NEAR
BUFFER = 2 * NEAR if SIMULATED else 4 * NEAR  # room in `near`, at least for two frontiers
ENDLESS = int64(2**62)  # levels, for who does not count them
# In place: pushes of a level of this block (three, by turns), of all blocks together; room taken in the queue.
COLLECTED, ROOM, PLACES = 3, 4, 5


@device_function
def together(near, place, turn, tail):
    """`out` of a level of all blocks."""
    return near, place, int32(TOGETHER), turn, int32(0), int32(0), tail


@device_function
def next_counts(state, turn, thread):
    """The turn after this one, for levels that may be of EACH; its counts are cleared."""
    next_turn(state, int32(GROWN), turn, thread)
    return next_turn(state, int32(PUSHED), turn, thread)


@device_function
def push(queue, state, out, x):
    """Put x into the next frontier."""
    near, place, way, turn, lap, half, tail = out
    if way == TOGETHER:
        i = cuda.atomic.add(place, int32(COLLECTED), int32(1))
        if i < BUFFER:
            near[i] = x
            return
    else:
        i = cuda.atomic.add(place, lap, int32(1))
        if i < NEAR:
            near[half + i] = x
        if way == ALONE:
            queue[tail + i] = x
            return
        if i < NEAR:
            return
    queue[tail + cuda.atomic.add(state, int32(PUSHED + turn), int32(1))] = x


@device_function
def fetch(queue, near, place, first, number):
    """Begin the levels of a block by itself with queue[first : first + number]; all its threads take part."""
    i = int32(cuda.threadIdx.x)
    if i < COLLECTED:
        place[i] = 0
    while i < number:
        near[i] = queue[first + i]
        i = int32(i + cuda.blockDim.x)
    cuda.syncthreads()


@device_function
def deliver(queue, near, place, state, turn, tail, first, number):
    """Bring near[first : first + number] into the queue; all threads of the block take part, with the same numbers."""
    me = int32(cuda.threadIdx.x)
    if me == 0 and number > 0:
        place[ROOM] = cuda.atomic.add(state, int32(PUSHED + turn), number)
    cuda.syncthreads()
    if number > 0:
        start = int32(tail + place[ROOM])
        i = me
        while i < number:
            queue[start + i] = near[first + i]
            i = int32(i + cuda.blockDim.x)


@device_function
def flush(queue, near, place, state, turn, tail):
    """Bring what this block has pushed TOGETHER with others into the queue; all its threads take part."""
    cuda.syncthreads()
    deliver(queue, near, place, state, turn, tail, int32(0), min(place[COLLECTED], int32(BUFFER)))
    if cuda.threadIdx.x == 0:
        place[COLLECTED] = 0


def narrow_levels_of(level):
    """A function for one block, which works off levels as long as they are narrow.

    level   a device function: level(graph, work, out, head, thread, threads) -> edges looked at
    """

    @device_function
    def narrow_levels(graph, work, queue, near, place, head, tail, most):
        """At most `most` levels: (head, tail, levels, edges).  All threads of the block take part."""
        me = int32(cuda.threadIdx.x)
        threads = int32(cuda.blockDim.x)
        fetch(queue, near, place, head, int32(tail - head))
        lap = int32(0)
        half = int32(NEAR)
        levels = int64(0)
        edges = int64(0)
        while head < tail <= head + NEAR and levels < most:
            following = int32(lap + 1) if lap < 2 else int32(0)
            if me == 0:
                place[following] = 0
            out = (near, place, int32(ALONE), int32(0), lap, half, tail)
            edges += level(graph, work, out, head, me, threads)
            cuda.syncthreads()
            head = tail
            tail = int32(tail + place[lap])
            half = int32(NEAR - half)
            lap = following
            levels += 1
        return head, tail, levels, edges

    return narrow_levels


def own_levels_of(level):
    """A function for each block of a grid, which works off levels from its share of the frontier; `level` as above."""

    @device_function
    def block_levels(graph, work, queue, near, place, state, turn, head, tail, most):
        """At most `most` levels: (levels, edges).  The share of a block is SHARE vertices at most.

        The frontier left over is in the queue behind `tail` after the next barrier of the grid, its length in
        state[PUSHED + turn], and in state[GROWN + turn] the number of all pushes.
        """
        me = int32(cuda.threadIdx.x)
        threads = int32(cuda.blockDim.x)
        share = int32((tail - head + cuda.gridDim.x - 1) // cuda.gridDim.x)
        first = int32(head + cuda.blockIdx.x * share)
        number = max(int32(0), min(share, int32(tail - first)))
        fetch(queue, near, place, first, number)
        lap = int32(0)
        half = int32(NEAR)
        grown = int32(0)
        levels = int64(0)
        edges = int64(0)
        while 0 < number <= SHARE and levels < most:
            following = int32(lap + 1) if lap < 2 else int32(0)
            if me == 0:
                place[following] = 0
            out = (near, place, int32(EACH), turn, lap, half, tail)
            edges += level(graph, work, out, int32(tail - number), me, threads)
            cuda.syncthreads()
            grown = int32(grown + place[lap])
            number = min(place[lap], int32(NEAR))
            half = int32(NEAR - half)
            lap = following
            levels += 1
        if me == 0 and grown > 0:
            cuda.atomic.add(state, int32(GROWN + turn), grown)
        deliver(queue, near, place, state, turn, tail, int32(NEAR - half), number)
        return levels, edges

    return block_levels
