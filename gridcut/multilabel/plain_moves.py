"""Expansions and swaps without the tricks of the CPU and the GPU, on top of `gridcut.binary_labels`.

Read this first.  descent.py and, on a GPU, descent_cuda.py take the same steps:

    choose    the next move of the cycle; it is skipped if no label has changed since it was made last
    build     the energy of the move, with a binary choice per pixel (moves.py)
    cut       its minimum; ties keep a pixel's label
    change    the pixels that choose the new label take it, if the energy falls

It ends when every move of a cycle is skipped or changes nothing: each change lowers the energy, and there are finitely
many labellings.  The labels and the energy after each move are those of `alpha_expansion` and `alpha_beta_swap` without
restarts, which tests compare.

What the fast versions add: each label keeps the flow of its last expansion, so that a move visits only what has changed
since; the energy is followed by differences; a swap is skipped if nothing has changed at or next to pixels of its
labels.

A move costs a cut of the whole grid.
"""

import numpy as np

from gridcut.energy import BinaryEnergy, binary_labels, energy_of


def descend(unary, weights, cost, start, moves):
    """Labels from which no move lowers the energy, and the energies at the start and after each move.

    unary    integers (labels, *grid);  weights: {offset: integers of the grid's shape};  cost: (labels, labels)
    moves    pairs (first, second): swaps of two labels, or expansions of `second` for `first` = -1
    """
    labels = np.array(start)
    energies = [energy_of(labels, unary, weights, cost)]
    changes = 0
    made: dict = {}  # per move: number of changes when it was made last
    while any(made.get(move) != changes for move in moves):
        for first, second in moves:
            if made.get((first, second)) == changes:
                continue
            moved = best_move(labels, first, second, unary, weights, cost)
            energy = energy_of(moved, unary, weights, cost)
            if energy < energies[-1]:
                labels, changes = moved, changes + 1
            energies.append(min(energy, energies[-1]))
            made[first, second] = changes
    return labels, energies


def best_move(labels, first, second, unary, weights, cost):
    """The labels after the best move, with as few changes as possible."""
    kept = labels if first < 0 else np.where(labels == second, first, labels)
    takes = (labels != second) if first < 0 else (labels == first) | (labels == second)
    # The label of each pixel for x = 0 and x = 1: where both sides cost the same, the cut chooses 1.
    choice = np.stack([np.where(takes, second, labels), kept])
    own = np.take_along_axis(np.asarray(unary), choice, axis=0)
    pairwise = {}
    for offset, weight in weights.items():
        there = np.roll(choice, [-step for step in offset], axis=range(1, choice.ndim))  # beyond the grid: not read
        pairwise[offset] = weight * cost[choice[:, None], there[None, :]]
    x = binary_labels(BinaryEnergy(own, pairwise))
    return np.where(x, *choice[::-1])
