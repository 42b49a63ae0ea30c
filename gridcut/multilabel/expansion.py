"""alpha_expansion: descent by expansion moves, each the best expansion of one label."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gridcut.core.problem import Offset
from gridcut.device import DeviceName
from gridcut.device.arguments import check_callback, check_count, plain_array
from gridcut.multilabel.device_choice import check_energy, descend
from gridcut.multilabel.labelling import Labelling
from gridcut.multilabel.restarts import perturbations
from gridcut.multilabel.validation import check_allowed, check_allowed_start, check_cycles, check_start


def alpha_expansion(
    unary: ArrayLike,
    weights: Mapping[Offset, ArrayLike] | Any,
    label_cost: ArrayLike | None = None,
    *,
    start: ArrayLike | None = None,
    order: Sequence[int] | None = None,
    allowed: ArrayLike | None = None,
    restarts: int = 2,
    max_cycles: int | None = None,
    device: DeviceName = "auto",
    callback: Callable[[dict], object] | None = None,
) -> Labelling:
    """Minimise a multi-label energy by alpha-expansion.

    The energy is ``sum unary[l_p][p] + sum weights[o][p] * label_cost[l_p, l_p+o]``.  In each move, every pixel either
    keeps its label or switches to one label alpha.  Each move is the best of its kind, found by a minimum cut, and
    moves are made until no expansion of any label lowers the energy.

    Parameters
    ----------
    unary : array_like, shape (L, *grid), 1 to 3 grid axes
        Cost of each label at each pixel; may be negative.  In floats, ``inf`` forbids a label.  Costs too high to be
        paid are clamped, so that they do not reduce the precision of the others.
    weights : mapping from offset to array_like
        Weight of the edge from pixel p to p + offset, >= 0: a scalar or an array of the grid's shape, for example
        ``{(0, 1): right, (1, 0): down}`` or ``dict.fromkeys(gridcut.neighbourhood(8), 10)``.  Entries that point out
        of the grid are ignored.  The weights of an offset and its opposite are added.
        On any other graph, `unary` has the shape (L, n), and this is a SciPy sparse matrix (n, n) with one entry per
        edge, at either of its two positions; entries at the same or at opposite positions are added.  CPU only.
    label_cost : array_like, shape (L, L), optional
        Cost of a pair of labels on an edge of weight 1; must be a metric.  Default: Potts (0 for equal labels, else 1).
    start : integer array, the grid's shape, optional
        Initial labelling.  Default: the cheapest label of each pixel.
    order : sequence of int, optional
        Labels in the order in which they are expanded; others are never expanded.  Default: all labels, those that are
        the cheapest at most pixels first.
    allowed : bool array, the shape of `unary`, optional
        Labels that moves may assign to each pixel, for example a band around a good start.  A pixel keeps its label in
        the expansions of all others, so time and memory decrease with the share that is allowed.  The result cannot be
        improved by an allowed expansion.  CPU only.  Default: all labels.
    restarts : int
        Number of restarts after convergence.  A restart reassigns the pixels of half of the labels to other labels,
        descends again, and keeps the cheaper labelling on every connected set of pixels where the two results differ.
        The energy never increases.  Two restarts take about as long as the first descent.
    max_cycles : int, optional
        Maximum number of rounds over all labels, in the descent and in each restart.  Default: until convergence.
    device : {"auto", "cpu", "cuda"}
        As in `max_flow`.  Arrays on a GPU are read in place, and the labels are returned on the GPU.  The labels are
        the same on both devices, move for move.  A GPU supports edges to direct neighbours only; "auto" uses the CPU
        for others.
    callback : callable, optional
        Called after every move with a dict with the keys "cycle", "moves", "labels" and "energy"; on a GPU after
        several moves at a time.  An exception raised by the callback stops the solve.

    Returns
    -------
    Labelling
        ``labels``, ``energy``, ``stats`` (with the energy after every move), and ``check()``, which certifies them.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If shapes do not match; for NaN, negative or infinite weights, and infinite costs of labels; if a pixel has no
        finite label; if `allowed` forbids a pixel all labels, or the one of `start`; if `label_cost` is not a metric
        (the message names the labels); if totals exceed 2^62.
    RuntimeError
        If ``device="cuda"`` and no GPU is available.
    MemoryError
        If the GPU has too little memory.

    See Also
    --------
    alpha_beta_swap : For costs that are not a metric.
    convex_labels : Exact minimum for costs that are convex in the difference of ordered labels.
    LabelSolver : For a sequence of similar problems.

    Notes
    -----
    Integers are exact.  With floats, everything is rounded to multiples of a power of two, ``stats["unit"]``: costs of
    labels to 30 bits, totals to 61 bits.  The resulting energy is at most 2 max V / min V times the minimum, where V
    are the costs of different labels [1]_.

    The first cut of each label covers the whole grid; later cuts cover only what has changed since, starting from the
    last flow [2]_.  Memory: 4 (L (1 + K) + 5 K + 16) bytes per pixel for K kinds of edges, twice that for floats.
    On a graph, every move is a cut of all nodes that have a choice.

    References
    ----------
    .. [1] Boykov, Veksler, Zabih. "Fast approximate energy minimization via graph cuts." PAMI 23(11), 2001.
    .. [2] Alahari, Kohli, Torr. "Reduce, reuse & recycle: efficiently solving multi-label MRFs." CVPR 2008.

    Examples
    --------
    >>> import numpy as np
    >>> unary = np.array([[0, 0, 2, 9, 9], [5, 5, 3, 4, 5], [9, 9, 2, 0, 0]])
    >>> result = alpha_expansion(unary, {(1,): 1})
    >>> result.labels, result.energy
    (array([0, 0, 0, 2, 2], dtype=int32), 3)
    """
    started = time.perf_counter()
    check_callback(callback)
    problem = check_energy(unary, weights, label_cost, device if allowed is None else "cpu", metric=True)
    if allowed is not None:
        problem = problem._replace(allowed=check_allowed(allowed, device, problem.unary.shape))
    first = check_start(start, problem) if allowed is None else check_allowed_start(start, problem)
    cycles = check_cycles(max_cycles)
    moves, restart_plan = plan(check_order(order, problem), problem.count, check_count("restarts", restarts, 0))
    arguments = unary, weights, label_cost
    return descend(problem, arguments, first, moves, restart_plan, cycles, callback, started)


def plan(order: list[int], count: int, restarts: int) -> tuple[list, list]:
    """The moves of a descent, and one pair per restart: a perturbation, and the moves to make after it."""
    moves, others = ([(-1, label) for label in labels] for labels in (order, _reordered(order)))
    return moves, [(perturbation, others) for perturbation in perturbations(order, count, restarts)]


def check_order(order, problem) -> list[int]:
    """Labels in the order of their expansions.  Default: those that are the cheapest at most pixels first."""
    if order is None:
        return np.argsort(-problem.votes(), kind="stable").tolist()
    labels = plain_array("order", order)
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise TypeError(f"order must be a sequence of labels, got {order!r:.60}")
    if labels.size and not 0 <= labels.min() <= labels.max() < problem.count:
        raise ValueError(f"order must contain labels between 0 and {problem.count - 1}, got {order!r:.60}")
    if np.unique(labels).size != labels.size:
        raise ValueError(f"order must contain each label at most once, got {order!r:.60}")
    return labels.tolist()


def _reordered(order: list[int]) -> list[int]:
    """Another order of similar cost: frequent labels stay early, so that first cuts have few pixels."""
    step = max(2, len(order) // 4)
    return [label for i in range(0, len(order), step) for label in reversed(order[i : i + step])]
