"""What a solve with tiles keeps on the GPU in addition to excess and residuals: arrays, and slots of counters.

Arrays, t a tile of n, A arcs
  excess, residual   see tile_layout.py
  height[t * 1024 + row * 32 + lane]    distance to the sink at the last search, increased by relabels since
  bits[(t * (A + 2) + j) * 32 + row]    one bit per lane; j < A: residual of arc j > 0;  A: excess < 0 (capacity to the
                                        sink);  A + 1: excess > 0
  reach_bits[t * 32 + row]              one bit per lane: the pixel can reach the sink
  flags[t]                              relabeling: IDLE, QUEUED, RUNNING, KEPT;  discharging: 1 while in a list
  visited[t]                            the last round in which the tile was discharged
  lists                                 relabeling: the queue of searches (tile_queue.py);  discharging: list i, from
                                        lists[i * n] on

Slots of `counts` (int32).  R: relabel_kernel, D: discharge_kernel, E: kernels of halo_exchange.py, H: host.
Each solve starts from zeros; gridcut/multilabel/descent_cuda.py clears them between the cuts of a descent.
  slot                   meaning                                                             written    read
  HEAD, TAIL, PENDING    the queue of searches: see tile_queue.py                            R D E      R
  LIST_LENGTHS + i       length of list i = 3 * colour + sweep % 3; in slabs 0 after D       R D        D
  STOP, STOP + 1         1: the time is over; two slots for odd and even colour passes       D          D
  DONE                   1: no excess can reach the sink; outside slabs, launches return     D          R D H
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
from gridcut.device.cuda import WARP

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
