"""The functions for grids of gco-wrapper and pygco: `import gridcut.compat.gco as gco`, or `as pygco`.

    gco-wrapper   cut_grid_graph_simple, cut_grid_graph   labels as one line, by default until convergence
    pygco         cut_simple, cut_simple_vh               labels of the grid's shape, by default 5 cycles

The energy is the sum of `unary_cost[p][l_p]` over pixels and of weight * `pairwise_cost[l_p, l_q]` over edges.  The
moves are followed by two restarts (see `gridcut.alpha_expansion`), so energies are rarely higher than gco's.  Integers
are exact, and floats are rounded far less than there.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridcut.multilabel.expansion import alpha_expansion
from gridcut.multilabel.swap import alpha_beta_swap

__all__ = ["cut_grid_graph", "cut_grid_graph_simple", "cut_simple", "cut_simple_vh"]


def cut_grid_graph(
    unary_cost: ArrayLike,
    pairwise_cost: ArrayLike,
    cost_v: ArrayLike,
    cost_h: ArrayLike,
    cost_dr: ArrayLike | None = None,
    cost_dl: ArrayLike | None = None,
    n_iter: int = -1,
    algorithm: str = "expansion",
) -> NDArray:
    """Minimise a multi-label energy on a grid with weights of edges, with the interface of `gco.cut_grid_graph`.

    Parameters
    ----------
    unary_cost : array_like (H, W, L)
        Cost of each label at each pixel.
    pairwise_cost : array_like (L, L)
        Cost of each pair of labels on an edge of weight 1: symmetric, 0 on the diagonal, and a metric for "expansion".
    cost_v : array_like (H - 1, W)
        Weights of the edges between (i, j) and (i + 1, j).
    cost_h : array_like (H, W - 1)
        Weights of the edges between (i, j) and (i, j + 1).
    cost_dr, cost_dl : array_like (H - 1, W - 1), optional
        Weights of the edges between (i, j) and (i + 1, j + 1), and between (i, j + 1) and (i + 1, j).
    n_iter : int
        Maximum number of cycles over all labels; -1: until convergence.
    algorithm : {"expansion", "swap"}
        The moves.

    Returns
    -------
    ndarray of int32 (H * W,)
        Label of each pixel, row by row.

    Raises
    ------
    ValueError
        If shapes do not fit, `algorithm` is another one, `pairwise_cost` is not as above, a weight is negative, or
        `n_iter` is 0.

    See Also
    --------
    gridcut.alpha_expansion : volumes, other neighbourhoods, energies, certificates, GPUs.
    """
    given = {"cost_v": (cost_v, (1, 0)), "cost_h": (cost_h, (0, 1)), "cost_dr": (cost_dr, (1, 1))}
    given["cost_dl"] = (cost_dl, (1, -1))
    unary = np.asarray(unary_cost)
    weights = {}
    for name, (cost, (down, right)) in given.items():
        if cost is None:
            continue
        expected = (unary.shape[0] - down, unary.shape[1] - abs(right))
        if np.shape(cost) != expected:
            raise ValueError(f"{name} must have the shape {expected}, got {np.shape(cost)}")
        weights[down, right] = np.pad(cost, ((0, down), (int(right < 0), int(right > 0))))
    return _labels(unary, pairwise_cost, weights, n_iter, algorithm).ravel()


def cut_grid_graph_simple(
    unary_cost: ArrayLike, pairwise_cost: ArrayLike, n_iter: int = -1, connect: int = 4, algorithm: str = "expansion"
) -> NDArray:
    """Like `cut_grid_graph`, with all weights 1, between `connect` (4 or 8) neighbours."""
    if connect not in (4, 8):
        raise ValueError(f"connect must be 4 or 8, got {connect}")
    weights = dict.fromkeys([(1, 0), (0, 1), (1, 1), (1, -1)][: connect // 2], 1)
    return _labels(unary_cost, pairwise_cost, weights, n_iter, algorithm).ravel()


def cut_simple(
    data_cost: ArrayLike, smoothness_cost: ArrayLike, n_iter: int = 5, algorithm: str = "expansion"
) -> NDArray:
    """Like `cut_grid_graph_simple` between 4 neighbours, but return the labels as an array (H, W)."""
    return _labels(data_cost, smoothness_cost, {(1, 0): 1, (0, 1): 1}, n_iter, algorithm)


def cut_simple_vh(
    data_cost: ArrayLike,
    smoothness_cost: ArrayLike,
    cost_v: ArrayLike,
    cost_h: ArrayLike,
    n_iter: int = 5,
    algorithm: str = "expansion",
) -> NDArray:
    """Like `cut_simple` with weights (H, W) of the edges from each pixel to the one below and to the right."""
    return _labels(data_cost, smoothness_cost, {(1, 0): cost_v, (0, 1): cost_h}, n_iter, algorithm)


def _labels(unary_cost, pairwise_cost, weights, n_iter, algorithm) -> NDArray:
    unary = np.ascontiguousarray(np.moveaxis(np.asarray(unary_cost), -1, 0))
    cycles = None if n_iter < 0 else n_iter
    if algorithm == "expansion":
        return alpha_expansion(unary, weights, pairwise_cost, max_cycles=cycles, device="cpu").labels
    if algorithm != "swap":
        raise ValueError(f"algorithm should be either `swap` or `expansion`. Got: {algorithm}")
    start = np.zeros(unary.shape[1:], np.int32)  # as gco: swaps from the cheapest labels often end higher
    return alpha_beta_swap(
        unary, weights, pairwise_cost, start=start, restarts=2, max_cycles=cycles, device="cpu"
    ).labels
