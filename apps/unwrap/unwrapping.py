"""Unwrap a phase: find the whole cycles k that make phase + 2 pi k continuous except at the cheapest places.

    l1:  cost(k) = sum over neighbours p, q of w_pq |k_q - k_p - d_pq|     d_pq: brings their phases within half a cycle
    l2:  cost(k) = sum over neighbours p, q of w_pq (u_q - u_p)^2          u: the unwrapped phase, in steps of a cycle

The minimum is exact.  That of l1 in an image is a minimum-cost flow (face_flow.py); volumes, where it is none, and l2
take a few minimum cuts (cycle_cuts.py).
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from apps.common.clock import Clock
from apps.common.images import InputError
from apps.unwrap import NORMS, cycle_cuts, face_flow
from apps.unwrap.phase_problem import CYCLE, jumps_of, problem_of, residues_of
from gridcut.device import CertificateError
from gridcut.device.result import GridResult


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Unwrapped(GridResult):
    """Result of `unwrap`: a continuous phase.

    Attributes
    ----------
    phase : ndarray of float32 or float64, the grid's shape
        The given phase plus 2 pi `cycles`, in radians; NaN where it is masked.
    cycles : ndarray of int32, the grid's shape
        Whole cycles added; 0 where masked.  The first pixel of each connected part, row by row, keeps its value.
    cost : int
        The minimum.  l1: the sum of the weights of pairs of neighbours, times the cycles by which they differ from
        continuity.  l2: the sum of the weights times the squared differences of the result, in 1/64 cycles.
    residues : int
        Number of faces of four pixels whose differences do not add up to 0.
    norm : {"l1", "l2"}
        As given.
    price : ndarray of int64, (H + 1, W + 1), or None
        Dual prices of the faces between the pixels of an image, which certify the minimum of l1.
    seconds : dict
        Seconds by stage.
    """

    phase: np.ndarray
    cycles: np.ndarray
    cost: int
    residues: int
    norm: str
    price: np.ndarray | None
    seconds: dict
    _given: tuple = field(repr=False)

    def check(self) -> None:
        """Certify that the result is congruent with the phase given and of minimum cost, exactly.

        Raises
        ------
        CertificateError
            If `phase` is not the given one plus 2 pi `cycles`, or `cost` is not that of `cycles` or not the minimum.

        Notes
        -----
        With prices, O(H * W); without them, one minimum cut is solved and certified.
        """
        phase, known, weight = problem_of(*self._given)
        if not np.array_equal(self.phase, _congruent(phase, known, self.cycles, self.phase.dtype), equal_nan=True):
            raise CertificateError("phase is not the phase given plus 2 pi cycles")
        if self.price is None:
            cycle_cuts.certify(phase, weight, self.cycles, self.cost, self.norm)
        else:
            face_flow.certify(jumps_of(phase), weight, self.cycles, self.cost, self.price)

    def _figure(self):
        from apps.unwrap.phase_figures import phase_figure

        return phase_figure(self.phase)


def unwrap(
    phase: ArrayLike, *, mask: ArrayLike | None = None, quality: ArrayLike | None = None, norm: str = NORMS[0]
) -> Unwrapped:
    """Unwrap the phase of an image or volume, with the smallest possible cost of what stays discontinuous.

    Parameters
    ----------
    phase : array_like, shape (H, W) or (D, H, W)
        Phase in radians, in any range of 2 pi.  NaN where it is unknown.
    mask : array_like, the phase's shape, optional
        Nonzero where the phase is unknown.  Parts that a mask separates are unwrapped independently.
    quality : array_like, the phase's shape, optional
        How reliable each pixel is, 0 or more, such as the coherence of an interferogram.  The weight of two neighbours
        is the smaller quality.  One number gives all the same weight.  By default they are estimated from the phase.
    norm : {"l1", "l2"}, default "l1"
        What the cost is of: the cycles by which neighbours are discontinuous, or the squared differences of neighbours,
        which leaves slightly fewer errors in noisy images and takes tens of times as long.

    Returns
    -------
    Unwrapped
        ``phase``, the ``cycles`` added, and their ``cost``; ``check()`` certifies congruence and minimum.

    Raises
    ------
    InputError
        A ValueError with a one-line message: an argument has another shape, is not numbers, or has infinity, the mask
        covers the image, a quality is negative or NaN, or the norm is unknown.

    Notes
    -----
    On one core, O(H * W) for images of the usual noise and l1, about 100 bytes per pixel; else some minimum cuts, about
    200 bytes per pixel.

    References
    ----------
    .. [1] Costantini. "A novel phase unwrapping method based on network programming." IEEE TGRS 36(3), 1998.
    .. [2] Bioucas-Dias, Valadão. "Phase unwrapping via graph cuts." IEEE Transactions on Image Processing 16(3), 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from apps.unwrap import unwrap
    >>> ramp = np.arange(12.0) * np.ones((8, 1))
    >>> found = unwrap(np.angle(np.exp(1j * ramp)))
    >>> bool(np.allclose(found.phase, ramp))
    True
    """
    if norm not in NORMS:
        raise InputError(f"norm must be one of {', '.join(NORMS)}, got {norm!r}")
    clock = Clock()
    given, known, weight = problem_of(phase, mask, quality)
    jump = jumps_of(given)
    clock.charge("weights")
    if norm == "l1" and given.ndim == 2:
        cycles, cost, price = face_flow.least_cycles(jump, weight, known)
    else:
        cycles, cost = cycle_cuts.least_cycles(given, weight, known, norm)
        price = None
    clock.charge("cycles")
    dtype = np.float32 if np.asarray(phase).dtype in (np.float16, np.float32) else np.float64
    unwrapped, residues = _congruent(given, known, cycles, dtype), residues_of(jump, weight)
    return Unwrapped(unwrapped, cycles, cost, residues, norm, price, clock.total(), (phase, mask, quality))


def _congruent(phase, known, cycles, dtype):
    return np.where(known, phase + CYCLE * cycles, np.nan).astype(dtype)
