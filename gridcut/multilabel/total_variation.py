"""Exact total variation: convex data terms and absolute differences of neighbours, by one cut per bit.

    E(x) = sum_p D_p(x_p)  +  sum_pq w_pq |x_p - x_q|,      x_p in {0, ..., levels - 1},  D_p convex

For every threshold t, a separate binary energy decides whether x_p >= t.  The solutions are nested: the pixels above t
are a subset of those above any lower threshold [1].  All thresholds can therefore be found by bisection [2].  Every
pixel has an interval that contains its value, and one cut halves all intervals.  Pixels of different intervals have no
edge in the cut, because it is known which of them is higher.

    low[p] <= x_p < low[p] + size     size a power of two, halved by each cut
    rise[p]   D_p(t) - D_p(t - 1) at p's threshold t = low[p] + size / 2, plus the terms of edges to other intervals

log2(levels) cuts; memory of one cut.

[1] Hochbaum. "An efficient algorithm for image segmentation, Markov random fields and related problems." Journal of the
    ACM 48(4), 2001.
[2] Darbon, Sigelle. "Image restoration with discrete constrained total variation, part I: fast and exact optimization."
    Journal of Mathematical Imaging and Vision 26(3), 2006."""

from collections.abc import Callable

import numpy as np

from gridcut.core.terms import ends
from gridcut.maximum_flow import max_flow


def total_variation(
    rise_at: Callable[[np.ndarray], np.ndarray], shape, levels: int, weights: dict, device: str = "auto"
) -> tuple[np.ndarray, list]:
    """Minimise E by bisection; returns the labelling (the highest one on ties) and the cuts that certify it.

    Parameters
    ----------
    rise_at : callable
        ``rise_at(t)`` returns D_p(t_p) - D_p(t_p - 1), int32, for an int32 array t of thresholds; must not decrease
        with t.
    shape : tuple of int
        The grid's shape.
    levels : int
        Number of values of a pixel; a power of two.
    weights : mapping from offset to int32 array of the grid's shape
        The w_pq, one offset of each opposite pair.
    device : str
        As in `max_flow`.

    Returns
    -------
    labels : ndarray of int32, the grid's shape
    cuts : list of Cut
        One per bit of `levels`, most significant first.
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
            # Raising the lower of two values reduces their difference, raising the higher increases it.
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
