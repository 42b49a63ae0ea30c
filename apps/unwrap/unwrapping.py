"""Unwrap a phase: find the whole cycles k that make phase + 2 pi k continuous except at the cheapest places.

    cost(k) = sum over neighbours p, q of w_pq |k_q - k_p - d_pq|       d_pq: the difference of k that brings their
                                                                       phases within half a cycle
The differences d contradict each other around a face of four pixels whose sum of d is not 0, a residue.  Corrections
k_q - k_p - d_pq cancel all residues, so they are a flow from positive to negative ones in the dual grid, and the
cheapest flow gives the exact minimum [1] (assign/flow/face_paths.py).  Prices of the faces certify it.

The default weight of a pair is the evidence that its difference g in ]-pi, pi] is not a cycle off.  With the mean
difference m and variance s^2 in the Gaussian window around it, as in [2], two normal densities compare as

    ((g - sign(g) 2 pi - m)^2 - (g - m)^2) / s^2  =  4 pi (pi - |g| + sign(g) m) / s^2

[1] Costantini. "A novel phase unwrapping method based on network programming." IEEE TGRS 36(3), 1998.
[2] Ghiglia, Pritt. "Two-dimensional phase unwrapping." Wiley, 1998, chapter 3.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from apps.common.clock import Clock
from apps.common.images import InputError, check_same_size
from apps.segment.soft_masks import array_of
from assign.flow.face_paths import solve
from gridcut.device import CertificateError, kernel
from gridcut.device.result import GridResult

CYCLE = 2 * np.pi
MAX_WEIGHT = 63
WINDOW = 3.0  # pixels: standard deviation of the window of means and variances
MIN_VARIANCE = 0.1  # radians squared


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Unwrapped(GridResult):
    """Result of `unwrap`: a continuous phase.

    Attributes
    ----------
    phase : ndarray of float32 or float64, (H, W)
        The given phase plus 2 pi `cycles`, in radians; NaN where it is masked.
    cycles : ndarray of int32, (H, W)
        Whole cycles added; 0 where masked.  The first pixel of each connected part, row by row, keeps its value.
    cost : int
        The minimum: sum of the weights of pairs of neighbours, times the cycles by which they differ from continuity.
    residues : int
        Number of faces of four pixels, and of holes, whose differences do not add up to 0.
    price : ndarray of int64, (H + 1, W + 1)
        Dual prices of the faces between pixels; they certify the minimum.
    seconds : dict
        Seconds by stage.
    """

    phase: np.ndarray
    cycles: np.ndarray
    cost: int
    residues: int
    price: np.ndarray
    seconds: dict
    _given: tuple = field(repr=False)

    def check(self) -> None:
        """Certify that the result is congruent with the phase given and of minimum cost, exactly.

        Raises
        ------
        CertificateError
            If `phase` is not the given one plus 2 pi `cycles`, `cost` is not that of `cycles`, or the prices do not
            certify that it is the minimum.

        Notes
        -----
        O(H * W).  Any other cycles k cost at least sum(price difference * d) over the pairs, because no price
        difference is larger than the weight, and those around a pixel cancel; `cycles` cost just that.
        """
        phase, known, weight = problem_of(*self._given)
        if not np.array_equal(self.phase, _congruent(phase, known, self.cycles, self.phase.dtype), equal_nan=True):
            raise CertificateError("phase is not the phase given plus 2 pi cycles")
        jump = jumps_of(phase)
        cost = np.abs(_across(weight))
        flow = np.where(cost > 0, _across(jump - _differences(self.cycles)), 0)
        slope = _differences(self.price)[::-1]
        if (np.abs(slope) > cost).any():
            raise CertificateError("the prices do not fit: two differ by more than the weight between them")
        if (slope * flow != cost * np.abs(flow)).any():
            raise CertificateError("the prices do not fit: a correction is not the cheapest")
        if int((cost * np.abs(flow)).sum()) != self.cost:
            raise CertificateError("the cost is not that of the cycles")

    def _figure(self):
        from apps.unwrap.phase_figures import phase_figure

        return phase_figure(self.phase)


def unwrap(phase: ArrayLike, *, mask: ArrayLike | None = None, quality: ArrayLike | None = None) -> Unwrapped:
    """Unwrap a phase by minimum-cost flow, exactly.

    Parameters
    ----------
    phase : array_like, shape (H, W)
        Phase in radians, in any range of 2 pi.  NaN where it is unknown.
    mask : array_like, shape (H, W), optional
        Nonzero where the phase is unknown.  Parts that a mask separates are unwrapped independently.
    quality : array_like, shape (H, W), optional
        How reliable each pixel is, 0 or more, such as the coherence of an interferogram.  The weight of two neighbours
        is the smaller quality.  One number gives all the same weight.  By default they are estimated from the phase.

    Returns
    -------
    Unwrapped
        ``phase``, the ``cycles`` added, and their ``cost``; ``check()`` certifies congruence and minimum.

    Raises
    ------
    InputError
        A ValueError with a one-line message: an argument has another shape, is not numbers, or has infinity, the mask
        covers the image, or a quality is negative or NaN.

    Notes
    -----
    On one core, O(H * W) for noise of the usual strength.  About 100 bytes per pixel.

    Examples
    --------
    >>> import numpy as np
    >>> from apps.unwrap import unwrap
    >>> ramp = np.arange(12.0) * np.ones((8, 1))
    >>> found = unwrap(np.angle(np.exp(1j * ramp)))
    >>> bool(np.allclose(found.phase, ramp))
    True
    """
    clock = Clock()
    given, known, weight = problem_of(phase, mask, quality)
    clock.charge("weights")
    jump = jumps_of(given)
    arcs, cost = _across(np.where(weight > 0, jump, 0)), np.abs(_across(weight))
    supply = arcs.sum(axis=0, dtype=np.int32)
    supply[:, 1:] -= arcs[0, :, :-1]
    supply[1:] -= arcs[1, :-1]
    flow, price, residues = solve(cost, supply, _holes(known))
    clock.charge("flow")
    cycles = np.zeros(given.shape, np.int32)
    add_up(jump - _along(flow), weight, cycles, np.zeros(given.shape, bool))
    total = int((cost * np.abs(flow)).sum())
    dtype = np.float32 if np.asarray(phase).dtype in (np.float16, np.float32) else np.float64
    unwrapped = _congruent(given, known, cycles, dtype)
    clock.charge("cycles")
    return Unwrapped(unwrapped, cycles, total, residues, price, clock.total(), (phase, mask, quality))


def problem_of(phase, mask, quality) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The phase with 0 where it is unknown, where it is known, and the weights of pairs; raises InputError.

    Weights (2, H, W) are those of a pixel and the one below, and of a pixel and the one to its right; 0: no pair.
    """
    phase = _plane(phase, "phase")
    if phase.dtype.kind != "f":
        raise InputError(f"phase must be floats in radians, got {phase.dtype}; multiply it by 2 pi per cycle")
    phase = phase.astype(np.float64)
    known = ~np.isnan(phase)
    if mask is not None:
        mask = _plane(mask, "mask")
        check_same_size(mask, phase.shape, "mask")
        known &= mask == 0
    if not known.any():
        raise InputError("the phase is NaN or masked everywhere; mask fewer pixels")
    phase[~known] = 0
    if np.isinf(phase).any():
        raise InputError("phase has infinity; use NaN, or the mask, where the phase is unknown")
    pairs = np.zeros((2, *phase.shape), bool)
    pairs[0, :-1], pairs[1, :, :-1] = known[1:] & known[:-1], known[:, 1:] & known[:, :-1]
    return phase, known, np.where(pairs, _estimated(phase, pairs) if quality is None else _rated(quality, phase), 0)


def _plane(values, name):
    values = array_of(values, name)
    if values.ndim != 2 or 0 in values.shape or values.dtype.kind not in "buif":
        raise InputError(f"{name} must be numbers of shape (H, W), got {values.dtype} {values.shape}")
    return values


def _rated(quality, phase):
    """Weights from the quality of pixels."""
    quality = array_of(quality, "quality")
    quality = _plane(np.full(phase.shape, quality) if quality.ndim == 0 else quality, "quality").astype(np.float64)
    check_same_size(quality, phase.shape, "quality")
    if not (np.isfinite(quality).all() and quality.min() >= 0 and quality.max() > 0):
        raise InputError("quality must be finite, 0 or more, and above 0 somewhere")
    quality = np.maximum(np.rint(MAX_WEIGHT / quality.max() * quality), 1).astype(np.int32)
    quality //= np.gcd.reduce(quality, axis=None)
    below, right = np.minimum(quality, np.roll(quality, -1, 0)), np.minimum(quality, np.roll(quality, -1, 1))
    return np.stack([below, right])


def _estimated(phase, pairs):
    """Weights from the differences around each pair."""
    import cv2

    def smooth(values):
        return cv2.GaussianBlur(values, (0, 0), WINDOW, borderType=cv2.BORDER_REFLECT)

    weight = np.empty(pairs.shape, np.int32)
    difference = _differences(phase)
    difference -= CYCLE * np.rint(difference / CYCLE)
    for g, is_pair, out in zip(difference.astype(np.float32), pairs, weight, strict=True):
        share = np.maximum(smooth(is_pair.astype(np.float32)), np.float32(1e-6))
        across, down = smooth(np.cos(g) * is_pair) / share, smooth(np.sin(g) * is_pair) / share
        variance = -np.log(np.clip(across**2 + down**2, 1e-6, 1))
        evidence = CYCLE * (np.pi - np.abs(g) + np.sign(g) * np.arctan2(down, across)) / (MIN_VARIANCE + variance)
        out[...] = np.clip(np.rint(evidence), 1, MAX_WEIGHT)
    return weight


def _differences(values):
    """values of the next row minus values, and of the next column; 0 in the last ones."""
    found = np.zeros((2, *values.shape), values.dtype)
    np.subtract(values[1:], values[:-1], out=found[0, :-1])
    np.subtract(values[:, 1:], values[:, :-1], out=found[1, :, :-1])
    return found


def jumps_of(phase: np.ndarray) -> np.ndarray:
    """The cycles (2, H, W) to add to a pixel more than to its neighbour above, or to its left, of each pair."""
    return -np.rint(_differences(phase) / CYCLE).astype(np.int32)


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


def _congruent(phase, known, cycles, dtype):
    return np.where(known, phase + CYCLE * cycles, np.nan).astype(dtype)
