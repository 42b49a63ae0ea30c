"""Where to descend from again: a labelling in which half of the labels have given their pixels to others.

An end of a descent is one that no move improves.  With the labels in pairs, one of each pair takes the other's pixels;
the expansions that follow hand them back, along borders that can be others than before [1].  Most labels stay, so that
the flows of the last descent are good ones to start from.  Fusion (fusion.py) then picks, place by place, what has
become better.

[1] is a perturbation as in Lourenco, Martin, Stuetzle. "Iterated local search." Handbook of Metaheuristics, 2003.
"""

import numpy as np


def perturbations(labels: list[int], count: int, restarts: int) -> list:
    """Functions labelling -> labelling, one a restart, that exchange these labels of `count`.

    None for two labels, whose first expansion finds the minimum.  Labels next to each other are paired first, one
    giving to the other and then the other way round: where labels are quantities these are the likely mistakes.
    Later pairs are random.
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
