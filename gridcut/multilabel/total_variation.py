"""Exact total variation: convex data terms and absolute differences between neighbours, by a cut for each bit.

    E(x) = sum_p D_p(x_p)  +  sum_pq w_pq |x_p - x_q|,      x_p in {0, ..., levels - 1},  D_p convex

Whether x_p >= t is decided, for every t, by a binary energy of its own, and the solutions are nested: the pixels above
t lie within those above any lower t [1].  So all thresholds can be found by bisection [2]: every pixel holds an
interval that its value lies in, one cut halves them all, and pixels of different intervals no longer meet in the cut,
for which of them is the higher one is known.

    low[p] <= x_p < low[p] + size,     size a power of two, halved by each cut
    rise[p]   D_p(t) - D_p(t - 1) at p's own threshold t = low[p] + size / 2, and what decided neighbours add

log2(levels) cuts; memory of one cut.

[1] Hochbaum. "An efficient algorithm for image segmentation, Markov random fields and related problems." Journal of the
    ACM 48(4), 2001.
[2] Darbon, Sigelle. "Image restoration with discrete constrained total variation, part I: fast and exact optimization."
    Journal of Mathematical Imaging and Vision 26(3), 2006.
"""

from collections.abc import Callable

import numpy as np

from gridcut.core.terms import ends
from gridcut.maximum_flow import max_flow


def total_variation(
    rise_at: Callable[[np.ndarray], np.ndarray], shape, levels: int, weights: dict, device: str = "auto"
) -> tuple[np.ndarray, list]:
    """The labelling of least energy, int32 of the grid's shape, the highest among equals; and its cuts.

    `rise_at(t)` answers D_p(t_p) - D_p(t_p - 1) for an int32 array of thresholds, int32; it must not fall with t.
    `levels` is a power of two.  `weights` maps offsets, one of each opposite pair, to int32 arrays of the grid's shape.
    """
    low = np.zeros(shape, np.int32)
    cuts = []
    half = levels // 2
    while half:
        rise = np.array(rise_at(low + np.int32(half)), np.int32)
        edges = {}
        for offset, weight in weights.items():
            p, q = ends(low.shape, (offset,))
            w = weight[p]
            # Raising the lower of two brings them together, raising the higher moves them apart.
            pull = w * np.sign(low[q] - low[p], dtype=np.int32)
            rise[p] -= pull
            rise[q] += pull
            edges[offset] = np.zeros(shape, np.int32)
            edges[offset][p] = np.where(low[p] == low[q], w, 0)
        cut = max_flow(np.maximum(-rise, 0), np.maximum(rise, 0), edges, device=device)
        low += np.int32(half) * cut.labels
        cuts.append(cut)
        half //= 2
    return low, cuts
