"""Full-size labelling of an image that was segmented at reduced size.

`refined` cuts the full image once, with colour models fitted to the enlarged labelling.  Only pixels near the outline,
and those whose own costs contradict the labelling, take part in the cut.  `placed` only moves the outline of the
enlarged labelling (see apps.segment.fine_outline).
"""

import numpy as np

import gridcut
from apps.common.figures import outline
from apps.common.row_blocks import for_blocks, in_parallel
from apps.segment.colour_models import log_densities
from apps.segment.connected_parts import keep_parts
from apps.segment.descent import Found
from apps.segment.fine_outline import placed_outline
from apps.segment.image_sizes import at_centres
from apps.segment.marks import BACKGROUND, OBJECT
from apps.segment.terms import BOX_SMOOTHNESS, FORBIDDEN, REDUCED_PIXELS, SMOOTHNESS, UNIT, EnergyTerms

BAND = 3  # reduced pixels on either side of the outline that the cut of the full image may change


def enlarged(small, marks):
    """Labelling of the reduced image enlarged to full size, corrected by the marks."""
    mask = at_centres(small, marks.shape)
    return (mask | (marks == OBJECT)) & (marks != BACKGROUND)


def placed(rgb, marks, start, guess, small, keep, soft, clock):
    """Place the outline of an enlarged labelling in the full image, by cuts along it."""
    is_box = start is None and not (marks == OBJECT).any()
    smoothness = (BOX_SMOOTHNESS if is_box else SMOOTHNESS) * (marks.size / REDUCED_PIXELS) ** 0.5
    labels = placed_outline(rgb, marks, guess, small.costs[1] - small.costs[0], smoothness, soft)
    clock.charge("outline")
    labels = keep_parts(labels.view(np.int8), marks, keep).view(bool)
    clock.charge("parts")
    return small._replace(mask=labels)


def refined(rgb, marks, start, mask, keep, soft, device, clock, scale):
    """Cut the full image, with models fitted to the enlarged labelling of the reduced image."""
    terms = EnergyTerms(rgb, marks, soft, device, clock, start, scale)
    if terms.is_box:
        terms.set_location_costs(np.where(terms.is_background, np.float32(UNIT), np.float32(0)))
    object_count, background_count = terms.with_strokes(terms.palette.counts(mask), terms.palette.counts(~mask))
    clock.charge("models")
    costs = terms.costs(*log_densities(terms.palette, object_count, background_count, terms.whole))
    clock.charge("models")
    labels, cut = _cut_near(terms, mask, BAND * round((marks.size / REDUCED_PIXELS) ** 0.5), *costs[:2])
    clock.charge("cuts")
    labels = keep_parts(labels.view(np.int8), marks, keep).view(bool)
    energy = terms.energy(labels, *costs)
    clock.charge("parts")
    return Found(labels, [energy], cut.device, cut.method, costs)


def _cut_near(terms, guess, width, as_object, as_background):
    """Minimum cut restricted to pixels near the outline of a guess, or whose own costs contradict the guess.

    Pixels within `width` of the outline and contradicting pixels are free.  The pixels adjacent to them are fixed to
    the guess, and all others are masked out.
    """
    import cv2

    inside, outside = in_parallel([lambda: outline(guess, width), lambda: outline(~guess, width)])
    opened, held = np.empty(guess.shape, np.uint8), np.empty(guess.shape, bool)
    source, sink = np.empty(guess.shape, np.int32), np.empty(guess.shape, np.int32)

    def open_rows(first, last):
        rows = slice(first, last)
        opened[rows] = inside[rows] | outside[rows] | ((as_object[rows] > as_background[rows]) == guess[rows])

    def terminals_of_rows(first, last):
        rows = slice(first, last)
        held[rows] = taking_part[rows] & (opened[rows] == 0)
        source[rows] = np.where(held[rows], np.int32(FORBIDDEN) * guess[rows], as_background[rows])
        sink[rows] = np.where(held[rows], np.int32(FORBIDDEN) * ~guess[rows], as_object[rows])

    for_blocks(open_rows, guess.shape)
    taking_part = cv2.dilate(opened, np.ones((3, 3), np.uint8)) > 0
    for_blocks(terminals_of_rows, guess.shape)
    cut = gridcut.max_flow(source, sink, terms.edges, mask=taking_part, device=terms.device)
    return np.where(taking_part, cut.labels, guess), cut
