"""Terms of the energy of apps.segment.segmentation for an image and its marks, in integers.

`EnergyTerms` computes the terms that do not change between rounds once.
"""

from functools import partial

import numpy as np

import gridcut
from apps.common.row_blocks import BLOCK_PIXELS, ONE_BLOCK_PIXELS, concurrently, for_blocks, in_parallel
from apps.segment.colour_models import lab_image, make_palette, whole_density
from apps.segment.geodesic import geodesic_preference
from apps.segment.mark_prior import mark_prior, side_lengths
from apps.segment.marks import BACKGROUND, OBJECT
from apps.segment.start_mask import SEEDS, cores_of, costs_of, trusted_depth

SMOOTHNESS = 20.0  # weight of an edge of length 1 between equal colours, in nats
BOX_SMOOTHNESS = 50.0  # a box provides less information about colours, so the cut relies more on image edges
CONTRAST = 0.7  # weight of an edge: exp(-CONTRAST * squared step / mean squared step)
BLUR = 2.0  # reduced pixels: standard deviation of the blurred image, whose steps count as much as others in a box
MIN_WIDE_STEP = 1e-3  # least mean squared step of the blurred image over that of the image; white noise has about this
GEODESIC_WEIGHT = 1.0  # nats: maximum cost from the geodesic distances to the strokes
SOFT_STROKE = 8.0  # nats against a soft stroke; colours and neighbours can override it
REDUCED_PIXELS = 250_000  # pixels of the reduced image
STROKE_SHARE = 1.0  # weight of the strokes relative to the whole labelling when models are refitted
UNIT = 256
FORBIDDEN = 1 << 20  # exceeds the total weight of all edges of a pixel


class EnergyTerms:
    """Terms that do not change between rounds: colours, marks, edges, geodesic preference, start mask.

    scale   pixels of `rgb` per pixel of the reduced image, in each direction.  The costs of a region grow with its area
            and those of its outline with its length only, so edges count `scale` times as much; so do the colours along
            a path, whose pixels are `scale` times as many.  So the labelling does not depend on the size of the image.
    """

    def __init__(self, rgb, marks, soft, device, clock, start=None, scale=1.0):
        self.marks, self.device, self.soft = marks, device, soft
        self.is_object, self.is_background = marks == OBJECT, marks == BACKGROUND
        self.is_box = start is None and not self.is_object.any()
        lab = lab_image(rgb)
        edges = concurrently(lambda: self._weights(lab, scale))  # with the colours and the distances
        self.palette = make_palette(rgb, lab)
        self.whole = whole_density(self.palette)
        clock.charge("colours")
        self.lab = lab
        self.preference = np.float32(0)
        self.trust = 1.0
        self.starts = []  # counts of the object and the background
        self.stroke_object = self.palette.counts(self.is_object)
        self.stroke_background = self.palette.counts(self.is_background)
        if start is None and not self.is_box:
            prior = mark_prior(lab, self.palette, self.whole, self.is_object, self.is_background, scale)
            self.trust = prior.trust
            self.starts = [self.with_strokes(*map(self.palette.counts, one)) for one in prior.starts]
            self.starts += [(self.stroke_object, self.stroke_background)] if prior.alone else []
            self.set_location_costs((GEODESIC_WEIGHT * UNIT * prior.trust) * prior.location)
        elif start is not None:
            depth = trusted_depth(start, marks)
            inside, outside = cores_of(depth, SEEDS)
            preference = geodesic_preference(
                lab if scale == 1 else lab * np.float32(scale),
                self.is_object | (inside & ~self.is_background),
                self.is_background | (outside & ~self.is_object),
            )
            self.set_location_costs((GEODESIC_WEIGHT * UNIT) * preference + UNIT * costs_of(depth))
        clock.charge("distances")
        self.edges = edges()
        clock.charge("edges")

    def _weights(self, lab, scale):
        """Weights of the edges, by offset."""
        return gridcut.contrast_edges(
            with_wide_steps(lab, BLUR * scale) if self.is_box else lab,
            weight=(BOX_SMOOTHNESS if self.is_box else SMOOTHNESS) * UNIT * scale,
            connectivity=8,
            beta=CONTRAST / mean_squared_step(lab),
            dtype=np.int32,
        )

    def set_location_costs(self, preference):
        """Set costs by location: `preference` (H, W) in 1 / UNIT nats, positive against the label object."""
        self.preference = preference
        preference = np.asarray(preference).astype(np.int32)
        self.against_object = np.maximum(preference, 0)
        self.against_background = self.against_object - preference

    def with_strokes(self, object_count, background_count):
        """Counts of a labelling's object and background, blended with those of the strokes."""
        return blend(object_count, self.stroke_object), blend(background_count, self.stroke_background)

    def path_starts(self):
        """Initial lengths of further paths into a box that reaches a side of the image (see `side_lengths`)."""
        return side_lengths(self.palette, self.whole, self.is_background)

    def costs(self, object_cost, background_cost):
        """Integer costs of both labels per pixel, from costs per palette entry in nats."""
        object_cost, background_cost = self.trust * object_cost, self.trust * background_cost
        # The cost common to both labels is omitted from the cut, but included in the energy.
        common = np.minimum(object_cost, background_cost)
        tables = [np.rint((cost - common) * UNIT).astype(np.int32) for cost in (object_cost, background_cost)]
        as_object, as_background = (np.empty(self.marks.shape, np.int32) for _ in range(2))
        against = np.int32(SOFT_STROKE * UNIT) if self.soft else np.int32(FORBIDDEN)

        def fill(first, last):
            rows = slice(first, last)
            sides = (
                (as_object, tables[0], self.against_object, self.is_object, self.is_background),
                (as_background, tables[1], self.against_background, self.is_background, self.is_object),
            )
            for out, table, by_location, marked, marked_otherwise in sides:
                out[rows] = table[self.palette.index[rows]] + by_location[rows]
                if self.soft:
                    out[rows][marked_otherwise[rows]] += against
                else:
                    out[rows][marked_otherwise[rows]] = against
                    out[rows][marked[rows]] = 0

        for_blocks(fill, self.marks.shape)
        return as_object, as_background, float(self.palette.count @ common)

    def energy(self, mask, as_object, as_background, common):
        """Energy of a labelling in nats."""
        total = int(as_object[mask].sum(dtype=np.int64)) + int(as_background[~mask].sum(dtype=np.int64))
        return total / UNIT + self.outline_cost(mask) + common

    def outline_cost(self, mask):
        """Weight of the edges that a labelling cuts, in nats."""
        total = 0
        for offset, weight in self.edges.items():
            here, there = pairs(mask, offset)
            where, _ = pairs(weight, offset)
            total += int(where[here != there].sum(dtype=np.int64))
        return total / UNIT


def blend(labelled, strokes):
    """Counts of a labelling plus those of strokes, whose total weight is STROKE_SHARE of the labelling's."""
    total = strokes.sum()
    return labelled + strokes * (STROKE_SHARE * labelled.sum() / total) if total else labelled


def with_wide_steps(lab, blur):
    """Six channels whose squared step is the mean of that of an image and of its blurred copy, each over its mean.

    Texture disappears in the blurred copy; soft outlines keep their steps.  The mean squared step remains that of `lab`
    unless the steps of the blurred copy are mere rounding errors.
    """
    import cv2

    wide = cv2.GaussianBlur(lab, (0, 0), blur)
    mean = mean_squared_step(lab)
    gain = (mean / max(mean_squared_step(wide), MIN_WIDE_STEP * mean)) ** 0.5
    return np.concatenate((lab, np.float32(gain) * wide), axis=2) * np.float32(0.5**0.5)


def mean_squared_step(lab):
    """Mean squared difference of neighbours on every second line; 1 for a constant image."""
    height, width = lab.shape[:2]
    rows = height if height * width <= ONE_BLOCK_PIXELS else 2 * max(1, BLOCK_PIXELS // (2 * width))

    def of_rows(first):
        block = lab[first : first + rows + 1]
        across, down = block[:rows:2, 1:] - block[:rows:2, :-1], block[1:, ::2] - block[:-1, ::2]
        return float(np.vdot(across, across)) + float(np.vdot(down, down)), across.size + down.size

    totals, sizes = zip(*in_parallel([partial(of_rows, first) for first in range(0, height, rows)]), strict=True)
    total, edges = sum(totals), sum(sizes) / lab.shape[2]
    return total / edges if total > 0 else 1.0


def pairs(array, offset):
    """Views of a 2-D array at p and at p + offset, for all p where both exist."""
    here, there = [], []
    for step, size in zip(offset, array.shape, strict=True):
        here.append(slice(max(0, -step), size - max(0, step)))
        there.append(slice(max(0, step), size - max(0, -step)))
    return array[tuple(here)], array[tuple(there)]
