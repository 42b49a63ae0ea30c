"""A volume's grey levels, edge weights and models: a histogram per label, as in `segment_volume`."""

from typing import NamedTuple

import numpy as np

import gridcut
from apps.segment.label_costs import LabelCosts
from apps.segment.multilabel import VOLUME_SMOOTHNESS, histogram_cost
from apps.segment.terms import UNIT

CONNECTIVITY = 6


class Histograms(NamedTuple):
    """Models of labels.

    values     the labels, ascending
    counts     weight per label and grey level, (L, BINS)
    location   costs by location, int16 (D, H, W) in 1 / UNIT nats, positive against all objects; or None
    """

    values: tuple[int, ...]
    counts: np.ndarray
    location: np.ndarray | None = None


class VolumeView:
    """Grey levels uint8 (D, H, W), and the relative size of a voxel along z, y and x."""

    def __init__(self, grey: np.ndarray, spacing: np.ndarray):
        self.grey, self.spacing, self.shape = grey, spacing, grey.shape
        mean = _mean_squared_step(grey)
        self._beta = 1 / (2 * mean) if mean else 0.0

    def edges(self) -> dict:
        """Contrast weights by offset, uint16: at most the smoothness, as pixels are at least 1 apart."""
        return self.edges_of(self.grey)

    def costs(self, models: Histograms, grey: np.ndarray | None = None) -> LabelCosts:
        """The models' costs in the volume, or in a part of it whose grey levels are given."""
        nats = np.stack([histogram_cost(count) for count in models.counts])
        location = None
        if models.location is not None:
            objects = np.maximum(models.location, 0)
            background = objects - models.location
            location = np.stack([background if value == 0 else objects for value in models.values])
        grey = self.grey if grey is None else grey
        return LabelCosts(models.values, np.rint(nats * UNIT).astype(np.int32), grey, location, 0.0)

    def slice_problem(
        self, models: Histograms, axis: int, index: int, known: np.ndarray | None
    ) -> tuple[LabelCosts, dict]:
        """Costs and weights of a slice, given the labels `known` (D, H, W) of the slices on both sides, or None."""
        first, last = max(0, index - 1), min(self.shape[axis], index + 2)
        edges = self.edges_of(_part(self.grey, axis, slice(first, last)))
        across = tuple(int(k == axis) for k in range(3))
        near = None if models.location is None else np.take(models.location, index, axis)
        costs = self.costs(models._replace(location=near), np.take(self.grey, index, axis))
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

    def edges_of(self, grey: np.ndarray) -> dict:
        """Contrast weights of a part of the volume."""
        return gridcut.contrast_edges(
            grey, VOLUME_SMOOTHNESS * UNIT, CONNECTIVITY, spacing=self.spacing, beta=self._beta, dtype=np.uint16
        )


def _part(array: np.ndarray, axis: int, part: slice) -> np.ndarray:
    return array[(slice(None),) * axis + (part,)]


def _mean_squared_step(grey: np.ndarray) -> float:
    """Mean squared difference of neighbours; 0 for a constant volume."""
    total = count = 0
    for axis in range(3):
        one, other = _part(grey, axis, slice(1, None)), _part(grey, axis, slice(None, -1))
        for here, there in zip(one, other, strict=True):  # plane by plane, to save memory
            step = here.astype(np.int32) - there
            total += int((step * step).sum(dtype=np.int64))
        count += one.size
    return total / count if count else 0.0
