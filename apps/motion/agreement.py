"""Motion that neighbours agree on: a robust local affine model, and how far a match strays from it.

Scenes move in pieces that are smooth: near a point x0 the motion of matches is about m(x) = t + A (x - x0).  t and A
are fitted to the nearest matches by least squares, again with Geman-McClure weights [1] so that wrong matches and
other pieces do not count; a small ridge on A makes it a weighted mean where matches are few or on a line.

A point next to a border between two pieces sees both motions, and the fit follows one.  So a match strays by the
smaller of two numbers: its distance to the fit, and its distance to the motion of its third most similar neighbour.
Wrong matches find no three neighbours that happen to agree.

[1] Black, Anandan. "The robust estimation of multiple motions." CVIU 63(1), 1996.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from apps.motion.local_fit import local_fit_kernel

NEIGHBOURS = 16
MIN_SUPPORT = 3  # neighbours with a like motion that vouch for a match
REWEIGHTINGS = 4  # of reweighting
RIDGE = 0.005  # on the linear part, against the neighbours' weight


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedMotion:
    """Motion to expect at Q points, in pixels.

    Attributes
    ----------
    motion : ndarray (Q, 2)
    linear : ndarray (Q, 2, 2)
        How it changes with place: motion + linear @ (x - point).
    spread : ndarray (Q,)
        Median distance of the neighbours' motion from it.
    neighbours : ndarray (Q, K, 2)
        Motion of the nearest matches.
    """

    motion: np.ndarray
    linear: np.ndarray
    spread: np.ndarray
    neighbours: np.ndarray

    def deviation(self, motion: np.ndarray, which=slice(None)) -> np.ndarray:
        """How far motions (k, 2) at the points `which` stray from what is expected, (k,)."""
        gap = self.neighbours[which] - motion[:, None]
        gap = np.sqrt(gap[..., 0] ** 2 + gap[..., 1] ** 2)
        rank = min(MIN_SUPPORT, gap.shape[1]) - 1
        third = np.partition(gap, rank, axis=1)[:, rank]
        return np.minimum(np.linalg.norm(motion - self.motion[which], axis=1), third)


class LocalMotion:
    """The motion of matches first (N, 2) -> first + motion (N, 2), asked for anywhere.

    Weight (N,) says how far each match is to be trusted; 1 by default.
    """

    def __init__(self, first: np.ndarray, motion: np.ndarray, weight: np.ndarray | None = None):
        self.first = np.asarray(first, np.float64)
        self.motion = np.asarray(motion, np.float64)
        self.weight = np.ones(len(self.first)) if weight is None else np.asarray(weight, np.float64)
        self.tree = cKDTree(self.first)

    def __len__(self) -> int:
        return len(self.first)

    def neighbours(self, points: np.ndarray, count: int = NEIGHBOURS, others: bool = False):
        """Distances and indices, (Q, K) each, of the nearest matches; `others` leaves out matches at the very point."""
        count = min(count + others, len(self.first))
        distance, index = self.tree.query(points, k=count)
        distance, index = distance.reshape(len(points), count), index.reshape(len(points), count)
        return (distance[:, 1:], index[:, 1:]) if others and count > 1 else (distance, index)

    def at(self, points: np.ndarray, others: bool = False) -> "ExpectedMotion":
        """What motion to expect at points (Q, 2).  `others`: from other matches than those at the very points."""
        distance, index = self.neighbours(points, NEIGHBOURS, others)
        count = len(points)
        fit, linear, spread = np.empty((count, 2)), np.empty((count, 2, 2)), np.empty(count)
        local_fit_kernel(
            np.ascontiguousarray(points, np.float64),
            np.ascontiguousarray(index),
            np.ascontiguousarray(distance),
            self.first,
            self.motion,
            self.weight,
            RIDGE,
            REWEIGHTINGS,
            fit,
            linear,
            spread,
        )
        return ExpectedMotion(fit, linear, spread, self.motion[index])

    def dense(self, shape: tuple[int, int], step: int = 8) -> np.ndarray:
        """The motion at every pixel of a frame of shape (H, W), smooth, (H, W, 2) float32: predicted every `step`
        pixels, bilinear between.
        """
        import cv2

        height, width = shape
        rows, cols = -(-height // step), -(-width // step)
        # cv2.resize puts the centre of coarse cell i at (i + 0.5) * step - 0.5.
        y, x = np.mgrid[:rows, :cols]
        centre = np.stack([x.ravel(), y.ravel()], axis=1) * float(step) + (step - 1) / 2
        coarse = self.at(centre).motion.reshape(rows, cols, 2).astype(np.float32)
        return cv2.resize(coarse, (cols * step, rows * step), interpolation=cv2.INTER_LINEAR)[:height, :width]


def agrees_with_neighbours(
    first: np.ndarray, motion: np.ndarray, tolerance: float = 3.0, rounds: int = 3
) -> np.ndarray:
    """Which matches move as their neighbours do: mask (N,).

    A match strays too far when it is farther from its neighbours than `tolerance` pixels plus 5 % of its motion.  Those
    are left out and the rest asked again.
    """
    kept = np.arange(len(first))
    for _ in range(rounds):
        if len(kept) < MIN_SUPPORT + 1:
            break
        local = LocalMotion(first[kept], motion[kept])
        deviation = local.at(first[kept], others=True).deviation(motion[kept])
        good = deviation <= tolerance + 0.05 * np.linalg.norm(motion[kept], axis=1)
        kept = kept[good]
        if good.all():
            break
    mask = np.zeros(len(first), bool)
    mask[kept] = True
    return mask
