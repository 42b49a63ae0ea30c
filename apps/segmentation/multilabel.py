"""Several objects from strokes: one label per pixel or voxel, with an appearance model per label fitted to its strokes.

The energy of a labelling is

    E(x) = sum_p D_p(x_p)  +  sum_pq w_pq [x_p != x_q],
    D_p(l) = -log p(appearance of p | model of l)  +  GEODESIC_WEIGHT * max(0, g_p,l)

with infinite costs against the strokes and w the contrast weights of `gridcut.contrast_edges`.  In images, g_p,l
compares the geodesic distance of p from the strokes of l with that from the nearest other strokes (see
apps.segmentation.geodesic).
Two  labels take one exact cut; more labels take alpha-expansion, whose moves are exact cuts [1].

In images the models are then refitted, as apps.segmentation.fit describes.  Finally that label is forbidden in parts
that touch no stroke of it, and the labels are minimised again.

Internally the labels are the objects 1 .. L in the order of the strokes' values; callers receive the values.

[1] Boykov, Veksler, Zabih. "Fast approximate energy minimization via graph cuts." PAMI 23(11), 2001.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from apps.common.arguments import array_of
from apps.common.certified import Certified
from apps.common.clock import Clock
from apps.common.images import to_rgb
from apps.segmentation import KEEP, SPACING
from apps.segmentation.fit import certifiable, find_labels, reassigned
from apps.segmentation.grid_cut import energy_of, labels_of, minimum
from apps.segmentation.hints import Hints, ObjectOptions, clipped, shares_of
from apps.segmentation.instances import marks_outside, with_boxes_found
from apps.segmentation.marks import check_keep, marks_of_labels
from apps.segmentation.model import ImageView, Models
from apps.segmentation.volume_view import VolumeView
from gridcut.device import DeviceName
from gridcut.device.result import GridResult

SEVERAL = KEEP[:2]  # parts of several objects to keep


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Objects(Certified, GridResult):
    """Result of `segment_labels` and `segment_volume`: several objects in an image or volume.

    Attributes
    ----------
    labels : ndarray, the grid's shape, dtype of the strokes
        Stroke value of the object of each pixel.
    values : tuple of int
        Distinct stroke values.
    energies : tuple of float
        Energy of the labelling after each round, in nats, before parts are reassigned; never increases.
    seconds : dict
        Seconds: "total", and "compile", those of compiling kernels.
    solved : object
        Result of the last solve, a gridcut.Cut or gridcut.Labelling, with `device` and `check()`.
    """

    labels: np.ndarray
    values: tuple
    energies: tuple
    seconds: dict
    solved: Any


def segment_labels(
    image: ArrayLike,
    strokes: ArrayLike,
    *,
    boxes: Mapping[int, Sequence[int]] | None = None,
    background: int | None = None,
    keep: str = "touching",
    device: DeviceName = "auto",
) -> Objects:
    """Segment several objects in an image.

    Parameters
    ----------
    image : array_like, shape (H, W), (H, W, 3) or (H, W, 4)
        Grey, RGB or RGBA image; integers in [0, 255], uint16, or floats in [0, 1].
    strokes : array_like of int, shape (H, W)
        0 without a stroke; each other value marks an object.  At least two values, with those of `boxes`.
    boxes : mapping of int to (x0, y0, x1, y1), optional
        Boxes in pixels, half open, by the value of their object, which is inside and needs no stroke.  The strokes of
        others may be anywhere.  If all objects have a box, all outside is background.
    background : int, optional
        Value of the strokes on the background.  With it, and with boxes, the labels are 0 on the background.
    keep : {"touching", "all"}, default "touching"
        With "touching", parts that touch no stroke of their label are assigned to other labels, and small parts
        without a stroke to those beside them, of less than the default `min_area` of `segment`.
    device : {"auto", "cpu", "cuda"}, default "auto"
        Where the cuts are solved.

    Returns
    -------
    Objects
        `labels` has the shape and dtype of the strokes.

    Raises
    ------
    InputError
        The strokes have another size, fewer than two values, or cover every pixel; a box is empty.
    """
    clock = Clock()
    rgb, strokes = to_rgb(image), array_of(strokes, "strokes")
    check_keep(keep, SEVERAL)
    shape, boxes = rgb.shape[:2], {} if boxes is None else boxes
    values, marks = marks_of_labels(strokes, shape, boxes, background)
    view = ImageView(lambda: rgb, shape)
    shares = {values.index(value) + 1: shares_of(clipped(box, shape, []), shape) for value, box in boxes.items()}
    hints = Hints(marks_outside(marks, shares), options=ObjectOptions(keep), boxes=shares)
    found = find_labels(view, with_boxes_found(view, hints, device), device)
    solved = certifiable(found, device)
    dtype = np.promote_types(strokes.dtype, np.min_scalar_type(values[-1]))
    labels = np.array((0, *values), dtype)[found.labels]
    return Objects(labels, values, found.energies, clock.total(), solved)


def segment_volume(
    volume: ArrayLike,
    strokes: ArrayLike,
    *,
    spacing: Sequence[float] = SPACING,
    keep: str = "touching",
    device: DeviceName = "auto",
) -> Objects:
    """Segment several objects in a volume, with a histogram of grey values per object.

    Parameters
    ----------
    volume : array_like, shape (D, H, W)
        Finite numbers of any scale.
    strokes : array_like of int, shape (D, H, W)
        0 without a stroke; each other value marks an object.  At least two values.
    spacing : sequence of three float, default (1, 1, 1)
        Size of a voxel along z, y and x, in any unit.  Weights decrease with the distance between two voxels.
    keep, device
        As in `segment_labels`.

    Returns
    -------
    Objects
        `labels` has the shape and dtype of the strokes.

    Raises
    ------
    InputError
        As in `segment_labels`, or `spacing` is invalid.

    Notes
    -----
    About 127 bytes per voxel for two labels and 6 neighbours.
    """
    clock = Clock()
    strokes = array_of(strokes, "strokes")
    check_keep(keep, SEVERAL)
    view = VolumeView(volume, spacing)
    values, marks = marks_of_labels(strokes, view.shape)
    edges = view.edges()
    labels = tuple(range(1, len(values) + 1))
    costs = view.costs(Models(labels, view.stroke_counts(marks, labels)))
    unary = costs.everywhere(marks)
    solved = minimum(unary, edges, device)
    found, energy = labels_of(solved, costs.values), energy_of(solved)
    if keep == "touching":
        found, solved = reassigned(costs.values, unary, found, solved, marks, edges, device)
    return Objects(np.array((0, *values), strokes.dtype)[found], values, (energy,), clock.total(), solved)
