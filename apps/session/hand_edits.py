"""Edits that set pixels of an image by hand, or by one small exact cut, and move nothing else.

    solid    these pixels are of a label, until they are erased
    push     in a disc, the outline of an object is cut again; all outside of it is fixed
    wider    an object with a constant added to the cost of each of its pixels
    select   pixels with the colours of a stroke, up to the edges

Each gives labels of a part of the image, which no cut changes.  Cuts minimise

    sum_p D_p(x_p)  +  sum_pq w_pq [x_p != x_q]

with the edges w of apps.segmentation.segmentation, D as each function says, and ties as in apps.segmentation.grid_cut.
In images above a megapixel, all but `push` cut the grid that answers strokes; the outline found is then placed in the
image, once the edit is final.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

import gridcut
from apps.common.images import InputError, as_floats, to_rgb
from apps.common.rectangles import Rectangle, absolute, bounds, relative, widened
from apps.segmentation.colour_models import lab_image
from apps.segmentation.connected_parts import keep_parts, tidied
from apps.segmentation.fine_outline import MAX_PREFERENCE, placed_outline
from apps.segmentation.fit import PIN_HOLE, PIN_SHARE, REDUCED_PIXELS
from apps.segmentation.grid_cut import banded_cut, edges_of
from apps.segmentation.image_sizes import at_centres, centres, part_at_centres
from apps.segmentation.margins import Margins, Unsure
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN
from apps.segmentation.terms import FORBIDDEN, SMOOTHNESS, UNIT
from apps.session.canvas import Canvas, placed
from apps.session.image_answers import ImageAnswers
from apps.session.session_records import Record, Stroke

CORE = 0.6  # radii of a disc: pixels this near to the points are pushed to the other side
STEP = 0.25  # nats per pixel and step of `wider`
SMALL = 0.01  # share of an object's pixels: smaller parts of it, and holes in it, are cleaned up
HOLE = 5e-4  # share of the grid: smaller holes of a selection are filled
PREVIEW_PIXELS = 200_000  # of a grid; in a larger one, previews are objects of about as many blocks of pixels
COLOUR = 4.0  # nats: cost of the background in `select`, and of a colour that differs by the tolerance

Pixels = tuple[Rectangle, np.ndarray]  # a part of the image, and for each of its pixels the label and 1, or 0: it stays


class Edits:
    """Edits of an object of an image as it is shown.

    values    the image as it was given
    answers   of strokes
    labels    of the image that are shown, (H, W)
    label     the object
    """

    def __init__(self, values: np.ndarray, answers: ImageAnswers, labels: np.ndarray, label: int):
        self._values, self._answers, self._labels, self._label = values, answers, labels, label
        self._shape, self._scale = labels.shape, (labels.size / min(labels.size, REDUCED_PIXELS)) ** 0.5
        self._solvers: dict[int, gridcut.Solver] = {}  # of the grid, by the side of its blocks
        self._firsts: dict[bool, np.ndarray] = {}  # the object of step 0, final or not

    @property
    def _rgb(self) -> np.ndarray:
        is_ready = self._values.dtype == np.uint8 and self._values.shape == (*self._shape, 3)
        return self._values if is_ready else to_rgb(self._values)

    def solid(self, stroke: Stroke) -> Pixels:
        """The pixels of a stroke get its label."""
        part, where = painted(stroke, self._shape)
        return self._pixels(part, where, stroke.label != BACKGROUND)

    def push(self, stroke: Stroke) -> Pixels:
        """Cut the outline again within the radius of a stroke; pixels near its points get its label.

        D is that of the last cut, if the object is one of its labels, and else 0.  The cut is certified.
        """
        part, inside = painted(stroke, self._shape)
        near, core = painted(replace(stroke, radius=CORE * stroke.radius), self._shape)
        around = widened(part, 1, self._shape)
        found = self._labels[around]
        free = np.zeros(found.shape, bool)
        free[relative(part, around)] = inside
        free &= (found == BACKGROUND) | (found == self._label)
        terms = self._terms_of(around)
        pushed, other = terms if stroke.label else terms[::-1]
        pushed[relative(near, around)][core] = FORBIDDEN
        other[relative(near, around)][core] = 0
        lab = lab_image(as_floats(to_rgb(self._values[around])))
        edges = edges_of(lab, SMOOTHNESS * self._scale, self._answers.contrast)
        is_object, cut = banded_cut(terms[0] - terms[1], edges, found == self._label, free, FORBIDDEN)
        cut.check()
        changed = free & (is_object != (found == self._label))
        return self._pixels(around, changed, is_object)

    def wider(self, step: int, final: bool) -> Pixels:
        """The object if each of its pixels costs `step` times STEP nats less.

        D is that of the last cut, without other objects, whose pixels stay.  The objects of ascending steps are nested;
        also final ones, which have no specks.  What is only shown is, in a grid of more than PREVIEW_PIXELS, minimal
        among objects that consist of blocks of pixels.
        """
        if final not in self._firsts:
            self._firsts[final] = self._kept(self._cut(self._grown(0, final), final), final)
        terms = self._grown(round(step * STEP * UNIT), final)
        mask = self._kept(self._cut(terms, final), final)
        first, mask = (self._of_grid(one, final) for one in (self._firsts[final], mask))
        part, where, is_object = self._on_image(first != mask, mask, terms, final)
        return self._pixels(part, where & (is_object != (self._labels[part] == self._label)), is_object)

    def _grown(self, grown: int, final: bool) -> tuple[np.ndarray, np.ndarray]:
        """Costs of the grid, or of its blocks, if each pixel of the object costs that much less, in 1 / UNIT nats."""
        source, sink, sizes = self._terms_of_blocks[final]
        return source + max(grown, 0) * sizes, sink + max(-grown, 0) * sizes

    @cached_property
    def _terms_of_blocks(self) -> dict[bool, tuple[np.ndarray, ...]]:
        """Costs of background and object, and pixels, of the grid (True), and of its blocks (False)."""
        whole = *self._terms, np.ones_like(self._terms[0])
        return {True: whole, False: tuple(sums_of_blocks(one, self._side) for one in whole)}

    @cached_property
    def _terms(self) -> tuple[np.ndarray, np.ndarray]:
        """Costs of the grid that answers strokes, of background and object."""
        terms = self._answers.terms_of(self._label, (slice(None), slice(None)))
        terms[1][self._held] = FORBIDDEN
        return terms

    def select(self, stroke: Stroke, tolerance: float, final: bool) -> Pixels:
        """The part at a stroke with its colours, which becomes the object, or the background if that is its label.

        D of a pixel is COLOUR nats for all but the part, and for the part COLOUR times the square of the distance of
        its colour from the nearest one of the stroke, over the tolerance, at most 9 COLOUR.
        """
        from scipy.spatial import cKDTree

        grid = self._answers.grid
        scale = grid.shape[1] / self._shape[1]
        points = tuple((x * scale, y * scale) for x, y in stroke.points)
        part, where = painted(Stroke(points, stroke.radius * scale, 1), grid.shape)
        trail = np.zeros(grid.shape, bool)
        trail[part] = where
        colour, index = grid.palette.colour, grid.palette.index
        if not trail.any():
            return self._pixels((slice(0, 1), slice(0, 1)), trail[:1, :1], False)
        away = cKDTree(colour[np.unique(index[trail])]).query(colour, distance_upper_bound=3 * tolerance)[0]
        cost = np.rint(COLOUR * UNIT * np.minimum(away / tolerance, 3) ** 2).astype(np.int32)
        terms = np.full(grid.shape, int(COLOUR * UNIT), np.int32), cost[index]
        terms[1][self._held] = FORBIDDEN
        terms[0][trail], terms[1][trail] = FORBIDDEN, 0
        side = 1 if final else self._side
        cut = self._cut(tuple(sums_of_blocks(one, side) for one in terms), final)
        marks = np.where(sums_of_blocks(trail, side), np.int16(OBJECT), np.int16(OPEN))
        found = tidied(cut.astype(np.int16), marks, math.ceil(HOLE * cut.size), keep="touching") > 0
        mask = self._of_grid(found, final) & ~self._held
        shown, where, is_inside = self._on_image(mask, mask, terms, final)
        return self._pixels(shown, where & is_inside, stroke.label != BACKGROUND)

    def unsure(self) -> Callable[[], Margins]:
        """A function for the margins of the cut of the object, without other objects, whose pixels stay.

        It uses nothing that edits change, so it may be called while they do.
        """
        shown = at_centres(self._labels == self._label, self._answers.grid.shape)
        terms, edges = self._terms, self._answers.grid.edges()
        return lambda: Unsure(*terms, edges).margins(shown).on(self._shape)

    def replaced(self, mask: np.ndarray) -> Pixels:
        """The object with the pixels of a mask of the image, bool (H, W), except for those of other objects."""
        everywhere = slice(0, self._shape[0]), slice(0, self._shape[1])
        return self._pixels(everywhere, self._is_open & (mask != (self._labels == self._label)), mask)

    def cleaned(self, records: Sequence[Record]) -> Pixels:
        """The object without parts, and with holes filled, of less than SMALL of its pixels, unless they are marked."""
        canvas = Canvas(self._shape, self._shape)
        canvas.change_to(records)
        marks = np.where(self._is_open, canvas.all_marks(), BACKGROUND)
        found = np.where(self._labels == self._label, self._labels, np.int16(BACKGROUND))
        if not found.any():
            raise InputError(f"object {self._label} has no pixels yet; mark it")
        return self.replaced(tidied(found, marks, int(SMALL * np.count_nonzero(found)), keep_one=True) > 0)

    # Parts of these

    @property
    def _side(self) -> int:
        """Side of the blocks of previews, in pixels of the grid."""
        return math.ceil((self._answers.grid.size / PREVIEW_PIXELS) ** 0.5)

    @cached_property
    def _is_open(self) -> np.ndarray:
        """Pixels that are of no other object."""
        return (self._labels == BACKGROUND) | (self._labels == self._label)

    @cached_property
    def _held(self) -> np.ndarray:
        """Pixels of other objects, on the grid that answers strokes."""
        return at_centres(~self._is_open, self._answers.grid.shape)

    def _terms_of(self, part: Rectangle) -> tuple[np.ndarray, np.ndarray]:
        """Costs of background and object, int32, of a part of the image."""
        sizes = zip(self._shape, self._answers.grid.shape, part, strict=True)
        rows, columns = (centres(n, m)[side] for n, m, side in sizes)
        background, foreground = self._answers.terms_of(self._label, (rows[:, None], columns))
        least = np.minimum(background, foreground)
        return np.minimum(background - least, MAX_PREFERENCE), np.minimum(foreground - least, MAX_PREFERENCE)

    def _cut(self, terms, final: bool) -> np.ndarray:
        """The object of the minimum cut of the grid, bool; unless it is final, of its blocks, and not certified."""
        side = 1 if final else self._side
        if side in self._solvers:
            self._solvers[side].update(source=terms[0], sink=terms[1])
        else:
            edges = edges_of_blocks(self._answers.grid.edges(), side)
            self._solvers[side] = gridcut.Solver(terms[0], terms[1], edges, device="cpu")
        cut = self._solvers[side].solve()
        if final:
            cut.check()
        return cut.labels

    def _kept(self, mask: np.ndarray, final: bool) -> np.ndarray:
        """The parts to keep of an object of the grid; unless it is final, of its blocks."""
        hints, labels = self._answers.hints, mask.astype(np.int16)
        if not final:
            is_marked = sums_of_blocks(hints.anchors == self._label, self._side) > 0
            return keep_parts(labels, np.where(is_marked, np.int16(OBJECT), np.int16(OPEN)), hints.keep) > 0
        size = 1 if hints.options.keep == "all" else min(PIN_HOLE, math.ceil(PIN_SHARE * mask.size))
        return tidied(labels * np.int16(self._label), hints.anchors, size, keep=hints.keep) > 0

    def _of_grid(self, blocks: np.ndarray, final: bool) -> np.ndarray:
        """A mask of the grid's blocks as one of its pixels, unless it is final, and so is one of pixels."""
        if final or self._side == 1:
            return blocks
        height, width = self._answers.grid.shape
        return blocks.repeat(self._side, 0)[:height].repeat(self._side, 1)[:, :width]

    def _on_image(
        self, where: np.ndarray, mask: np.ndarray, terms, final: bool
    ) -> tuple[Rectangle, np.ndarray, np.ndarray]:
        """The part of an image around pixels of the grid, these, if they are of no other object, and a mask.

        If they are final, the outline of the mask is placed along the edges of the image, and more pixels may change.
        """
        import cv2

        is_placed = final and mask.shape != self._shape
        if is_placed:  # the outline may be beside the reduced one
            where = cv2.dilate(where.view(np.uint8), np.ones((5, 5), np.uint8)) > 0
        part = part_at_centres(where, self._shape)
        where, mask_there = (at_centres(one, self._shape, part) for one in (where, mask))
        if not is_placed:
            return part, where & self._is_open[part], mask_there
        marks, smoothness = np.full(self._shape, OPEN, np.int16), SMOOTHNESS * self._scale
        guess = at_centres(mask, self._shape).astype(np.int16)
        placed = placed_outline(self._rgb, marks, guess, np.stack(terms), smoothness)
        return part, where & self._is_open[part], placed[part] > 0

    def _pixels(self, part: Rectangle, where: np.ndarray, is_object) -> Pixels:
        """Pixels of a part of the image, bool (h, w), that become the object or background."""
        inside = bounds(where)
        if inside is None:
            return (slice(0, 1), slice(0, 1)), np.zeros((1, 1), np.uint8)
        side = np.broadcast_to(is_object, where.shape)[inside]
        return absolute(inside, part), where[inside] * (np.uint8(self._label) * side + np.uint8(1))


def sums_of_blocks(values: np.ndarray, side: int) -> np.ndarray:
    """Sums of the values (H, W), int32 or bool, of blocks of side x side pixels, int32."""
    if side == 1:
        return values
    whole = np.pad(values, [(0, -n % side) for n in values.shape])
    total = whole[::side, ::side].astype(np.int32)
    for y, x in list(np.ndindex(side, side))[1:]:
        total += whole[y::side, x::side]
    return total


def edges_of_blocks(edges: dict, side: int) -> dict:
    """Total weights of the edges of a grid between blocks of side x side pixels."""
    if side == 1:
        return edges
    found: dict[tuple[int, int], np.ndarray] = {}
    for (down, right), weight in edges.items():
        for y, x in np.ndindex(side, side):
            step = (y + down) // side, (x + right) // side
            part = np.zeros([-(-n // side) for n in weight.shape], np.int32)
            own = weight[y::side, x::side]
            part[: own.shape[0], : own.shape[1]] = own
            if step == (0, -1):
                step, part[:, :-1], part[:, -1] = (0, 1), part[:, 1:].copy(), 0
            if step != (0, 0):
                found[step] = found.get(step, 0) + part
    # As those of the grid, so that no kernel is compiled for another type, unless they do not fit.
    return {step: one.astype(np.uint16) if one.max() < 1 << 16 else one for step, one in found.items()}


def painted(stroke: Stroke, shape: Sequence[int]) -> tuple[Rectangle, np.ndarray]:
    """The pixels of a stroke in an image (H, W), bool in a part of it, which is empty outside of the image."""
    region, paint = placed(stroke, shape, shape)
    plane = np.zeros([side.stop - side.start for side in region], np.int16)
    paint(1, plane, region)
    return region, plane > 0
