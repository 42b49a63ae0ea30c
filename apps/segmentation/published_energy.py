"""Energies of classes F2 and F3 [1] that cut an object out of an image, given strokes.

    E(x) = sum_p D_p(x_p)  +  sum_pq w_pq [x_p != x_q]  +  LINE sum_pqr [x_p, x_q, x_r are not equal]

D_p is -UNIT log of the share of the pixel's colour among the strokes of a label, or forbids the other label at a
stroke; w_pq = CONTRAST exp(-(grey_p - grey_q)^2 / FALLOFF) for the four neighbours; p, q, r are three pixels in a row
or a column.  F2 has no third sum.  All terms are rounded once, and the minimum is exact.

Łupińska [2] cuts such energies on a GPU; `gridcut.binary_minimum` does, by any method of `gridcut.max_flow`.

[1] Kolmogorov, Zabih. "What energy functions can be minimized via graph cuts?" PAMI 26(2), 2004.
[2] Łupińska. "Parallel implementation of flow and matching algorithms." arXiv:1110.6231, 2011.
"""

import numpy as np

import gridcut
from apps.segmentation.marks import BACKGROUND, OBJECT

UNIT = 20
CONTRAST, FALLOFF = 100, 200  # of differences of grey levels
LINE = 40
STROKE = 10_000  # cost of the other label at a stroke; all other terms of a pixel are below 1100 in total
LEVELS = 8  # of each channel


def energy_of_strokes(rgb: np.ndarray, strokes: np.ndarray, kind: str) -> gridcut.BinaryEnergy:
    """The energy of an image, uint8 (H, W, 3), with strokes as in apps.segmentation.marks; `kind` is "f2" or "f3"."""
    colour = rgb // (256 // LEVELS) @ np.array([LEVELS**2, LEVELS, 1])
    unary = np.empty((2, *strokes.shape), np.int64)
    for label in (BACKGROUND, OBJECT):
        count = np.bincount(colour[strokes == label], minlength=LEVELS**3) + 1
        unary[label] = np.rint(-UNIT * np.log(count / count.sum()))[colour]
    for label in (BACKGROUND, OBJECT):
        unary[1 - label][strokes == label] = STROKE
    return gridcut.BinaryEnergy(unary, *smoothness(rgb.mean(2), kind, CONTRAST, FALLOFF, LINE))


def smoothness(grey: np.ndarray, kind: str, contrast: float, falloff: float, line: int) -> tuple[dict, dict]:
    """The terms of two and of three pixels; there are none of three in class "f2"."""
    pairwise, triple = {}, {}
    differ = np.full((2, 2, 2), line)
    differ[0, 0, 0] = differ[1, 1, 1] = 0
    for axis, offset in ((1, (0, 1)), (0, (1, 0))):
        step = np.roll(grey, -1, axis) - grey  # those that leave the image are not read
        weight = np.rint(contrast * np.exp(-(step**2) / falloff)).astype(np.int64)
        pairwise[offset] = np.array([[0 * weight, weight], [weight, 0 * weight]])
        triple[offset, tuple(2 * i for i in offset)] = differ
    return pairwise, triple if kind == "f3" else {}
