"""The parts of the kernels of `tiles` that a slab of a grid replaces, and those of a whole grid.

gridcut/tiles/slabs/slab_rules.py has those of a slab.
"""

from typing import NamedTuple

from gridcut.device.cuda import device_function, relaxed_load
from gridcut.tiles.tile_state import (
    DISCHARGED_TILES,
    DONE,
    LOCAL,
    RELABEL_MODE,
    WHOLE_GRID,
    WHOLE_RELABEL_END,
    WHOLE_RELABEL_TIME,
)

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
