"""Place the outlines of objects in the full image, given the labelling of a reduced image.

The labels of the reduced image are right except along their outline, where a pixel of the full image may belong to
either side.  Only pixels within MAX_SHIFT reduced pixels of the outline are free; all others keep their label.  Their
costs are those of the reduced image, interpolated; the edge weights are those of the full image.  So the colours decide
what belongs to the object, and the edges of the full image where exactly it ends.

The image is divided into tiles.  For each tile that contains outline, one exact minimum cut of the tile and a margin
around it gives the labels of the tile.  Tiles are independent, so memory is that of one tile per thread for images of
any size, and no label depends on the order of the tiles or on the number of threads.  The free band is a few pixels
wide, so pixels beyond the margin hardly affect the labels of the tile.
"""

import math
from functools import partial

import numpy as np

from apps.common.images import as_floats
from apps.common.rectangles import Rectangle, absolute, bounds, relative, widened
from apps.common.row_blocks import in_parallel
from apps.segmentation.colour_models import lab_image
from apps.segmentation.grid_cut import banded_cut, edges_of, edges_outside, minimum
from apps.segmentation.image_sizes import enlarged, tiles_along
from apps.segmentation.terms import UNIT, mean_squared_step

MAX_SHIFT = 2.0  # reduced pixels on either side of the outline
MARGINS = 4  # margin of a tile, in widths of the free band on one side of the outline
MAX_PREFERENCE = 16 * UNIT  # costs of reduced pixels count up to this difference, so that marks do not spread
SAMPLED_ROWS = 16  # the mean contrast is measured on every 16th pair of rows


def placed_outline(rgb, marks, guess, costs, smoothness, closed=None, values=(0, 1), shift=MAX_SHIFT) -> np.ndarray:
    """The labelling `guess` with its outlines placed along the edges of the image.

    Parameters
    ----------
    rgb : ndarray, shape (H, W, 3)
        Image, float32 in [0, 1] or uint8.
    marks : ndarray of int, shape (H, W)
        Label of each marked pixel, below 0 where there is no mark.
    guess : ndarray of int16, shape (H, W)
        Labelling of the reduced image, enlarged.
    costs : ndarray of int32, shape (L, h, w)
        Costs of the labels in the reduced image, in 1 / UNIT nats.
    smoothness : float
        Weight of an edge of length 1 between equal colours, in nats.
    closed : ndarray of bool, shape (H, W), optional
        Pixels that take no part; no edge leads to them, and they keep their label.
    values : sequence of int, length L
        The labels.
    shift : float
        Reduced pixels on either side of the outline that are free.

    Returns
    -------
    ndarray of int16, shape (H, W)
        Labels; they equal `guess` away from its outlines.

    Notes
    -----
    Time and memory O(tiles that contain outline), apart from the result.  In a tile with more than two labels, these
    are found by alpha-expansion.
    """
    labels = guess.copy()
    scale = (guess.size / costs[0].size) ** 0.5
    width = math.ceil(shift * scale)
    outline = _Outline(rgb, marks, guess, costs, smoothness, width, closed, values)

    def place(tile):
        labels[tile] = outline.placed(tile)

    in_parallel([partial(place, tile) for tile in tiles_along(guess, width)])
    return labels


def mean_contrast(rgb) -> float:
    """Mean squared difference of neighbours in Lab, over a sample of the rows of the image."""
    rows = range(0, max(1, rgb.shape[0] - 1), SAMPLED_ROWS)
    return sum(mean_squared_step(lab_image(as_floats(rgb[y : y + 2]))) for y in rows) / len(rows)


class _Outline:
    """The image, the guess and the parameters of `placed_outline`; `width` of the free band in pixels."""

    def __init__(self, rgb, marks, guess, costs, smoothness, width, closed, values):
        import cv2

        self.closed = closed
        self.rgb, self.marks, self.guess, self.width = rgb, marks, guess, width
        preferences = np.minimum(costs - costs.min(axis=0), MAX_PREFERENCE).astype(np.float32)
        self.costs = dict(zip(values, preferences, strict=True))
        self.contrast, self.smoothness = mean_contrast(rgb), smoothness
        self.forbidden = np.int32(8 * smoothness * UNIT + 1)  # exceeds the total weight of all edges of a pixel
        side = 2 * width + 1
        self.disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (side, side))

    def placed(self, tile: Rectangle) -> np.ndarray:
        """Labels of the tile."""
        import cv2

        around = widened(tile, MARGINS * self.width, self.guess.shape)
        guess = self.guess[around]
        free = cv2.dilate(guess, self.disc) != cv2.erode(guess, self.disc)
        self._hold_sides(free, around)
        labels = guess.copy()
        if (box := bounds(free)) is not None:
            box = widened(box, 1, guess.shape)
            labels[box] = self._cut(absolute(box, around), guess[box], free[box])
        return labels[relative(tile, around)]

    def _hold_sides(self, free, around) -> None:
        """At sides of a part that are not sides of the image, keep the labels, as they are kept beyond them."""
        (rows, columns), (H, W) = around, self.guess.shape
        if rows.start > 0:
            free[0] = 0
        if rows.stop < H:
            free[-1] = 0
        if columns.start > 0:
            free[:, 0] = 0
        if columns.stop < W:
            free[:, -1] = 0

    def _cut(self, where, guess, free):
        """Labels of minimum energy of a part of the image, in which the pixels that are not free keep theirs."""
        edges = edges_of(lab_image(as_floats(self.rgb[where])), self.smoothness, self.contrast)
        if self.closed is not None:
            free = free & ~self.closed[where]
            edges = edges_outside(self.closed[where], edges)
        values = np.unique(guess)
        costs = [self._costs(where, value) for value in values]
        if len(values) == 2:
            is_last, _ = banded_cut(costs[0] - costs[1], edges, guess == values[1], free, self.forbidden)
            return values[is_last.view(np.uint8)]
        unary = np.where(free, costs, np.where(guess == values[:, None, None], 0, self.forbidden))
        return values[minimum(unary.astype(np.int32), edges, "cpu", np.searchsorted(values, guess)).labels]

    def _costs(self, where, value):
        """Costs of a label for a part of the image, int32."""
        costs = enlarged(self.costs[value], self.guess.shape, where).astype(np.int32)
        marks = self.marks[where]
        costs[marks >= 0] = self.forbidden
        costs[marks == value] = 0
        return costs
