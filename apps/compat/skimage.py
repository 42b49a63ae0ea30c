"""A segmentation by graph cuts that is called like scikit-image's random_walker.

    from skimage.segmentation import random_walker    ->    from apps.compat.skimage import graph_cut

The energy is that of apps.segmentation.multilabel: contrast-sensitive edges, a histogram per label and channel fitted
to the seeds, and geodesic distances from the seeds, so that a label with few seeds does not shrink to them.  Two labels
are found by one exact cut, more by alpha-expansion.
"""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

import gridcut
from apps.segmentation.colour_models import OUTLIERS, TINY
from apps.segmentation.geodesic import UNREACHED, seed_distances
from apps.segmentation.grid_cut import edges_outside, pairs
from apps.segmentation.terms import FORBIDDEN, UNIT
from apps.segmentation.volume_view import BINS, BLUR

__all__ = ["graph_cut"]

MODES = ("cg", "cg_j", "cg_mg", "bf", None)
BETA = 130  # scikit-image's default
CONTRAST = 0.7  # weight of an edge at that beta: exp(-CONTRAST * squared step / mean squared step)
SMOOTHNESS = 8.0  # nats: sum of the weights of a pixel's edges to half of its neighbours, if all are equal
LOCATION = 2.0  # nats: maximum cost from the distances to the seeds
BANDWIDTH = 0.5  # standard deviations by which the histogram of a single seed is blurred, less with more seeds
DEVIATION = 20.0  # pixels that a step of one standard deviation is worth in the distances


def graph_cut(
    data: ArrayLike,
    labels: ArrayLike,
    beta: float = BETA,
    mode: str | None = "cg_j",
    tol: float = 1.0e-3,
    copy: bool = True,
    return_full_prob: bool = False,
    spacing: Sequence[float] | None = None,
    *,
    prob_tol: float = 1e-3,
    channel_axis: int | None = None,
) -> np.ndarray:
    """Segment an image or volume from seeds, with the interface of `skimage.segmentation.random_walker`.

    Parameters
    ----------
    data : array_like, the grid's shape, or one axis more for channels
        Image or volume; finite numbers of any scale.  The grid may have 1 to 3 axes.
    labels : array_like of integers, the grid's shape
        Positive values are seeds, 0 is to be labelled, and negative pixels are excluded.  The dtype may be float or
        bool, but the values must be integers.
    beta : float, default 130
        How strongly edges of the image attract the outlines; 0 ignores them.
    mode, tol, prob_tol
        Accepted, without effect: they choose among random_walker's linear solvers.
    copy : bool, default True
        If False, the result is written into `labels`.
    return_full_prob : bool, default False
        If True, return one array per label instead, 1.0 where a pixel has it and 0.0 elsewhere.  A minimum cut has no
        probabilities.
    spacing : sequence of float, one per axis of the grid, optional
        Size of a pixel along each axis.  Default: 1.
    channel_axis : int, optional
        Axis of the channels.  Default: there is none.

    Returns
    -------
    ndarray
        The labels 1 to L, in the order of the values in `labels`, with its shape and dtype.  Excluded pixels, and
        those that excluded ones separate from all seeds, are -1.  No label crosses excluded pixels.  With
        `return_full_prob`, float64 (L, *grid).  If there is nothing to be labelled, `labels` with -1 instead of 0.

    Raises
    ------
    TypeError
        If `data` or `labels` has another dtype.
    ValueError
        If shapes do not match, there is no seed, `data` is not finite, `labels` holds other numbers than integers or
        is read-only without `copy`, or a parameter is out of range.

    Warns
    -----
    UserWarning
        If there is nothing to be labelled.

    See Also
    --------
    apps.segment_labels, apps.segment_volume : with parts, energies, and a choice of the device.

    Notes
    -----
    Outlines are measured with all neighbours (8 in images, 26 in volumes).  About 250 bytes per pixel and 12 per pixel
    and label.

    References
    ----------
    .. [1] Boykov, Jolly. "Interactive graph cuts." ICCV 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from apps.compat.skimage import graph_cut
    >>> data = np.zeros((10, 10))
    >>> data[5:8, 5:8] = 1
    >>> labels = np.zeros((10, 10), int)
    >>> labels[3, 3], labels[6, 6] = 1, 2
    >>> int((graph_cut(data, labels) == 2).sum())
    9
    """
    if mode not in MODES:
        raise ValueError(f"{mode} is not a valid mode. Valid modes are 'cg_mg', 'cg', 'cg_j', 'bf', and None")
    if not np.isfinite(beta) or beta < 0:
        raise ValueError(f"beta must be finite and 0 or more, got {beta}")
    given = np.asarray(labels)
    if not copy and given is labels and not given.flags.writeable:
        raise ValueError("labels is read-only, but copy=False writes the result into it; pass copy=True")
    pixels = _pixels(data, given.shape, channel_axis)
    sides = _sides(spacing, given.ndim)
    marks, values, excluded = _marks(given)
    if not (marks[~excluded] < 0).any():
        is_open = given == 0
        text = "All unlabeled pixels are isolated: excluded pixels separate them from every seed"
        text = text if is_open.any() else "No pixel has the label 0.  Returning provided labels"
        warnings.warn(text, UserWarning, stacklevel=2)
        if not return_full_prob:
            result = labels if isinstance(labels, np.ndarray) and not copy else given.copy()
            if is_open.any():
                result[is_open] = -1
            return result
    found = np.full(given.shape, -1, np.int64)
    count = len(values)
    if count == 1:
        found[~excluded] = 0
    else:
        found[~excluded] = _segmented(pixels, marks, count, ~excluded, sides, beta)[~excluded]
    if return_full_prob:
        return (found == np.arange(count).reshape(-1, *[1] * given.ndim)).astype(np.float64)
    found[~excluded] += 1
    if copy or not isinstance(labels, np.ndarray):
        return found.astype(given.dtype)
    labels[...] = found
    return labels


def _pixels(data, shape, channel_axis) -> np.ndarray:
    """float32 (*grid, channels), with mean 0 and standard deviation 1 over all channels."""
    pixels = np.asarray(data)
    if pixels.dtype.kind not in "biuf":
        raise TypeError(f"data must hold real numbers, got dtype {pixels.dtype}")
    axes = pixels.ndim - (channel_axis is not None)
    if not 1 <= axes <= 3:
        raise ValueError(f"data must have 1 to 3 axes besides that of the channels, got shape {pixels.shape}")
    if channel_axis is None:
        pixels = pixels[..., None]
    else:
        try:
            pixels = np.moveaxis(pixels, channel_axis, -1)
        except np.exceptions.AxisError as error:
            raise ValueError(f"channel_axis must be an axis of data: {error}") from None
    if pixels.shape[:-1] != shape:
        raise ValueError("Incompatible data and labels shapes.")
    if not pixels.size:
        raise ValueError(f"data must not be empty, got shape {pixels.shape}")
    pixels = pixels.astype(np.float64)
    if not np.isfinite(pixels).all():
        raise ValueError("data holds NaN or infinity; mark such pixels by negative labels, and set them to a number")
    deviation = pixels.std()
    return np.ascontiguousarray((pixels - pixels.mean()) / (deviation or 1.0), np.float32)


def _sides(spacing, axes: int) -> np.ndarray:
    """Sizes of a pixel, divided by the smallest."""
    if spacing is None:
        return np.ones(axes)
    sides = np.asarray(spacing, float)
    if sides.shape != (axes,) or not (np.isfinite(sides).all() and (sides > 0).all()):
        raise ValueError(
            "Input argument `spacing` incorrect, should be an iterable with one number per spatial dimension."
        )
    return sides / sides.min()


def _marks(labels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Index of the label of each seed or -1, the values of the labels, and the pixels that are excluded."""
    from scipy import ndimage

    if labels.dtype.kind not in "biuf":
        raise TypeError(f"labels must be integers, got dtype {labels.dtype}")
    if labels.dtype.kind == "f":
        is_integer = np.isfinite(labels) & (labels == np.rint(labels))
        if not is_integer.all():
            at = tuple(map(int, np.argwhere(~is_integer)[0]))
            raise ValueError(f"labels must be integers, got {labels[at]} at {at}; round them first")
    values = np.unique(labels[labels > 0])
    if not len(values):
        raise ValueError("No seeds provided in label image: please ensure it contains at least one positive value")
    marks = np.where(labels > 0, np.searchsorted(values, labels), -1)
    excluded = labels < 0
    if excluded.any():
        excluded = ~ndimage.binary_propagation(marks >= 0, mask=~excluded)
    return marks, values, excluded


def _segmented(pixels, marks, count: int, taking_part, sides, beta) -> np.ndarray:
    """The label of each pixel, from 0; excluded pixels have any."""
    shape = marks.shape
    offsets = [offset for offset in np.ndindex(*[3] * len(shape)) if offset > (1,) * len(shape)]
    offsets = [tuple(part - 1 for part in offset) for offset in offsets]
    neighbours = (pairs(pixels, offset) for offset in offsets)
    squares = [((there - here) ** 2).mean() for here, there in neighbours if here.size]
    mean = pixels.shape[-1] * float(np.mean(squares)) or 1.0
    unit_edge = SMOOTHNESS / max(3.0, sum(1 / float(np.linalg.norm(offset)) for offset in offsets))
    edges = gridcut.contrast_edges(
        pixels, unit_edge * UNIT, offsets, spacing=sides, beta=CONTRAST * beta / BETA / mean, dtype=np.int32
    )
    edges = edges_outside(~taking_part, edges)
    unary = np.rint(UNIT * (_appearance(pixels, marks, count) + _location(pixels, marks, sides, taking_part, count)))
    unary = unary.astype(np.int32)
    has_seed = _labels_of_parts(marks, taking_part, count)
    for label, cost in enumerate(unary):
        cost[((marks >= 0) & (marks != label)) | ~has_seed[label]] = FORBIDDEN
        cost[(marks == label) | ~taking_part] = 0
    if count == 2:
        return (~gridcut.max_flow(unary[1], unary[0], edges, device="cpu").labels).astype(np.int64)
    start = unary.argmin(axis=0)
    return gridcut.alpha_expansion(unary, edges, start=start, restarts=0, device="cpu").labels


def _labels_of_parts(marks, taking_part, count: int) -> np.ndarray:
    """Whether each label has a seed in the connected part of each pixel, bool (count, *grid), which walls separate.

    As for random_walker, pixels are connected by their faces: one that is reached across a corner alone is isolated.
    """
    from scipy import ndimage

    part, parts = ndimage.label(taking_part)
    has_seed = np.zeros((count, parts + 1), bool)
    seeds = marks >= 0
    has_seed[marks[seeds], part[seeds]] = True
    return has_seed[:, part]


def _appearance(pixels, marks, count: int) -> np.ndarray:
    """-log p of each pixel for each label, in nats (count, *grid): the mean over uncorrelated channels."""
    flat = pixels.reshape(-1, pixels.shape[-1])
    if flat.shape[1] > 1:
        flat = flat @ np.linalg.eigh(np.cov(flat[:: max(1, len(flat) // 100_000)], rowvar=False))[1].astype(np.float32)
    low, high = np.percentile(flat[:: max(1, len(flat) // 1_000_000)], (0.1, 99.9), axis=0)
    scale = np.where(high > low, (BINS - 1) / np.maximum(high - low, 1e-30), 0.0)
    levels = np.clip((flat - low) * scale + 0.5, 0, BINS - 1).astype(np.uint8)
    cost = np.zeros((count, len(flat)), np.float32)
    for label in range(count):
        seeds = (marks == label).reshape(-1)
        for channel, spread in zip(levels.T, scale * flat.std(axis=0), strict=True):
            cost[label] += _histogram_cost(np.bincount(channel[seeds], minlength=BINS), spread)[channel]
    return cost.reshape(count, *marks.shape)


def _histogram_cost(count, spread: float) -> np.ndarray:
    """-log p(level) from the number of seeds per level, whose blur decreases with the number of seeds; (BINS,) nats.

    spread   standard deviation of the image in levels
    """
    from scipy.ndimage import gaussian_filter1d

    blur = max(BLUR, BANDWIDTH * spread * count.sum() ** (-1 / 3))
    smooth = gaussian_filter1d(count.astype(float), blur, mode="nearest")
    cost = -np.log((1 - OUTLIERS) * smooth / smooth.sum() + OUTLIERS / BINS + TINY)
    return cost.astype(np.float32)


def _location(pixels, marks, sides, taking_part, count: int) -> np.ndarray:
    """Cost of the distance from the seeds of each label compared with the nearest others, in nats (count, *grid)."""
    away = seed_distances(DEVIATION * pixels, marks, count, sides, taking_part)
    nearest, second = np.partition(away, 1, axis=0)[:2]
    others = np.where(away == nearest, second, nearest)
    excess = np.maximum(0, away - others) / np.minimum(np.maximum(away + others, np.float32(1e-6)), UNREACHED)
    return LOCATION * excess
