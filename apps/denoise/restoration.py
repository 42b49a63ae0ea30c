"""Restore a noisy or damaged image by minimising a data term plus a smoothness term.

    E(x) = sum_p D(x_p - seen_p)  +  smoothness * sum_pq c_pq V(x_p, x_q)         8 neighbours, c_pq = 1/2 or 1/sqrt 8

The three kinds of energy:

  binary      D, V = [differ]: one cut, exact [1]
  convex      D = square or absolute value, V = |x_p - x_q|: total variation, exact, one cut per bit [2]
  truncated   D or V truncated, or V a square: alpha-expansion or swap moves over `levels` grey levels

Grey levels are 0 to 255 at any bit depth.  For squared data, an orthonormal transform first decorrelates the channels
of a colour image into a grey and two opponent channels, so that edges of the three colours coincide.  Otherwise the
channels are restored separately.  By default, the smoothness for squared data is NOISE_FACTOR times the standard
deviation of the noise, which is estimated from second differences of the image [3].

Masked pixels have no D.  If V alone leaves several values equally good, a cost of 1 / UNIT for the distance from
the nearest seen value decides.

[1] Greig, Porteous, Seheult. "Exact maximum a posteriori estimation for binary images." JRSS B 51(2), 1989.
[2] Darbon, Sigelle. "Image restoration with discrete constrained total variation, part I." JMIV 26(3), 2006.
[3] Immerkaer. "Fast noise variance estimation." Computer Vision and Image Understanding 64(2), 1996.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

import gridcut
from apps.common.arguments import check_number
from apps.common.clock import Clock
from apps.common.images import InputError, check_same_size, to_rgb
from apps.common.labelling import SMOOTHNESS_TERMS, label_distances, labelling
from apps.denoise import DATA, LEVELS, SMOOTHNESS_TERM
from gridcut.device import DeviceName
from gridcut.multilabel.total_variation import total_variation

UNIT = 16  # integer costs per grey level (squared)
NOISE_FACTOR = 1.05  # smoothness for squared data / standard deviation of the noise
IMPULSE_SMOOTHNESS = 0.5  # for absolute data, a ratio
BINARY_SMOOTHNESS = 0.8  # for binary images, a ratio
OPPONENT = np.array([[1, 1, 1], [1, 0, -1], [1, -2, 1]]) / np.sqrt([[3], [2], [6]])
NEIGHBOURS = {(0, 1): 0.5, (1, 0): 0.5, (1, 1): 0.125**0.5, (1, -1): 0.125**0.5}


@dataclass(frozen=True, slots=True)
class Restoration:
    """Result of `denoise`: a restored image.

    Attributes
    ----------
    image : ndarray of float32, (H, W) or (H, W, 3)
        In [0, 1]; (H, W) if the image is grey.
    kind : {"binary", "convex", "truncated"}
        Kind of energy; the first two are minimised exactly.
    smoothness : float
        Weight used, in grey levels for squared data and a ratio otherwise.
    noise : float
        Estimated standard deviation of the noise in grey levels.
    levels : int
        Number of values of a pixel, per channel.
    seconds : dict
        Seconds by stage.
    """

    image: np.ndarray
    kind: str
    smoothness: float
    noise: float
    levels: int
    seconds: dict


def denoise(
    image: ArrayLike,
    *,
    mask: ArrayLike | None = None,
    binary: bool | None = None,
    smoothness: float | None = None,
    data: str = DATA[0],
    truncate_data: float | None = None,
    smoothness_term: str = SMOOTHNESS_TERM,
    truncate: int | None = None,
    levels: int = LEVELS,
    device: DeviceName = "auto",
) -> Restoration:
    """Restore a noisy or damaged image, or fill its holes.

    Parameters
    ----------
    image : array_like, shape (H, W), (H, W, 3) or (H, W, 4)
        Grey, RGB or RGBA image; uint8, uint16, or floats in [0, 1].
    mask : array_like, shape (H, W), optional
        Nonzero where a pixel is missing and is to be filled.
    binary : bool, optional
        If True, restore black and white.  By default only images with at most two grey values are binary.
    smoothness : float, optional
        Weight of the smoothness term: in grey levels for quadratic data, a ratio otherwise.  The default is 1.05 times
        the estimated standard deviation of the noise for quadratic data, 0.5 for linear data, 0.8 for binary images.
    data : {"quadratic", "linear"}, default "quadratic"
        Data term: the squared change of a pixel (Gaussian noise), or its absolute value (outliers).
    truncate_data : float, optional
        Upper bound of the data term of a pixel, in grey levels (squared for quadratic data).
    smoothness_term : {"linear", "potts", "quadratic"}, default "linear"
        Cost of the difference between neighbours.  Only "linear" without truncation is minimised exactly.
    truncate : int, optional
        Upper bound of the smoothness term of a pair of neighbours, in levels (squared for "quadratic").
    levels : int, default 64
        Number of grey levels, 2 to 256, for energies that are not minimised exactly.
    device : {"auto", "cpu", "cuda"}, default "auto"
        Where the cuts are solved.

    Returns
    -------
    Restoration
        The restored image, the kind of energy, the smoothness and noise used, and seconds by stage.

    Raises
    ------
    InputError
        A ValueError with a one-line message: `mask` has another shape or covers the whole image, or a parameter is out
        of range.

    Notes
    -----
    The exact energies take 8 cuts of the image's size for 8 bits of grey, 27 for colour, 16 and 51 for 16 bits.

    Examples
    --------
    >>> import numpy as np
    >>> from apps.denoise import denoise
    >>> clean = np.full((40, 60), 80, np.uint8)
    >>> noisy = np.uint8(clean + np.random.default_rng(0).normal(0, 10, clean.shape))
    >>> restored = denoise(noisy, device="cpu")
    >>> restored.kind, restored.image.shape
    ('convex', (40, 60))
    """
    clock = Clock()
    rgb = to_rgb(image)
    _check(smoothness, data, truncate_data, smoothness_term, truncate, levels)
    missing = _missing(mask, rgb.shape[:2])
    is_grey = bool((rgb == rgb[..., :1]).all())
    channels = np.float64(255) * (rgb[..., :1] if is_grey else rgb)
    noise = float(np.mean([noise_of(channels[..., c]) for c in range(channels.shape[2])]))
    convex = smoothness_term == "linear" and truncate is None and truncate_data is None
    if binary is None:
        binary = is_grey and len(np.unique(channels)) <= 2 and convex
    kind = "binary" if binary else "convex" if convex else "truncated"
    if binary:
        channels = channels.mean(axis=2, keepdims=True)
    if smoothness is None:
        smoothness = BINARY_SMOOTHNESS if binary else IMPULSE_SMOOTHNESS if data == "linear" else NOISE_FACTOR * noise
    deep = 256 if bool((np.abs(channels - np.rint(channels)) > 1e-3).any()) else 1
    coupled = kind == "convex" and data == "quadratic" and not is_grey
    if coupled:
        channels = channels @ OPPONENT.T + [0, 256, 256]
    bound = 512 if coupled else 256
    clock.charge("preparing")

    def one(seen):
        if kind == "binary":
            return _binary(seen, missing, smoothness, device)
        if kind == "convex":
            return _convex(seen, missing, smoothness, data, bound, deep, device)
        return _truncated(seen, missing, smoothness, (data, truncate_data), (smoothness_term, truncate), levels, device)

    with ThreadPoolExecutor(channels.shape[2]) as pool:  # the kernels release the interpreter lock
        found: np.ndarray = np.dstack(list(pool.map(one, np.moveaxis(channels, 2, 0))))
    clock.charge("cuts")
    if coupled:
        found = (found - [0, 256, 256]) @ OPPONENT
    values = np.clip(found / 255, 0, 1).astype(np.float32)
    count = {"binary": 2, "convex": bound * deep, "truncated": levels}[kind]
    values = values[..., 0] if values.shape[2] == 1 else values
    return Restoration(values, kind, float(smoothness), noise, count, clock.total())


def noise_of(channel: np.ndarray) -> float:
    """Standard deviation of the noise of a channel (H, W); robust to edges, 0 for sides below 3 pixels."""
    if min(channel.shape) < 3:
        return 0.0
    twice = channel[:, 2:] - 2 * channel[:, 1:-1] + channel[:, :-2]
    second = twice[2:] - 2 * twice[1:-1] + twice[:-2]
    return float(np.median(np.abs(second)) / (6 * 0.6745))


def smooth_weights(shape, smoothness: float) -> dict:
    """Weights int32 of the 8 neighbours, in 1 / UNIT; they approximate the length of a boundary."""
    return {o: np.full(shape, round(UNIT * smoothness * share), np.int32) for o, share in NEIGHBOURS.items()}


def _binary(seen, missing, smoothness, device):
    """Restore to 0 or 255; the preference of a grey value is proportional to its distance from the middle."""
    lean = np.rint(UNIT * (2 * seen / 255 - 1)).astype(np.int32)
    lean[missing] = 0
    weights = smooth_weights(seen.shape, smoothness)
    cut = gridcut.max_flow(np.maximum(lean, 0), np.maximum(-lean, 0), weights, device=device)
    return 255.0 * cut.labels


def _convex(seen, missing, smoothness, data, bound, deep, device):
    seen = seen * deep
    nearest = _nearest(seen, missing)

    def rise_at(t):
        if data == "quadratic":
            rise = np.int32(np.rint(UNIT * (2 * (t - seen) - 1)))
        else:
            rise = np.where(t > seen, np.int32(UNIT), np.int32(-UNIT))
        return np.where(missing, np.where(t > nearest, np.int32(1), np.int32(-1)), rise)

    weights = smooth_weights(seen.shape, smoothness * (deep if data == "quadratic" else 1))
    found, _ = total_variation(rise_at, seen.shape, bound * deep, weights, device)
    return found / deep


def _truncated(seen, missing, smoothness, data, smoothness_term, levels, device):
    kind, most = data
    values = np.linspace(0, 255, levels)
    off = np.abs(values[:, None, None] - seen)
    cost = off**2 if kind == "quadratic" else off
    unary = np.int32(np.rint(UNIT * np.minimum(cost, np.inf if most is None else most)))
    unary[:, missing] = np.abs(values[:, None] - _nearest(seen, missing)[missing]) > 255 / levels
    kind, most = smoothness_term
    apart = label_distances(levels, kind, levels**2 if most is None else most)
    # grey levels between adjacent labels
    step = 255 / (levels - 1)
    strength = smoothness * {"linear": step, "quadratic": step**2, "potts": 1.0}[kind]
    start = np.abs(values[:, None, None] - _nearest(seen, missing)).argmin(axis=0)
    found = labelling(unary, smooth_weights(seen.shape, strength), apart, start=start, device=device)
    return values[found.labels]


def _nearest(seen, missing):
    """The image with each missing pixel replaced by the nearest one that is not missing."""
    if not missing.any():
        return seen
    from scipy.ndimage import distance_transform_edt

    place = distance_transform_edt(missing, return_distances=False, return_indices=True)
    return seen[tuple(place)]


def _missing(mask, shape):
    if mask is None:
        return np.zeros(shape, bool)
    mask = np.asarray(mask)
    if mask.ndim not in (2, 3) or mask.dtype.kind not in "buif":
        raise InputError(f"mask must be an array of numbers of shape (H, W), got {mask.dtype} {mask.shape}")
    if mask.dtype.kind == "f" and not np.isfinite(mask).all():
        raise InputError(
            "mask has NaN or infinity; use 0 where the image is kept, and any other finite number elsewhere"
        )
    mask = mask.any(axis=2) if mask.ndim == 3 else mask != 0
    check_same_size(mask, shape, "--mask")
    if mask.all():
        raise InputError("--mask covers the whole image, so nothing is left to restore from; mask fewer pixels")
    return mask


def _check(smoothness, data, truncate_data, smoothness_term, truncate, levels):
    for name, value in (("smoothness", smoothness), ("truncate_data", truncate_data)):
        if value is not None:
            check_number(value, name)
    for name, value in (("truncate", truncate), ("levels", levels)):
        if value is not None:
            check_number(value, name, integer=True)
    if smoothness is not None and not (np.isfinite(smoothness) and 0 <= smoothness <= 10_000):
        raise InputError(f"--smoothness must be from 0 to 10000, got {smoothness}")
    if data not in DATA:
        raise InputError(f"--data must be one of {', '.join(DATA)}, got {data!r}")
    if smoothness_term not in SMOOTHNESS_TERMS:
        raise InputError(f"--smoothness-term must be one of {', '.join(SMOOTHNESS_TERMS)}, got {smoothness_term!r}")
    if truncate_data is not None and not truncate_data > 0:
        raise InputError(f"--truncate-data must be above 0, got {truncate_data}")
    if truncate is not None and truncate < 1:
        raise InputError(f"--truncate must be 1 or more, got {truncate}")
    if not 2 <= levels <= 256:
        raise InputError(f"--levels must be from 2 to 256, got {levels}")
