"""PyMaxflow's module fastmin: alpha-expansion and alpha-beta swap on grids with direct neighbours.

The solvers are imported when they are called: programs with graphs of two labels need none of them.
"""

import numpy as np

__all__ = ["abswap_grid", "aexpansion_grid", "energy_of_grid_labeling"]


def energy_of_grid_labeling(unary: np.ndarray, binary: np.ndarray, labels: np.ndarray) -> float:
    """Energy of a labelling: unary costs (*grid, L), and binary (L, L) for each pair of direct neighbours."""
    energy = np.take_along_axis(unary, labels[..., None].astype(np.intp), -1).sum()
    for axis in range(labels.ndim):
        lines = np.moveaxis(labels, axis, 0)
        energy += binary[lines[1:], lines[:-1]].sum()
    return energy


def aexpansion_grid(
    unary: np.ndarray, binary: np.ndarray, max_cycles: int | None = None, labels: np.ndarray | None = None
) -> np.ndarray:
    """Minimise a multi-label energy by alpha-expansion, with the interface of `maxflow.fastmin.aexpansion_grid`.

    Parameters
    ----------
    unary : ndarray (*grid, L)
        Cost of each label at each pixel; the grid has 1 to 3 axes.
    binary : ndarray (L, L)
        Cost of each pair of labels at direct neighbours; a metric.
    max_cycles : int, optional
        Maximum number of rounds over all labels.  Default: until convergence.
    labels : ndarray of int (*grid), optional
        Initial labels, overwritten by the result.  Default: the cheapest label of each pixel.

    Returns
    -------
    ndarray of int (*grid)
        `labels` if it was given; otherwise a new array, int8 for up to 127 labels, else int64.

    Raises
    ------
    ValueError
        If shapes or labels do not fit, or `binary` is not a metric, for which PyMaxflow returns any labelling.

    See Also
    --------
    gridcut.alpha_expansion : weights per edge, other neighbourhoods, energies, GPUs.

    Notes
    -----
    After convergence, `gridcut.alpha_expansion` restarts from changed labellings, so energies are at most those of
    plain expansion, and usually lower.
    """
    from gridcut.multilabel.expansion import alpha_expansion

    return _minimised(alpha_expansion, unary, binary, max_cycles, labels)


def abswap_grid(
    unary: np.ndarray, binary: np.ndarray, max_cycles: int | None = None, labels: np.ndarray | None = None
) -> np.ndarray:
    """Minimise a multi-label energy by swaps of two labels, with the interface of `maxflow.fastmin.abswap_grid`.

    Parameters, results and exceptions are those of `aexpansion_grid`, but `binary` need not satisfy the triangle
    inequality.
    """
    from gridcut.multilabel.swap import alpha_beta_swap

    return _minimised(alpha_beta_swap, unary, binary, max_cycles, labels)


def _minimised(minimise, unary, binary, max_cycles, labels) -> np.ndarray:
    unary, binary = np.asarray(unary), np.asarray(binary)
    if unary.ndim == 0:
        raise ValueError("The unary term cannot be a scalar")
    count = unary.shape[-1]
    if count == 0:
        raise ValueError("The number of labels cannot be 0")
    if binary.shape != (count, count):
        raise ValueError(
            "The binary term must be a square matrix of shape (num_labels, num_labels). The shape of the binary term "
            f"was {binary.shape} but, according to the unary term, num_labels={count}"
        )
    if labels is None:
        start = unary.argmin(axis=-1)
        labels = start.astype(np.int8 if count <= 127 else np.int64)
    else:
        if labels.size and labels.min() < 0:
            raise ValueError("Values of labels must be non-negative")
        if labels.size and labels.max() >= count:
            raise ValueError(f"Values of labels must be smaller than num_labels={count}")
        start = labels.astype(np.int64)
    if (max_cycles is None or max_cycles > 0) and labels.size and count > 1:
        offsets = np.eye(labels.ndim, dtype=int).tolist()
        weights = {tuple(offset): 1 for offset in offsets}
        costs = np.ascontiguousarray(np.moveaxis(unary, -1, 0))
        # There, a pair is (pixel, its successor); PyMaxflow's is the reverse.
        found = minimise(costs, weights, binary.T, start=start, max_cycles=max_cycles, device="cpu")
        labels[...] = found.labels
    return labels
