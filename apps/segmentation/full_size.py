"""Labels of an image of any size, which is segmented at reduced size if it is large.

An image with more than LARGE_PIXELS pixels is segmented at REDUCED_PIXELS pixels.  Models fitted to the enlarged labels
serve one cut of the full image.  With one object, only pixels near the outline, and those whose own costs contradict
the labels, take part in it.  An image of one object with more than WORKING_PIXELS pixels is segmented at that size, and
the outline found is then placed in the full image, by cuts along it (apps.segmentation.fine_outline).
"""

import math
from dataclasses import replace

import numpy as np

from apps.common.clock import Clock
from apps.segmentation.connected_parts import keep_parts, tidied
from apps.segmentation.fine_outline import placed_outline
from apps.segmentation.fit import Check, Found, find, kept, with_parts_reassigned
from apps.segmentation.grid_cut import GridCut, cut_near
from apps.segmentation.image_sizes import at_centres, reduced_shape
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN, has_both
from apps.segmentation.model import ImageView, Request, prior_of
from apps.segmentation.terms import BOX_SMOOTHNESS, SMOOTHNESS
from gridcut.device import DeviceName

LARGE_PIXELS = 1_000_000  # images with more pixels are segmented at reduced size first
REDUCED_PIXELS = 250_000  # pixels of the reduced image
WORKING_PIXELS = 4_000_000  # images with more pixels are segmented at this size; only the outline is cut at full size
SPECK = 1e-5  # share of the image; smaller parts without a mark, and such holes, are removed
PIN_HOLE = 10  # pixels; smaller ones are removed too, in small images those of less than PIN_SHARE of the image
PIN_SHARE = 1e-4
ISLAND = 0.01  # share of the largest part; smaller ones of an object in a box are removed
BAND = 3  # reduced pixels on either side of the outline that the cut of the full image may change


def find_labels(
    view: ImageView,
    request: Request,
    device: DeviceName = "auto",
    clock: Clock | None = None,
    check: Check = None,
    grid: GridCut | None = None,
) -> Found:
    """The labels of minimum energy of an image of any size; arguments as of `apps.segmentation.fit.find`.

    Specks, pin-holes and islands are removed from them, unless request.min_area is 1.  The energies, and the
    certificate, are those of the cut before this.
    """
    clock = Clock() if clock is None else clock
    found = None
    if view.size > LARGE_PIXELS:
        found = _found_at_reduced_size(view, request, device, clock, check)
    if found is None:
        found = find(view, request, device, clock, check, grid)
    if request.min_area == 1:
        return found
    if request.min_area:
        labels = tidied(found.labels, request.anchors, request.min_area)
    else:
        share = ISLAND if request.in_box else 0.0
        size = max(math.ceil(SPECK * view.size), min(PIN_HOLE, math.ceil(PIN_SHARE * view.size)))
        labels = tidied(found.labels, request.anchors, size, share, keep_one=True)
    clock.charge("parts")
    return found._replace(labels=labels)


def reduced_view(view: ImageView) -> ImageView:
    """The view at REDUCED_PIXELS pixels."""
    return view.smaller(reduced_shape(view.shape, REDUCED_PIXELS), 1.0)


def _found_at_reduced_size(view, request, device, clock, check) -> Found | None:
    """Labels from those of a reduced image; None if something is lost in it."""
    # An image reduced to WORKING_PIXELS may have a few pixels more; its scale is not 1.
    is_placed = view.size > WORKING_PIXELS and view.scale == 1 and request.is_single and view.closed is None
    shape = reduced_shape(view.shape, WORKING_PIXELS if is_placed else REDUCED_PIXELS)
    small_view = view.smaller(shape, (shape[0] * shape[1] / REDUCED_PIXELS) ** 0.5) if is_placed else reduced_view(view)
    smaller = request.reduced(shape)
    clock.charge("reduce")
    if smaller is None:
        return None
    small = find_labels(small_view, replace(smaller, min_area=1), device, clock, check)
    guess = at_centres(small.labels, view.shape)
    guess = np.where(request.marks == OPEN, guess, request.marks)
    if request.is_single and not has_both(guess > BACKGROUND):
        return None
    if is_placed:
        return _placed(view, request, guess, small_view, smaller, small, clock)
    return _refined(view, request, guess, small, device, clock, check)


def _placed(view, request, guess, small_view, smaller, small, clock) -> Found:
    """Place the outline of the enlarged labels in the full image."""
    smoothness = (BOX_SMOOTHNESS if request.is_box else SMOOTHNESS) * (view.size / REDUCED_PIXELS) ** 0.5
    as_background, as_object = small_view.costs(small.models).everywhere(smaller.marks)
    marks = np.minimum(request.marks, OBJECT)
    mask = placed_outline(view.image(), marks, guess > BACKGROUND, as_background - as_object, smoothness, request.soft)
    clock.charge("outline")
    labels = keep_parts(mask * np.int16(small.models.values[1]), request.anchors, request.keep)
    clock.charge("parts")
    return small._replace(labels=labels, small=small)


def _refined(view, request, guess, small, device, clock, check) -> Found:
    """Cut the full image, with models fitted to the enlarged labels."""
    edges = view.begin_edges(request.is_box)
    prior = prior_of(view, request, refining=True)
    counts = prior.blended([view.counts(guess == value) for value in prior.values])
    models = view.models(prior, counts, request.soft)
    costs = view.costs(models)
    clock.charge("models")
    grid = GridCut(edges, device)
    if request.is_single:
        width = BAND * round((view.size / REDUCED_PIXELS) ** 0.5)
        mask, solved = cut_near(costs.everywhere(request.marks), edges(), guess > BACKGROUND, width, device)
        clock.charge("cuts")
        labels = keep_parts(mask * np.int16(prior.values[1]), request.anchors, request.keep)
        grid.costs = costs
        energy = grid.energy_of(labels, request.marks)
        clock.charge("parts")
        return Found(labels, models, (energy,), request.marks, solved, small)
    grid.load(costs, request.marks, guess)
    labels, energy = kept(grid.solve(check), request.marks, request, grid)
    found = Found(labels, models, (energy,), request.marks, grid.solved, small)
    clock.charge("cuts")
    found = with_parts_reassigned(view, request, found, edges(), device)
    clock.charge("parts")
    return found
