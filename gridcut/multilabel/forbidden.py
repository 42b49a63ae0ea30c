"""Labels forbidden at a pixel by infinite costs, or by costs so high that all others would lose their precision.

Suppose a label costs more than the cheapest label of its pixel plus all edges of that pixel.  No labelling that moves
cannot improve contains it, because that pixel alone could switch to the cheapest label.  Costs above this bound plus
HEADROOM are therefore clamped, and take no bits from the others.  Minima, and labellings that no move improves, stay
the same."""

import numpy as np

from gridcut.core.problem import Offset, ends

CLAMP_RATIO = 2.0**30  # costs up to this many times all edges of a pixel are never clamped
HEADROOM = 2.0**10  # distance of the clamped costs from the bound, relative to the other costs


def clamped_costs(unary: np.ndarray, weights: list[tuple[Offset, np.ndarray]], cost: np.ndarray) -> np.ndarray:
    """The costs, or a copy in which costs that no pixel pays are clamped.

    unary     (L, *grid), without NaN or -inf
    weights   (offset, array of the grid's shape) pairs, 0 where an edge leaves the grid
    cost      (L, L), of two labels

    ValueError if all labels of a pixel have infinite cost.
    """
    if unary.dtype.kind != "f" or unary.size == 0:
        return unary
    largest_cost = float(cost.max())
    highest, lowest = float(unary.max()), float(unary.min())
    edges = 2.0 * largest_cost * sum(float(weight.max(initial=0)) for _, weight in weights)
    if max(highest, -lowest) <= CLAMP_RATIO * edges:
        return unary
    cheapest = unary.min(axis=0).astype(np.float64)
    if np.isinf(cheapest).any():
        where = tuple(int(i) for i in np.argwhere(np.isinf(cheapest))[0])
        raise ValueError(f"unary forbids every label at pixel {where}: at least one cost per pixel must be finite")
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
