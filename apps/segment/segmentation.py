"""Cut an object out of an image, from strokes, a trimap or a box.

A labelling x (True: object) costs

    E(x) = sum_p D_p(x_p)  +  sum_pq w_pq [x_p != x_q],

    D_p(object)     = -log p(colour_p | object model)      + GEODESIC_WEIGHT * max(0, g_p)
    D_p(background) = -log p(colour_p | background model)  + GEODESIC_WEIGHT * max(0, -g_p)
    w_pq            = contrast-sensitive weights of the 8 neighbours in Lab (gridcut.contrast_edges)

with g_p in [-1, 1] the geodesic preference of apps.segment.geodesic and infinite costs against the strokes [1, 3].
One exact cut minimises E for fixed models.  Parts of the object that touch no object stroke are dropped: a
user who wanted them would have marked them, and no later step can pull them back.  Then the colour models
are fitted to the labelling, the strokes counting as much again as all the rest, and the cut is repeated [2],
until the labelling stands still or `rounds` are done.  A round that would raise E is not taken, so the
reported energies fall.

A box marks all outside as background.  What is hard to reach from outside without crossing a border (the
minimum barrier distance [4]) is the first guess at the object.  How much of the box it fills is unknown, so
there are several guesses, and the one that ends with the least energy is taken.

An image above LARGE_PIXELS pixels is segmented at REDUCED_PIXELS pixels first; its models then serve one cut of the full
image, along the border found and wherever the colours contradict the reduced labelling.

Costs are rounded once, to multiples of 1 / UNIT; the cut itself is exact in integers.

[1] Boykov, Jolly. "Interactive graph cuts." ICCV 2001.
[2] Rother, Kolmogorov, Blake. "GrabCut." ACM Transactions on Graphics 23(3), 2004.
[3] Price, Morse, Cohen. "Geodesic graph cut for interactive image segmentation." CVPR 2010.
[4] Zhang et al. "Minimum barrier salient object detection at 80 FPS." ICCV 2015.
"""

from dataclasses import dataclass

import numpy as np

import gridcut
from apps.common.arguments import check_number
from apps.common.clock import Clock
from apps.common.figures import outline
from apps.common.images import InputError, to_rgb
from apps.segment.colour_models import log_densities
from apps.segment.geodesic import depth_in_box
from apps.segment.shapes import drop_small, fill_holes_of, keep_parts
from apps.segment.strokes import BACKGROUND, OBJECT, OPEN, check_marks, marks_of, marks_of_box
from apps.segment.terms import FORBIDDEN, REDUCED_PIXELS, UNIT, EnergyTerms, reduced

BOX_DEPTH_WEIGHT = 1.0  # nats: what the depth in a box alone may say about a pixel
ROUNDS = 10  # at most; most images stand still after 3 or 4
MAX_CHANGED_SHARE = 0.001  # share of the pixels that may still change when a labelling counts as standing still
# Where the object of a box is looked for first: the deepest share, and the shallowest for the background.
STARTS = ((0.5, 0.25), (0.25, 0.5), (0.75, 0.12))
STROKE_SHARE = 1.0  # of the strokes against the whole labelling when models are fitted again
LARGE_PIXELS = 1_000_000  # pixels above which models are found on a reduced image first
BAND = 3  # reduced pixels on either side of the border that the full image decides again
KEEP = ("touching", "all", "largest")


@dataclass(frozen=True, slots=True)
class Segmentation:
    """An object cut out of an image.

    Attributes
    ----------
    mask : ndarray of bool, (H, W)
        True on the object.
    marks : ndarray of int8, (H, W)
        What the user said, as `apps.segment.strokes` codes.
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


def segment(
    image,
    *,
    scribbles=None,
    trimap=None,
    box=None,
    keep: str | None = None,
    fill_holes: bool = False,
    min_area: int = 0,
    soft_strokes: bool = False,
    rounds: int = ROUNDS,
    device: str = "auto",
) -> Segmentation:
    """Cut the object out of an image; exactly one of `scribbles`, `trimap` and `box` says where it is.

    Parameters
    ----------
    image : array_like, (H, W), (H, W, 3) or (H, W, 4)
        Grey, RGB or RGBA; unsigned integers, or floats in [0, 1].
    scribbles : array_like, (H, W) or (H, W, 3)
        Strokes in any of the encodings of `apps.segment.strokes`.
    trimap : array_like, (H, W)
        0 background, 255 object, 128 unknown.
    box : four ints (x0, y0, x1, y1)
        Half open, in pixels; the object lies inside.
    keep : {"touching", "all", "largest"}, optional
        Parts of the object to keep: those that touch an object stroke (default where there are any), all
        (default for a box), or the largest only.
    fill_holes : bool
        Give holes without a background stroke to the object.
    min_area : int
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
        min_area=min_area,
        soft_strokes=soft_strokes,
        rounds=rounds,
        device=device,
    )


def segment_marked(
    rgb, marks, *, keep=None, fill_holes=False, min_area=0, soft_strokes=False, rounds=ROUNDS, device="auto"
) -> Segmentation:
    """`segment` for an image and marks already made: float32 (H, W, 3) in [0, 1], int8 (H, W) of
    apps.segment.strokes.
    """
    clock = Clock()
    check_number(rounds, "rounds", integer=True)
    if rounds < 1:
        raise InputError(f"rounds must be 1 or more, got {rounds}")
    check_number(min_area, "min_area")
    has_object = bool((marks == OBJECT).any())
    if keep is None:
        keep = "touching" if has_object else "all"
    if keep not in KEEP:
        raise InputError(f"--keep must be one of {', '.join(KEEP)}, got {keep!r}")
    if keep == "touching" and not has_object:
        raise InputError("--keep touching needs object strokes, and a box has none; use all or largest")
    terms, mask, energies, cut = _find(rgb, marks, keep, soft_strokes, rounds, device, clock)
    if fill_holes:
        mask = fill_holes_of(mask, terms.is_background)
    if min_area > 1:
        mask = drop_small(mask, min_area, terms.is_object, terms.is_background)
    clock.charge("parts")
    return Segmentation(mask, marks, tuple(energies), clock.total(), cut.device, cut.method)


def _find(rgb, marks, keep, soft, rounds, device, clock):
    """The labelling of least energy from any of the starts; a large image begins with a reduced one."""
    if marks.size > LARGE_PIXELS:
        small_rgb, small_marks = reduced(rgb, marks)
        if not _mark_vanished(marks, small_marks):
            small = _find(small_rgb, small_marks, keep, soft, rounds, device, clock)[1]
            guess = _enlarged(small, marks)
            if guess.any() and not guess.all():
                return _refined(rgb, marks, guess, keep, soft, device, clock)
    terms = EnergyTerms(rgb, marks, soft, device, clock)
    if not terms.is_box:
        starts = [(terms.stroke_object, terms.stroke_background)]
    else:
        depth = depth_in_box(terms.lab, terms.is_background, terms.path_starts())
        terms.set_location_costs((BOX_DEPTH_WEIGHT * UNIT) * (1 - 2 * depth))
        counts = terms.palette.counts
        starts = [(counts(depth > 1 - deep), counts(depth < shallow)) for deep, shallow in STARTS]
        clock.charge("distances")
    found = [_fit_and_cut(terms, keep, rounds, clock, *start) for start in starts]
    return terms, *min(found, key=lambda one: one[1][-1])


def _enlarged(small, marks):
    """A labelling of the reduced image at full size, as far as the marks allow it."""
    import cv2

    mask = cv2.resize(small.view(np.uint8), marks.shape[::-1], interpolation=cv2.INTER_NEAREST) > 0
    return (mask | (marks == OBJECT)) & (marks != BACKGROUND)


def _refined(rgb, marks, mask, keep, soft, device, clock):
    """Cut the full image with models fitted to a first guess, the labelling of the reduced one."""
    terms = EnergyTerms(rgb, marks, soft, device, clock)
    if terms.is_box:
        terms.set_location_costs(np.where(terms.is_background, np.float32(UNIT), np.float32(0)))
    object_count = _blend(terms.palette.counts(mask), terms.stroke_object)
    background_count = _blend(terms.palette.counts(~mask), terms.stroke_background)
    clock.charge("models")
    costs = terms.costs(*log_densities(terms.palette, object_count, background_count, terms.whole))
    clock.charge("models")
    labels, cut = _cut_near(terms, mask, BAND * round((marks.size / REDUCED_PIXELS) ** 0.5), *costs[:2])
    clock.charge("cuts")
    labels = keep_parts(labels, keep, terms.is_object)
    energy = terms.energy(labels, *costs)
    clock.charge("parts")
    return terms, labels, [energy], cut


def _cut_near(terms, guess, width, as_object, as_background):
    """The best cut among those that keep to a guess where its border is far and the colours agree with it.

    Pixels within `width` of the guess's border, and pixels whose own costs speak against the guess, are open;
    a ring of pixels round them is held to the guess, and the rest takes no part.
    """
    import cv2

    near = outline(guess, width) | outline(~guess, width)
    opened = (near | ((as_object > as_background) == guess)).view(np.uint8)
    taking_part = cv2.dilate(opened, np.ones((3, 3), np.uint8)) > 0
    held = taking_part & (opened == 0)
    source = np.where(held, np.int32(FORBIDDEN) * guess, as_background).astype(np.int32)
    sink = np.where(held, np.int32(FORBIDDEN) * ~guess, as_object).astype(np.int32)
    cut = gridcut.max_flow(source, sink, terms.edges, mask=taking_part, device=terms.device)
    return np.where(taking_part, cut.labels, guess), cut


def _mark_vanished(marks, small):
    """Whether a kind of mark, or all open pixels, vanished when the image was reduced."""
    return any((marks == mark).any() and not (small == mark).any() for mark in (OBJECT, BACKGROUND, OPEN))


def _fit_and_cut(terms, keep, rounds, clock, object_count, background_count):
    """Fit and cut until the labelling stands still; the last labelling, the energies and the last cut."""
    palette = terms.palette
    mask, energies, cut, solver = None, [], None, None
    for _ in range(rounds):
        costs = terms.costs(*log_densities(palette, object_count, background_count, terms.whole))
        clock.charge("models")
        as_object, as_background, _ = costs
        # The flow of the last round is nearly the flow of this one: only the colours' costs have changed.
        if solver is None:
            solver = gridcut.Solver(as_background, as_object, terms.edges, device=terms.device)
        else:
            solver.update(source=as_background, sink=as_object)
        tried = solver.solve()
        clock.charge("cuts")
        labels = keep_parts(tried.labels, keep, terms.is_object)
        energy = terms.energy(labels, *costs)
        clock.charge("parts")
        if energies and energy > energies[-1]:
            break
        has_converged = mask is not None and np.count_nonzero(labels != mask) <= MAX_CHANGED_SHARE * mask.size
        mask, cut = labels, tried
        energies.append(energy)
        if has_converged or not mask.any() or mask.all():
            break
        object_count = _blend(palette.counts(mask), terms.stroke_object)
        background_count = _blend(palette.counts(~mask), terms.stroke_background)
        clock.charge("models")
    return mask, energies, cut


def _blend(labelled, strokes):
    """Counts of a labelling with the strokes counting as much as all of it."""
    total = strokes.sum()
    return labelled + strokes * (STROKE_SHARE * labelled.sum() / total) if total else labelled


def _marks(shape, scribbles, trimap, box):
    given = [name for name, value in (("scribbles", scribbles), ("trimap", trimap), ("box", box)) if value is not None]
    if len(given) != 1:
        raise InputError(f"pass exactly one of scribbles, trimap and box, got {' and '.join(given) or 'none'}")
    if box is not None:
        return marks_of_box(box, shape)
    name = given[0]
    codes = np.asarray(scribbles if trimap is None else trimap)
    return check_marks(marks_of(codes, "auto" if trimap is None else "grey", name), shape, name)
