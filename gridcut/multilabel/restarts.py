"""Fusion of two labellings: on every connected set of pixels where they differ, the cheaper of the two.

The pixels where they differ form connected components.  The cost of one component does not depend on the choice in
another, so the best of all 2^n choices is found component by component [1, the case in which no cut is needed].

[1] Lempitsky, Rother, Roth, Blake. "Fusion moves for Markov random field optimization." PAMI 32(8), 2010.

Time and memory O(pixels + edges)."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from gridcut.multilabel.validation import LabelProblem


def fused(current, proposal, problem: LabelProblem) -> np.ndarray:
    """`current`, with the labels of `proposal` in every component where they are cheaper."""
    differs = current != proposal
    count = int(differs.sum())
    if count == 0:
        return current
    index = np.full(current.shape, count)  # among the pixels that differ; all others share the index `count`
    index[differs] = np.arange(count)
    edges = [(np.empty(0, np.int64),) * 3]
    for p, q, weight in problem.edges():
        used = (weight > 0) & (differs[p] | differs[q])
        current_edge = problem.cost[current[p], current[q]].astype(np.int64)
        proposal_edge = problem.cost[proposal[p], proposal[q]].astype(np.int64)
        edges.append((index[p][used], index[q][used], (weight * (proposal_edge - current_edge))[used]))
    rows, columns, changes = (np.concatenate(part) for part in zip(*edges, strict=True))
    both = (rows < count) & (columns < count)
    links = coo_array((both[both], (rows[both], columns[both])), (count, count))
    sets, member = connected_components(links, directed=False)
    change = np.zeros(sets, np.int64)
    paid = [np.take_along_axis(problem.unary, x[None], 0)[0][differs].astype(np.int64) for x in (current, proposal)]
    np.add.at(change, member, paid[1] - paid[0])
    np.add.at(change, member[np.minimum(rows, columns)], changes)
    result = current.copy()
    result[differs] = np.where(change[member] < 0, proposal[differs], current[differs])
    return result


# Perturbations for restarts: labellings in which half of the labels have given their pixels to other labels.
#
# A descent converges when no move improves the labelling.  With the labels in pairs, one of each pair takes the
# other's pixels; the expansions that follow return them, possibly along different boundaries [1].  Most labels keep
# their pixels, so that the flows of the last descent are good starting points.  Fusion (above) then keeps every
# improvement.
#
# [1] is a perturbation as in Lourenco, Martin, Stuetzle. "Iterated local search." Handbook of Metaheuristics, 2003.


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
