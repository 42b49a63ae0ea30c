"""The counters of every search, after Azad, Buluç, Pothen (IPDPS 2015), section II-E.

counts[EDGES]          scanned adjacency entries
counts[PHASES]         passes over the free vertices; the number of searches if each starts from one vertex
counts[AUGMENTATIONS]  augmenting paths
counts[PATH_LENGTH]    total number of edges of these paths

The searches of matching/forest also count levels, levels that went bottom-up, the entries that these and grafting
scanned, and phases that grafted.
"""

import numpy as np

EDGES, PHASES, AUGMENTATIONS, PATH_LENGTH = range(4)
LEVELS, LEVELS_UP, EDGES_UP, EDGES_GRAFT, GRAFTS = range(4, 9)


def new_counts() -> np.ndarray:
    return np.zeros(9, np.int64)


def as_stats(counts: np.ndarray, seconds: dict) -> dict:
    names = ("edges", "phases", "augmentations", "path_length")
    return {**dict(zip(names, counts.tolist(), strict=False)), "seconds": seconds}
