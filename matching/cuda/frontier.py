"""A queue of vertices that is worked off level by level, by all blocks of a grid or by one alone.

The frontier is queue[head:tail]; what is pushed meanwhile comes behind.  Wide levels are shared out among all blocks: a
block collects what it pushes in shared memory and takes room in the queue once.  Levels of at most NARROW, which long
paths have by the thousand, are left to one block, as many in a row as there are: its barrier takes a fiftieth of the
time of the grid's, and it keeps the frontier in shared memory.

`out`, which says where a level pushes to, is (near, place, alone, turn, half, tail)
  near    shared memory: of one block alone two frontiers, by turns, `half` where the next one begins; of a block among
          others what it has pushed
  place   shared memory: counts of pushes
  turn    which of three counts is in use: one is read and one cleared meanwhile
"""

from numba import int32, int64

from gridcut.device.cuda import SIMULATED, cuda, device_function

# In state.  PUSHED: three, by turns.  HEAD and TAIL: where one block alone has left off.
PUSHED, HEAD, TAIL, STATES = 0, 3, 4, 5

NARROW = 4 if SIMULATED else 512  # frontier up to which one block goes on alone
NEAR = 2 * NARROW  # frontier up to which it goes on once it has begun
BUFFER = 2 * NEAR if SIMULATED else 4 * NEAR  # room in `near`, at least for two frontiers
ENDLESS = int64(2**62)  # levels, for who does not count them
# In place: pushes of a block alone (three, by turns), of a block among others; room taken for them.
AMONG_OTHERS, ROOM, PLACES = 3, 4, 5


@device_function
def push(queue, near, place, state, alone, turn, half, tail, x):
    """Put x into the next frontier."""
    if alone:
        i = cuda.atomic.add(place, turn, int32(1))
        queue[tail + i] = x
        if i < NEAR:
            near[half + i] = x
    else:
        i = cuda.atomic.add(place, int32(AMONG_OTHERS), int32(1))
        if i < BUFFER:
            near[i] = x
        else:
            queue[tail + cuda.atomic.add(state, int32(PUSHED + turn), int32(1))] = x


@device_function
def flush(queue, near, place, state, turn, tail):
    """Bring what a block among others has pushed into the queue; all its threads take part."""
    cuda.syncthreads()
    me = int32(cuda.threadIdx.x)
    number = min(place[AMONG_OTHERS], int32(BUFFER))
    if me == 0 and number > 0:
        place[ROOM] = cuda.atomic.add(state, int32(PUSHED + turn), number)
    cuda.syncthreads()
    if number > 0:
        start = int32(tail + place[ROOM])
        i = me
        while i < number:
            queue[start + i] = near[i]
            i = int32(i + cuda.blockDim.x)
    if me == 0:
        place[AMONG_OTHERS] = 0


def narrow_levels_of(level):
    """A function for one block, which works off levels as long as they are narrow.

    level   a device function: level(graph, work, out, head, thread, threads) -> edges looked at
    """

    @device_function
    def narrow_levels(graph, work, queue, near, place, head, tail, most):
        """At most `most` levels: (head, tail, levels, edges).  All threads of the block take part."""
        me = int32(cuda.threadIdx.x)
        threads = int32(cuda.blockDim.x)
        i = me
        while i < tail - head:
            near[i] = queue[head + i]
            i = int32(i + threads)
        if me < AMONG_OTHERS:
            place[me] = 0
        cuda.syncthreads()
        turn = int32(0)
        half = int32(NEAR)
        levels = int64(0)
        edges = int64(0)
        while head < tail <= head + NEAR and levels < most:
            following = int32(turn + 1) if turn < 2 else int32(0)
            if me == 0:
                place[following] = 0
            out = (near, place, int32(1), turn, half, tail)
            edges += level(graph, work, out, head, me, threads)
            cuda.syncthreads()
            head = tail
            tail = int32(tail + place[turn])
            half = int32(NEAR - half)
            turn = following
            levels += 1
        return head, tail, levels, edges

    return narrow_levels
