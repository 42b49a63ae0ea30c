"""Several objects from seeds: one label per pixel or voxel, with an appearance model per label fitted to its seeds.

The energy of a labelling is

    E(x) = sum_p D_p(x_p)  +  sum_pq w_pq [x_p != x_q],
    D_p(l) = -log p(appearance of p | model of l)  +  GEODESIC_WEIGHT * max(0, g_p,l)

with infinite costs against the seeds and w the contrast weights of `gridcut.contrast_edges`.  In images, g_p,l compares
the geodesic distance of p from the seeds of l with that from the nearest other seeds (see apps.segment.geodesic).  Two
labels take one exact cut; more labels take alpha-expansion, whose moves are exact cuts [1].

In images the models are then refitted, as apps.segment.fit describes.  Finally that label is forbidden in parts that
touch no seed of it, and the labels are minimised again.

Internally the labels are the objects 1 .. L in the order of the seeds' values; callers receive the values.

[1] Boykov, Veksler, Zabih. "Fast approximate energy minimization via graph cuts." PAMI 23(11), 2001.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

import gridcut
from apps.common.clock import Clock
from apps.common.images import InputError, to_rgb
from apps.segment import CONNECTIVITIES, SPACING
from apps.segment.colour_models import OUTLIERS, TINY
from apps.segment.fit import certifiable, reassigned
from apps.segment.full_size import find_labels
from apps.segment.grid_cut import energy_of, labels_of, minimum
from apps.segment.label_costs import LabelCosts
from apps.segment.marks import marks_of_seeds
from apps.segment.model import ImageView, Request
from apps.segment.surface_measure import direction_factors
from apps.segment.terms import UNIT
from gridcut.device import DeviceName
from gridcut.device.result import GridResult

VOLUME_SMOOTHNESS = 4.0  # nats, as SMOOTHNESS for images; voxels have more neighbours and less specific models
BINS, BLUR = 128, 2.0  # bins of a volume's histograms, and their smoothing in bins
MAX_ANISOTROPY = 1000  # maximum ratio of a voxel's sides; beyond it, edges in one direction have no weight


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Objects(GridResult):
    """Result of `segment_labels` and `segment_volume`: several objects in an image or volume.

    Attributes
    ----------
    labels : ndarray, the grid's shape, dtype of the seeds
        Seed value of the object of each pixel.
    values : tuple of int
        Distinct seed values.
    energies : tuple of float
        Energy of the labelling after each round, in nats, before parts are reassigned; never increases.
    seconds : dict
        Seconds by stage.
    solved : object
        Result of the last solve, a gridcut.Cut or gridcut.Labelling, with `device` and `check()`.
    """

    labels: np.ndarray
    values: tuple
    energies: tuple
    seconds: dict
    solved: object


def segment_labels(rgb: ArrayLike, seeds: ArrayLike, *, keep: str = "touching", device: DeviceName = "auto") -> Objects:
    """Segment several objects in an image.

    Parameters
    ----------
    rgb : array_like, shape (H, W), (H, W, 3) or (H, W, 4)
        Grey, RGB or RGBA image; uint8, uint16, or floats in [0, 1].
    seeds : array_like of int, shape (H, W)
        0 without a seed; each other value marks an object.  At least two values.
    keep : {"touching", "all"}, default "touching"
        With "touching", parts that touch no seed of their label are assigned to other labels.
    device : {"auto", "cpu", "cuda"}, default "auto"
        Where the cuts are solved.

    Returns
    -------
    Objects
        `labels` has the shape and dtype of the seeds.

    Raises
    ------
    InputError
        The seeds have another size, fewer than two values, or cover every pixel.
    """
    clock = Clock()
    rgb, seeds = to_rgb(rgb, "rgb"), np.asarray(seeds)
    check_keep(keep)
    values, marks = marks_of_seeds(seeds, rgb.shape[:2])
    view = ImageView(lambda: rgb, rgb.shape[:2])
    request = Request(marks, keep=keep)
    found = find_labels(view, request, device, clock)
    solved = certifiable(view, request, found, device)
    labels = np.array((0, *values), seeds.dtype)[found.labels]
    return Objects(labels, values, found.energies, clock.total(), solved)


def segment_volume(
    volume: ArrayLike,
    seeds: ArrayLike,
    *,
    connectivity: int = CONNECTIVITIES[0],
    spacing: Sequence[float] = SPACING,
    keep: str = "touching",
    device: DeviceName = "auto",
) -> Objects:
    """Segment several objects in a volume, with a histogram of grey values per object.

    Parameters
    ----------
    volume : array_like, shape (D, H, W)
        Finite numbers of any scale.
    seeds : array_like of int, shape (D, H, W)
        0 without a seed; each other value marks an object.  At least two values.
    connectivity : {6, 26}, default 6
        Number of neighbours of a voxel.  26 measure areas of oblique surfaces more evenly.
    spacing : sequence of three float, default (1, 1, 1)
        Size of a voxel along z, y and x, in any unit.  Weights decrease with the distance between two voxels.
    keep, device
        As in `segment_labels`.

    Returns
    -------
    Objects
        `labels` has the shape and dtype of the seeds.

    Raises
    ------
    InputError
        As in `segment_labels`, or `spacing` or `connectivity` is invalid.

    Notes
    -----
    About 127 bytes per voxel for two labels and 6 neighbours.
    """
    clock = Clock()
    volume, seeds = np.asarray(volume), np.asarray(seeds)
    if volume.ndim != 3 or 0 in volume.shape or volume.dtype.kind not in "buif":
        raise InputError(f"volume must hold numbers of shape (D, H, W), got {volume.dtype} {volume.shape}")
    if volume.dtype.kind == "f" and not np.isfinite(volume).all():
        raise InputError("volume holds NaN or infinity; every voxel must be finite")
    if connectivity not in CONNECTIVITIES:
        raise InputError(f"--connectivity must be 6 or 26, got {connectivity}")
    size = relative_spacing(spacing)
    check_keep(keep)
    values, marks = marks_of_seeds(seeds, volume.shape)
    grey = levels_of(volume)
    edges = gridcut.contrast_edges(grey, VOLUME_SMOOTHNESS * UNIT, connectivity, spacing=size, dtype=np.int32)
    if connectivity != 6:  # the factors of 6 neighbours are 1
        for (offset, weight), factor in zip(edges.items(), direction_factors(list(edges), size), strict=True):
            edges[offset] = np.rint(weight * np.float32(factor)).astype(np.int32)
    clock.charge("edges")
    labels = range(1, len(values) + 1)
    table = np.stack([histogram_cost(np.bincount(grey[marks == label], minlength=BINS)) for label in labels])
    costs = LabelCosts(tuple(labels), np.rint(table * UNIT).astype(np.int32), grey, None, 0.0)
    unary = costs.everywhere(marks)
    clock.charge("models")
    solved = minimum(unary, edges, device)
    found, energy = labels_of(solved, costs.values), energy_of(solved)
    clock.charge("cuts")
    if keep == "touching":
        found, solved = reassigned(costs.values, unary, found, solved, marks, edges, device)
        clock.charge("parts")
    return Objects(np.array((0, *values), seeds.dtype)[found], values, (energy,), clock.total(), solved)


def check_keep(keep: str) -> None:
    """Raise InputError unless the parts to keep are a choice for several labels."""
    if keep not in ("touching", "all"):
        raise InputError(f"--keep must be touching or all with --labels, got {keep!r}")


def levels_of(volume: np.ndarray) -> np.ndarray:
    """Quantise a volume to BINS levels between its 0.1th and 99.9th percentiles, or its extremes if those agree."""
    if volume.dtype == bool:  # NumPy has no percentiles of these
        volume = volume.view(np.uint8)
    if volume.dtype.kind == "f":
        most = max(abs(float(volume.min())), abs(float(volume.max())))
        if most > 0 and not 1e-30 < most < 1e30:  # differences could overflow, or vanish, in single precision
            volume = volume / most
    sample = volume.reshape(-1)[:: max(1, volume.size // 1_000_000)]
    low, high = (float(v) for v in np.percentile(sample, (0.1, 99.9)))
    if low == high:  # all but a few voxels are equal
        low, high = float(volume.min()), float(volume.max())
    scale = (BINS - 1) / (high - low) if high > low else 0.0
    grey = np.empty(volume.shape, np.uint8)
    for out, plane in zip(grey, volume, strict=True):  # slice by slice, to save memory
        out[...] = np.clip((plane.astype(np.float32) - np.float32(low)) * np.float32(scale) + 0.5, 0, BINS - 1)
    return grey


def histogram_cost(count: np.ndarray) -> np.ndarray:
    """-log p(level) of a smoothed histogram mixed with a small uniform share, of the voxels per level; (BINS,) nats."""
    from scipy.ndimage import gaussian_filter1d

    smooth = gaussian_filter1d(count.astype(float), BLUR, mode="nearest")
    return -np.log((1 - OUTLIERS) * smooth / smooth.sum() + OUTLIERS / BINS + TINY)


def relative_spacing(spacing: Sequence[float]) -> np.ndarray:
    """The sizes of a voxel along z, y and x, divided by the smallest; InputError unless they are three sizes above 0.

    Sizes may differ by a factor of MAX_ANISOTROPY at most.
    """
    try:
        size = np.asarray(spacing, float)
    except (TypeError, ValueError):
        raise InputError(f"--spacing needs three sizes above 0, got {spacing!r}") from None
    if size.shape != (3,) or not (np.isfinite(size).all() and (size > 0).all()):
        raise InputError(f"--spacing needs three sizes above 0, of a voxel along z, y and x, got {size.tolist()}")
    if size.max() / MAX_ANISOTROPY > size.min():
        raise InputError(
            f"--spacing must be sizes within a factor of {MAX_ANISOTROPY} of each other, got {size.tolist()}"
        )
    return size / size.min()
