"""Several objects from seeds: one label a pixel or voxel, each with a model of what its seeds look like.

A labelling costs

    E(x) = sum_p D_p(x_p)  +  sum_pq w_pq [x_p != x_q],
    D_p(l) = -log p(what p looks like | model of l)  +  GEODESIC_WEIGHT * max(0, g_p,l)         infinite against the seeds

with w the contrast weights of `gridcut.contrast_edges`, and g_p,l in [-1, 1] how much further p is from the seeds of l
than from the nearest others, along paths that avoid borders (images only; see apps.segment.geodesic).  Two labels
take one exact cut; more take alpha-expansion, every move of which is one [1].

In images the models are then fitted to the labelling, the seeds counting as much again as all the rest, and labels
found again, until they stand still; a round that would raise E is not taken.  Parts that touch no seed of their label
teach the models nothing, for whoever wanted them would have marked them.  In the end they are refused that label, and
labels are found once more.

Labels are numbered 0 .. L - 1 in the order of the seeds' values here; callers see the values.

[1] Boykov, Veksler, Zabih. "Fast approximate energy minimization via graph cuts." PAMI 23(11), 2001.
"""

from dataclasses import dataclass

import numpy as np

import gridcut
from apps.common.clock import Clock
from apps.common.images import InputError, to_rgb
from apps.common.labelling import label_distances, labelling
from apps.segment.colour_models import OUTLIERS, TINY, lab_image, log_density, make_palette, whole_density
from apps.segment.geodesic import SWEEPS, UNREACHED, sweep_kernel
from apps.segment.terms import CONTRAST, FORBIDDEN, GEODESIC_WEIGHT, SMOOTHNESS, UNIT, mean_squared_step

VOLUME_SMOOTHNESS = 4.0  # nats, as SMOOTHNESS for images; a voxel has more neighbours and duller models
ROUNDS = 5
MAX_CHANGED_SHARE = 0.001  # share of the pixels that may change when a labelling counts as standing still
BINS, BLUR = 128, 2.0  # of a volume's histograms, and their smoothing in bins
CONNECTIVITIES = (6, 26)
MAX_ANISOTROPY = 1000  # a voxel's longest side to its shortest: beyond it, a direction has no weight left


@dataclass(frozen=True, slots=True)
class Objects:
    """Several objects found in an image or volume.

    Attributes
    ----------
    labels : ndarray, the grid's shape, dtype of the seeds
        Value of the seeds that each pixel belongs to.
    values : tuple of int
        The values there are.
    energies : tuple of float
        Cost of the labelling after each round, in nats, before parts are refused; never rises.
    seconds : dict
        Seconds by stage.
    solved : object
        The last solver's result, a Cut or a Labelling of gridcut, with `device` and `check()`.
    """

    labels: np.ndarray
    values: tuple
    energies: tuple
    seconds: dict
    solved: object


def segment_labels(rgb: np.ndarray, seeds: np.ndarray, *, keep: str = "touching", device: str = "auto") -> Objects:
    """Several objects of an image.

    Parameters
    ----------
    rgb : ndarray of float32, (H, W, 3)
        In [0, 1], as `apps.common.images.read_image` gives it.
    seeds : ndarray of integers, (H, W)
        0 where nothing is said; every other value marks an object.  Two values at least.
    keep : {"touching", "all"}
        Whether parts that touch no seed of their label are refused it.
    device : {"auto", "cpu", "cuda"}

    Raises
    ------
    InputError
        The seeds have another size, fewer than two values, or leave nothing open.
    """
    clock = Clock()
    rgb, seeds = to_rgb(rgb, "rgb"), np.asarray(seeds)
    values, marks = check_seeds(seeds, rgb.shape[:2], keep)
    lab = lab_image(rgb)
    palette = make_palette(rgb, lab)
    whole = whole_density(palette)
    strokes = [palette.counts(marks == label) for label in range(len(values))]
    beta = CONTRAST / mean_squared_step(lab)
    edges = gridcut.contrast_edges(lab, SMOOTHNESS * UNIT, 8, beta=beta, dtype=np.int32)
    clock.charge("colours")
    preference = np.int32((GEODESIC_WEIGHT * UNIT) * geodesic_excess(lab, marks, len(values)))
    clock.charge("distances")
    labels, solved, energies, counts, costs = None, None, [], strokes, None
    for _ in range(ROUNDS):
        nats = np.stack([log_density(palette, count, whole) for count in counts])
        unary = _with_seed_costs(np.int32(np.rint(nats * UNIT))[:, palette.index] + preference, marks)
        clock.charge("models")
        tried = _minimise(unary, edges, device, labels)
        clock.charge("cuts")
        if energies and tried[1] / UNIT > energies[-1]:
            break
        has_converged = labels is not None and np.count_nonzero(tried[0] != labels) <= MAX_CHANGED_SHARE * labels.size
        labels, energy, solved = tried
        costs = unary
        energies.append(energy / UNIT)
        if has_converged:
            break
        lost = _parts_without_seed(labels, marks, len(values)) if keep == "touching" else np.zeros(labels.shape, bool)
        counts = []
        for label, stroke in enumerate(strokes):
            labelled = palette.counts((labels == label) & ~lost)
            counts.append(labelled + stroke * (labelled.sum() / stroke.sum()))
        clock.charge("parts")
    if keep == "touching":
        labels, solved = reassign_parts_without_seed(labels, solved, costs, edges, marks, device)
        clock.charge("parts")
    return Objects(np.array(values, seeds.dtype)[labels], values, tuple(energies), clock.total(), solved)


def segment_volume(
    volume: np.ndarray,
    seeds: np.ndarray,
    *,
    connectivity: int = 6,
    spacing=(1.0, 1.0, 1.0),
    keep: str = "touching",
    device: str = "auto",
) -> Objects:
    """Several objects of a volume; the models are histograms of what lies under the seeds.

    Parameters
    ----------
    volume : ndarray, (D, H, W)
        Finite numbers of any scale.
    seeds : ndarray of integers, (D, H, W)
        0 where nothing is said; every other value marks an object.  Two values at least.
    connectivity : {6, 26}
    spacing : three floats
        Size of a voxel along z, y and x, in any unit: weights fall with the distance of two voxels.
    keep, device :
        As in `segment_labels`.

    Raises
    ------
    InputError
        As in `segment_labels`, or the spacing or connectivity makes no sense.

    Notes
    -----
    About 127 bytes a voxel for two labels and 6 neighbours.
    """
    clock = Clock()
    volume, seeds = np.asarray(volume), np.asarray(seeds)
    if volume.ndim != 3 or 0 in volume.shape or volume.dtype.kind not in "buif":
        raise InputError(f"volume must hold numbers of shape (D, H, W), got {volume.dtype} {volume.shape}")
    if volume.dtype.kind == "f" and not np.isfinite(volume).all():
        raise InputError("volume holds NaN or infinity; every voxel must be finite")
    if connectivity not in CONNECTIVITIES:
        raise InputError(f"--connectivity must be 6 or 26, got {connectivity}")
    try:
        spacing = np.asarray(spacing, float)
    except (TypeError, ValueError):
        raise InputError(f"--spacing needs three sizes above 0, got {spacing!r}") from None
    if spacing.shape != (3,) or not (np.isfinite(spacing).all() and (spacing > 0).all()):
        raise InputError(f"--spacing needs three sizes above 0, of a voxel along z, y and x, got {spacing.tolist()}")
    if spacing.max() / MAX_ANISOTROPY > spacing.min():
        raise InputError(
            f"--spacing must be sizes within a factor of {MAX_ANISOTROPY} of each other, got {spacing.tolist()}"
        )
    values, marks = check_seeds(seeds, volume.shape, keep)
    grey = levels_of(volume)
    edges = gridcut.contrast_edges(
        grey, VOLUME_SMOOTHNESS * UNIT, connectivity, spacing=spacing / spacing.min(), dtype=np.int32
    )
    clock.charge("edges")
    nats = [_histogram_cost(grey, marks == label) for label in range(len(values))]
    unary = _with_seed_costs(np.int32(np.rint(np.stack(nats) * UNIT))[:, grey], marks)
    clock.charge("models")
    labels, energy, solved = _minimise(unary, edges, device, None)
    clock.charge("cuts")
    if keep == "touching":
        labels, solved = reassign_parts_without_seed(labels, solved, unary, edges, marks, device)
        clock.charge("parts")
    return Objects(np.array(values, seeds.dtype)[labels], values, (energy / UNIT,), clock.total(), solved)


def check_seeds(seeds: np.ndarray, shape, keep: str) -> tuple[tuple, np.ndarray]:
    """The values, and each pixel's place among them, int16, -1 without a seed; InputError if they will not do."""
    if keep not in ("touching", "all"):
        raise InputError(f"--keep must be touching or all with --labels, got {keep!r}")
    if seeds.dtype.kind not in "iu":
        raise InputError(f"seeds must hold integers, got {seeds.dtype}; round them")
    if seeds.shape != tuple(shape):
        raise InputError(f"--labels is {_size(seeds.shape)}, but the image is {_size(shape)}; make them the same size")
    values = tuple(int(value) for value in np.unique(seeds) if value)
    if len(values) < 2:
        held = f"only {values[0]}" if values else "no seed"
        raise InputError(f"--labels holds {held}; mark two objects or more, the background being one of them")
    if len(values) > 255:
        raise InputError(f"--labels holds {len(values)} different values, a label each; 255 is the most")
    if seeds.all():
        raise InputError("--labels leaves no pixel open, so there is nothing to find; mark less")
    place = np.full(seeds.shape, -1, np.int16)
    for label, value in enumerate(values):
        place[seeds == value] = label
    return values, place


def reassign_parts_without_seed(labels, solved, unary, edges, marks, device):
    """Labels in which every part touches a seed of its label, and the solver's result; `unary` is overwritten.

    A part refused by one label may go to another that it does not touch either: so as many tries as there are labels.
    """
    for _ in range(len(unary)):
        lost = _parts_without_seed(labels, marks, len(unary))
        if not lost.any():
            break
        for label in range(len(unary)):
            unary[label][lost & (labels == label)] = FORBIDDEN
        start = np.where(lost, unary.argmin(axis=0), labels)
        labels, _, solved = _minimise(unary, edges, device, start)
    return labels, solved


def _with_seed_costs(unary, marks):
    """Costs (labels, *grid) with those of the seeds: nothing for their own label, FORBIDDEN for others."""
    for label, cost in enumerate(unary):
        cost[marks == label] = 0
        cost[(marks >= 0) & (marks != label)] = FORBIDDEN
    return unary


def _minimise(unary, edges, device, start):
    if len(unary) == 2:
        cut = gridcut.max_flow(unary[1], unary[0], edges, device=device)
        return (~cut.labels).view(np.uint8), int(cut.value), cut
    result = labelling(unary, edges, label_distances(len(unary), "potts", 1), start=start, device=device)
    return result.labels, int(result.energy), result


def _parts_without_seed(labels, marks, count):
    """Where a label's part touches no seed of it."""
    from scipy import ndimage

    lost = np.zeros(labels.shape, bool)
    for label in range(count):
        part, parts = ndimage.label(labels == label)
        touched = np.zeros(parts + 1, bool)
        touched[part[marks == label]] = True
        touched[0] = True
        if not touched.all():
            lost |= ~touched[part]
    return lost


def geodesic_excess(lab, marks, count) -> np.ndarray:
    """How much further each pixel is from a label's seeds than from the nearest others, float32 (count, H, W) in
    [0, 1]: (d_l - d_others) / (d_l + d_others), 0 where negative.
    """
    away = np.empty((count, *marks.shape), np.float32)
    for first in range(0, count, 2):
        distance = np.full((*marks.shape, 2), UNREACHED, np.float32)
        both = (first, min(first + 1, count - 1))
        for side, label in enumerate(both):
            distance[marks == label, side] = 0.0
        for _ in range(SWEEPS):
            sweep_kernel(lab, 1, distance)
            sweep_kernel(lab, -1, distance)
        for side, label in enumerate(both):
            away[label] = distance[..., side]
    nearest = np.partition(away, 1, axis=0)[:2]
    others = np.where(away == nearest[0], nearest[1], nearest[0])
    return np.maximum(0, (away - others) / np.maximum(away + others, np.float32(1e-6)))


def levels_of(volume: np.ndarray) -> np.ndarray:
    """A volume in BINS equal steps from its 0.1th to its 99.9th percentile, uint8."""
    sample = volume.reshape(-1)[:: max(1, volume.size // 1_000_000)]
    low, high = (float(v) for v in np.percentile(sample, (0.1, 99.9)))
    scale = (BINS - 1) / (high - low) if high > low else 0.0
    grey = np.empty(volume.shape, np.uint8)
    for out, plane in zip(grey, volume, strict=True):  # slice by slice, for large volumes
        out[...] = np.clip((plane.astype(np.float32) - np.float32(low)) * np.float32(scale) + 0.5, 0, BINS - 1)
    return grey


def _histogram_cost(grey, where):
    """-log p(level) of a smoothed histogram, with a small share of all levels alike; (BINS,) in nats."""
    from scipy.ndimage import gaussian_filter1d

    count = gaussian_filter1d(np.bincount(grey[where], minlength=BINS).astype(float), BLUR, mode="nearest")
    return -np.log((1 - OUTLIERS) * count / count.sum() + OUTLIERS / BINS + TINY)


def _size(shape) -> str:
    return "x".join(map(str, shape if len(shape) == 3 else shape[::-1])) + (" voxels" if len(shape) == 3 else " pixels")
