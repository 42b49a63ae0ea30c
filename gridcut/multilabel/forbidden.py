"""Labels that a pixel does not take because they cost infinitely much, or so much that nothing else would count.

A label that costs more than the cheapest one of its pixel and all edges there together is in no labelling that moves
cannot improve: the pixel alone could take the cheapest label instead.  So costs above that are clamped, with HEADROOM
to spare, and take no bits from the others; labellings that no move improves, and minima, are the same as before.
"""

import numpy as np

from gridcut.core.problem import Offset
from gridcut.core.terms import ends

CLAMP_RATIO = 2.0**30  # costs that are larger than all edges of a pixel by more are looked at
HEADROOM = 2.0**10


def clamped_costs(unary: np.ndarray, weights: list[tuple[Offset, np.ndarray]], cost: np.ndarray) -> np.ndarray:
    """The costs, or a copy with those clamped that no pixel will pay.

    unary     (L, *grid), without NaN or -inf;  weights: of the grid's shape, 0 where an edge leaves it
    cost      of two labels

    ValueError for a pixel whose labels all cost infinitely much.
    """
    if unary.dtype.kind != "f" or unary.scale == 0:
        return unary
    largest_cost = float(cost.max())
    highest, lowest = float(unary.max()), float(unary.min())
    edges = 2.0 * largest_cost * sum(float(weight.max(initial=0)) for _, weight in weights)
    if max(highest, -lowest) <= CLAMP_RATIO * edges:
        return unary
    cheapest = unary.min(axis=0).astype(np.float64)
    if np.isinf(cheapest).any():
        where = tuple(int(i) for i in np.argwhere(np.isinf(cheapest))[0])
        raise ValueError(f"unary forbids every label at pixel {where}: one cost must be finite")
    edge_sum = np.zeros(cheapest.shape)
    for offset, weight in weights:
        p, q = ends(cheapest.shape, (offset,))
        edge_sum[p] += largest_cost * weight[p].astype(np.float64)
        edge_sum[q] += largest_cost * weight[p].astype(np.float64)
    scale = max(float(np.abs(cheapest).max()), float(edge_sum.max()))
    if scale == 0:
        scale = float(np.min(unary, where=unary > 0, initial=np.inf))
    upper = cheapest + edge_sum + HEADROOM * (scale if scale < np.inf else 1.0)
    return np.minimum(unary, upper) if highest > float(upper.min()) else unary
