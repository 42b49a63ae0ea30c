"""Fits of colour models and exact cuts in alternation, until the labels stay.

A round fits models to the labels of the last one, with the marks weighted as much as the whole labelling, and cuts.
Parts of an object that touch none of its marks become background before the next fit: a user would have marked a part
that is wanted.  The rounds end when at most MAX_CHANGED_SHARE of the pixels change, a label is lost, or after
`Request.rounds`.  A round that would increase the energy is discarded, so the energies never increase.

`find` begins with each of the prior's initial weights (apps.segmentation.model); a start ends where an earlier one
ended, if it meets the labels found there.  Of the results for one object, it takes the one that separates colours best
(see below).  An object that is not plausible (`is_plausible`) does not win.  If none is, the deepest pixels of a box
are constrained to be object, and the costs of a mask are multiplied by FIRM.

With several objects, the label of a part without a mark is finally forbidden there, and the labels are minimised again.
For one object, this is what giving the part to the background is.

A large image is segmented at reduced size first; see apps.segmentation.full_size.

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

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from apps.common.clock import Clock
from apps.segmentation.colour_models import Palette
from apps.segmentation.connected_parts import keep_parts
from apps.segmentation.grid_cut import GridCut, labels_of, minimum, outline_cost
from apps.segmentation.marks import BACKGROUND
from apps.segmentation.model import ImageView, Models, Prior, Request, prior_of
from apps.segmentation.terms import FORBIDDEN
from gridcut.device import DeviceName

MAX_CHANGED_SHARE = 0.001  # labels stay if at most this share of the pixels changed
SEED_SHARE = 0.05  # deepest share of a box that is object where no plausible object is found
BOX_SPAN = 0.5  # least share of the width, and of the height, of a box that its object spans
BIN = 3.0  # Lab units: side of a bin
FIRM = 4  # factor of the costs of a mask of which no pixel would be left

Check = Callable[..., None] | None  # may raise at any time, to stop


class Found(NamedTuple):
    """Labels int16 (H, W), their models, and the energies of all rounds.

    marks    that constrained the cut
    solved   the last cut; of one object in an image that is not large, later cuts may have made it stale
    small    of the reduced image, for a large one; or None
    """

    labels: np.ndarray
    models: Models
    energies: tuple[float, ...]
    marks: np.ndarray
    solved: Any
    small: "Found | None" = None

    @property
    def mask(self) -> np.ndarray:
        """Pixels of any object, bool (H, W)."""
        return self.labels > BACKGROUND


def find(
    view: ImageView,
    request: Request,
    device: DeviceName = "auto",
    clock: Clock | None = None,
    check: Check = None,
    grid: GridCut | None = None,
) -> Found:
    """The labels of an image that is not large.

    grid    with the edges of the view, to use for the cuts of anything but a box; or None
    check   called from time to time; it may raise
    """
    clock = Clock() if clock is None else clock
    edges = view.begin_edges(request.is_box)  # with the colours and the distances
    view.whole  # noqa: B018  # computed now
    clock.charge("colours")
    prior = prior_of(view, request)
    clock.charge("distances")
    if grid is None or request.is_box:
        grid = GridCut(edges, device)
    edges()
    clock.charge("edges")
    grid.start_over()  # the result must not depend on earlier fits
    found_from = partial(found_from_each, view, request, grid=grid, clock=clock, check=check)
    found = found_from(prior, request.marks)
    if request.is_single:
        found = _plausible(view, request, prior, found, found_from)
    if request.is_single and len(found) > 1:
        weights = edges()
        best = min(found, key=lambda one: colour_cost(view.palette, one.mask) + outline_cost(one.mask, weights))
    else:
        best = min(found, key=lambda one: one.energies[-1])
    best = with_parts_reassigned(view, request, best, edges(), device)
    clock.charge("parts")
    return best


def _plausible(view, request, prior, found, found_from) -> list[Found]:
    """The results that show an object, or results of stronger constraints, or all."""
    is_object, is_background = request.marks > BACKGROUND, request.marks == BACKGROUND
    plausible = [one for one in found if is_plausible(one.mask, is_object, is_background)]
    if plausible:
        return plausible
    if request.is_box and view.lab[~is_background].std(axis=0).any():
        seed = request.marks.dtype.type(request.values[-1])
        return found_from(prior, np.where(prior.depth > 1 - SEED_SHARE, seed, request.marks))
    if request.mask is not None and not any(one.mask.any() for one in found):
        return found_from(prior._replace(location=np.int16(FIRM) * prior.location), request.marks)
    return found


def found_from_each(
    view: Any,  # an ImageView or a VolumeView
    request: Request,
    prior: Prior,
    marks: np.ndarray,
    grid: GridCut,
    clock: Clock,
    check: Check,
) -> list[Found]:
    """The results of fits and cuts, in an image or a volume, from each of the prior's initial weights."""
    found: list[Found] = []
    for counts in prior.initial:
        found.append(_fitted(view, request, prior, marks, counts, found, grid, clock, check))
    return found


def _fitted(view, request, prior, marks, counts, others, grid, clock, check) -> Found:
    """Alternate fits and cuts from weights `counts` of colours or levels; `others` are results of other weights."""
    best: Found | None = None
    for _ in range(request.rounds):
        if check is not None:
            check()
        models = view.models(prior, counts, request.soft)
        costs = view.costs(models)
        clock.charge("models")
        grid.load(costs, marks)  # a warm start: only costs by colour have changed since the last cut
        labels = grid.solve(check)
        clock.charge("cuts")
        labels, energy = kept(labels, marks, request, grid)
        clock.charge("parts")
        if best is not None and energy > best.energies[-1]:
            break
        earlier = others if best is None else (*others, best)
        stays = any(np.count_nonzero(labels != one.labels) <= MAX_CHANGED_SHARE * labels.size for one in earlier)
        best = Found(labels, models, (*(best.energies if best else ()), energy), marks, grid.solved)
        if stays:
            break
        present = [view.counts(labels == value) for value in prior.values]
        if not all(count.any() for count in present):
            break
        counts = prior.blended(present)
        clock.charge("models")
    assert best is not None
    return best


def kept(labels: np.ndarray, marks: np.ndarray, request: Request, grid: GridCut) -> tuple[np.ndarray, float]:
    """The labels of a cut with these marks, changed in place to those of the parts to keep, and their energy in nats.

    Without a background, nothing can have the parts that are lost; the energy is then that of the cut.
    """
    size = np.count_nonzero(labels)
    anchors = request.anchors
    labels = keep_parts(labels, marks if anchors is request.marks else anchors, request.keep)
    assert grid.costs is not None
    assert grid.energy is not None
    if np.count_nonzero(labels) == size or grid.costs.values[0] != BACKGROUND:
        return labels, grid.energy
    return labels, grid.energy_of(labels, marks)


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


def with_parts_reassigned(view: ImageView, request: Request, found: Found, edges: dict, device: DeviceName) -> Found:
    """The result after `reassigned`, if there are several objects and only parts with marks are kept."""
    if request.is_single or request.keep != "touching":
        return found
    values = found.models.values
    unary, labels = view.costs(found.models).everywhere(request.marks), labels_of(found.solved, values)
    labels, solved = reassigned(values, unary, labels, found.solved, request.anchors, edges, device)
    return found._replace(labels=labels, solved=solved)


def is_plausible(mask: np.ndarray, is_object: np.ndarray, is_background: np.ndarray) -> bool:
    """Whether a mask of an image or a volume shows more than nothing: for marks on the object, more than these marks.

    Without such marks, the pixels that are not background are a box, and its object spans at least BOX_SPAN of it in
    all directions, because a user draws a box around an object [1].

    [1] Lempitsky, Kohli, Rother, Sharp. "Image segmentation with a bounding box prior." ICCV 2009.
    """
    if is_object.any():
        return bool(np.count_nonzero(mask) > np.count_nonzero(is_object))
    others = [tuple({*range(mask.ndim)} - {axis}) for axis in range(mask.ndim)]
    return bool(mask.any()) and all(
        np.ptp(np.flatnonzero(mask.any(axis=axes))) + 1 >= BOX_SPAN * np.count_nonzero((~is_background).any(axis=axes))
        for axes in others
    )


def colour_cost(palette: Palette, mask: np.ndarray) -> float:
    """The first sum of C for a mask, bool (H, W), in nats."""
    box = np.floor(palette.colour / BIN).astype(np.int64)
    box -= box.min(axis=0)
    width = box.max(axis=0) + 1
    entry_bin = (box[:, 0] * width[1] + box[:, 1]) * width[2] + box[:, 2]
    entry_bin = np.unique(entry_bin, return_inverse=True)[1]
    whole = np.bincount(entry_bin, palette.count)
    inside = np.bincount(entry_bin, palette.counts(mask))
    return _coded(inside) + _coded(whole - inside)


def _coded(count):
    """Total nats of pixels with these counts per bin, each coded by the frequency of its bin."""
    count = count[count > 0]
    return float(count @ np.log(count.sum() / count))
