"""Several labels on a grid: distances between labels, and the labelling of least energy for them.

What the programs share that give every pixel one of many labels: disparities, grey levels, objects.  A distance is

    potts       [a != b]
    linear      min(|a - b|, truncate)
    quadratic   min((a - b)^2, truncate)

The first two are metrics, so alpha-expansion minimises their energies, within a factor of the best; a truncated square
violates the triangle inequality, and swap moves are made instead [1].  Every move is an exact cut.

[1] Boykov, Veksler, Zabih. "Fast approximate energy minimization via graph cuts." PAMI 23(11), 2001.
"""

import numpy as np

import gridcut
from apps.common.images import InputError

SMOOTHNESS_TERMS = ("potts", "linear", "quadratic")


def label_distances(labels: int, term: str, truncate: int) -> np.ndarray:
    """Distances int64 (labels, labels) between labels that lie in a row; `truncate` is the largest distance.

    Raises InputError for another term, or `truncate` below 1.
    """
    if term not in SMOOTHNESS_TERMS:
        raise InputError(f"--smoothness-term must be one of {', '.join(SMOOTHNESS_TERMS)}, got {term!r}")
    if truncate < 1:
        raise InputError(f"--truncate must be 1 or more, got {truncate}")
    truncate = min(truncate, labels**2)  # no two labels are further apart, and more may not fit into 64 bits
    apart = np.abs(np.subtract.outer(np.arange(labels), np.arange(labels)))
    if term == "potts":
        return np.minimum(apart, 1)
    return np.minimum(apart**2 if term == "quadratic" else apart, truncate)


def is_metric(distance: np.ndarray) -> bool:
    """Whether no detour over a third label is shorter."""
    return all((distance <= distance[:, [k]] + distance[[k], :]).all() for k in range(len(distance)))


def labelling(unary: np.ndarray, weights: dict, distance: np.ndarray, *, start=None, device: str = "auto"):
    """The labelling that no expansion move can better, or no swap move where the distance is no metric.

    Parameters
    ----------
    unary : ndarray of int32, (labels, *grid)
        What each label costs each pixel.
    weights : dict
        {offset: int32 array of the grid's shape}: factor of the distance between p and p + offset.
    distance : ndarray of int64, (labels, labels)
    start : ndarray, the grid's shape, optional
        Labels to begin with; the cheapest ones by default.
    device : {"auto", "cpu", "cuda"}

    Returns
    -------
    gridcut's Labelling, with `labels`, `energy`, `device`, `stats` and `check()`
    """
    minimise = gridcut.alpha_expansion if is_metric(distance) else gridcut.alpha_beta_swap
    # Restarts would take as long again and more, for 0.01 to 0.3 % of the energy.
    return minimise(unary, weights, distance, start=start, restarts=0, device=device)
