"""The kernels of gridcut/tiles/tile_kernels.py in one slab of a grid: what differs from a whole grid.

The first and the last tiles of a slab may be *ghost tiles*, copies of tiles that belong to the adjacent slabs.  They
are neither searched nor discharged.  In a relabeling they start as unreachable, until the owner's heights arrive, so
that no slab searches from heights that the other is about to raise.  The host decides when the solve ends and what the
next relabeling is.  In mode CONTINUED a relabeling resumes after heights of ghost tiles have changed: the tiles next to
them are queued already.
"""

import numpy as np

from gridcut.device.cuda import device_function, relaxed_load
from gridcut.tiles.tile_rules import Rules
from gridcut.tiles.tile_state import (
    CONTINUED,
    DISCHARGED_TILES,
    DONE,
    GHOSTS_AFTER,
    GHOSTS_BEFORE,
    LAST_DISCHARGED_TILES,
    LIST_LENGTHS,
    RELABEL_MODE,
    ROUNDS,
    STOP,
)


@device_function
def never_returns(counts):
    """Every launch runs."""
    return False


@device_function
def is_continued(counts):
    """Whether the relabeling resumes the last one."""
    return counts[RELABEL_MODE] == CONTINUED


@device_function
def is_ghost(t, n, counts):
    """Whether tile t of n is a ghost tile."""
    return t < counts[GHOSTS_BEFORE] or t >= n - counts[GHOSTS_AFTER]


@device_function
def report_round(counts, times, n, no_work, may_relabel, now):
    """Report a piece of a round to the host, which counts rounds, and empty the lists for the next piece.

    The leader calls this after the last barrier.  Another block may still read lengths of lists without tiles only.
    """
    for slot in range(LIST_LENGTHS, STOP):
        counts[slot] = 0
    counts[DONE] = 1 if no_work else 0
    counts[ROUNDS] = np.int32(counts[ROUNDS] - 1)
    counts[LAST_DISCHARGED_TILES] = relaxed_load(counts, DISCHARGED_TILES)


SLAB_RULES = Rules(never_returns, is_continued, is_ghost, report_round)
