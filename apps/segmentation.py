"""Cut an object out of a picture, from strokes, a trimap or a box.

A labelling x (True: object) costs

    E(x) = sum_p D_p(x_p)  +  sum_pq w_pq [x_p != x_q],

    D_p(object)     = -log p(colour_p | object model)      + NEARNESS * max(0, g_p)
    D_p(background) = -log p(colour_p | background model)  + NEARNESS * max(0, -g_p)
    w_pq            = contrast-sensitive weights of the 8 neighbours in Lab (gridcut.contrast_edges)

with g_p in [-1, 1] the geodesic preference of apps.geodesic and infinite costs against the strokes [1, 3].
One exact cut minimises E for fixed models.  Parts of the object that touch no object stroke are dropped: a
user who wanted them would have marked them, and no later step can pull them back.  Then the colour models are
fitted to the labelling, the strokes counting as much again as all the rest, and the cut is repeated [2],
until the labelling stands still.  A round that would raise E is not taken, so the reported energies fall.

A box marks all outside as background; the first object model is what is left of the colours inside the box
after the background's share is taken away.

Costs are rounded once, to multiples of 1 / UNIT; the cut itself is exact in integers.

[1] Boykov, Jolly. "Interactive graph cuts." ICCV 2001.
[2] Rother, Kolmogorov, Blake. "GrabCut." ACM Transactions on Graphics 23(3), 2004.
[3] Price, Morse, Cohen. "Geodesic graph cut for interactive image segmentation." CVPR 2010.
"""

import time
from dataclasses import dataclass

import numpy as np

import gridcut
from apps.colour_models import (
    COMPONENTS,
    fit_mixture,
    lab_image,
    log_densities,
    make_palette,
    seen_through,
    whole_density,
)
from apps.geodesic import FAR, depth_in_box, nearer_background
from apps.images import InputError, to_rgb
from apps.pictures import border
from apps.shapes import drop_small, fill_holes_of, keep_parts
from apps.strokes import BACKGROUND, OBJECT, check_marks, marks_of, marks_of_box

SMOOTHNESS = 20.0  # weight of an edge of length 1 between equal colours, in nats
BOX_SMOOTHNESS = 50.0
BOX_NEARNESS = 1.0
RING = 4
UNLIKE_RING = 5.0
DEEP = 0.5
SHALLOW = 0.25
USE_SHARE = False
NEARNESS = 3.0  # nats: what the strokes' nearness alone may say about a pixel
ROUNDS = 10  # at most; most pictures stand still after 3 to 6
SOFT_STROKE = 8.0  # nats for what a soft stroke says; colours and neighbours can outvote it
STROKE_SHARE = 1.0
UNIT = 256
FORBIDDEN = 1 << 20  # more than all edges of a pixel together
KEEP = ("touching", "all", "largest")


@dataclass(frozen=True, slots=True)
class Segmentation:
    """An object cut out of a picture.

    Attributes
    ----------
    mask : ndarray of bool, (H, W)
        True on the object.
    marks : ndarray of int8, (H, W)
        What the user said, as `apps.strokes` codes.
    energies : tuple of float
        Cost of the labelling after each round, in nats; never rises.
    seconds : dict
        Seconds by phase: "colours", "edges", "distances", "models", "cuts", "parts", "total".
    device, method : str
        What solved the cuts.
    """

    mask: np.ndarray
    marks: np.ndarray
    energies: tuple
    seconds: dict
    device: str
    method: str


class Clock:
    """Adds up seconds by phase."""

    def __init__(self):
        self.start = self.last = time.perf_counter()
        self.seconds = {}

    def charge(self, phase):
        now = time.perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self.last
        self.last = now

    def total(self):
        return {**self.seconds, "total": time.perf_counter() - self.start}


class Picture:
    """What stays the same from round to round: colours, marks, edges, geodesic preference."""

    def __init__(self, rgb, marks, soft, device, clock):
        self.marks, self.device, self.soft = marks, device, soft
        self.is_object, self.is_background = marks == OBJECT, marks == BACKGROUND
        lab = lab_image(rgb)
        self.palette = make_palette(rgb, lab)
        self.whole = whole_density(self.palette)
        clock.charge("colours")
        self.boxed = not self.is_object.any()
        smoothness = BOX_SMOOTHNESS if self.boxed else SMOOTHNESS
        self.edges = gridcut.contrast_edges(lab, weight=smoothness * UNIT, connectivity=8, dtype=np.int32)
        clock.charge("edges")
        if self.boxed:
            self.depth = depth_in_box(lab, self.is_background, self._starts())
            self.preference = (BOX_NEARNESS * UNIT) * (1 - 2 * self.depth)
        else:
            self.preference = (NEARNESS * UNIT) * nearer_background(lab, self.is_object, self.is_background)
        clock.charge("distances")

    def _starts(self):
        """Where paths into a box may start besides the background: at the picture's sides, in the ring's colours.

        A box that reaches a side of the picture has no outside there.  What lies along that side is background if
        its colours are common along the whole ring round the box, and the object cut off by the picture if not.
        """
        start = np.full(self.marks.shape, FAR, np.float32)
        frame = np.ones(self.marks.shape, bool)
        frame[1:-1, 1:-1] = False
        frame &= ~self.is_background
        if not frame.any():
            return start
        wide = np.ones(self.marks.shape, bool)
        wide[RING:-RING, RING:-RING] = False
        ring = (border(~self.is_background, RING) | wide) & (self.is_background | wide)
        ring &= border(~self.is_background, RING) | ~self.is_background
        common = fit_mixture(self.palette.colour, self.palette.counts(ring), COMPONENTS)
        rare = np.log(self.whole + 1e-30) - np.log(common.density(self.palette.colour) + 1e-30)
        start[frame] = UNLIKE_RING * np.maximum(rare, 0.0)[self.palette.index[frame]]
        return start

    def costs(self, object_cost, background_cost):
        """Integer costs of both labels per pixel from costs per palette entry in nats."""
        # What both labels cost a pixel alike stays out of the cut, but counts in the energy.
        index = self.palette.index
        common = np.minimum(object_cost, background_cost)
        as_object = np.int32(np.rint((object_cost - common) * UNIT))[index]
        as_background = np.int32(np.rint((background_cost - common) * UNIT))[index]
        lean = np.int32(self.preference)
        as_object += np.maximum(lean, 0)
        as_background += np.maximum(-lean, 0)
        against = np.int32(SOFT_STROKE * UNIT) if self.soft else np.int32(FORBIDDEN)
        as_object[self.is_background] = as_object[self.is_background] + against if self.soft else against
        as_background[self.is_object] = as_background[self.is_object] + against if self.soft else against
        if not self.soft:
            as_object[self.is_object] = 0
            as_background[self.is_background] = 0
        return as_object, as_background, float(self.palette.count @ common)

    def energy(self, mask, as_object, as_background, common):
        """Cost of a labelling in nats."""
        total = int(as_object[mask].sum(dtype=np.int64)) + int(as_background[~mask].sum(dtype=np.int64))
        for offset, weight in self.edges.items():
            here, there = _pairs(mask, offset)
            where, _ = _pairs(weight, offset)
            total += int(where[here != there].sum(dtype=np.int64))
        return total / UNIT + common


def segment(
    image,
    *,
    scribbles=None,
    trimap=None,
    box=None,
    keep: str | None = None,
    fill_holes: bool = False,
    least_area: int = 0,
    soft_strokes: bool = False,
    rounds: int = ROUNDS,
    device: str = "auto",
) -> Segmentation:
    """Cut the object out of a picture; exactly one of `scribbles`, `trimap` and `box` says where it is.

    Parameters
    ----------
    image : array_like, (H, W), (H, W, 3) or (H, W, 4)
        Grey, RGB or RGBA; unsigned integers, or floats in [0, 1].
    scribbles : array_like, (H, W) or (H, W, 3)
        Strokes in any of the encodings of `apps.strokes`.
    trimap : array_like, (H, W)
        0 background, 255 object, 128 unknown.
    box : four ints (x0, y0, x1, y1)
        Half open, in pixels; the object lies inside.
    keep : {"touching", "all", "largest"}, optional
        Parts of the object to keep: those that touch an object stroke (default where there are any), all
        (default for a box), or the largest only.
    fill_holes : bool
        Give holes without a background stroke to the object.
    least_area : int
        Drop parts with fewer pixels, and fill holes with fewer.
    soft_strokes : bool
        Strokes are strong hints, not orders: for strokes that overshoot the object.
    rounds : int
        Most rounds of fitting colour models and cutting.
    device : {"auto", "cpu", "cuda"}
        Where the cuts are solved.

    Returns
    -------
    Segmentation

    Raises
    ------
    InputError
        A ValueError whose message is one line for the user: nothing or too much said, sizes that differ, a
        box without background, strokes of one kind only.
    """
    rgb = to_rgb(image)
    return segment_marked(
        rgb,
        _marks(rgb.shape[:2], scribbles, trimap, box),
        keep=keep,
        fill_holes=fill_holes,
        least_area=least_area,
        soft_strokes=soft_strokes,
        rounds=rounds,
        device=device,
    )


def segment_marked(
    rgb, marks, *, keep=None, fill_holes=False, least_area=0, soft_strokes=False, rounds=ROUNDS, device="auto"
) -> Segmentation:
    """`segment` for a picture and marks already made: float32 (H, W, 3) in [0, 1], int8 (H, W) of
    apps.strokes.
    """
    clock = Clock()
    has_object = bool((marks == OBJECT).any())
    if keep is None:
        keep = "touching" if has_object else "all"
    if keep not in KEEP:
        raise InputError(f"--keep must be one of {', '.join(KEEP)}, got {keep!r}")
    if keep == "touching" and not has_object:
        raise InputError("--keep touching needs object strokes, and a box has none; use all or largest")
    picture = Picture(rgb, marks, soft_strokes, device, clock)

    mask, energies, cut = _rounds(picture, keep, rounds, clock)
    if fill_holes:
        mask = fill_holes_of(mask, picture.is_background)
    if least_area > 1:
        mask = drop_small(mask, least_area, picture.is_object, picture.is_background)
    clock.charge("parts")
    return Segmentation(mask, marks, tuple(energies), clock.total(), cut.device, cut.method)


def _rounds(picture, keep, rounds, clock):
    """Fit and cut until the labelling stands still; the last labelling, the energies and the last cut."""
    palette = picture.palette
    stroke_object = palette.counts(picture.is_object)
    stroke_background = palette.counts(picture.is_background)
    object_count, background_count = stroke_object, stroke_background
    if not picture.is_object.any():
        object_count = palette.counts(picture.depth > 1 - DEEP)
        background_count = palette.counts(picture.depth < SHALLOW)
        if USE_SHARE:
            object_count = seen_through(palette, object_count, background_count)
    mask, energies, cut = None, [], None
    for _ in range(rounds):
        costs = picture.costs(*log_densities(palette, object_count, background_count, picture.whole))
        clock.charge("models")
        as_object, as_background, common = costs
        tried = gridcut.max_flow(as_background, as_object, picture.edges, device=picture.device)
        clock.charge("cuts")
        labels = keep_parts(tried.labels, keep, picture.is_object)
        energy = picture.energy(labels, *costs)
        clock.charge("parts")
        if energies and energy > energies[-1]:
            break
        stands_still = mask is not None and np.array_equal(labels, mask)
        mask, cut = labels, tried
        energies.append(energy)
        if stands_still or not mask.any() or mask.all():
            break
        object_count = _blend(palette.counts(mask), stroke_object)
        background_count = _blend(palette.counts(~mask), stroke_background)
        clock.charge("models")
    return mask, energies, cut


def _blend(labelled, strokes):
    """Counts of a labelling with the strokes counting as much as all of it."""
    total = strokes.sum()
    return labelled + strokes * (STROKE_SHARE * labelled.sum() / total) if total else labelled


def _pairs(array, offset):
    """Views of a 2-D array at p and at p + offset, for all p where both exist."""
    here, there = [], []
    for step, size in zip(offset, array.shape, strict=True):
        here.append(slice(max(0, -step), size - max(0, step)))
        there.append(slice(max(0, step), size - max(0, -step)))
    return array[tuple(here)], array[tuple(there)]


def _marks(shape, scribbles, trimap, box):
    given = [
        name
        for name, value in (("scribbles", scribbles), ("trimap", trimap), ("box", box))
        if value is not None
    ]
    if len(given) != 1:
        raise InputError(
            f"pass exactly one of scribbles, trimap and box, got {' and '.join(given) or 'none'}"
        )
    if box is not None:
        return marks_of_box(box, shape)
    name = given[0]
    codes = np.asarray(scribbles if trimap is None else trimap)
    return check_marks(marks_of(codes, "auto" if trimap is None else "grey", name), shape, name)
