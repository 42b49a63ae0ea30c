"""Labels that a pixel does not take because they cost infinitely much, or so much that nothing else would count.

A label that costs more than the cheapest one of its pixel and all edges there together is in no labelling that moves
cannot improve: the pixel alone could take the cheapest label instead.  So costs above that are clamped, with HEADROOM
to spare, and take no bits from the others; labellings that no move improves, and minima, are the same as before.
"""

import numpy as np

from gridcut.core.problem import Offset
from gridcut.core.terms import ends

CLAMP = 2.0**30  # costs that are larger than all edges of a pixel by more are looked at
HEADROOM = 2.0**10


def clamped_costs(unary: np.ndarray, weights: list[tuple[Offset, np.ndarray]], cost: np.ndarray) -> np.ndarray:
    """The costs, or a copy with those clamped that no pixel will pay.

    unary     (L, *grid), without NaN or -inf;  weights: of the grid's shape, 0 where an edge leaves it
    cost      of two labels

    ValueError for a pixel whose labels all cost infinitely much.
    """
    if unary.dtype.kind != "f" or unary.size == 0:
        return unary
    largest_cost = float(cost.max())
    highest, lowest = float(unary.max()), float(unary.min())
    edges = 2.0 * largest_cost * sum(float(weight.max(initial=0)) for _, weight in weights)
    if max(highest, -lowest) <= CLAMP * edges:
        return unary
    least = unary.min(axis=0).astype(np.float64)
    if np.isinf(least).any():
        where = tuple(int(i) for i in np.argwhere(np.isinf(least))[0])
        raise ValueError(f"unary forbids every label at pixel {where}: one cost must be finite")
    room = np.zeros(least.shape)
    for offset, weight in weights:
        p, q = ends(least.shape, (offset,))
        room[p] += largest_cost * weight[p].astype(np.float64)
        room[q] += largest_cost * weight[p].astype(np.float64)
    size = max(float(np.abs(least).max()), float(room.max()))
    if size == 0:
        size = float(np.min(unary, where=unary > 0, initial=np.inf))
    top = least + room + HEADROOM * (size if size < np.inf else 1.0)
    return np.minimum(unary, top) if highest > float(top.min()) else unary
