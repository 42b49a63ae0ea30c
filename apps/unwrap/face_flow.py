"""Cycles of minimum cost in an image, as a flow between the faces of four pixels.

The cycles d that bring neighbours within half a cycle contradict each other around a face where they do not add up to
0, a residue.  Corrections k_q - k_p - d_pq cancel all residues, so they are a flow from positive to negative ones in
the dual grid, and the cheapest flow gives the minimum.  Prices of the faces certify it.

Source: Costantini. "A novel phase unwrapping method based on network programming." IEEE TGRS 36(3), 1998.
"""

import numpy as np

from apps.unwrap.phase_problem import differences
from assign.flow.face_paths import solve
from gridcut.device import CertificateError, kernel


def least_cycles(jump: np.ndarray, weight: np.ndarray, known: np.ndarray):
    """Cycles (H, W) with the minimum, the minimum, and prices of the faces (H + 1, W + 1) that certify it."""
    arcs, cost = _across(np.where(weight > 0, jump, 0)), np.abs(_across(weight))
    supply = arcs.sum(axis=0, dtype=np.int32)
    supply[:, 1:] -= arcs[0, :, :-1]
    supply[1:] -= arcs[1, :-1]
    flow, price = solve(cost, supply, _holes(known))
    cycles = np.zeros(known.shape, np.int32)
    add_up(jump - _along(flow), weight, cycles, np.zeros(known.shape, bool))
    return cycles, int((cost * np.abs(flow)).sum()), price


def certify(jump: np.ndarray, weight: np.ndarray, cycles: np.ndarray, value: int, price: np.ndarray) -> None:
    """Raise CertificateError unless `value` is the cost of the cycles, and the prices certify that it is the minimum.

    Any other cycles k cost at least sum(price difference * d) over the pairs, because no price difference is larger
    than the weight, and those around a pixel cancel; `cycles` cost just that.
    """
    cost = np.abs(_across(weight))
    flow = np.where(cost > 0, _across(jump - differences(cycles)), 0)
    slope = differences(price)[::-1]
    if (np.abs(slope) > cost).any():
        raise CertificateError("the prices do not fit: two differ by more than the weight between them")
    if (slope * flow != cost * np.abs(flow)).any():
        raise CertificateError("the prices do not fit: a correction is not the cheapest")
    if int((cost * np.abs(flow)).sum()) != value:
        raise CertificateError("the cost is not that of the cycles")


def _across(pairs):
    """The arc between faces that crosses each pair: to the right between rows, down between columns."""
    arcs = np.zeros((2, pairs.shape[1] + 1, pairs.shape[2] + 1), pairs.dtype)
    arcs[0, 1:, :-1] = pairs[0]
    arcs[1, :-1, 1:] = -pairs[1]
    return arcs


def _along(arcs):
    """The pairs that arcs cross: the inverse of `_across`."""
    return np.stack([arcs[0, 1:, :-1], -arcs[1, :-1, 1:]])


def _holes(known):
    """The hole of each face: 1 outside, 2 and more for connected unknown pixels, 0 between four known pixels."""
    from scipy.ndimage import label

    unknown = np.pad(~known, 1, constant_values=True)
    holes = label(unknown, np.ones((3, 3)))[0].astype(np.int32)
    return np.maximum(np.maximum(holes[1:, 1:], holes[1:, :-1]), np.maximum(holes[:-1, 1:], holes[:-1, :-1]))


@kernel
def add_up(step, weight, cycles, is_known):
    """Add the steps of pairs from the first pixel of each connected part to all others."""
    height, width = cycles.shape
    stack = np.empty(height * width, np.int64)
    for first in range(height * width):
        if is_known[first // width, first % width]:
            continue
        is_known[first // width, first % width] = True
        stack[0] = first
        top = 1
        while top > 0:
            top -= 1
            i, j = stack[top] // width, stack[top] % width
            for axis in range(2):
                for sign in (1, -1):
                    y, x = i + sign * (1 - axis), j + sign * axis
                    a, b = min(i, y), min(j, x)
                    if a < 0 or b < 0 or weight[axis, a, b] == 0 or is_known[y, x]:
                        continue
                    is_known[y, x] = True
                    cycles[y, x] = cycles[i, j] + sign * step[axis, a, b]
                    stack[top] = y * width + x
                    top += 1
