"""Cycles of minimum cost by minimum cuts, for images and volumes, and for squared differences.

    cost(k) = sum over neighbours p, q of V_pq(k_q - k_p - d_pq)       V_pq convex

is L-natural convex: k has the minimum unless adding 1 to some set of pixels lowers the cost, and the best set is a
minimum cut, with an edge of weight (V(m + 1) + V(m - 1) - 2 V(m)) / 2 in both directions and the rest of the change on
the pixels [1, 2].  Cuts are repeated until the cost stays; that last cut is the certificate.

With norm "l1", V(m) = w |m| of whole cycles m; with "l2", V(m) = w m^2 of the difference of the unwrapped phases, in
1 / GRAIN cycles, so that all costs are integers and the minimum is exact.

The start is scikit-image's unwrapping.  The number of cuts is at most the range of the cycles that it is off by [2].

[1] Bioucas-Dias, Valadão. "Phase unwrapping via graph cuts." IEEE Transactions on Image Processing 16(3), 2007.
[2] Murota, Shioura. "Exact bounds for steepest descent algorithms of L-convex function minimization." Operations
    Research Letters 42(5), 2014.
"""

import numpy as np

import gridcut
from apps.unwrap.phase_problem import CYCLE, differences
from gridcut.device import CertificateError

GRAIN = 64  # steps per cycle of differences that are squared


def least_cycles(phase: np.ndarray, weight: np.ndarray, known: np.ndarray, norm: str) -> tuple[np.ndarray, int]:
    """Cycles (*shape) with the minimum, and the minimum."""
    cycles, solver = _start(phase, known), None
    while True:
        cost, source, sink, edges = step_problem(phase, weight, cycles, norm)
        if solver is None:
            solver = gridcut.Solver(source, sink, edges, device="cpu")
        else:
            solver.update(source=source, sink=sink, edges=edges)
        cut = solver.solve()
        if int(cut.value) == int(sink.sum(dtype=np.int64)):  # the best step is none
            return _from_first(cycles, known), cost
        cycles += ~cut.labels


def certify(phase: np.ndarray, weight: np.ndarray, cycles: np.ndarray, value: int, norm: str) -> None:
    """Raise CertificateError unless `value` is the cost of the cycles, and a certified cut finds no step that helps."""
    cost, source, sink, edges = step_problem(phase, weight, cycles, norm)
    if cost != value:
        raise CertificateError("the cost is not that of the cycles")
    cut = gridcut.max_flow(source, sink, edges, device="cpu")
    cut.check()
    if int(cut.value) != int(sink.sum(dtype=np.int64)):
        raise CertificateError("the cycles are not the cheapest: another cycle on some pixels lowers the cost")


def step_problem(phase: np.ndarray, weight: np.ndarray, cycles: np.ndarray, norm: str):
    """The cost of the cycles, and the cut that finds the best step: capacities of pixels, and edges by offset.

    Pixels on the sink side add a cycle.
    """
    grain = 1 if norm == "l1" else GRAIN
    apart = grain * differences(cycles) + np.rint(grain / CYCLE * differences(phase)).astype(np.int64)
    if norm == "l1":
        cost, slope, bend = weight * np.abs(apart), weight * np.sign(apart), weight * (apart == 0)
    else:
        cost, slope, bend = weight * apart**2, 2 * weight * apart, GRAIN * weight
    move = np.zeros(cycles.shape, np.int32)
    offsets = [tuple(int(other == axis) for other in range(move.ndim)) for axis in range(move.ndim)]
    for axis, one in enumerate(slope):
        move -= one.astype(np.int32)
        np.moveaxis(move, axis, 0)[1:] += np.moveaxis(one, axis, 0)[:-1].astype(np.int32)
    edges = {offset: one.astype(np.int32) for offset, one in zip(offsets, bend, strict=True)}
    return int(cost.sum()), np.maximum(move, 0), np.maximum(-move, 0), edges


def _start(phase, known):
    """The cycles to scikit-image's result, which are few steps from the minimum, or to the phase within half a cycle.

    scikit-image adds at most one cycle between neighbours, so it gets the latter, except for one pixel's width.
    """
    from skimage.restoration import unwrap_phase

    start = -np.rint(phase / CYCLE)
    if min(phase.shape) > 1:
        within = phase + CYCLE * start
        unwrapped = unwrap_phase(np.ma.array(within, mask=~known), rng=0)
        start += np.rint((np.ma.getdata(unwrapped) - within) / CYCLE)
    return np.where(known, start, 0).astype(np.int32)


def _from_first(cycles, known):
    """Cycles without those of the first pixel of each connected part; 0 where unknown."""
    from scipy.ndimage import label

    part, count = label(known)
    first = np.zeros(count + 1, np.int32)
    parts, places = np.unique(part, return_index=True)
    first[parts] = cycles.ravel()[places]
    return np.where(known, cycles - first[part], 0)
