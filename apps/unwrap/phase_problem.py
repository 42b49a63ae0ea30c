"""What is given for unwrapping: a phase, where it is known, and the weights of pairs of neighbours.

The default weight of a pair is the evidence that its difference g in ]-pi, pi] is not a cycle off.  With the mean
difference m and variance s^2 in the Gaussian window around it, as in [1], two normal densities compare as

    ((g - sign(g) 2 pi - m)^2 - (g - m)^2) / s^2  =  4 pi (pi - |g| + sign(g) m) / s^2

[1] Ghiglia, Pritt. "Two-dimensional phase unwrapping." Wiley, 1998, chapter 3.
"""

import itertools

import numpy as np
from numpy.typing import ArrayLike

from apps.common.arguments import array_of
from apps.common.images import InputError, check_same_size

CYCLE = 2 * np.pi
MAX_WEIGHT = 63
WINDOW = 3.0  # pixels: standard deviation of the window of means and variances
MIN_VARIANCE = 0.1  # radians squared


def problem_of(phase: ArrayLike, mask: ArrayLike | None, quality: ArrayLike | None):
    """The phase with 0 where it is unknown, where it is known, and the weights of pairs; raises InputError.

    Weights, int32 (axes, *shape), are those of a pixel and the next one along each axis; 0: no pair.
    """
    given = _grid(phase, "phase")
    if given.dtype.kind != "f":
        raise InputError(f"phase must be floats in radians, got {given.dtype}; multiply it by 2 pi per cycle")
    values = given.astype(np.float64)
    known = ~np.isnan(values)
    if mask is not None:
        known &= _grid(mask, "mask", values.shape) == 0
    if not known.any():
        raise InputError("the phase is NaN or masked everywhere; mask fewer pixels")
    values[~known] = 0
    if np.isinf(values).any():
        raise InputError("phase has infinity; use NaN, or the mask, where the phase is unknown")
    pairs = np.stack([known & _next(known, axis) for axis in range(values.ndim)])
    for axis, pair in enumerate(pairs):
        np.moveaxis(pair, axis, 0)[-1] = False
    weight = _estimated(values, pairs) if quality is None else _rated(quality, values)
    return values, known, np.where(pairs, weight, 0)


def differences(values: np.ndarray) -> np.ndarray:
    """The next value along each axis minus the value, (axes, *shape); 0 in the last ones."""
    return np.stack([np.diff(values, axis=axis, append=values.take([-1], axis)) for axis in range(values.ndim)])


def jumps_of(phase: np.ndarray) -> np.ndarray:
    """The cycles (axes, *shape) to add to a pixel more than to the one before it along each axis, of each pair."""
    return -np.rint(differences(phase) / CYCLE).astype(np.int32)


def residues_of(jump: np.ndarray, weight: np.ndarray) -> int:
    """Number of faces of four known pixels whose cycles do not add up to 0."""
    total = 0
    for first, second in itertools.combinations(range(len(jump)), 2):
        (one, other), (weight_one, weight_other) = (
            (np.roll(of[first], -1, second), np.roll(of[second], -1, first)) for of in (jump, weight)
        )
        is_face = (weight[first] > 0) & (weight[second] > 0) & (weight_one > 0) & (weight_other > 0)
        total += int(np.count_nonzero(is_face & (jump[first] + other != jump[second] + one)))
    return total


def _grid(values, name, shape=None):
    """An argument as numbers of a shape, by default of any (H, W) or (D, H, W)."""
    values = array_of(values, name)
    if values.ndim not in (2, 3) or 0 in values.shape or values.dtype.kind not in "buif":
        raise InputError(
            f"{name} must be numbers of shape (H, W), or (D, H, W) for a volume, got {values.dtype} {values.shape}"
        )
    if shape is not None and values.ndim != len(shape):
        raise InputError(f"{name} has shape {values.shape}, but the phase {shape}; make them the same size")
    if shape is not None:
        check_same_size(values, shape, name, "the phase is")
    return values


def _next(values, axis):
    """The value of the next pixel along an axis, and of the first one in the last."""
    return np.roll(values, -1, axis)


def _rated(quality, phase):
    """Weights from the quality of pixels."""
    quality = array_of(quality, "quality")
    quality = np.full(phase.shape, quality) if quality.ndim == 0 else quality
    quality = _grid(quality, "quality", phase.shape).astype(np.float64)
    if not (np.isfinite(quality).all() and quality.min() >= 0 and quality.max() > 0):
        raise InputError("quality must be finite, 0 or more, and above 0 somewhere")
    quality = np.maximum(np.rint(MAX_WEIGHT / quality.max() * quality), 1).astype(np.int32)
    quality //= np.gcd.reduce(quality, axis=None)
    return np.stack([np.minimum(quality, _next(quality, axis)) for axis in range(phase.ndim)])


def _estimated(phase, pairs):
    """Weights from the differences around each pair."""
    weight = np.empty(pairs.shape, np.int32)
    difference = differences(phase)
    difference -= CYCLE * np.rint(difference / CYCLE)
    for g, is_pair, out in zip(difference.astype(np.float32), pairs, weight, strict=True):
        share = np.maximum(_smooth(is_pair.astype(np.float32)), np.float32(1e-6))
        across, down = _smooth(np.cos(g) * is_pair) / share, _smooth(np.sin(g) * is_pair) / share
        variance = -np.log(np.clip(across**2 + down**2, 1e-6, 1))
        evidence = CYCLE * (np.pi - np.abs(g) + np.sign(g) * np.arctan2(down, across)) / (MIN_VARIANCE + variance)
        out[...] = np.clip(np.rint(evidence), 1, MAX_WEIGHT)
    return weight


def _smooth(values):
    """Means in the window."""
    if values.ndim == 2:
        import cv2

        return cv2.GaussianBlur(values, (0, 0), WINDOW, borderType=cv2.BORDER_REFLECT)
    from scipy.ndimage import gaussian_filter

    return gaussian_filter(values, WINDOW)
