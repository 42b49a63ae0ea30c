"""Perturbations for restarts: labellings in which half of the labels have given their pixels to other labels.

A descent converges when no move improves the labelling.  With the labels in pairs, one of each pair takes the other's
pixels; the expansions that follow return them, possibly along different boundaries [1].  Most labels keep their pixels,
so that the flows of the last descent are good starting points.  Fusion (fusion.py) then keeps every improvement.

[1] is a perturbation as in Lourenco, Martin, Stuetzle. "Iterated local search." Handbook of Metaheuristics, 2003."""

import numpy as np


def perturbations(labels: list[int], count: int, restarts: int) -> list:
    """One function from labels to labels per restart, each exchanging pairs of the given labels.

    labels   the labels that take part, out of `count`

    Empty for one or two labels, whose first expansion finds the minimum.  The first two restarts pair adjacent
    labels, in both directions: if labels are quantities, these are the likely errors.  Later pairs are random.
    """
    if len(labels) <= 2:
        return []
    random = np.random.default_rng(0)
    found = []
    for i in range(restarts):
        order = np.sort(labels) if i < 2 else random.permutation(labels)
        low, high = order[: len(order) - 1 : 2], order[1::2]
        table = np.arange(count, dtype=np.int32)
        if i % 2 == 0:
            table[high] = low
        else:
            table[low] = high
        found.append(table.take)
    return found
