"""alpha_beta_swap: descent by the best exchanges between two labels at a time."""

import time

from gridcut.device import DeviceName
from gridcut.device.arguments import check_callback
from gridcut.multilabel.descent import descend
from gridcut.multilabel.device_choice import check_energy
from gridcut.multilabel.expansion import check_restarts
from gridcut.multilabel.labelling import Labelling
from gridcut.multilabel.restart import perturbations
from gridcut.multilabel.swap_descent import SwapDescent
from gridcut.multilabel.validation import check_cycles, check_start


def alpha_beta_swap(
    unary,
    weights,
    label_cost=None,
    *,
    start=None,
    restarts: int = 0,
    max_cycles: int | None = None,
    device: DeviceName = "auto",
    callback=None,
) -> Labelling:
    """Labelling of low energy, by swap moves: pixels with label alpha or beta choose anew between these two.

    For costs of labels that are no metric, such as truncated squares; for a metric `alpha_expansion` is faster and
    finds lower energies.

    Parameters
    ----------
    unary, weights
        As in `alpha_expansion`.
    label_cost : array_like, shape (L, L), optional
        Cost of two labels on an edge of weight 1: symmetric, not negative, 0 on the diagonal; Potts when absent.
    start, restarts, max_cycles, device, callback
        As in `alpha_expansion`, but with no restarts by default; two of them take less time than the descent.

    Returns
    -------
    Labelling
        ``labels``, ``energy``, ``stats`` and ``check()``.

    Raises
    ------
    TypeError, ValueError, RuntimeError
        As `alpha_expansion`, but the triangle inequality is not asked for.

    Notes
    -----
    A cycle makes up to L (L - 1) / 2 moves.  In the first each looks at every pixel and cuts those with one of the two
    labels; later it looks at the connected sets of such pixels in which, or beside which, labels have changed.  Each
    label is swapped with the last first, so that few moves are enough to leave a poor start.

    References
    ----------
    Boykov, Veksler, Zabih. "Fast approximate energy minimization via graph cuts." PAMI 23(11), 2001.

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
    perturbed = perturbations(list(range(problem.count)), problem.count, check_restarts(restarts))
    moves = [(a, b) for a in range(problem.count) for b in range(problem.count - 1, a, -1)]
    restart_plan = [(perturb, moves) for perturb in perturbed]
    arguments = unary, weights, label_cost
    return descend(SwapDescent, problem, arguments, first, moves, restart_plan, cycles, callback, started)
