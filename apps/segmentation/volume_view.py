"""What a volume says: grey levels, edge weights by contrast, and models of labels, a histogram of levels each.

A surface of normal n crosses |n . d| / V edges of the offset d per unit of area, for voxels of volume V.  Weights of
1 / |d|, as `gridcut.contrast_edges` has them, measure the area of surfaces across an axis, for any shape of a voxel.
"""

import copy
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

import gridcut
from apps.common.arguments import array_of
from apps.common.errors import InputError
from apps.segmentation.colour_models import OUTLIERS, TINY
from apps.segmentation.connected_parts import strokes_of
from apps.segmentation.grid_cut import LabelCosts, pairs
from apps.segmentation.model import Models, Prior
from apps.segmentation.terms import UNIT

VOLUME_SMOOTHNESS = 4.0  # nats, as SMOOTHNESS for images; voxels have more neighbours and less specific models
MAX_STROKE = 256  # voxels: a larger stroke weighs as much as one of this size, so that small ones beside it count
MIN_STROKE = 64  # voxels: a smaller one weighs less than its voxels, as it corrects a place and may be on an outline
BINS, BLUR = 128, 2.0  # bins of a volume's histograms, and their smoothing in bins
MAX_ANISOTROPY = 1000  # maximum ratio of a voxel's sides; beyond it, edges in one direction have no weight


class VolumeView:
    """A volume of finite numbers, and the size of a voxel along z, y and x in any unit.

    grey      levels, uint8 (D, H, W)
    levels    voxels per level, int64 (BINS,); of the whole volume, also in a part of it
    spacing   relative sizes of a voxel, at least 1
    """

    def __init__(self, volume: ArrayLike, spacing: Sequence[float]):
        volume = array_of(volume, "volume")
        if volume.ndim != 3 or 0 in volume.shape or volume.dtype.kind not in "buif":
            raise InputError(f"volume must hold numbers of shape (D, H, W), got {volume.dtype} {volume.shape}")
        if volume.dtype.kind == "f" and not np.isfinite(volume).all():
            raise InputError("volume holds NaN or infinity; every voxel must be finite")
        self.spacing, self.shape = relative_spacing(spacing), volume.shape
        self.grey = levels_of(volume)
        self.levels = sum(np.bincount(plane.ravel(), minlength=BINS) for plane in self.grey)
        steps = [pairs(self.grey, offset) for offset in gridcut.neighbourhood(6)]
        count = sum(here.size for here, _ in steps)
        total = sum(squared_steps(one, other) for step in steps for one, other in zip(*step, strict=True))
        mean = total / count if count else 0.0
        self._beta = 1 / (2 * mean) if mean else 0.0

    def part(self, index) -> "VolumeView":
        """The view of a part of the volume, with the same levels and the same contrast of edges."""
        part = copy.copy(self)
        part.grey = self.grey[index]
        part.shape = part.grey.shape
        return part

    def counts(self, mask: np.ndarray) -> np.ndarray:
        """Voxels per level in a mask, bool (D, H, W)."""
        return np.bincount(self.grey[mask], minlength=BINS)

    def stroke_counts(self, marks: np.ndarray, values: Sequence[int]) -> np.ndarray:
        """Weight per level of the marks of each label, (L, BINS); a stroke weighs MAX_STROKE voxels at most."""
        places, stroke = strokes_of(marks)
        size = np.bincount(stroke)
        weight = (np.minimum(1.0, MAX_STROKE / size) * np.minimum(1.0, size / MIN_STROKE))[stroke]
        grey, label = self.grey.ravel()[places], marks.ravel()[places]
        return np.stack([np.bincount(grey[one], weight[one], BINS) for one in (label == value for value in values)])

    def models(self, prior: Prior, counts: Sequence[np.ndarray]) -> Models:
        """Models of weights of the levels, without costs by location."""
        return Models(prior.values, np.stack(counts))

    def costs(self, models: Models) -> LabelCosts:
        """The models' costs."""
        nats = np.stack([histogram_cost(count) for count in models.appearance])
        location = None
        if models.location is not None:
            objects = np.maximum(models.location, 0)
            background = objects - models.location
            location = np.stack([background if value == 0 else objects for value in models.values])
        return LabelCosts(models.values, np.rint(nats * UNIT).astype(np.int32), self.grey, location, 0.0)

    def slice_problem(self, models: Models, axis: int, index: int, known: np.ndarray | None) -> tuple[LabelCosts, dict]:
        """Costs and weights of a slice, given the labels `known` (D, H, W) of the slices on both sides, or None."""
        first, last = max(0, index - 1), min(self.shape[axis], index + 2)
        edges = self.part((slice(None),) * axis + (slice(first, last),)).edges()
        across = tuple(int(k == axis) for k in range(3))
        plane = (slice(None),) * axis + (index,)
        near = None if models.location is None else models.location[plane]
        costs = self.part(plane).costs(models._replace(location=near))
        location = costs.location
        if known is not None:
            if location is None:
                location = np.zeros((len(costs.values), *np.delete(self.shape, axis)), np.int16)
            for neighbour in (index - 1, index + 1):
                if 0 <= neighbour < self.shape[axis]:
                    weight = np.take(edges[across], min(index, neighbour) - first, axis)
                    label = np.take(known, neighbour, axis)
                    for place, value in enumerate(costs.values):
                        location[place] += np.where(label == value, 0, weight).astype(np.int16)
        inside = {
            tuple(np.delete(offset, axis).tolist()): np.ascontiguousarray(np.take(weight, index - first, axis))
            for offset, weight in edges.items()
            if offset != across
        }
        return costs._replace(location=location), inside

    def edges(self) -> dict:
        """Contrast weights by offset, uint16: at most the smoothness, as voxels are at least 1 apart."""
        smoothness = VOLUME_SMOOTHNESS * UNIT
        return gridcut.contrast_edges(self.grey, smoothness, 6, spacing=self.spacing, beta=self._beta, dtype=np.uint16)


def squared_steps(here: np.ndarray, there: np.ndarray) -> float:
    """Sum of the squared differences of two planes of grey levels."""
    import cv2

    return cv2.norm(here, there, cv2.NORM_L2SQR) if here.size else 0.0


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
        raise InputError(f"spacing needs three sizes above 0, got {spacing!r}") from None
    if size.shape != (3,) or not (np.isfinite(size).all() and (size > 0).all()):
        raise InputError(f"spacing needs three sizes above 0, of a voxel along z, y and x, got {size.tolist()}")
    if size.max() / MAX_ANISOTROPY > size.min():
        raise InputError(
            f"spacing must be sizes within a factor of {MAX_ANISOTROPY} of each other, got {size.tolist()}"
        )
    return size / size.min()
