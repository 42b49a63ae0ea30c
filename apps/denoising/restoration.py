"""Restore a noisy or damaged image by minimising a data term plus a smoothness term.

    E(x) = sum_p D(x_p - seen_p)  +  smoothness * sum_pq c_pq V(x_p, x_q)         8 neighbours, c_pq = 1/2 or 1/sqrt 8

The two kinds of energy:

  binary      D, V = [differ]: one cut, exact [1]; D of a page is relative to its paper (pages.py)
  convex      D = square or absolute value, V = |x_p - x_q|: total variation, exact, one cut per bit [2]

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

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from apps.common.arguments import array_of, check_number
from apps.common.clock import Clock
from apps.common.images import InputError, check_same_size, to_bytes, to_rgb
from apps.denoising import DATA
from apps.denoising.pages import preference
from gridcut.device import DeviceName
from gridcut.device.result import GridResult
from gridcut.multilabel.total_variation import DataTerm, total_variation

UNIT = 16  # integer costs per grey level (squared)
NOISE_FACTOR = 1.05  # smoothness for squared data / standard deviation of the noise
IMPULSE_SMOOTHNESS = 0.5  # for absolute data, a ratio
BINARY_SMOOTHNESS = 0.8  # for silhouettes, a ratio
PAGE_SMOOTHNESS = 0.2  # for pages, a ratio: a stroke of one pixel of clear ink is kept
STRIP = 256  # rows
OPPONENT = np.array([[1, 1, 1], [1, 0, -1], [1, -2, 1]]) / np.sqrt([[3], [2], [6]])
NEIGHBOURS = {(0, 1): 0.5, (1, 0): 0.5, (1, 1): 0.125**0.5, (1, -1): 0.125**0.5}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Restoration(GridResult):
    """Result of `denoise`: a restored image.

    Attributes
    ----------
    image : ndarray of float32, (H, W) or (H, W, 3)
        float32 in [0, 1], whatever the dtype of the image was, so that no gradation is lost; (H, W) if the image is
        grey.  ``np.rint(255 * result.image).astype(np.uint8)`` has 8 bits.
    kind : {"binary", "convex"}
        Kind of energy.
    smoothness : float
        Weight used, in grey levels for squared data and a ratio otherwise.
    noise : float
        Estimated standard deviation of the noise in grey levels.
    levels : int
        Number of values of a pixel, per channel.
    seconds : dict
        Seconds: "total", and "compile", those of compiling kernels.
    """

    image: np.ndarray
    kind: str
    smoothness: float
    noise: float
    levels: int
    seconds: dict

    def _figure(self):
        shown = to_bytes(self.image)
        return shown if shown.ndim == 3 else np.repeat(shown[..., None], 3, axis=2)


def denoise(
    image: ArrayLike,
    *,
    mask: ArrayLike | None = None,
    binary: bool | None = None,
    smoothness: float | None = None,
    data: str = DATA[0],
    device: DeviceName = "auto",
) -> Restoration:
    """Restore a noisy or damaged image, or fill its holes.

    Parameters
    ----------
    image : array_like, shape (H, W), (H, W, 3) or (H, W, 4)
        Grey, RGB or RGBA image; integers in [0, 255], uint16, or floats in [0, 1].
    mask : array_like, shape (H, W), optional
        Nonzero where a pixel is missing and is to be filled.
    binary : bool, optional
        If True, restore black and white.  By default an image is binary if black and white are its only values.
    smoothness : float, optional
        Weight of the smoothness term: in grey levels for quadratic data, a ratio otherwise.  The default is 1.05 times
        the estimated standard deviation of the noise for quadratic data, 0.5 for linear data, 0.8 for binary images and
        0.2 for pages.
    data : {"quadratic", "linear"}, default "quadratic"
        Data term: the squared change of a pixel (Gaussian noise), or its absolute value (outliers).
    device : {"auto", "cpu", "cuda"}, default "auto"
        Where the cuts are solved.

    Returns
    -------
    Restoration
        The restored image (float32 in [0, 1]), the kind of energy, the smoothness and noise used, and seconds.

    Raises
    ------
    InputError
        A ValueError with a one-line message: `mask` has another shape or covers the whole image, or a parameter is out
        of range.

    Notes
    -----
    The exact energies take at most 8 cuts for 8 bits of grey, 27 for colour, 16 and 51 for 16 bits; fewer if the levels
    do not reach from 0 to 255.  They are solved in windows, channel after channel.

    Examples
    --------
    >>> import numpy as np
    >>> from apps import denoise
    >>> clean = np.full((40, 60), 80, np.uint8)
    >>> noisy = np.uint8(clean + np.random.default_rng(0).normal(0, 10, clean.shape))
    >>> restored = denoise(noisy, device="cpu")
    >>> restored.kind, restored.image.shape
    ('convex', (40, 60))
    """
    clock = Clock()
    rgb = to_rgb(image)
    if smoothness is not None:
        check_number(smoothness, "smoothness")
        if not (np.isfinite(smoothness) and 0 <= smoothness <= 10_000):
            raise InputError(f"smoothness must be from 0 to 10000, got {smoothness}")
    if data not in DATA:
        raise InputError(f"data must be one of {', '.join(DATA)}, got {data!r}")
    missing = _missing(mask, rgb.shape[:2])
    is_grey = bool((rgb == rgb[..., :1]).all())
    channels = rgb[..., :1] if is_grey else rgb
    noise = float(np.mean([noise_of(channels[..., c], 255) for c in range(channels.shape[2])]))
    if binary is None:
        binary = is_grey and _is_black_and_white(channels)
    if binary:
        share = np.full(channels.shape[2], 1 / channels.shape[2])
        preferred, is_page = preference(_mixed(channels, share), missing)
        if smoothness is None:
            smoothness = PAGE_SMOOTHNESS if is_page else BINARY_SMOOTHNESS
        found = _binary(preferred, smoothness, device).astype(np.float32)
        return Restoration(found, "binary", float(smoothness), noise, 2, clock.total())
    if smoothness is None:
        smoothness = IMPULSE_SMOOTHNESS if data == "linear" else NOISE_FACTOR * noise
    levels_seen = np.float32(255) * channels
    scale = 256 if (np.abs(levels_seen - np.rint(levels_seen)) > 1e-3).any() else 1
    coupled = data == "quadratic" and not is_grey
    mixing, nearest = OPPONENT if coupled else np.eye(channels.shape[2]), _nearest_places(missing)
    planes = [_convex(channels, row, missing, nearest, smoothness, data, scale, device) for row in mixing]
    values = np.empty((*rgb.shape[:2], len(planes)), np.float32)
    for rows in _row_ranges(values.shape[0]):
        levels = np.stack([plane[rows] for plane in planes], axis=-1) / np.float64(scale)
        values[rows] = np.clip((levels @ OPPONENT if coupled else levels) / 255, 0, 1)
    count = (512 if coupled else 256) * scale
    values = values[..., 0] if is_grey else values
    return Restoration(values, "convex", float(smoothness), noise, count, clock.total())


def noise_of(channel: np.ndarray, scale: float = 1) -> float:
    """Standard deviation of the noise of scale * channel (H, W); robust to edges, 0 for sides below 3 pixels."""
    if min(channel.shape) < 3:
        return 0.0
    height, width = channel.shape
    second = np.empty((height - 2, width - 2), np.float32)
    for rows in _row_ranges(height - 2):
        part = np.float64(scale) * channel[rows.start : rows.stop + 2]
        twice = part[:, 2:] - 2 * part[:, 1:-1] + part[:, :-2]
        second[rows] = np.abs(twice[2:] - 2 * twice[1:-1] + twice[:-2])
    return float(np.median(second, overwrite_input=True) / (6 * 0.6745))


def _row_ranges(height):
    return [slice(begin, min(begin + STRIP, height)) for begin in range(0, height, STRIP)]


def _mixed(channels, row, dtype=np.float64, change=None):
    """The weighted sum of the channels in grey levels, after `change` of each strip."""
    mixed = np.empty(channels.shape[:2], dtype)
    for rows in _row_ranges(mixed.shape[0]):
        levels = (np.float64(255) * channels[rows]) @ row
        mixed[rows] = levels if change is None else change(levels)
    return mixed


def _is_black_and_white(channels):
    """Whether black and white both occur, and nothing else.  Other values would be lost."""
    is_white = channels == 1
    return bool(is_white.any() and not is_white.all() and (is_white | (channels == 0)).all())


def smooth_weights(smoothness: float) -> dict:
    """Weights of the 8 neighbours, in 1 / UNIT; they approximate the length of a boundary."""
    return {o: round(UNIT * smoothness * share) for o, share in NEIGHBOURS.items()}


def _binary(preferred, smoothness, device):
    """Restore to 0 or 1: total variation of two levels."""
    lean = np.rint(UNIT * preferred).astype(np.int16)
    term = DataTerm(lean + np.int16(UNIT), True, UNIT)  # D(1) - D(0) = -lean
    return total_variation(term, 2, smooth_weights(smoothness), device)


def _convex(channels, row, missing, nearest, smoothness, data, scale, device):
    """The channel of weights `row`, in 1 / scale of a grey level; int16 or int32."""
    is_quadratic = data == "quadratic"
    per_level = 2 * UNIT if is_quadratic else 1
    steps = per_level * scale  # per grey level
    dtype = (
        np.int16 if 512 * steps <= 2**15 else np.int32
    )  # sums of channels are at most 255 * sqrt(3), differences less
    seen = _mixed(channels, row, dtype, lambda levels: np.rint(steps * levels))
    # No pixel of a minimum is below all seen levels, or above them.
    first = int(seen.min()) // per_level
    last = -(-int(seen.max()) // per_level)
    seen -= dtype(first * per_level)
    if nearest is not None:
        seen[missing] = seen[nearest] // per_level
    term = DataTerm(seen, is_quadratic, UNIT, None if nearest is None else missing)
    weights = smooth_weights(smoothness * (scale if is_quadratic else 1))
    found = total_variation(term, 1 << (last - first).bit_length(), weights, device)
    if max(last, -first) >= 2**15:
        found = found.astype(np.int32)
    found += found.dtype.type(first)
    return found


def _nearest_places(missing):
    """For each missing pixel, in raster order, the indices of the nearest one that is not missing; None: none is."""
    if not missing.any():
        return None
    from scipy.ndimage import distance_transform_edt

    places = distance_transform_edt(missing, return_distances=False, return_indices=True)
    return tuple(place[missing] for place in places)


def _missing(mask, shape):
    if mask is None:
        return np.zeros(shape, bool)
    mask = array_of(mask, "mask")
    if mask.ndim not in (2, 3) or mask.dtype.kind not in "buif":
        raise InputError(f"mask must be an array of numbers of shape (H, W), got {mask.dtype} {mask.shape}")
    if mask.dtype.kind == "f" and not np.isfinite(mask).all():
        raise InputError(
            "mask has NaN or infinity; use 0 where the image is kept, and any other finite number elsewhere"
        )
    mask = mask.any(axis=2) if mask.ndim == 3 else mask != 0
    check_same_size(mask, shape, "mask")
    if mask.all():
        raise InputError("mask covers the whole image, so nothing is left to restore from; mask fewer pixels")
    return mask
