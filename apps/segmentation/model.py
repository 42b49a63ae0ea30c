"""What an image and its marks say about labels: colours, location, trust, and where fits of colours start.

    ImageView   colours and edge weights of an image, which no mark changes
    Prior       what marks, a box and a mask say, before any fit
    Models      colours of the labels, fitted to a labelling, with the prior's costs by location; they can be evaluated
                for another size of the image

An object with or without a marked background has the prior of apps.segmentation.mark_prior; in a box, that of
apps.segmentation.geodesic; with a mask, apps.segmentation.start_mask.  With further objects, geodesic
distances from the marks of a label are compared with those from the nearest others.  They count the more, the fewer
pixels are marked.
"""

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from apps.common.images import as_floats
from apps.common.rectangles import Rectangle, area, bounds, widened
from apps.common.row_blocks import concurrently
from apps.segmentation.colour_models import (
    BITS,
    COMPONENTS,
    fit_mixture,
    lab_image,
    make_palette,
    mixed_cost,
    whole_density,
)
from apps.segmentation.geodesic import depth_in_box, geodesic_excess, geodesic_preference
from apps.segmentation.grid_cut import LabelCosts, edges_of, edges_outside
from apps.segmentation.hints import Hints, part_of
from apps.segmentation.image_sizes import at_centres, enlarged, means
from apps.segmentation.mark_prior import FEW, mark_prior, side_lengths
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN, has_both, labels_in
from apps.segmentation.start_mask import MaskPrior, start_of
from apps.segmentation.terms import (
    BLUR,
    BOX_SMOOTHNESS,
    GEODESIC_WEIGHT,
    REDUCED_PIXELS,
    SMOOTHNESS,
    UNIT,
    blend,
    mean_squared_step,
    with_wide_steps,
)

BOX_DEPTH_WEIGHT = 1.0  # nats: maximum cost from the depth in a box
SCALES = 0.2, 3.0  # least and largest scale of a part
BOX_BITS = 5  # of each channel in the palette of a box's part of the image
BOX_RING, MIN_RING = 0.1, 4  # width of the ring: share of the square root of the box's area, and pixels
BOX_RIM = 0.15  # share of the box's side
# Initial object and background in a box: shares of the pixels, deepest and shallowest.
BOX_SHARES = ((0.5, 0.25), (0.25, 0.5), (0.75, 0.12))


OUTSIDE = np.iinfo(np.int16).max  # cost of an object outside its box, in 1 / UNIT nats


class Models(NamedTuple):
    """Appearance and location costs of labels, in an image or a volume.

    values       the labels, ascending
    appearance   of each label: a mixture of colours, or the weights (BINS,) of a volume's grey levels
    location     in 1 / UNIT nats: int16 (L, h, w) on the grid that the models were fitted on; of a volume int16
                 (D, H, W), positive against all objects, or None
    trust        factor of the costs by appearance; that of the location is applied already
    """

    values: tuple[int, ...]
    appearance: Sequence[Any] | np.ndarray
    location: np.ndarray | None = None
    trust: float = 1.0


class ImageView:
    """An image of some size: its colours and edge weights, each computed when it is first used.

    image    function that returns the image, (H, W, 3), float32 in [0, 1] or uint8
    scale    pixels per pixel of the reduced image, in each direction.  The costs of a region grow with its area and
             those of its outline with its length only, so edges count `scale` times as much; so do the colours along
             a path, whose pixels are `scale` times as many.  So the labelling does not depend on the size of the image.
    bits     of each RGB channel in the palette
    closed   pixels that take no part, bool (H, W), or None; see `without`
    """

    def __init__(self, image: Callable[[], np.ndarray], shape: tuple[int, ...], scale: float = 1.0, bits: int = BITS):
        self.image, self.shape, self.scale, self.bits = image, tuple(shape), scale, bits
        self.closed: np.ndarray | None = None
        self._open: ImageView = self  # the view of all pixels
        self._last: ImageView = self  # of `without`
        self._edges: dict[bool, Callable[[], dict]] = {}
        self._smaller: dict[tuple[int, int], ImageView] = {}

    @property
    def size(self) -> int:
        """Number of pixels."""
        return self.shape[0] * self.shape[1]

    @cached_property
    def lab(self) -> np.ndarray:
        """CIELAB, float32 (H, W, 3)."""
        if self._open is not self:
            return self._open.lab
        return lab_image(as_floats(self.image()))

    @property
    def steps(self) -> np.ndarray:
        """Colours whose differences count along a path, float32 (H, W, 3)."""
        return self.lab if self.scale == 1 else self.lab * np.float32(self.scale)

    @cached_property
    def palette(self):
        """The colours, see apps.segmentation.colour_models."""
        if self._open is not self:
            return self._open.palette
        return make_palette(as_floats(self.image()), self.lab, self.bits)

    @cached_property
    def whole(self) -> np.ndarray:
        """Density of the image's colours at each entry of the palette."""
        if self._open is not self:
            return self._open.whole
        return whole_density(self.palette)

    def edges(self, is_box: bool = False) -> dict:
        """Contrast weights by offset, uint16, since pixels are at least 1 apart."""
        return self.begin_edges(is_box)()

    def begin_edges(self, is_box: bool) -> Callable[[], dict]:
        """Start to compute the edges; the function returned waits for them."""
        if is_box not in self._edges and self.closed is not None:
            everywhere, closed = self._open.begin_edges(is_box), self.closed
            self._edges[is_box] = cache(lambda: edges_outside(closed, everywhere()))
        elif is_box not in self._edges:
            lab = self.lab
            self._edges[is_box] = cache(concurrently(lambda: self._weights(lab, is_box)))
        return self._edges[is_box]

    def _weights(self, lab, is_box: bool) -> dict:
        smoothness, contrast = (BOX_SMOOTHNESS if is_box else SMOOTHNESS) * self.scale, mean_squared_step(lab)
        return edges_of(with_wide_steps(lab, BLUR * self.scale) if is_box else lab, smoothness, contrast, np.uint16)

    def costs(self, models: Models) -> LabelCosts:
        """The models' costs on this image."""
        nats = models.trust * np.stack(
            [mixed_cost(one.density(self.palette.colour), self.whole) for one in models.appearance]
        )
        # The cost common to all labels is omitted from the cut, but included in the energy.
        common = nats.min(axis=0)
        table = np.rint((nats - common) * UNIT).astype(np.int32)
        location = models.location
        assert location is not None
        if location.shape[1:] != self.shape:
            location = np.stack([enlarged(plane, self.shape) for plane in location])
        index, whole = self.palette.index, float(self.palette.count @ common)
        return LabelCosts(models.values, table, index, location, whole, self.closed)

    def counts(self, mask: np.ndarray) -> np.ndarray:
        """Weights of the palette's entries in a mask, bool (H, W)."""
        return self.palette.counts(mask if self.closed is None else mask & ~self.closed)

    def models(self, prior: "Prior", counts: Sequence[np.ndarray]) -> Models:
        """Models fitted to weights of the palette's entries; a label that has none gets the colours of the image."""
        counts = [count if count.any() else self.palette.count for count in counts]
        mixtures = tuple(fit_mixture(self.palette.colour, count, COMPONENTS) for count in counts)
        return Models(prior.values, mixtures, prior.location, prior.trust)

    def smaller(self, shape: tuple[int, int], scale: float) -> "ImageView":
        """The view of the image reduced to a shape; it is kept."""
        if self.closed is not None:
            return self._open.smaller(shape, scale).without(at_centres(self.closed, shape))
        if shape not in self._smaller:
            self._smaller[shape] = ImageView(cache(lambda: means(self.image(), shape)), shape, scale, self.bits)
        return self._smaller[shape]

    def part(self, where: Rectangle) -> "ImageView":
        """The view of a rectangle of the image, with a palette of BOX_BITS and the `scale` of its own size."""
        shape = tuple(side.stop - side.start for side in where)
        scale = min(max((area(where) / REDUCED_PIXELS) ** 0.5, SCALES[0]), SCALES[1])
        part = ImageView(lambda: self.image()[where], shape, scale, BOX_BITS)
        return part.without(None if self.closed is None else self.closed[where])

    def without(self, closed: np.ndarray | None) -> "ImageView":
        """The view in which pixels take no part, bool (H, W) or None; the last one is kept.

        The energy is that of the other pixels.  Closed pixels have the first label, and nothing is learnt from them; no
        edge leads to them, as the label on their side is not to be found.
        """
        if closed is not self._last.closed:
            self._last = self
            if closed is not None:
                self._last = ImageView(self.image, self.shape, self.scale, self.bits)
                self._last.closed, self._last._open = closed, self
        return self._last


class Prior(NamedTuple):
    """What marks, a box and a mask say before any fit.

    values     the labels, ascending
    strokes    weights of the palette's entries of the marks of each label
    location   as in `Models`
    trust      as in `Models`
    initial    weights of the palette's entries of each label, to fit first models to; several are tried
    depth      float32 (H, W) of a box, as `depth_in_box`; or None
    near       pixels whose colours are learnt, bool (H, W), or True for all
    """

    values: tuple[int, ...]
    strokes: list[np.ndarray]
    location: np.ndarray
    trust: float = 1.0
    initial: Sequence[list[np.ndarray]] = ()
    depth: np.ndarray | None = None
    near: np.ndarray | bool = True

    def blended(self, counts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Weights of labellings and of the marks."""
        return [blend(count, stroke) for count, stroke in zip(counts, self.strokes, strict=True)]


def prior_of(view: ImageView, hints: Hints) -> Prior:
    """The prior of hints."""
    values = hints.values
    strokes = [view.counts(hints.marks == value) for value in values]
    if not hints.is_single:
        return _prior_of_several(view, hints, values, strokes)
    if hints.mask is not None:
        prior = _prior_of_mask(view, hints, values, strokes)
    elif hints.only_outside:
        prior = Prior(values, strokes, np.zeros((2, *view.shape), np.int16))
    else:
        prior = _prior_of_marks(view, hints, values, strokes)
    if hints.in_box:
        prior = _with_box(view, hints, prior)
    labelling = hints.labelling
    if labelling is not None and has_both(labelling):
        counts = view.counts
        initial = [[counts(~labelling), counts(labelling)]]
        return prior._replace(initial=initial if hints.only_outside else [prior.blended(one) for one in initial])
    return prior


def _prior_of_marks(view, hints, values, strokes) -> Prior:
    """Of marks on an object and perhaps on the background; see apps.segmentation.mark_prior."""
    is_object, is_background = hints.marks > BACKGROUND, hints.marks == BACKGROUND
    found = mark_prior(view, is_object, is_background)
    location = _both_sides((GEODESIC_WEIGHT * UNIT * found.trust) * found.location)
    prior = Prior(values, strokes, location, found.trust)
    initial = [prior.blended([view.counts(part) for part in reversed(one)]) for one in found.initial]
    if found.alone and strokes[0].any():
        initial.append(strokes)
    return prior._replace(initial=initial or [[view.palette.count, strokes[1]]])


def _what_mask_says(view, hints) -> MaskPrior:
    marks = np.minimum(hints.marks, BACKGROUND)  # of objects that the mask does not show, too
    return start_of(hints.mask, np.where(_shown_by(hints.mask, hints.marks), OBJECT, marks), view)


def _shown_by(mask: np.ndarray, labels) -> np.ndarray:
    """Whether labels are those of objects in a mask."""
    shown = labels_in(mask) if mask.dtype == np.int16 else (OBJECT,)
    return np.isin(labels, shown) & (np.asarray(labels) != BACKGROUND)


def _prior_of_mask(view, hints, values, strokes) -> Prior:
    """Of a mask and perhaps marks."""
    is_object, is_background = hints.marks > BACKGROUND, hints.marks == BACKGROUND
    found = _what_mask_says(view, hints)
    inside, outside = found.seeds
    preference = geodesic_preference(
        view.steps,
        is_object | (inside & ~is_background),
        is_background | (outside & ~is_object),
    )
    location = _both_sides(UNIT * (GEODESIC_WEIGHT * np.where(found.held, 0, preference) + found.costs))
    prior = Prior(values, strokes, location)
    return prior._replace(initial=[prior.blended([view.counts(core) for core in reversed(found.cores)])])


def _with_box(view, hints, prior) -> Prior:
    """With the depth in a box; if there are also marks of the object, these alone are a further start."""
    is_background = hints.marks == BACKGROUND
    depth = depth_in_box(view.lab, is_background, side_lengths(view, is_background))
    costs = prior.location[1].astype(np.float32) - prior.location[0] + (BOX_DEPTH_WEIGHT * UNIT) * (1 - 2 * depth)
    counts = view.counts
    initial = [[counts(depth < shallow), counts(depth > 1 - deep)] for deep, shallow in BOX_SHARES]
    if not hints.only_outside:
        initial = [*(prior.blended(one) for one in initial), prior.strokes]
    return prior._replace(location=_both_sides(costs), initial=initial, depth=depth)


def rival_of(view: ImageView, hints: Hints) -> Prior:
    """Another prior of a box: without costs by location, and the background is learnt from a ring around the box.

    The first models are GrabCut's, all of the box as the object, and those of an object without the rim of the box.
    """
    is_open, near = hints.marks == OPEN, np.zeros(view.shape, bool)
    rows, columns = box = bounds(is_open) or (slice(0), slice(0))
    near[widened(box, max(MIN_RING, round(BOX_RING * area(box) ** 0.5)), view.shape)] = True
    down, across = (int(BOX_RIM * (side.stop - side.start)) for side in box)
    inner = np.zeros(view.shape, bool)
    inner[rows.start + down : rows.stop - down, columns.start + across : columns.stop - across] = True
    strokes = [view.counts((hints.marks == value) & near) for value in hints.values]
    initial = [[view.counts(near & ~start), view.counts(start)] for start in (is_open, is_open & inner)]
    return Prior(hints.values, strokes, np.zeros((2, *view.shape), np.int16), initial=initial, near=near)


def _prior_of_several(view, hints, values, strokes) -> Prior:
    """Of several objects, with or without a background, and perhaps a mask of some of them."""
    marks = hints.marks
    places = np.full(marks.shape, OPEN, np.int16)
    for place, value in enumerate(values):
        places[marks == value] = place
    if hints.mask is not None:
        found = _what_mask_says(view, hints)
        labels = hints.mask if hints.mask.dtype == np.int16 else found.mask
        inside, outside = found.seeds
        is_shown = _shown_by(hints.mask, values)
        if not (is_shown | (np.array(values) == BACKGROUND)).all():  # others may be anywhere, but hardly at the sides
            outside = outside.copy()
            outside[1:-1, 1:-1] = False
        for place, (value, stroke) in enumerate(zip(values, strokes, strict=True)):
            if not stroke.any():  # without seeds, a label would be far from everything
                core = outside if value == BACKGROUND else inside & (labels == value)
                places[core & (marks == OPEN)] = place
    share = np.count_nonzero(marks != OPEN) / marks.size
    weight = GEODESIC_WEIGHT * (1 + FEW / (FEW + share))
    location = (weight * UNIT) * geodesic_excess(view.steps, places, len(values))
    counts = strokes
    if hints.mask is not None:
        costs = UNIT * found.costs
        location[~is_shown] += np.maximum(-costs, 0)
        location[is_shown] += np.maximum(costs, 0)
        inside, outside = found.cores
        counts = [
            blend(view.counts(outside), stroke) if value == BACKGROUND
            else stroke if stroke.any() else view.counts(inside & (labels == value))
            for value, stroke in zip(values, strokes, strict=True)
        ]  # fmt: skip
    for value, box in hints.boxes.items():
        is_outside = np.ones(marks.shape, bool)
        is_outside[part_of(box, marks.shape)] = False
        location[values.index(value)][is_outside] = OUTSIDE
    return Prior(values, strokes, location.clip(max=OUTSIDE).astype(np.int16), initial=[counts])


def _both_sides(costs: np.ndarray) -> np.ndarray:
    """Costs of the background and of the object, int16 (2, H, W), from costs against the object in 1 / UNIT nats."""
    whole = costs.astype(np.int16)
    against_object = np.maximum(whole, 0)
    return np.stack([against_object - whole, against_object])
