"""Local motion consistency: a robust local affine model, and the deviation of a match from it.

Motion is assumed piecewise smooth: near a point x0 the motion of matches is about m(x) = t + A (x - x0).  t and A are
fitted to the nearest matches by least squares, then refitted with Geman-McClure weights [1] that suppress wrong matches
and other motions.  A small ridge on A reduces the fit to a weighted mean if matches are few or collinear.

Next to a motion edge the neighbours have two motions, and the fit follows one of them.  The deviation of a match is
therefore the smaller of its distance to the fit and its distance to the motion of its third most similar neighbour.
Three neighbours rarely support a wrong match.

[1] Black, Anandan. "The robust estimation of multiple motions." CVIU 63(1), 1996.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

NEIGHBOURS = 16
MIN_SUPPORT = 3  # neighbours with a similar motion that support a match
REWEIGHTINGS = 4
TOLERANCE, ROUNDS = 3.0, 3  # pixels, and tests, of the consistency of matches
RIDGE = 0.005  # on the linear part, relative to the total weight of the neighbours


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedMotion:
    """Expected motion at Q points, in pixels.

    Attributes
    ----------
    motion : ndarray (Q, 2)
    linear : ndarray (Q, 2, 2)
        Its derivative: the motion at x is motion + linear @ (x - point).
    neighbours : ndarray (Q, K, 2)
        Motion of the nearest matches.
    """

    motion: np.ndarray
    linear: np.ndarray
    neighbours: np.ndarray

    def deviation(self, motion: np.ndarray, which=slice(None)) -> np.ndarray:
        """Return the deviation (k,) of motions (k, 2) at the points `which` from the expected motion, in pixels."""
        gap = self.neighbours[which] - motion[:, None]
        gap = np.sqrt(gap[..., 0] ** 2 + gap[..., 1] ** 2)
        rank = min(MIN_SUPPORT, gap.shape[1]) - 1
        third = np.sort(gap, axis=1)[:, rank]  # of few numbers, faster than a partition
        return np.minimum(np.linalg.norm(motion - self.motion[which], axis=1), third)


class LocalMotion:
    """Local affine models of the motion of matches, first (N, 2) -> first + motion (N, 2), at arbitrary points.

    `weight` (N,) is the confidence of each match, 1 by default.
    """

    def __init__(self, first: np.ndarray, motion: np.ndarray, weight: np.ndarray | None = None):
        self.first = np.asarray(first, np.float64)
        self.motion = np.asarray(motion, np.float64)
        self.weight = np.ones(len(self.first)) if weight is None else np.asarray(weight, np.float64)
        self.tree = cKDTree(self.first)

    def at(self, points: np.ndarray, others: bool = False) -> "ExpectedMotion":
        """Return the expected motion at points (Q, 2); `others` excludes the match at each point from its fit."""
        points = np.asarray(points, np.float64)
        count = min(NEIGHBOURS + others, len(self.first))
        distance, index = (found.reshape(len(points), count) for found in self.tree.query(points, k=count))
        if others and count > 1:
            distance, index = distance[:, 1:], index[:, 1:]
        scale = np.maximum(distance.mean(axis=1, keepdims=True), 1.0)
        x, y = ((self.first[:, i][index] - points[:, i, None]) / scale for i in (0, 1))
        u, v = (self.motion[:, i][index] for i in (0, 1))
        near = self.weight[index] / (0.25 + (distance / scale) ** 2)
        mean_u, mean_v = _median(u), _median(v)
        ux = uy = vx = vy = np.zeros(len(points))  # the linear part
        for _ in range(REWEIGHTINGS):
            square = _residual(u, mean_u, ux, uy, x, y) + _residual(v, mean_v, vx, vy, x, y)
            sigma = 1.5 * _median(np.sqrt(square)) + 0.3
            weight = near / (1 + square / (sigma * sigma)[:, None]) ** 2
            weight /= weight.sum(axis=1, keepdims=True)
            wx, wy = weight * x, weight * y
            cx, cy, cu, cv = wx.sum(axis=1), wy.sum(axis=1), _dot(weight, u), _dot(weight, v)
            # With the means subtracted, the linear part is the solution of a 2 x 2 system.
            xx, xy, yy = _dot(wx, x) - cx * cx + RIDGE, _dot(wx, y) - cx * cy, _dot(wy, y) - cy * cy + RIDGE
            det = xx * yy - xy * xy
            xu, yu, xv, yv = _dot(wx, u) - cx * cu, _dot(wy, u) - cy * cu, _dot(wx, v) - cx * cv, _dot(wy, v) - cy * cv
            ux, uy = (xu * yy - yu * xy) / det, (yu * xx - xu * xy) / det
            vx, vy = (xv * yy - yv * xy) / det, (yv * xx - xv * xy) / det
            mean_u, mean_v = cu - ux * cx - uy * cy, cv - vx * cx - vy * cy
        linear = np.stack([ux, uy, vx, vy], axis=1).reshape(-1, 2, 2) / scale[..., None]
        return ExpectedMotion(np.stack([mean_u, mean_v], axis=1), linear, np.stack([u, v], axis=2))

    def dense(self, shape: tuple[int, int], step: int = 8) -> np.ndarray:
        """Return the expected motion at every pixel of a frame of shape (H, W), float32 (H, W, 2).

        It is evaluated every `step` pixels and interpolated bilinearly.
        """
        import cv2

        height, width = shape
        rows, cols = -(-height // step), -(-width // step)
        # cv2.resize puts the centre of coarse cell i at (i + 0.5) * step - 0.5.
        y, x = np.mgrid[:rows, :cols]
        centre = np.stack([x.ravel(), y.ravel()], axis=1) * float(step) + (step - 1) / 2
        coarse = self.at(centre).motion.reshape(rows, cols, 2).astype(np.float32)
        return cv2.resize(coarse, (cols * step, rows * step), interpolation=cv2.INTER_LINEAR)[:height, :width]


def _residual(value, mean, slope_x, slope_y, x, y) -> np.ndarray:
    """Return the squares (Q, K) of values (Q, K) less an affine function of x and y."""
    apart = value - mean[:, None] - slope_x[:, None] * x - slope_y[:, None] * y
    return apart * apart


def _median(values: np.ndarray) -> np.ndarray:
    """Return the medians (Q,) of numbers (Q, K), five times as fast as `np.median` for few of them."""
    middle = (values.shape[1] - 1) // 2, values.shape[1] // 2
    return np.sort(values, axis=1)[:, middle].mean(axis=1)


def _dot(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the sums (Q,) of products (Q, K) over the neighbours."""
    return np.einsum("qk,qk->q", one, other)


def agrees_with_neighbours(first: np.ndarray, motion: np.ndarray) -> np.ndarray:
    """Mark matches whose motion is consistent with that of their neighbours, (N,).

    A match is inconsistent if its deviation exceeds TOLERANCE pixels plus 5 % of its motion.  Inconsistent matches
    are removed and the others tested again, up to ROUNDS times.
    """
    kept = np.arange(len(first))
    for _ in range(ROUNDS):
        if len(kept) < MIN_SUPPORT + 1:
            break
        local = LocalMotion(first[kept], motion[kept])
        deviation = local.at(first[kept], others=True).deviation(motion[kept])
        good = deviation <= TOLERANCE + 0.05 * np.linalg.norm(motion[kept], axis=1)
        kept = kept[good]
        if good.all():
            break
    mask = np.zeros(len(first), bool)
    mask[kept] = True
    return mask
