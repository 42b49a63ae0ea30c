"""Certificate of a cut whose state is on several GPUs, computed some lines at a time by all threads.

Conditions (1) to (5) of gridcut/core/certificate.py are checked strip by strip, as in
gridcut/out_of_core/block_certificate.py.  There, claims of distances certify (5); here the claims are the solver's
heights.
"""

import itertools
import math

import numpy as np

from gridcut.core.certificate import INFINITY, Sums, check_array, check_number
from gridcut.core.grid import Grid, make_layout
from gridcut.core.problem import Problem
from gridcut.device.threads import run_threads, thread_count
from gridcut.out_of_core.block_certificate import certify_lines, certify_sums, check_claims
from gridcut.tiles.slabs.fetch import fetch_grid, fetch_lines
from gridcut.tiles.slabs.slab_load import part_of
from gridcut.tiles.slabs.slab_solver import SlabSolver
from gridcut.tiles.tile_search import UNREACHABLE

STRIP_RESIDUALS = 1 << 26  # approximate number of residuals in the lines that a thread checks at a time


def certify(value, labels: np.ndarray, problem: Problem, solvers: list[SlabSolver]) -> None:
    """Check a cut of an image or a volume; raise CertificateError with the first condition that fails."""
    check_array("labels", labels, np.bool_, problem.shape)
    check_number("value", value, problem.is_float)
    slab = solvers[0].slab
    arcs, thick = slab.part.own.arcs, slab.part.own.tile[slab.part.axis]
    lines = problem.shape[0]
    step = max(1, STRIP_RESIDUALS // (arcs * math.prod(problem.shape[1:]) * thick)) * thick
    strips = [(first, min(first + step, lines)) for first in range(0, lines, step)]
    parts = [None] * len(strips)
    waiting = itertools.count()

    def work(_):
        while (i := next(waiting)) < len(strips):
            parts[i] = certify_strip(labels, problem, solvers, *strips[i])

    run_threads(work, min(thread_count(), len(strips)))
    certify_sums(value, parts, slab.state.number_types.unit)


def certify_strip(labels: np.ndarray, problem: Problem, solvers: list[SlabSolver], first: int, last: int) -> Sums:
    """Check (1) to (3) and (5) on lines first to last - 1."""
    number_types = solvers[0].slab.state.number_types
    low, high = max(first - 1, 0), min(last + 1, problem.shape[0])
    own = slice(first - low, last - low)
    part = part_of(problem, low, high)
    layout = make_layout(part.shape, problem.edges)
    excess, residual = (
        np.zeros(layout.size, number_types.excess),
        np.zeros(layout.size * layout.arcs, number_types.excess),
    )
    grid = Grid(layout, excess, residual, number_types.unit)
    fetch_grid(solvers, low, high, grid)
    claims = np.empty(part.shape, np.int32)
    fetch_lines(solvers, low, high, height=claims)
    claims[claims >= UNREACHABLE] = INFINITY
    distance = np.full(layout.size, INFINITY, np.int32)
    found = layout.interior(distance)
    found[: own.start], found[own.stop :] = claims[: own.start], claims[own.stop :]
    sums = certify_lines(part, grid, labels[low:high], distance, own, low)
    for line in {own.start, own.stop - 1}:
        check_claims(found[line], claims[line])
    return sums
