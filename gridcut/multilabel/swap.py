"""alpha_beta_swap: descent by swap moves, each the best exchange between two labels."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from gridcut.core.problem import Offset
from gridcut.device import DeviceName
from gridcut.device.arguments import check_callback, check_count
from gridcut.multilabel.device_choice import check_energy, descend
from gridcut.multilabel.labelling import Labelling
from gridcut.multilabel.restarts import perturbations
from gridcut.multilabel.validation import check_cycles, check_start


def alpha_beta_swap(
    unary: ArrayLike,
    weights: Mapping[Offset, ArrayLike] | Any,
    label_cost: ArrayLike | None = None,
    *,
    start: ArrayLike | None = None,
    restarts: int = 0,
    max_cycles: int | None = None,
    device: DeviceName = "auto",
    callback: Callable[[dict], object] | None = None,
) -> Labelling:
    """Minimise a multi-label energy by alpha-beta swaps.

    In each move, the pixels with label alpha or beta choose again between these two labels, at minimum energy.  For
    costs of labels that are not a metric, such as truncated squares.  For a metric, `alpha_expansion` is faster and
    finds lower energies.

    Parameters
    ----------
    unary, weights
        As in `alpha_expansion`.
    label_cost : array_like, shape (L, L), optional
        Cost of a pair of labels on an edge of weight 1: symmetric, >= 0, 0 on the diagonal.  Default: Potts.
    start, restarts, max_cycles, device, callback
        As in `alpha_expansion`, except that there are no restarts by default.  Two restarts take less time than the
        descent.

    Returns
    -------
    Labelling
        ``labels``, ``energy``, ``stats`` and ``check()``.

    Raises
    ------
    TypeError, ValueError, RuntimeError
        As `alpha_expansion`, but `label_cost` may violate the triangle inequality.

    See Also
    --------
    alpha_expansion : Faster, with lower energies, if `label_cost` is a metric.

    Notes
    -----
    A cycle has up to L (L - 1) / 2 moves.  In the first cycle, each move visits every pixel and cuts those with one of
    the two labels.  Later, a move is skipped if no label has changed at or next to such a pixel since it was made last.
    Each label is swapped with the last label first, so that few moves suffice to leave a poor start.

    References
    ----------
    .. [1] Boykov, Veksler, Zabih. "Fast approximate energy minimization via graph cuts." PAMI 23(11), 2001.

    Examples
    --------
    >>> import numpy as np
    >>> unary = np.array([[0, 0, 2, 9, 9], [5, 5, 3, 4, 5], [9, 9, 2, 0, 0]])
    >>> alpha_beta_swap(unary, {(1,): 1}, [[0, 1, 4], [1, 0, 1], [4, 1, 0]]).energy
    5
    """
    started = time.perf_counter()
    check_callback(callback)
    problem = check_energy(unary, weights, label_cost, device, metric=False)
    first = check_start(start, problem)
    cycles = check_cycles(max_cycles)
    perturbed = perturbations(list(range(problem.count)), problem.count, check_count("restarts", restarts, 0))
    moves = [(a, b) for a in range(problem.count) for b in range(problem.count - 1, a, -1)]
    restart_plan = [(perturb, moves) for perturb in perturbed]
    arguments = unary, weights, label_cost
    return descend(problem, arguments, first, moves, restart_plan, cycles, callback, started)
