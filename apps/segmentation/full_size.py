"""Labels of an image of any size, which is segmented at reduced size if it is large.

One object is segmented at WORKING_PIXELS pixels, several at REDUCED_PIXELS, as each round of fits takes many cuts.  The
outlines found are then placed in the full image, by cuts along them (apps.segmentation.fine_outline).
"""

import math

import numpy as np

import gridcut
from apps.common.clock import Clock
from apps.segmentation.connected_parts import keep_parts, tidied
from apps.segmentation.fine_outline import placed_outline
from apps.segmentation.fit import Check, Found, find
from apps.segmentation.grid_cut import GridCut, minimum
from apps.segmentation.image_sizes import at_centres, reduced_shape
from apps.segmentation.marks import BACKGROUND, OPEN
from apps.segmentation.model import ImageView, Request
from apps.segmentation.terms import BOX_SMOOTHNESS, SMOOTHNESS
from gridcut.device import DeviceName

WORKING_PIXELS = 2_000_000  # at which one object is segmented in images with more
LARGE_PIXELS = 1_000_000  # images with more pixels are reduced for several objects
REDUCED_PIXELS = 250_000  # to this number, which the constants were chosen for
SPECK = 1e-5  # share of the image; smaller parts without a mark, and such holes, are removed
PIN_HOLE = 10  # pixels; smaller ones are removed too, in small images those of less than PIN_SHARE of the image
PIN_SHARE = 1e-4
ISLAND = 0.01  # share of the largest part; smaller ones of an object in a box are removed


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
    if view.size > (WORKING_PIXELS if request.is_single else LARGE_PIXELS):
        found = _placed(view, request, device, clock, check)
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


def certifiable(view: ImageView, request: Request, found: Found, device: DeviceName):
    """The last cut with `check`, solved again if it is stale."""
    if not isinstance(found.solved, gridcut.Cut):
        return found.solved
    view = view if found.small is None else _working_view(view, request)
    return minimum(view.costs(found.models).everywhere(found.marks), view.edges(request.is_box), device)


def _working_view(view: ImageView, request: Request) -> ImageView:
    """The view at the size at which the objects of a large image are found."""
    if not request.is_single:
        return reduced_view(view)
    return view.smaller(reduced_shape(view.shape, WORKING_PIXELS), (WORKING_PIXELS / REDUCED_PIXELS) ** 0.5)


def _placed(view: ImageView, request: Request, device: DeviceName, clock: Clock, check: Check) -> Found | None:
    """Labels of a reduced image, with their outlines placed in the full one; None if something is lost."""
    small_view = _working_view(view, request)
    smaller = request.reduced(small_view.shape)
    clock.charge("reduce")
    if smaller is None:
        return None
    small = find(small_view, smaller, device, clock, check)
    values = np.array(small.models.values, np.int16)
    place_of = np.full(values[-1] + 2, OPEN, np.int16)  # the last one is that of no mark
    place_of[values] = np.arange(len(values))
    marks = place_of[request.marks]
    guess = np.where(marks == OPEN, at_centres(place_of[small.labels], view.shape), marks)
    if guess.min() == guess.max():
        return None
    smoothness = (BOX_SMOOTHNESS if request.is_box else SMOOTHNESS) * (view.size / REDUCED_PIXELS) ** 0.5
    costs = small_view.costs(small.models).everywhere(smaller.marks)
    labels = values[placed_outline(view.image(), marks, guess, costs, smoothness, request.soft, closed=view.closed)]
    clock.charge("outline")
    if values[0] == BACKGROUND:
        labels = keep_parts(labels, request.anchors, request.keep)
    elif request.keep == "touching":  # without a background, parts that touch no mark become part of others
        labels = tidied(labels, request.anchors, labels.size + 1)
    clock.charge("parts")
    return small._replace(labels=labels, small=small)
