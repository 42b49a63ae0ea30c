"""alpha_expansion: descent by the best expansions of one label at a time."""

import time

import numpy as np

from gridcut.device import DeviceName
from gridcut.labels.border import cheapest, check_cycles, check_labels, check_start, on_cpu
from gridcut.labels.descent import descend
from gridcut.labels.labelling import Labelling


def alpha_expansion(
    unary,
    weights,
    label_cost=None,
    *,
    start=None,
    order=None,
    descents: int = 1,
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
        Cost of each label at each pixel; may be negative.
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
    descents : int
        Where a descent ends depends on the order of labels.  With 2, another one is made from the same start, each
        quarter of the order turned round, and the better of the two is taken in each place where they differ; more
        take random orders.
    max_cycles : int, optional
        Stop each descent after so many rounds over all labels.
    device : {"auto", "cpu"}
        These moves run on the CPU.
    callback : callable, optional
        Called after every move with a dict: "cycle", "moves", "labels", "energy"; may raise to stop.

    Returns
    -------
    Labelling
        ``labels``, ``energy``, ``stats`` (energies after every move and more), and ``check()``.

    Raises
    ------
    TypeError
        An argument of the wrong kind.
    ValueError
        Wrong shapes, NaN or infinite costs, negative weights, a `label_cost` that is no metric (the message names the
        labels), or totals beyond 2^62.
    RuntimeError
        For ``device="cuda"``.

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
    begun = time.perf_counter()
    on_cpu(device)
    problem = check_labels(unary, weights, label_cost, metric=True)
    first = check_start(start, problem)
    cycles = check_cycles(max_cycles)
    labels = _check_order(order, problem)
    if not isinstance(descents, int | np.integer) or isinstance(descents, bool):
        raise TypeError(f"descents must be an integer, got {type(descents).__name__}")
    if descents < 1:
        raise ValueError(f"descents must be 1 or more, got {descents}")
    random = np.random.default_rng(0)
    orders = [labels, _turned(labels), *(random.permutation(labels).tolist() for _ in range(2, descents))][:descents]
    moves = [[(-1, label) for label in order] for order in orders]
    return descend(problem, (unary, weights, label_cost), first, moves, cycles, callback, begun)


def _check_order(order, problem) -> list[int]:
    if order is None:
        votes = np.bincount(cheapest(problem.unary).ravel(), minlength=problem.count)
        return np.argsort(-votes, kind="stable").tolist()
    labels = np.asarray(order)
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise TypeError(f"order must be a sequence of labels, got {order!r:.60}")
    if labels.size and not 0 <= labels.min() <= labels.max() < problem.count:
        raise ValueError(f"order must hold labels between 0 and {problem.count - 1}, got {order!r:.60}")
    if np.unique(labels).size != labels.size:
        raise ValueError(f"order must name a label once, got {order!r:.60}")
    return labels.tolist()


def _turned(order: list[int]) -> list[int]:
    """Another order that costs as little: popular labels stay early, so that first cuts are of few pixels."""
    step = max(2, len(order) // 4)
    return [label for i in range(0, len(order), step) for label in reversed(order[i : i + step])]
