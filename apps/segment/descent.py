"""Alternate fits of colour models and exact cuts, from initial models to a labelling that no longer changes."""

from typing import Any, NamedTuple

import numpy as np

import gridcut
from apps.segment.colour_models import log_densities
from apps.segment.connected_parts import keep_parts

MAX_CHANGED_SHARE = 0.001  # a labelling has converged if at most this share of the pixels changed


class Found(NamedTuple):
    """A labelling, its energies, where its cut was solved, and the costs of both labels per pixel (`EnergyTerms`)."""

    mask: np.ndarray
    energies: list
    device: str
    method: str
    costs: tuple


def fit_and_cut(terms, solvers, keep, rounds, clock, object_count, background_count):
    """Alternate model fits and cuts until convergence; return the last labelling and the energies."""
    palette = terms.palette
    mask: Any = None
    cut: Any = None
    kept: Any = None
    energies: list = []
    for _ in range(rounds):
        costs = terms.costs(*log_densities(palette, object_count, background_count, terms.whole))
        clock.charge("models")
        as_object, as_background, _ = costs
        # Warm start: only the colour costs have changed since the last round, or since the last start.
        if solvers:
            solvers[0].update(source=as_background, sink=as_object)
        else:
            solvers.append(gridcut.Solver(as_background, as_object, terms.edges, device=terms.device))
        tried = solvers[0].solve()
        clock.charge("cuts")
        labels = keep_parts(tried.labels.astype(np.int8), terms.marks, keep).view(bool)
        energy = terms.energy(labels, *costs)
        clock.charge("parts")
        if energies and energy > energies[-1]:
            break
        has_converged = mask is not None and np.count_nonzero(labels != mask) <= MAX_CHANGED_SHARE * mask.size
        mask, cut, kept = labels, tried, costs
        energies.append(energy)
        if has_converged or not mask.any() or mask.all():
            break
        object_count, background_count = terms.with_strokes(palette.counts(mask), palette.counts(~mask))
        clock.charge("models")
    return Found(mask, energies, cut.device, cut.method, kept)
