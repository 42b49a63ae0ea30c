"""What every search counts, after Azad, Buluç, Pothen (IPDPS 2015), section II-E.

counts[EDGES]          adjacency entries looked at
counts[PHASES]         passes over the free vertices; searches, where each starts from one vertex
counts[AUGMENTATIONS]  augmenting paths used
counts[PATH_LENGTH]    edges of all of them together
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
