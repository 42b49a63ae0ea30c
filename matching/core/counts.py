"""The counters of every search, after Azad, Buluç, Pothen (IPDPS 2015), section II-E.

counts[EDGES]          scanned adjacency entries
counts[PHASES]         passes over the free vertices; the number of searches if each starts from one vertex
counts[AUGMENTATIONS]  augmenting paths
counts[PATH_LENGTH]    total number of edges of these paths
"""

import numpy as np

EDGES, PHASES, AUGMENTATIONS, PATH_LENGTH = 0, 1, 2, 3


def new_counts() -> np.ndarray:
    return np.zeros(4, np.int64)


def as_stats(counts: np.ndarray, seconds: dict) -> dict:
    edges, phases, augmentations, path_length = counts.tolist()
    return {
        "edges": edges,
        "phases": phases,
        "augmentations": augmentations,
        "path_length": path_length,
        "seconds": seconds,
    }
