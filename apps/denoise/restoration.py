"""Restore a noisy or damaged picture: the labelling that stays near what was seen and is smooth.

    E(x) = sum_p D(x_p - seen_p)  +  smoothness * sum_pq c_pq V(x_p, x_q)         8 neighbours, c_pq = 1/2 or 1/sqrt 8

Three kinds of energy, by what is asked for:

  binary      D, V = [differ]: one cut, exact [1]
  convex      D = square or absolute value, V = |x_p - x_q|: the total variation, exact by a cut a bit [2]
  truncated   D, V cut off at a limit, or V a square: alpha-expansion over `levels` grey levels, or swap moves

Grey levels count from 0 to 255 whatever the depth.  With squares the channels of a colour picture are made
independent first by an orthonormal change to a grey and two opponent channels: what is smooth there is smooth in all
colours at once.  Otherwise each channel is restored by itself.  Unless told, the smoothness of a square is NOISY times
the noise's standard deviation, which the picture's second differences show [3].

Masked pixels have no D.  Where V alone leaves several values equally good, a pull of 1 / UNIT grey level towards the
nearest seen value decides.

[1] Greig, Porteous, Seheult. "Exact maximum a posteriori estimation for binary images." JRSS B 51(2), 1989.
[2] Darbon, Sigelle. "Image restoration with discrete constrained total variation, part I." JMIV 26(3), 2006.
[3] Immerkaer. "Fast noise variance estimation." Computer Vision and Image Understanding 64(2), 1996.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

import gridcut
from apps.common.arguments import check_number
from apps.common.clock import Clock
from apps.common.images import InputError, to_rgb
from apps.common.labelling import SMOOTHNESS_TERMS, label_distances, labelling
from apps.denoise.total_variation import total_variation

UNIT = 16  # integer costs per grey level (squared)
NOISY = 1.05  # smoothness of squared data per standard deviation of the noise
IMPULSE_SMOOTHNESS = 0.5  # of absolute data, a ratio
BINARY_SMOOTHNESS = 0.8  # of binary pictures, a ratio
LEVELS = 64  # of truncated energies
DATA = ("quadratic", "linear")
OPPONENT = np.array([[1, 1, 1], [1, 0, -1], [1, -2, 1]]) / np.sqrt([[3], [2], [6]])
NEIGHBOURS = {(0, 1): 0.5, (1, 0): 0.5, (1, 1): 0.125**0.5, (1, -1): 0.125**0.5}


@dataclass(frozen=True, slots=True)
class Restoration:
    """A restored picture.

    Attributes
    ----------
    image : ndarray of float32, (H, W) or (H, W, 3)
        In [0, 1]; grey where the picture was.
    kind : {"binary", "convex", "truncated"}
        Of the energy; the first two are minimised exactly.
    smoothness : float
        Used, in grey levels for squared data and a ratio otherwise.
    noise : float
        Standard deviation of the noise in grey levels, as found in the picture.
    levels : int
        Values a pixel may have, of each channel.
    seconds : dict
        Seconds by stage.
    """

    image: np.ndarray
    kind: str
    smoothness: float
    noise: float
    levels: int
    seconds: dict


def restore(
    image,
    *,
    mask=None,
    binary: bool | None = None,
    smoothness: float | None = None,
    data: str = DATA[0],
    truncate_data: float | None = None,
    smoothness_term: str = "linear",
    truncate: int | None = None,
    levels: int = LEVELS,
    device: str = "auto",
) -> Restoration:
    """Restore a picture; `apps.denoise.denoise_command.denoise` documents the parameters."""
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
        smoothness = BINARY_SMOOTHNESS if binary else IMPULSE_SMOOTHNESS if data == "linear" else NOISY * noise
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

    with ThreadPoolExecutor(channels.shape[2]) as pool:  # the kernels let go of the interpreter
        found = np.dstack(list(pool.map(one, np.moveaxis(channels, 2, 0))))
    clock.charge("cuts")
    if coupled:
        found = (found - [0, 256, 256]) @ OPPONENT
    values = np.float32(np.clip(found / 255, 0, 1))
    count = {"binary": 2, "convex": bound * deep, "truncated": levels}[kind]
    values = values[..., 0] if values.shape[2] == 1 else values
    return Restoration(values, kind, float(smoothness), noise, count, clock.total())


def noise_of(channel: np.ndarray) -> float:
    """Standard deviation of the noise of a channel (H, W); robust against edges, 0 for tiny pictures."""
    if min(channel.shape) < 3:
        return 0.0
    twice = channel[:, 2:] - 2 * channel[:, 1:-1] + channel[:, :-2]
    second = twice[2:] - 2 * twice[1:-1] + twice[:-2]
    return float(np.median(np.abs(second)) / (6 * 0.6745))


def smooth_weights(shape, smoothness: float) -> dict:
    """Weights int32 of the 8 neighbours, in 1 / UNIT: the length of a border between labels differing by 1."""
    return {o: np.full(shape, round(UNIT * smoothness * share), np.int32) for o, share in NEIGHBOURS.items()}


def _binary(seen, missing, smoothness, device):
    """0 or 255; a grey value leans to one of them as far as it lies from the middle."""
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
    # A step from one level to the next is this many grey levels.
    step = 255 / (levels - 1)
    strength = smoothness * {"linear": step, "quadratic": step**2, "potts": 1.0}[kind]
    start = np.abs(values[:, None, None] - _nearest(seen, missing)).argmin(axis=0)
    found = labelling(unary, smooth_weights(seen.shape, strength), apart, start=start, device=device)
    return values[found.labels]


def _nearest(seen, missing):
    """The picture with each missing pixel replaced by the nearest seen one."""
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
        raise InputError(f"mask must hold numbers of shape (H, W), got {mask.dtype} {mask.shape}")
    if mask.dtype.kind == "f" and not np.isfinite(mask).all():
        raise InputError(
            "mask holds NaN or infinity; it is 0 where the picture is kept, and any other number elsewhere"
        )
    mask = mask.any(axis=2) if mask.ndim == 3 else mask != 0
    if mask.shape != tuple(shape):
        raise InputError(
            f"--mask is {mask.shape[1]}x{mask.shape[0]} pixels, but the image is {shape[1]}x{shape[0]}; "
            "make them the same size"
        )
    if mask.all():
        raise InputError("--mask covers the whole image, so nothing is left to restore it from; mark less")
    return mask


def _check(smoothness, data, truncate_data, smoothness_term, truncate, levels):
    for name, value in (("smoothness", smoothness), ("truncate_data", truncate_data)):
        if value is not None:
            check_number(value, name)
    for name, value in (("truncate", truncate), ("levels", levels)):
        if value is not None:
            check_number(value, name, whole=True)
    if smoothness is not None and not (np.isfinite(smoothness) and 0 <= smoothness <= 10_000):
        raise InputError(f"--smoothness must lie between 0 and 10000, got {smoothness}")
    if data not in DATA:
        raise InputError(f"--data must be one of {', '.join(DATA)}, got {data!r}")
    if smoothness_term not in SMOOTHNESS_TERMS:
        raise InputError(f"--smoothness-term must be one of {', '.join(SMOOTHNESS_TERMS)}, got {smoothness_term!r}")
    if truncate_data is not None and not truncate_data > 0:
        raise InputError(f"--truncate-data must be above 0, got {truncate_data}")
    if truncate is not None and truncate < 1:
        raise InputError(f"--truncate must be 1 or more, got {truncate}")
    if not 2 <= levels <= 256:
        raise InputError(f"--levels must lie between 2 and 256, got {levels}")
