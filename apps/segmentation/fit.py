"""Fits of colour models and exact cuts in alternation, until the labels stay.

A round fits models to the labels of the last one, with the marks weighted as much as the whole labelling, and cuts.
Parts of an object that touch none of its marks become background before the next fit: a user would have marked a part
that is wanted.  The rounds end when at most MAX_CHANGED_SHARE of the pixels change, a label is lost, or after
`Hints.rounds`.  A round that would increase the energy is discarded, so the energies never increase.

`find_labels` begins with each of the prior's initial weights (apps.segmentation.model); a start ends where an earlier
one ended, if it meets the labels found there.  Of the results for one object, it takes the one that separates colours
best (see below).  An object that is not plausible (`is_plausible`) does not win.  If none is, the deepest pixels of a
box are constrained to be object, and the costs of a mask are multiplied by FIRM.

A box is segmented in the part of the image `around` it, so the labels do not depend on what is far away, and many boxes
are found as one is.  The starts by depth in the box are of one kind, and each start of `rival_of` is of its own.  Of
each kind, the result of least C is taken, and of these the one of least

    C(x)  +  O(x)  -  SPAN_COST * s(x)

with s the pixels of the rectangle around the object, as a user draws a box that touches it, and O the sum of log p / q
over the pixels of x that are not in all of these results, p the frequency of their colour outside the box, and q in the
pixels that are in all.  C alone is small for an object with all that is as dark as it, O if this is also outside the
box.  Edges count by the size of the part, as in large images, so an enlarged image has the same object.
Where more than 1 - ALIKE of what is further away has colours that the ring around the box lacks, such as those of
another scene, only the pixels of the box and the ring are compared.  If another result differs and is worse by less
than UNDECIDED, the image does not decide, and the result has it as its `rival`.

With several objects, the label of a part without a mark is finally forbidden there, and the labels are minimised again.
For one object, this is what giving the part to the background is.

A large image is segmented at reduced size: for one object at WORKING_PIXELS pixels, in a box at BOX_PIXELS, as it has
several starts, and for several objects at REDUCED_PIXELS, as each round of fits takes many cuts.  The outlines found
are then placed in the full image, by cuts along them (apps.segmentation.fine_outline).  Without a box, the rounds for
one object are at REDUCED_PIXELS, too, for which the constants were chosen; of what they end with, one fit and cut at
the larger size finds the object.

Which labelling separates colours best: the energy of apps.segmentation.segmentation contains the fit of two mixtures.
Fits of the same labelling differ with the models they started from, often by more than the energies of two labellings.
The comparison therefore uses histograms, whose best fit is unique.  With n_i pixels of the object in bin i, m_i of the
background, and n, m their sums,

    C(x) = sum_i ( -n_i log(n_i / n) - m_i log(m_i / m) )  +  sum_pq w_pq [x_p != x_q]

is the minimum of the energy over all pairs of histograms [1], without costs by location.  Labellings whose colours
overlap less, and whose outlines follow edges, have a smaller C [2].

[1] Vicente, Kolmogorov, Rother. "Joint optimization of segmentation and appearance models." ICCV 2009.
[2] Tang, Gorelick, Veksler, Boykov. "GrabCut in one cut." ICCV 2013.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

import gridcut
from apps.common.clock import Clock
from apps.common.rectangles import Rectangle, area, bounds
from apps.common.row_blocks import in_parallel, on_one_thread
from apps.segmentation.colour_models import Palette
from apps.segmentation.connected_parts import fill_holes, keep_parts, tidied
from apps.segmentation.fine_outline import MAX_SHIFT, placed_outline
from apps.segmentation.grid_cut import GridCut, energy_of, labels_of, minimum, outline_cost
from apps.segmentation.hints import Hints, part_of
from apps.segmentation.image_sizes import at_centres, enlarged, reduced_shape
from apps.segmentation.marks import BACKGROUND, OPEN, has_both
from apps.segmentation.model import MIN_RING, ImageView, Models, Prior, prior_of, rival_of
from apps.segmentation.terms import BOX_SMOOTHNESS, FORBIDDEN, REDUCED_PIXELS, SMOOTHNESS
from gridcut.device import DeviceName

MAX_CHANGED_SHARE = 0.001  # labels stay if at most this share of the pixels changed
SEED_SHARE = 0.05  # deepest share of a box that is object where no plausible object is found
BOX_SPAN = 0.5  # least share of the width, and of the height, of a box that its object spans
BIN = 3.0  # Lab units: side of a bin
AROUND = 0.5  # of a box's side: width of the part of the image around it
WIDE_BIN, ALIKE = 10.0, 0.95  # Lab units, and share of the pixels whose bins occur in the ring around a box
LIKENESS_BIN, MAX_LIKENESS = 8.0, 3.0  # Lab units, and nats of a pixel, by the colours of other pixels
SPAN_COST = 0.5  # nats per pixel of a box that the rectangle around its object does not cover
UNDECIDED = 0.02  # nats per pixel of a box, by which the best result must be better than others
UNSURE = 0.5  # nats per pixel, for which pixels of a result that is unsure change
SAME = 0.9  # overlap from which two results are one
FIRM = 4  # factor of the costs of a mask of which no pixel would be left
WORKING_PIXELS = 2_000_000  # at which one object is segmented in images with more
BOX_SHIFT = 1.5  # as MAX_SHIFT, for the outline of an object in a box, whose reduced pixels are larger
BOX_PIXELS = 640 * 480  # the same of an object in a box, of the part of the image around it
LARGE_PIXELS = 1_000_000  # images with more pixels are reduced for several objects, and for the rounds for one
SPECK = 1e-5  # share of the image; smaller parts without a mark, and such holes, are removed
PIN_HOLE = 10  # pixels; smaller ones are removed too, in small images those of less than PIN_SHARE of the image
PIN_SHARE = 1e-4
ISLAND = 0.01  # share of the largest part; smaller ones of an object in a box are removed

Check = Callable[..., None] | None  # may raise at any time, to stop


class Found(NamedTuple):
    """Labels int16 (H, W), their models, and the energies of all rounds.

    marks    that constrained the cut
    solved   the last cut; of one object in an image that is not large, later cuts may have made it stale
    small    of the reduced image, for a large one, or of the part of the image around a box; or None
    where    this part, for a box; or None
    models   of the view that was cut, with its palette and scale (see `problem`), not of the whole image
    problem  function that returns the costs (L, h, w) and the edges of the last cut, as of the view that was cut
    rival    function that returns another result that fits a box about as well, once it is asked for; or None
    unsure   pixels that change for UNSURE nats each, per pixel of the object; None unless asked for
    seconds  as of a clock
    """

    labels: np.ndarray
    models: Models
    energies: tuple[float, ...]
    marks: np.ndarray
    solved: Any
    small: "Found | None" = None
    where: Rectangle | None = None
    problem: Any = None
    rival: "Callable[[], Found] | None" = None
    unsure: float | None = None
    seconds: Mapping[str, float] = MappingProxyType({})

    @property
    def mask(self) -> np.ndarray:
        """Pixels of any object, bool (H, W)."""
        return self.labels > BACKGROUND


def find_labels(
    view: ImageView,
    hints: Hints,
    device: DeviceName = "auto",
    check: Check = None,
    grid: GridCut | None = None,
    is_compared: bool = False,
) -> Found:
    """The labels of minimum energy of an image of any size.

    grid    with the edges of the view, to use for the cuts of anything but a box, unless the image is large; or None
    check   called from time to time; it may raise
    is_compared   whether to find how unsure the labels of one object are

    Specks, pin-holes and islands are removed from them, unless hints.min_area is 1.  The energies, and the
    certificate, are those of the cut before this.  Strokes on the object that is found in a box alone change nothing.
    """
    clock = Clock()
    if hints.in_box and hints.has_object and hints.labelling is None and hints.keep != "touching":
        in_box = find_labels(view, without_strokes(hints), device, check, grid, is_compared)
        if in_box.mask[hints.marks > BACKGROUND].all():
            return in_box._replace(rival=None, seconds=clock.total())
    every, where = hints, None
    if hints.only_outside and hints.is_single and (box := bounds(hints.marks == OPEN)) is not None:
        where = around(box, view.shape)
        view, hints = view.part(where), hints.part(where)
    at, said = at_working_size(view, hints)
    if said.is_single and not said.in_box and said.labelling is None:
        said = _begun(at, said, device, check)
    edges = at.begin_edges(said.only_outside)  # with the colours and the distances
    at.whole  # noqa: B018  # computed now
    prior, marks = prior_of(at, said), said.marks
    if grid is None or said.only_outside or at is not view:
        grid = GridCut(edges, device)
    edges()
    grid.start_over()  # the result must not depend on earlier fits
    near: np.ndarray | bool = True
    others: list[list[Found]] = []
    if said.only_outside and said.labelling is None:
        rival = rival_of(at, said)
        first = partial(found_from, at, said, prior, marks, grid, check)
        second, near = partial(found_from, at, said, rival, marks, GridCut(edges, device), check), rival.near
        found, *others = in_parallel([partial(on_one_thread, task) for task in (first, second)])
    else:
        found = found_from(at, said, prior, marks, grid, check)
    if said.is_single:
        kinds = [found, *([one] for kind in others for one in kind)]
        plausible = [[one for one in kind if is_plausible(one.mask, marks)] for kind in kinds]
        stronger = None if any(plausible) else _stronger(at, said, prior, found)
        if stronger is not None:
            plausible = [found_from(at, said, *stronger, grid, check)]
        best, other = _best_of(at, said, [kind for kind in plausible if kind] or kinds, edges(), near)
        if is_compared:
            grid.load(at.costs(best.models), best.marks)
            best = best._replace(unsure=grid.unsure(UNSURE))
    else:
        best, other = min(found, key=lambda one: one.energies[-1]), None
    best = with_parts_reassigned(at, said, best, edges(), device)

    def problem() -> tuple[np.ndarray, dict]:
        return at.costs(best.models).everywhere(best.marks), edges()

    def finished(one: Found) -> Found:
        one = tidy(view, hints, one if at is view else _placed(view, hints, at, said, one))
        return one if where is None else _of_whole(one, where, every)

    last = None if other is None else cache(partial(finished, other))
    return finished(best)._replace(problem=problem, rival=last, seconds=clock.total())


def without_strokes(hints: Hints) -> Hints:
    """The hints of one object in a box, without its strokes."""
    is_drawn, marks = hints.marks > BACKGROUND, np.minimum(hints.marks, BACKGROUND)
    for box in hints.boxes.values():
        inside = part_of(box, marks.shape)
        marks[inside][is_drawn[inside]] = OPEN
    return replace(hints, marks=marks)


def _begun(view: ImageView, hints: Hints, device: DeviceName, check: Check) -> Hints:
    """The hints, and for a view of more than LARGE_PIXELS what is found at REDUCED_PIXELS, which one more cut ends."""
    reduced = hints.reduced(reduced_view(view).shape) if view.size > LARGE_PIXELS else None
    if reduced is None:
        return hints
    reduced = replace(reduced, options=reduced.options._replace(min_area=1, fill_holes=False))
    found = at_centres(find_labels(reduced_view(view), reduced, device, check).mask, view.shape)
    return replace(hints, labelling=found, rounds=1) if has_both(found) else hints


def around(box: Rectangle, shape: tuple[int, ...]) -> Rectangle:
    """The part of an image (H, W) in which the object of a box is found: wider by AROUND of the box on each side."""
    margins = [max(MIN_RING, int(AROUND * (side.stop - side.start))) for side in box]
    rows, columns = (
        slice(max(0, side.start - margin), min(size, side.stop + margin))
        for side, margin, size in zip(box, margins, shape, strict=True)
    )
    return rows, columns


def _of_whole(part: Found, where: Rectangle, hints: Hints) -> Found:
    """What was found in a part of an image as labels of all of it."""

    def whole(values: np.ndarray) -> np.ndarray:
        """Values (..., h, w) of the part, and zeros around them."""
        every = np.zeros((*values.shape[:-2], *hints.marks.shape), values.dtype)
        every[..., where[0], where[1]] = values
        return every

    location = part.models.location
    if location is not None:
        location = whole(np.stack([enlarged(plane, part.labels.shape) for plane in location]))
    models = part.models._replace(location=location)
    return part._replace(labels=whole(part.labels), models=models, marks=hints.marks, small=part, where=where)


def at_working_size(view: ImageView, hints: Hints) -> tuple[ImageView, Hints]:
    """The view and the hints at the size at which labels are found: the full one if a hint is lost at a smaller one."""
    pixels = BOX_PIXELS if hints.only_outside else WORKING_PIXELS
    if view.size <= (pixels if hints.is_single else LARGE_PIXELS):
        return view, hints
    if hints.is_single:
        small = view.smaller(reduced_shape(view.shape, pixels), (pixels / REDUCED_PIXELS) ** 0.5)
    else:
        small = reduced_view(view)
    reduced = hints.reduced(small.shape)
    return (view, hints) if reduced is None else (small, reduced)


def reduced_view(view: ImageView) -> ImageView:
    """The view at REDUCED_PIXELS pixels."""
    return view.smaller(reduced_shape(view.shape, REDUCED_PIXELS), 1.0)


def _stronger(view: ImageView, hints: Hints, prior: Prior, found: list["Found"]) -> tuple[Prior, np.ndarray] | None:
    """A prior and marks that constrain an object more, where none of those found is plausible."""
    if hints.only_outside and view.lab[hints.marks != BACKGROUND].std(axis=0).any():
        assert prior.depth is not None
        seed = hints.marks.dtype.type(hints.values[-1])
        return prior, np.where(prior.depth > 1 - SEED_SHARE, seed, hints.marks)
    if hints.mask is not None and not any(one.mask.any() for one in found):
        return prior._replace(location=np.int16(FIRM) * prior.location), hints.marks
    return None


def found_from(view, hints, prior, marks, grid, check) -> list[Found]:
    """Alternate fits and cuts, from each of the prior's initial weights of colours; the result of each."""
    found: list[Found] = []
    for counts in prior.initial:
        best: Found | None = None
        for _ in range(hints.rounds):
            if check is not None:
                check()
            models = view.models(prior, counts)
            costs = view.costs(models)
            solver = grid.load(costs, marks)  # a warm start: only costs by colour have changed since the last cut
            solved = solver.solve(callback=check)
            labels, energy = kept(solved, marks, hints, grid)
            if best is not None and energy > best.energies[-1]:
                break
            earlier = found if best is None else (*found, best)
            stays = any(np.count_nonzero(labels != one.labels) <= MAX_CHANGED_SHARE * labels.size for one in earlier)
            best = Found(labels, models, (*(best.energies if best else ()), energy), marks, solved)
            if stays:
                break
            present = [view.counts((labels == value) & prior.near) for value in prior.values]
            if not all(count.any() for count in present):
                break
            counts = prior.blended(present)
        assert best is not None
        found.append(best)
    return found


def kept(solved: Any, marks: np.ndarray, hints: Hints, grid: GridCut) -> tuple[np.ndarray, float]:
    """The labels of the parts to keep of a cut of a grid with these marks, and their energy in nats.

    Without a background, nothing can have the parts that are lost; the energy is then that of the cut.
    """
    assert grid.costs is not None
    labels = labels_of(solved, grid.costs.values)
    size, anchors = np.count_nonzero(labels), hints.anchors
    labels = keep_parts(labels, marks if anchors is hints.marks else anchors, hints.keep)
    if np.count_nonzero(labels) == size or grid.costs.values[0] != BACKGROUND:
        return labels, energy_of(solved) + grid.costs.common
    return labels, grid.energy_of(labels)


def reassigned(values, unary, labels, solved, marks, edges, device):
    """Labels and result of a cut after the labels of parts that touch no mark of theirs are forbidden there.

    `unary` are the costs (L, *grid), which are overwritten.  A part may change to another label that it does not touch
    either, so there are up to L passes.
    """
    numbers = np.array(values, np.int16)
    for _ in range(len(numbers)):
        lost = (keep_parts(labels.copy(), marks, "touching") == BACKGROUND) & (labels != BACKGROUND)
        if not lost.any():
            break
        for place, value in enumerate(numbers):
            unary[place][lost & (labels == value)] = FORBIDDEN
        start = np.where(lost, unary.argmin(axis=0), np.searchsorted(numbers, labels))
        solved = minimum(unary, edges, device, start)
        labels = labels_of(solved, values)
    return labels, solved


def with_parts_reassigned(view: ImageView, hints: Hints, found: Found, edges: dict, device: DeviceName) -> Found:
    """The result after `reassigned`, if there are several objects and only parts with marks are kept."""
    if hints.is_single or hints.keep != "touching":
        return found
    values = found.models.values
    unary, labels = view.costs(found.models).everywhere(hints.marks), labels_of(found.solved, values)
    labels, solved = reassigned(values, unary, labels, found.solved, hints.anchors, edges, device)
    return found._replace(labels=labels, solved=solved)


def is_plausible(mask: np.ndarray, marks: np.ndarray) -> bool:
    """Whether a mask of an image or a volume shows more than nothing: for marks on the object, more than these marks.

    Without such marks, the pixels that are not background are a box, and its object spans at least BOX_SPAN of it in
    all directions, because a user draws a box around an object [1].

    [1] Lempitsky, Kohli, Rother, Sharp. "Image segmentation with a bounding box prior." ICCV 2009.
    """
    is_open = marks != BACKGROUND
    if count := np.count_nonzero(marks > BACKGROUND):
        return bool(np.count_nonzero(mask) > count)
    others = [tuple({*range(mask.ndim)} - {axis}) for axis in range(mask.ndim)]
    return bool(mask.any()) and all(
        np.ptp(np.flatnonzero(mask.any(axis=axes))) + 1 >= BOX_SPAN * np.count_nonzero(is_open.any(axis=axes))
        for axes in others
    )


def _best_of(view: ImageView, hints: Hints, kinds: list[list[Found]], edges: dict, near: np.ndarray | bool):
    """The result of least C; in a box, of those of each kind the one of least C with O and SPAN_COST, as above.

    near   pixels beside the box, bool (H, W), or True without a box

    Also another one that differs and is about as good, or None.
    """
    if len(kinds) == len(kinds[0]) == 1:
        return kinds[0][0], None
    box = None if near is True else bounds(hints.marks == OPEN)
    among = True if box is None else _like_the_ring(view, hints, near)
    found: list[tuple[float, Found]] = []
    for kind in kinds:
        costs = [colour_cost(view.palette, one.mask, among) + outline_cost(one.mask, edges) for one in kind]
        found.append((min(costs), kind[np.argmin(costs)]))
    if box is None or len(kinds) == 1:
        return found[0][1], None
    shared = np.logical_and.reduce([one.mask for _, one in found])
    like_outside = _likeness(view, (hints.marks == BACKGROUND) & among, shared)
    ranked: list[tuple[float, int, Found]] = []
    for cost, one in found:
        covered = area(span) if (span := bounds(one.mask)) else 0
        cost += float(view.counts(one.mask & ~shared) @ like_outside) - SPAN_COST * covered
        ranked.append((cost / area(box), len(ranked), one))
    (least, _, best), *others = sorted(ranked)
    for cost, _, other in others:
        same = SAME * np.count_nonzero(best.mask | other.mask)
        if cost < least + UNDECIDED and np.count_nonzero(best.mask & other.mask) < same:
            return best, other
    return best, None


def _likeness(view: ImageView, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Log of how much more frequent each colour of the palette is in one mask than in another, up to MAX_LIKENESS."""
    bins = _bins_of(view.palette, LIKENESS_BIN)
    counts = [np.bincount(bins, view.counts(mask)) + 0.5 for mask in (one, other)]
    first, second = (np.log(count / count.sum()) for count in counts)
    return np.clip(first - second, -MAX_LIKENESS, MAX_LIKENESS)[bins]


def _like_the_ring(view: ImageView, hints: Hints, near) -> np.ndarray | bool:
    """The pixels in which results of a box are compared: all if what is not near has the colours of the ring."""
    bins, far = _bins_of(view.palette, WIDE_BIN), view.counts(~near)
    is_known = np.bincount(bins, view.counts(near & (hints.marks == BACKGROUND))) > 0
    return True if far[is_known[bins]].sum() >= ALIKE * far.sum() else near


def colour_cost(palette: Palette, mask: np.ndarray, among: np.ndarray | bool = True) -> float:
    """The first sum of C for a mask, bool (H, W), in nats, of the pixels `among`, bool (H, W) or True for all."""
    bins = _bins_of(palette, BIN)
    whole = np.bincount(bins, palette.count if among is True else palette.counts(np.asarray(among)))
    inside = np.bincount(bins, palette.counts(mask & among))
    return _coded(inside) + _coded(whole - inside)


def _bins_of(palette: Palette, side: float) -> np.ndarray:
    """The bin of each colour of a palette, a cube of `side` Lab units."""
    box = np.floor(palette.colour / side).astype(np.int64)
    return np.unique(box, axis=0, return_inverse=True)[1].ravel()


def _coded(count):
    """Total nats of pixels with these counts per bin, each coded by the frequency of its bin."""
    count = count[count > 0]
    return float(count @ np.log(count.sum() / count))


def _placed(view: ImageView, hints: Hints, at: ImageView, said: Hints, small: Found) -> Found:
    """The labels of a reduced image, with their outlines placed in the full one."""
    guess = np.where(hints.marks == OPEN, at_centres(small.labels, view.shape), hints.marks)
    smoothness = (BOX_SMOOTHNESS if hints.only_outside else SMOOTHNESS) * (view.size / REDUCED_PIXELS) ** 0.5
    costs, how = at.costs(small.models).everywhere(said.marks), (smoothness, view.closed, small.models.values)
    shift = BOX_SHIFT if hints.only_outside else MAX_SHIFT
    labels = placed_outline(view.image(), hints.marks, guess, costs, *how, shift)
    return small._replace(labels=labels, small=small)


def tidy(view: ImageView, hints: Hints, found: Found) -> Found:
    """The labels without small parts and holes, or any holes; of a placed outline, of the parts to keep only."""
    if hints.min_area != 1 or found.small is not None:
        size, share, keep = hints.min_area, 0.0, "all" if found.small is None else hints.keep
        if is_default := not size:
            size = max(math.ceil(SPECK * view.size), min(PIN_HOLE, math.ceil(PIN_SHARE * view.size)))
            share = ISLAND if hints.in_box else 0.0
        labels = tidied(found.labels, hints.anchors, size, share, keep=keep, keep_one=is_default)
        found = found._replace(labels=labels)
    if hints.options.fill_holes:
        filled = fill_holes(found.mask, hints.marks)
        found = found._replace(labels=np.where(filled, np.int16(hints.values[-1]), found.labels))
    return found


def certifiable(found: Found, device: DeviceName):
    """The last cut with `check`, solved again if it is stale."""
    if not isinstance(found.solved, gridcut.Cut):
        return found.solved
    unary, edges = found.problem()
    return minimum(unary, edges, device)
