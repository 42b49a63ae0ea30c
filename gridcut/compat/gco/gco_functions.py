"""gco's functions for grids and graphs, by `gridcut.alpha_expansion` and `gridcut.alpha_beta_swap`."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridcut.multilabel.expansion import alpha_expansion
from gridcut.multilabel.swap import alpha_beta_swap


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
    """Like `cut_grid_graph` between `connect` (4 or 8) neighbours, with weights 1, and sqrt(2) for float diagonals."""
    if connect not in (4, 8):
        raise ValueError(f"connect must be 4 or 8, got {connect}")
    unary = np.asarray(unary_cost)
    diagonal = np.sqrt(2).astype(unary.dtype)  # in gco an entry of an array of the type of the costs
    weights = dict(zip([(1, 0), (0, 1), (1, 1), (1, -1)][: connect // 2], (1, 1, diagonal, diagonal), strict=False))
    return _labels(unary, pairwise_cost, weights, n_iter, algorithm).ravel()


def cut_general_graph(
    edges: ArrayLike,
    edge_weights: ArrayLike,
    unary_cost: ArrayLike,
    pairwise_cost: ArrayLike | None = None,
    n_iter: int = -1,
    algorithm: str = "expansion",
    init_labels: ArrayLike | None = None,
    down_weight_factor: float | None = None,
) -> NDArray:
    """Minimise a multi-label energy on any graph, with the interface of `gco.cut_general_graph`.

    Parameters
    ----------
    edges : array_like of int (E, 2)
        The two nodes of each edge, in any order.
    edge_weights : array_like (E,)
        Weights of the edges, 0 or more; those of parallel edges are added.
    unary_cost : array_like (n, L)
        Cost of each label at each node.
    pairwise_cost : array_like (L, L), optional
        As in `cut_grid_graph`.  Default: no cost.
    n_iter, algorithm
        As in `cut_grid_graph`.
    init_labels : array_like of int (n,), optional
        Initial labels.  Default: the cheapest of each node in expansions, as the energies are lower, and 0 in swaps.
    down_weight_factor : float, optional
        Without effect: costs are not scaled to fit int32.

    Returns
    -------
    ndarray of int32 (n,)
        Label of each node.

    Raises
    ------
    TypeError
        If `edges` does not hold integers.
    ValueError
        As in `cut_grid_graph`; also if an edge has a node that is not in the graph.

    Examples
    --------
    >>> unary = [[2, 8, 8], [7, 3, 7], [8, 8, 2], [6, 4, 6]]
    >>> cut_general_graph([[0, 1], [1, 2], [2, 3]], [3, 10, 1], unary, 1 - np.eye(3))
    array([0, 2, 2, 1], dtype=int32)
    """
    from scipy.sparse import coo_array  # the functions for grids do not need it

    unary, pairs, weights = np.asarray(unary_cost), np.asarray(edges), np.asarray(edge_weights)
    if unary.ndim != 2:
        raise ValueError(f"unary_cost must have the shape (nodes, labels), got {unary.shape}")
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"edges must have the shape (edges, 2), got {pairs.shape}")
    if pairs.size and pairs.dtype.kind not in "iu":
        raise TypeError(f"edges must hold integers, got {pairs.dtype}")
    if weights.shape != (len(pairs),):
        raise ValueError(f"edge_weights must have one weight for each of the {len(pairs)} edges, got {weights.shape}")
    outside = ((pairs < 0) | (pairs >= len(unary))).any(axis=1)
    if outside.any():
        edge = int(np.argmax(outside))
        raise ValueError(f"edges[{edge}] is {pairs[edge].tolist()}, but nodes are numbered 0 to {len(unary) - 1}")
    if pairwise_cost is None:
        pairwise_cost = np.zeros((unary.shape[1],) * 2)
    graph = coo_array((weights, tuple(pairs.astype(np.int64).T)), shape=(len(unary),) * 2)
    return _labels(unary, pairwise_cost, graph, n_iter, algorithm, init_labels, restarts=0)


def cut_from_graph(
    edges: ArrayLike, data_cost: ArrayLike, smoothness_cost: ArrayLike, n_iter: int = 5, algorithm: str = "expansion"
) -> NDArray:
    """Like `cut_general_graph` with all weights 1."""
    return cut_general_graph(edges, np.ones(len(np.asarray(edges)), int), data_cost, smoothness_cost, n_iter, algorithm)


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


def _labels(unary_cost, pairwise_cost, weights, n_iter, algorithm, start=None, restarts=2) -> NDArray:
    unary = np.ascontiguousarray(np.moveaxis(np.asarray(unary_cost), -1, 0))
    pairwise = np.asarray(pairwise_cost)
    diagonal = np.diag(pairwise) if pairwise.ndim == 2 else np.zeros(1)
    if diagonal[:1].any() and (diagonal == diagonal[0]).all():  # which every edge costs at least
        pairwise = np.subtract(pairwise, diagonal[0], dtype=float if pairwise.dtype.kind == "f" else np.int64)
    if algorithm not in ("expansion", "swap"):
        raise ValueError(f"algorithm should be either `swap` or `expansion`. Got: {algorithm}")
    if algorithm == "swap" and start is None:
        start = np.zeros(unary.shape[1:], np.int32)  # as gco: swaps from the cheapest labels often end higher
    minimise = alpha_expansion if algorithm == "expansion" else alpha_beta_swap
    cycles = None if n_iter < 0 else n_iter
    found = minimise(unary, weights, pairwise, start=start, restarts=restarts, max_cycles=cycles, device="cpu")
    return found.labels
