"""Colour models of a session's labels and their costs by location, fitted to an image of moderate size.

Models are a function of the records alone: the first ones are fitted to the marks, then cuts and fits alternate as in
apps.segment.segmentation.  So an undo, or a stored session, gives the earlier result again.  A mixture can be
evaluated for the colours of any image, so the models of a reduced image serve the full one.

With a start mask, or the result of a box, which is used in the same way, the first models are fitted to its inside and
its outside, and costs by location tie the result to it (see apps.segment.start_mask).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

import gridcut
from apps.segment.colour_models import (
    COMPONENTS,
    Mixture,
    fit_mixture,
    lab_image,
    make_palette,
    mixed_cost,
    whole_density,
)
from apps.segment.geodesic import geodesic_preference
from apps.segment.multilabel import geodesic_excess
from apps.segment.segmentation import MAX_CHANGED_SHARE, blend
from apps.segment.shapes import keep_parts
from apps.segment.start_mask import CORE, SEEDS, cores_of, costs_of, outline_depth, trusted_depth
from apps.segment.strokes import BACKGROUND, OBJECT
from apps.segment.strokes import OPEN as NO_MARK
from apps.segment.terms import CONTRAST, GEODESIC_WEIGHT, SMOOTHNESS, UNIT, mean_squared_step
from apps.session.canvas import OPEN
from apps.session.grid_cut import GridCut
from apps.session.label_costs import LabelCosts

ROUNDS = 6  # of fits and cuts, at most
FEW_MARKS = 0.005  # share of the image; the location counts 1.5 times as much at this share, and up to twice below it


class Models(NamedTuple):
    """Appearance and location costs of labels.

    values     the labels, ascending
    mixtures   colours of each label
    location   int16 (L, h, w) on the grid that the models were fitted on, or None
    """

    values: tuple[int, ...]
    mixtures: tuple[Mixture, ...]
    location: np.ndarray | None


class ImageView:
    """An image of some size: its colours and edge weights, which no stroke changes.

    to_rgb     function that returns the image, float32 (H, W, 3) in [0, 1]
    keep_lab   whether to keep its Lab colours, 12 bytes per pixel, which the fit of models needs
    """

    def __init__(self, to_rgb: Callable[[], np.ndarray], keep_lab: bool):
        rgb = to_rgb()
        lab = lab_image(rgb)
        self.shape = rgb.shape[:2]
        self.palette = make_palette(rgb, lab)
        self.whole = whole_density(self.palette)
        self._to_rgb, self._lab = to_rgb, lab if keep_lab else None

    @property
    def lab(self) -> np.ndarray:
        """CIELAB, float32 (H, W, 3)."""
        return lab_image(self._to_rgb()) if self._lab is None else self._lab

    def edges(self) -> dict:
        """Contrast weights by offset, int32."""
        lab = self.lab
        beta = CONTRAST / mean_squared_step(lab)
        return gridcut.contrast_edges(lab, SMOOTHNESS * UNIT, connectivity=8, beta=beta, dtype=np.int32)

    def costs(self, models: Models) -> LabelCosts:
        """The models' costs on this image."""
        nats = np.stack([mixed_cost(one.density(self.palette.colour), self.whole) for one in models.mixtures])
        common = nats.min(axis=0)
        table = np.rint((nats - common) * UNIT).astype(np.int32)
        location = models.location
        if location is not None and location.shape[1:] != self.shape:
            location = _enlarged(location, self.shape)
        return LabelCosts(models.values, table, self.palette.index, location, float(self.palette.count @ common))


def labels_in(marks: np.ndarray) -> tuple[int, ...]:
    """The labels that the marks contain, ascending."""
    counts = np.bincount((marks.ravel() + 1).astype(np.intp))
    return tuple(int(value) - 1 for value in np.flatnonzero(counts) if value > 0)


def first_models(view: ImageView, marks: np.ndarray, start: np.ndarray | None) -> Models:
    """Models of the marks alone, or of a start mask bool (h, w) and the marks."""
    values, counts, _ = _first_counts(view, marks, start)
    return _models(view, values, counts, _location(view, marks, values, start))


def fit_models(
    view: ImageView,
    marks: np.ndarray,
    start: np.ndarray | None,
    keep: str,
    cut: GridCut,
    check: Callable[..., None],
) -> Models:
    """Alternate fits and cuts; `cut` is left with the costs returned, solved.  `check` may raise at any time."""
    values, counts, strokes = _first_counts(view, marks, start)
    location = _location(view, marks, values, start)
    best: tuple[float, Models] | None = None
    earlier = None
    for _ in range(ROUNDS):
        check()
        models = _models(view, values, counts, location)
        cut.load(view.costs(models), marks)
        labels = cut.solve(check)
        assert cut.energy is not None
        if best is not None and cut.energy > best[0]:
            cut.load(view.costs(best[1]), marks)
            cut.solve(check)
            break
        best = cut.energy, models
        labels = touching(labels, marks, values) if keep == "touching" and start is None else labels
        converged = earlier is not None and np.count_nonzero(labels != earlier) <= MAX_CHANGED_SHARE * labels.size
        present = [view.palette.counts(labels == value) for value in values]
        if converged or not all(count.any() for count in present):
            break
        counts = [blend(count, stroke) for count, stroke in zip(present, strokes, strict=True)]
        earlier = labels
    assert best is not None
    return best[1]


def touching(labels: np.ndarray, marks: np.ndarray, values: Sequence[int]) -> np.ndarray:
    """Labels with the parts of an object that touch none of its marks given to the background."""
    out = labels
    for value in values:
        if value > 0:
            mask = labels == value
            lost = mask & ~keep_parts(mask, "touching", marks == value)
            if lost.any():
                out = np.where(lost, np.int16(0), out)
    return out


def _first_counts(view, marks, start):
    """Labels, weights of the palette's entries to fit the first models to, and those of the marks alone."""
    values = labels_in(marks)
    if start is None:
        strokes = [view.palette.counts(marks == value) for value in values]
        return values, strokes, strokes
    values = tuple(sorted({0, 1, *values}))
    strokes = [view.palette.counts(marks == value) for value in values]
    inside, outside = cores_of(outline_depth(start), CORE)
    objects = [value for value in values if value]
    counts = []
    for value, stroke in zip(values, strokes, strict=True):
        if value == 0:
            counts.append(blend(view.palette.counts(outside), stroke))
        elif len(objects) == 1 or not stroke.any():
            counts.append(blend(view.palette.counts(inside), stroke))
        else:
            counts.append(stroke)
    return values, counts, strokes


def _location(view, marks, values, start) -> np.ndarray:
    """Costs by location, int16 (L, h, w): geodesic distances from the marks, and a start mask."""
    if len(values) > 2:
        places = np.full(marks.shape, -1, np.int16)
        for place, value in enumerate(values):
            places[marks == value] = place
        location = (_weight_of_location(marks) * UNIT) * geodesic_excess(view.lab, places, len(values))
        if start is not None:
            costs = UNIT * costs_of(trusted_depth(start, _binary(marks)))
            location[0] += np.maximum(-costs, 0)
            location[1:] += np.maximum(costs, 0)
        return location.astype(np.int16)
    near, far = marks == values[1], marks == values[0]
    costs = np.float32(0)
    if start is not None:
        depth = trusted_depth(start, _binary(marks))
        inside, outside = cores_of(depth, SEEDS)
        near, far = near | (inside & ~far), far | (outside & ~near)
        costs = UNIT * costs_of(depth)
    preference = (_weight_of_location(marks) * UNIT) * geodesic_preference(view.lab, near, far) + costs
    return np.stack([np.maximum(-preference, 0), np.maximum(preference, 0)]).astype(np.int16)


def _weight_of_location(marks: np.ndarray) -> float:
    """Nats of the geodesic distances: the fewer pixels the colour models rest on, the more the location counts."""
    share = np.count_nonzero(marks != OPEN) / marks.size
    return GEODESIC_WEIGHT * (1 + FEW_MARKS / (FEW_MARKS + share))


def _models(view, values, counts, location) -> Models:
    colour = view.palette.colour
    return Models(values, tuple(fit_mixture(colour, count, COMPONENTS) for count in counts), location)


def _binary(marks: np.ndarray) -> np.ndarray:
    """Marks in the codes of apps.segment.strokes; all objects are one."""
    codes = np.where(marks == OPEN, np.int8(NO_MARK), np.int8(OBJECT))
    codes[marks == 0] = BACKGROUND
    return codes


def _enlarged(location: np.ndarray, shape) -> np.ndarray:
    """Costs by location at another size."""
    import cv2

    size = shape[::-1]
    return np.stack([cv2.resize(plane, size, interpolation=cv2.INTER_LINEAR) for plane in location])
