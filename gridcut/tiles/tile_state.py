"""What a solve with tiles keeps on the GPU in addition to excess and residuals: arrays, and slots of counters.

Arrays, t a tile of n, A arcs
  excess, residual   see tile_layout.py
  height[t * 1024 + row * 32 + lane]    distance to the sink at the last search, increased by relabels since
  bits[(t * (A + 2) + j) * 32 + row]    one bit per lane; j < A: residual of arc j > 0;  A: excess < 0 (capacity to the
                                        sink);  A + 1: excess > 0
  reach_bits[t * 32 + row]              one bit per lane: the pixel can reach the sink
  flags[t]                              relabeling: IDLE, QUEUED, RUNNING, KEPT;  discharging: 1 while in a list
  visited[t]                            the last round in which the tile was discharged
  lists                                 relabeling: the queue of searches (below);  discharging: list i, from
                                        lists[i * n] on

Slots of `counts` (int32).  R: relabel_kernel, D: discharge_kernel, E: kernels of halo_exchange.py, H: host.
Each solve starts from zeros; gridcut/multilabel/descent_cuda.py clears them between the cuts of a descent.
  slot                   meaning                                                             written    read
  HEAD, TAIL, PENDING    the queue of searches: see below                            R D E      R
  LIST_LENGTHS + i       length of list i = 3 * colour + sweep % 3; in slabs 0 after D       R D        D
  STOP, STOP + 1         1: the time is over; two slots for odd and even colour passes       D          D
  DONE                   1: no excess can reach the sink; launches return, outside slabs     D          R D H
  ROUNDS                 completed rounds; in slabs by the host, as a round has several D    D H        R D H
  SEARCHES               tiles searched                                                      R          H
  COLOUR_PASSES          colours discharged                                                  D          H
  DISCHARGES             tiles discharged, with repetitions                                  D          H
  RELABEL_MODE           the next relabeling: WHOLE_GRID, LOCAL or CONTINUED                 D E H      R D
  DISCHARGED_TILES       distinct tiles discharged in this round                             D          D
  WHOLE_RELABELS         relabelings of the whole grid                                       R          H
 of slabs only:
  GHOSTS_BEFORE, _AFTER  ghost tiles at the start and at the end of the slab                 H          R D
  REQUEUED_TILES         tiles queued because heights of ghosts have decreased               E          H
  LAST_DISCHARGED_TILES  DISCHARGED_TILES of the last D                                      D          H
  RECEIVED               pixels that have received flow across a boundary, with repetitions  E          H
Slots of `times` (int64, nanoseconds)
  RELABEL_TIME           duration of the last relabeling                                     R          R D H
  RELABEL_TOTAL          sum of all relabelings                                              R          H
  DISCHARGE_TOTAL        sum of all discharging                                              D          H
  WHOLE_RELABEL_TIME     duration of the last relabeling of the whole grid                   R          D
  WHOLE_RELABEL_END      clock at its end                                                    R          D
"""

from typing import NamedTuple

import numpy as np

from gridcut.cuda.tile_layout import CELLS
from gridcut.device.arrays import allocate
from gridcut.device.cuda import WARP, cuda, device_function, relaxed_load

# Slots of `counts`.
HEAD, TAIL, PENDING, LIST_LENGTHS = 0, 1, 2, 3
STOP, DONE, ROUNDS, RELABEL_MODE, SEARCHES, COLOUR_PASSES, DISCHARGES, DISCHARGED_TILES = 32, 34, 35, 36, 37, 38, 39, 40
WHOLE_RELABELS, GHOSTS_BEFORE, GHOSTS_AFTER, REQUEUED_TILES, LAST_DISCHARGED_TILES, RECEIVED = 41, 42, 43, 44, 45, 46
COUNTS = 64  # slots
WHOLE_GRID, LOCAL, CONTINUED = 0, 1, 2  # values of counts[RELABEL_MODE]
# Slots of `times`.
RELABEL_TIME, RELABEL_TOTAL, DISCHARGE_TOTAL, WHOLE_RELABEL_TIME, WHOLE_RELABEL_END = 0, 1, 2, 3, 4
TIMES = 5  # slots
# flags[] of a tile while distances are searched.  RUNNING + QUEUED: search again.  KEPT: do not search.
IDLE, QUEUED, RUNNING, KEPT = 0, 1, 2, 4


class TileState(NamedTuple):
    """Arrays of a solve, reused by the next.  tally: counts and times as one array."""

    height: object
    bits: object
    reach_bits: object
    flags: object
    visited: object
    lists: object
    counts: object
    times: object
    tally: object


def make_state(n: int, arcs: int, lists: int) -> TileState:
    """Allocate the arrays for n tiles in one piece of memory."""
    *arrays, tally = allocate(
        (n * CELLS, np.int32),
        (n * (arcs + 2) * WARP, np.uint32),
        (n * WARP, np.uint32),
        (n, np.int32),
        (n, np.int32),
        (n * lists, np.int32),
        (COUNTS // 2 + TIMES, np.int64),
    )
    return TileState(*arrays, *counts_and_times(tally), tally)


def counts_and_times(tally):
    """The two parts of `tally`, on the GPU or on the host."""
    return tally[: COUNTS // 2].view(np.int32), tally[COUNTS // 2 :]


# A queue of tiles that all warps pop from and push to.
#
#     lists[position % n]   the tile at a position; -1: not written yet
#     counts[HEAD]          positions reserved by `pop`: a warp reserves one and waits until its tile is written
#     counts[TAIL]          positions reserved by `push`
#     counts[PENDING]       tiles that are queued or being searched; 0: no tile will be pushed any more
#
# A tile is in the queue at most once, so n positions suffice.  If a position still holds an earlier tile, `push`
# waits until a warp has taken that tile.  There may be more warps than positions (10 for n = 9), so two warps may
# wait at the same position; either takes the next tile there.
#
# Why every wait ends: HEAD and TAIL both advance cyclically over the positions.
#   TAIL <= HEAD   At each position, at least as many pops as pushes are reserved.  So a warp waits for each queued
#                  tile and takes it, and every wait of a push ends.  Other warps wait until a tile is pushed or
#                  PENDING is 0.
#   TAIL > HEAD    At each position, at least as many pushes as pops are reserved.  So each waiting warp gets a tile.
#                  Suppose that all reserved pops have taken their tiles, and that a push still waits.  As many tiles
#                  as there are pushes from HEAD to TAIL - 1 are then queued.  They are at most n - 1, as the tile
#                  that the pushing warp has just searched is not among them.  So no two of these pushes have the
#                  same position: no earlier tile is at the position of the push that waits, a contradiction.
# When a warp has searched its tile, it reserves a position again, so every queued tile is taken.
#
# The lanes of a warp may wait in `push` at different positions, and lane 0 waits in `pop` while the others wait for
# it. That every waiting lane and warp makes progress requires independent thread scheduling: compute capability 7.0
# or later.

FINISHED = -2
SLEEP_NANOSECONDS = 200  # between two loads of a position


@device_function
def push(t, lists, counts, n):
    """Append tile t; the caller has already incremented counts[PENDING] for it."""
    position = np.uint64(cuda.atomic.add(counts, TAIL, np.int32(1)) % n)
    while cuda.atomic.cas(lists, position, np.int32(-1), np.int32(t)) != -1:
        cuda.nanosleep(np.uint32(SLEEP_NANOSECONDS))


@device_function
def pop(lists, counts, n):
    """Remove and return the next tile; FINISHED once counts[PENDING] is 0."""
    position = np.uint64(cuda.atomic.add(counts, HEAD, np.int32(1)) % n)
    while relaxed_load(counts, PENDING) > 0:
        i = 0
        while i < 8:
            if relaxed_load(lists, position) >= 0:
                t = cuda.atomic.exch(lists, position, np.int32(-1))
                if t >= 0:
                    return np.int32(t)
            cuda.nanosleep(np.uint32(SLEEP_NANOSECONDS))
            i += 1
    return np.int32(FINISHED)


# The parts of the kernels of `tiles` that a slab of a grid replaces, and those of a whole grid.
#
# gridcut/tiles/slabs/halo_exchange.py has those of a slab.

LOCAL_RELABEL_RATIO = 2.0  # time for rounds with local relabelings, as a multiple of one relabeling of the whole grid
LOCAL_SHARE = 16  # a relabeling may be local if at most one tile in LOCAL_SHARE was discharged


class Rules(NamedTuple):
    """Device functions that differ between a whole grid and a slab; inlined when they are compiled.

    is_solved    (counts): whether a launch returns immediately
    resumes      (counts): whether a relabeling resumes the last one, with the tiles that are queued already
    is_ghost     (t, n, counts): whether tile t is a ghost tile, neither searched nor discharged here
    end_round    (counts, times, n, no_work, may_relabel, now): what follows the discharging; one thread calls it
    """

    is_solved: object
    resumes: object
    is_ghost: object
    end_round: object


@device_function
def is_solved(counts):
    """Whether no excess can reach the sink."""
    return counts[DONE] != 0


@device_function
def never_resumes(counts):
    """A relabeling of a whole grid is one launch."""
    return False


@device_function
def is_no_ghost(t, n, counts):
    """All tiles of a whole grid are its own."""
    return False


@device_function
def end_round(counts, times, n, no_work, may_relabel, now):
    """Set DONE after a relabeling of the whole grid that left no work; choose the next relabeling."""
    if no_work and counts[RELABEL_MODE] == WHOLE_GRID:
        counts[DONE] = 1
    few = relaxed_load(counts, DISCHARGED_TILES) * LOCAL_SHARE <= n
    counts[RELABEL_MODE] = (
        LOCAL
        if few
        and may_relabel != 0
        and not no_work
        and now - times[WHOLE_RELABEL_END] < times[WHOLE_RELABEL_TIME] * LOCAL_RELABEL_RATIO
        else WHOLE_GRID
    )


WHOLE_GRID_RULES = Rules(is_solved, never_resumes, is_no_ghost, end_round)
