"""alpha_expansion: descent by the best expansions of one label at a time."""

import time

import numpy as np

from gridcut.device import DeviceName
from gridcut.device.arguments import check_callback, plain_array
from gridcut.multilabel.descent import Descent, descend
from gridcut.multilabel.device_choice import check_energy
from gridcut.multilabel.labelling import Labelling
from gridcut.multilabel.restart import perturbations
from gridcut.multilabel.validation import check_cycles, check_start


def alpha_expansion(
    unary,
    weights,
    label_cost=None,
    *,
    start=None,
    order=None,
    restarts: int = 2,
    max_cycles: int | None = None,
    device: DeviceName = "auto",
    callback=None,
) -> Labelling:
    """Labelling of low energy, by expansion moves: each pixel keeps its label or takes one label alpha.

    ``sum unary[l_p][p] + sum weights[o][p] * label_cost[l_p, l_p+o]``; every move is the best of its kind, found by a
    minimum cut, and moves are made until no expansion of any label lowers the energy.

    Parameters
    ----------
    unary : array_like, shape (L, *grid), 1 to 3 grid axes
        Cost of each label at each pixel; may be negative.  In floats, ``inf`` forbids a label; costs as high as that
        are clamped to what is enough, so that they take no precision from others.
    weights : mapping from offset to array_like
        Weight of the edge from pixel p to p + offset, of the grid's shape or a scalar, not negative: such as
        ``{(0, 1): right, (1, 0): down}`` or ``dict.fromkeys(gridcut.neighbourhood(8), 10)``.  Entries that point out
        of the grid are ignored; an offset and its opposite add up.
    label_cost : array_like, shape (L, L), optional
        Cost of two labels on an edge of weight 1, a metric; Potts (0 for equal labels, else 1) when absent.
    start : integer array, the grid's shape, optional
        Labelling to begin with; the cheapest label of each pixel when absent.
    order : sequence of labels, optional
        In which order labels are expanded, those left out never.  When absent, labels that are the cheapest at most
        pixels come first.
    restarts : int
        How often to try again at the end: half of the labels give their pixels to others, a descent from there follows,
        and the better of the two results is taken in each place where they differ.  The energy can only fall; two
        restarts take about as long as the descent.
    max_cycles : int, optional
        Stop the descent, and each restart, after so many rounds over all labels.
    device : {"auto", "cpu", "cuda"}
        As in `max_flow`: arrays that lie on a GPU stay there, and so do the labels.  Labels are the same on both, move
        for move.  A GPU takes edges to direct neighbours only; "auto" leaves others to the CPU.
    callback : callable, optional
        Called after every move with a dict: "cycle", "moves", "labels", "energy"; may raise to stop.  On a GPU after
        several moves at a time.

    Returns
    -------
    Labelling
        ``labels``, ``energy``, ``stats`` (energies after every move and more), and ``check()``.

    Raises
    ------
    TypeError
        An argument of the wrong kind.
    ValueError
        Wrong shapes, NaN, infinite weights or costs of two labels, pixels that no label is left to, negative weights, a
        `label_cost` that is no metric (the message names the labels), or totals beyond 2^62.
    RuntimeError
        For ``device="cuda"`` without a GPU.
    MemoryError
        The GPU has no room for it.

    Notes
    -----
    Integers are exact.  With floats everything is rounded to multiples of a power of two, ``stats["unit"]``: costs of
    labels to 30 bits, totals to 61.  The energy found is at most 2 max V / min V times the least one, V the costs of
    different labels [1].

    The first cut of each label takes the whole grid, later ones only what has changed since, starting from the last
    flow [2].  Memory: 4 (L (1 + K) + 5 K + 16) bytes a pixel with K kinds of edges, twice that for floats.

    References
    ----------
    [1] Boykov, Veksler, Zabih. "Fast approximate energy minimization via graph cuts." PAMI 23(11), 2001.
    [2] Alahari, Kohli, Torr. "Reduce, reuse & recycle: efficiently solving multi-label MRFs." CVPR 2008.

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
    problem = check_energy(unary, weights, label_cost, device, metric=True)
    first = check_start(start, problem)
    cycles = check_cycles(max_cycles)
    moves, restart_plan = plan(check_order(order, problem), problem.count, check_restarts(restarts))
    arguments = unary, weights, label_cost
    return descend(Descent, problem, arguments, first, moves, restart_plan, cycles, callback, started)


def plan(order: list[int], count: int, restarts: int) -> tuple[list, list]:
    """The expansions of a descent, and for each restart how to disturb the labels, and the expansions from there."""
    moves, others = ([(-1, label) for label in labels] for labels in (order, _reordered(order)))
    return moves, [(perturbation, others) for perturbation in perturbations(order, count, restarts)]


def check_restarts(restarts) -> int:
    if not isinstance(restarts, int | np.integer) or isinstance(restarts, bool):
        raise TypeError(f"restarts must be an integer, got {type(restarts).__name__}")
    if restarts < 0:
        raise ValueError(f"restarts must be 0 or more, got {restarts}")
    return int(restarts)


def check_order(order, problem) -> list[int]:
    """Labels in the order of their expansions; those cheapest at most pixels first when none is given."""
    if order is None:
        return np.argsort(-problem.votes(), kind="stable").tolist()
    labels = plain_array("order", order)
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise TypeError(f"order must be a sequence of labels, got {order!r:.60}")
    if labels.size and not 0 <= labels.min() <= labels.max() < problem.count:
        raise ValueError(f"order must hold labels between 0 and {problem.count - 1}, got {order!r:.60}")
    if np.unique(labels).size != labels.size:
        raise ValueError(f"order must name a label once, got {order!r:.60}")
    return labels.tolist()


def _reordered(order: list[int]) -> list[int]:
    """Another order that costs as little: popular labels stay early, so that first cuts are of few pixels."""
    step = max(2, len(order) // 4)
    return [label for i in range(0, len(order), step) for label in reversed(order[i : i + step])]
