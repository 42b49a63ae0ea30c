"""Colour models of a session's labels and their costs by location, fitted to an image of moderate size.

Models are a function of the records alone: the first ones are fitted to the marks, then cuts and fits alternate as in
apps.segment.segmentation.  So an undo, or a stored session, gives the earlier result again.  A mixture can be
evaluated for the colours of any image, so the models of a reduced image serve the full one.

Two labels without a start mask use the prior of few marks (see apps.segment.mark_prior), which also finds an object
whose background is not marked yet.

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
from apps.segment.connected_parts import keep_parts
from apps.segment.descent import MAX_CHANGED_SHARE
from apps.segment.geodesic import geodesic_preference
from apps.segment.image_sizes import interpolated
from apps.segment.mark_prior import FEW, mark_prior
from apps.segment.marks import OBJECT, OPEN, labels_in
from apps.segment.multilabel import geodesic_excess
from apps.segment.start_mask import CORE, SEEDS, cores_of, costs_of, outline_depth, trusted_depth
from apps.segment.terms import CONTRAST, GEODESIC_WEIGHT, SMOOTHNESS, UNIT, blend, mean_squared_step
from apps.session.grid_cut import GridCut
from apps.session.label_costs import LabelCosts

ROUNDS = 6  # of fits and cuts, at most
FIRM = 4.0  # factor of the costs of a start mask of which no pixel would be left


class Models(NamedTuple):
    """Appearance and location costs of labels.

    values     the labels, ascending
    mixtures   colours of each label
    location   int16 (L, h, w) on the grid that the models were fitted on, or None
    trust      factor of the costs by appearance; that of the location is applied already
    """

    values: tuple[int, ...]
    mixtures: tuple[Mixture, ...]
    location: np.ndarray | None
    trust: float = 1.0


class ImageView:
    """An image of some size: its colours and edge weights, which no stroke changes.

    to_rgb     function that returns the image, float32 (H, W, 3) in [0, 1]
    keep_lab   whether to keep its Lab colours, 12 bytes per pixel, which the fit of models needs; otherwise they are
               computed again after the first use
    """

    def __init__(self, to_rgb: Callable[[], np.ndarray], keep_lab: bool):
        rgb = to_rgb()
        lab = lab_image(rgb)
        self.shape = rgb.shape[:2]
        self.palette = make_palette(rgb, lab)
        self.whole = whole_density(self.palette)
        self._to_rgb, self._keep_lab = to_rgb, keep_lab
        self._lab: np.ndarray | None = lab

    @property
    def lab(self) -> np.ndarray:
        """CIELAB, float32 (H, W, 3)."""
        lab = lab_image(self._to_rgb()) if self._lab is None else self._lab
        if not self._keep_lab:
            self._lab = None
        return lab

    def edges(self) -> dict:
        """Contrast weights by offset, uint16: at most the smoothness, as pixels are at least 1 apart."""
        lab = self.lab
        beta = CONTRAST / mean_squared_step(lab)
        return gridcut.contrast_edges(lab, SMOOTHNESS * UNIT, connectivity=8, beta=beta, dtype=np.uint16)

    def costs(self, models: Models) -> LabelCosts:
        """The models' costs on this image."""
        nats = models.trust * np.stack(
            [mixed_cost(one.density(self.palette.colour), self.whole) for one in models.mixtures]
        )
        common = nats.min(axis=0)
        table = np.rint((nats - common) * UNIT).astype(np.int32)
        location = models.location
        if location is not None and location.shape[1:] != self.shape:
            location = interpolated(location, self.shape)
        return LabelCosts(models.values, table, self.palette.index, location, float(self.palette.count @ common))


def values_of(marked: Sequence[int], has_start: bool) -> tuple[int, ...]:
    """The labels to fit models of, ascending, given those marked; () if there is nothing to cut.

    A single object has the background as its counterpart, marked or not.
    """
    if has_start:
        return tuple(sorted({0, 1, *marked}))
    if len(marked) == 1 and marked[0] > 0:
        return 0, marked[0]
    return tuple(marked) if len(marked) > 1 else ()


class _Fit(NamedTuple):
    """What does not change while models are fitted.

    strokes    weights of the palette's entries of the marks of each label
    location   as in `Models`
    starts     weights of the palette's entries of each label to fit first models to
    """

    values: tuple[int, ...]
    strokes: list[np.ndarray]
    location: np.ndarray
    trust: float
    starts: list[list[np.ndarray]]

    def models(self, view: ImageView, counts: list[np.ndarray]) -> Models:
        colour = view.palette.colour
        mixtures = tuple(fit_mixture(colour, count, COMPONENTS) for count in counts)
        return Models(self.values, mixtures, self.location, self.trust)


def first_models(view: ImageView, marks: np.ndarray, start: np.ndarray | None) -> Models:
    """Models of the marks alone, or of a start mask bool (h, w) and the marks."""
    fit = _prepare(view, marks, start)
    return fit.models(view, fit.starts[0])


def fit_models(
    view: ImageView,
    marks: np.ndarray,
    start: np.ndarray | None,
    keep: str,
    cut: GridCut,
    check: Callable[..., None],
) -> Models:
    """Alternate fits and cuts, from each start; `cut` is left with the costs returned, solved.

    `check` may raise at any time.
    """
    cut.start_over()  # the result must not depend on earlier fits
    fit = _prepare(view, marks, start)
    keep = keep if start is None else "all"
    best, labels = _best(view, marks, fit, keep, cut, check)
    if start is not None and not labels.any():  # an empty object must not win where there is one
        best, _ = _best(view, marks, fit._replace(location=np.int16(FIRM) * fit.location), keep, cut, check)
    return best


def _best(view, marks, fit, keep, cut, check) -> tuple[Models, np.ndarray]:
    """The models of minimum energy over all starts, and their labels; `cut` is left with them."""
    found = [_descend(view, marks, fit, counts, keep, cut, check) for counts in fit.starts]
    best = min(found, key=lambda one: one[0])[1]
    cut.load(view.costs(best), marks)
    return best, cut.solve(check)


def _descend(view, marks, fit, counts, keep, cut, check) -> tuple[float, Models]:
    """The models of minimum energy of a start, and the energy."""
    best: tuple[float, Models] | None = None
    earlier = None
    for _ in range(ROUNDS):
        check()
        models = fit.models(view, counts)
        cut.load(view.costs(models), marks)
        labels = cut.solve(check)
        assert cut.energy is not None
        if best is not None and cut.energy > best[0]:
            break
        best = cut.energy, models
        labels = keep_parts(labels, marks, keep)
        converged = earlier is not None and np.count_nonzero(labels != earlier) <= MAX_CHANGED_SHARE * labels.size
        present = [view.palette.counts(labels == value) for value in fit.values]
        if converged or not all(count.any() for count in present):
            break
        counts = [blend(count, stroke) for count, stroke in zip(present, fit.strokes, strict=True)]
        earlier = labels
    assert best is not None
    return best


def _prepare(view, marks, start) -> _Fit:
    """Location and starts for these marks and a start mask or None."""
    values = values_of(labels_in(marks), start is not None)
    strokes = [view.palette.counts(marks == value) for value in values]
    if start is None and len(values) == 2 and values[0] == 0:
        return _prepare_few(view, marks, values, strokes)
    starts = [strokes if start is None else _counts_of_start(view, start, values, strokes)]
    return _Fit(values, strokes, _location(view, marks, values, start), 1.0, starts)


def _prepare_few(view, marks, values, strokes) -> _Fit:
    """As `_prepare`, for an object and the background, which may not be marked."""
    prior = mark_prior(view.lab, view.palette, view.whole, marks == values[1], marks == 0)
    starts = [
        [blend(view.palette.counts(part), stroke) for part, stroke in zip(reversed(one), strokes, strict=True)]
        for one in prior.starts
    ]
    if strokes[0].any() and prior.alone:
        starts.append(strokes)
    costs = (prior.trust * UNIT) * prior.location
    location = np.stack([np.maximum(-costs, 0), np.maximum(costs, 0)]).astype(np.int16)
    return _Fit(values, strokes, location, prior.trust, starts or [[view.palette.count, strokes[1]]])


def _counts_of_start(view, start, values, strokes):
    """Weights of the palette's entries to fit the first models to, of a start mask and the marks."""
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
    return counts


def _location(view, marks, values, start) -> np.ndarray:
    """Costs by location, int16 (L, h, w): geodesic distances from the marks, and a start mask."""
    if len(values) > 2:
        places = np.full(marks.shape, -1, np.int16)
        for place, value in enumerate(values):
            places[marks == value] = place
        location = (_weight_of_location(marks) * UNIT) * geodesic_excess(view.lab, places, len(values))
        if start is not None:
            costs = UNIT * costs_of(trusted_depth(start, np.minimum(marks, OBJECT)))
            location[0] += np.maximum(-costs, 0)
            location[1:] += np.maximum(costs, 0)
        return location.astype(np.int16)
    near, far = marks == values[1], marks == values[0]
    costs = np.zeros((), np.float32)
    if start is not None:
        depth = trusted_depth(start, np.minimum(marks, OBJECT))
        inside, outside = cores_of(depth, SEEDS)
        near, far = near | (inside & ~far), far | (outside & ~near)
        costs = UNIT * costs_of(depth)
    preference = (_weight_of_location(marks) * UNIT) * geodesic_preference(view.lab, near, far) + costs
    return np.stack([np.maximum(-preference, 0), np.maximum(preference, 0)]).astype(np.int16)


def _weight_of_location(marks: np.ndarray) -> float:
    """Nats of the geodesic distances: the fewer pixels the colour models rest on, the more the location counts."""
    share = np.count_nonzero(marks != OPEN) / marks.size
    return GEODESIC_WEIGHT * (1 + FEW / (FEW + share))
