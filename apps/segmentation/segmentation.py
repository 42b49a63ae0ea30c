"""Cut an object out of an image, from strokes, a trimap, a box or a start mask.

The energy of a labelling x (True: object) is

    E(x) = sum_p D_p(x_p)  +  sum_pq w_pq [x_p != x_q],

    D_p(object)     = -log p(colour_p | object model)      + GEODESIC_WEIGHT * max(0, g_p)
    D_p(background) = -log p(colour_p | background model)  + GEODESIC_WEIGHT * max(0, -g_p)
    w_pq            = contrast-sensitive weights of the 8 neighbours in Lab (gridcut.contrast_edges)

with g_p in [-1, 1] the geodesic preference of apps.segmentation.geodesic, above 0 against the object, and infinite
costs against the strokes [1, 3].  As it is cut, D_p(l) is table[l, colour] + location[l, p] (grid_cut.py); the location
costs of each kind of hint are in model.py: geodesic ones of strokes, weighted by how much strokes are trusted, the
depth in a box, the distance from a mask.  The colour costs have a floor for outliers (colour_models.py).

For fixed models one exact cut minimises E.  Parts of the object that touch no object stroke are dropped: users would
have marked a part they want, and no later step can remove it.  Then the colour models are fitted to the labelling, with
the strokes weighted as much as the whole labelling, and the cut is repeated [2].  The iteration ends when the
labelling has converged or after `rounds` rounds.  A round that would increase E is discarded, so the reported energies
never increase.

For a box, all pixels outside are background.  The pixels inside with the largest minimum barrier distance from outside
[4] are the initial object.  Since the share of the box that the object fills is unknown, several initialisations are
tried, as well as GrabCut's, all of the box, and one without its rim, which learn the background of a ring around the
box.  The part of the image around the box is segmented, and apps.segmentation.fit compares the results.  Edges of a box
count the steps of a blurred image as well, because outlines in a box are often soft, and texture is not (see
apps.segmentation.terms).

Few strokes trust colours less, take the sides of the image for background, and try further initial models, as
apps.segmentation.mark_prior describes.

An object that is empty, or too small for its box, does not win (see apps.segmentation.fit).  If no other
is found in a box, its deepest pixels are constrained to be object.

With a box and strokes as well, both kinds of costs by location add up, the initial models contain the colours of the
strokes, and the strokes alone are a further initialisation.

A mask adds costs by location, and the first colour models are fitted to it; see apps.segmentation.start_mask.

An image with more than WORKING_PIXELS pixels, around a box more than BOX_PIXELS, is segmented at that number of pixels,
and the outline found is then placed in the full image (see apps.segmentation.fit).

Costs are rounded once, to multiples of 1 / UNIT; the cut itself is exact in integers.

[1] Boykov, Jolly. "Interactive graph cuts." ICCV 2001.
[2] Rother, Kolmogorov, Blake. "GrabCut." ACM Transactions on Graphics 23(3), 2004.
[3] Price, Morse, Cohen. "Geodesic graph cut for interactive image segmentation." CVPR 2010.
[4] Zhang et al. "Minimum barrier salient object detection at 80 FPS." ICCV 2015.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from apps.common.arguments import array_of
from apps.common.images import InputError, kept_rgb, to_bytes
from apps.segmentation.fit import Found, find_labels
from apps.segmentation.hints import ROUNDS, ObjectOptions, combine, remarks_on
from apps.segmentation.masks import mask_of
from apps.segmentation.model import ImageView
from apps.segmentation.strokes import marks_of
from gridcut.device import DeviceName
from gridcut.device.result import GridResult

if TYPE_CHECKING:
    from apps.segmentation.margins import Margins


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Segmentation(GridResult):
    """Result of `segment`: an object cut out of an image.

    Attributes
    ----------
    mask : ndarray of bool, (H, W)
        True on the object.
    fixed : ndarray of int8, (H, W)
        What strokes and the outside of a box fix: -1 nothing, 0 background, 1 object.
    energies : tuple of float
        Energy of the labelling after each round, in nats; never increases.  Of an image that is segmented at a
        reduced size, it is the energy there; above a megapixel and without a box, of the last cut only.
    seconds : dict
        Seconds: "total", and "compile", those of compiling kernels.
    device, method : str
        Device and method that solved the cuts.
    """

    mask: np.ndarray
    fixed: np.ndarray
    energies: tuple
    seconds: dict
    device: str
    method: str
    _rival: Callable[[], np.ndarray] | None = field(default=None, repr=False)
    _given: tuple | None = field(default=None, repr=False)

    @property
    def rival(self) -> np.ndarray | None:
        """Another object that fits a box about as well, bool (H, W), or None; found in full when first asked for."""
        return None if self._rival is None else self._rival()

    def margins(self, at: ArrayLike | None = None) -> Margins:
        """What it would cost to change the label of each pixel, and which pixel to mark next.

        The margin of a pixel is the energy of the best labelling in which it has the other label, minus the minimum,
        for the final colour models.  Nested cuts, each of which is certified, bound it for all pixels, and give it
        exactly where nothing between the bounds is left, at `place`, and at the pixels asked for.  The object is found
        again, from the image that was passed, which must not have changed; that takes as long as `segment`, and the
        bounds about as long again.  Above WORKING_PIXELS, margins are those of the reduced image.

        Parameters
        ----------
        at : array_like of bool, (H, W), optional
            Pixels whose margins are to be exact: a few, as each takes a cut.

        Returns
        -------
        Margins
            `least` and `most` are bounds of the margins in nats, float32 (H, W).

        Raises
        ------
        InputError
            `at` has another shape or dtype, or this is a pickled copy, which has no image.
        """
        from apps.segmentation.margins import margins_of

        if self._given is None:
            raise InputError("margins need the image, which pickled and deep copies do not have; call segment again")
        at = None if at is None else array_of(at, "at")
        if at is not None and (at.dtype != bool or at.shape != self.mask.shape):
            raise InputError(f"at must be bool of shape {self.mask.shape}, got {at.dtype} of shape {at.shape}")
        rgb, hints = self._given
        return margins_of(rgb, hints, self.mask, at)

    def _portable(self):
        kind, values = GridResult._portable(self)
        rival = self._rival and partial(np.asarray, self.rival)
        return kind, [*values[:-2], rival, None]

    def _figure(self):
        return self.mask

    def _headline(self):
        rounds = len(self.energies)
        return f"object {self.mask.mean():.1%}, {rounds} round{'s' * (rounds > 1)}, {self.seconds['total']:.2f} s"


def segment(
    image: ArrayLike,
    *,
    strokes: ArrayLike | None = None,
    trimap: ArrayLike | None = None,
    box: Sequence[int] | None = None,
    start: ArrayLike | None = None,
    keep: str | None = None,
    fill_holes: bool = False,
    min_area: int = 0,
    rounds: int = ROUNDS,
    device: DeviceName = "auto",
) -> Segmentation:
    """Cut an object out of an image, given strokes or a trimap, a box, a start mask, or several of them.

    Parameters
    ----------
    image : array_like, shape (H, W), (H, W, 3) or (H, W, 4)
        Grey, RGB or RGBA image; integers in [0, 255], uint16, or floats in [0, 1].  Not BGR: of what `cv2.imread`
        returns, pass ``image[..., ::-1]``.
    strokes : array_like, shape (H, W) or (H, W, 3), optional
        Strokes in any of the encodings of `apps.segmentation.strokes`; colours are RGB, red on the object.
    trimap : array_like, shape (H, W), optional
        0 background, 255 object, 128 unknown.
    box : tuple of int (x0, y0, x1, y1), optional
        Box around the object in pixels, half open; all outside is background, except for object strokes.  A box that
        exceeds the image is clipped, with a UserWarning.
    start : array_like, shape (H, W), optional
        A rough mask: bool, 0 and another value, or grey levels.  It is a hint, whereas strokes are constraints; a full
        rectangle is treated as a box.  Probabilities, logits and blurred grey levels, perhaps of a lower resolution,
        are refined as by `apps.refine`, and only strokes that contradict them change the result nearby; so are rough
        masks in blocks, as an enlargement without interpolation leaves them.
    keep : {"touching", "all", "largest"}, optional
        Parts of the object to keep: those that touch an object stroke (default for strokes or a trimap alone), all, or
        only the largest.  Default with a box or a start mask: all but specks, and in a box but islands of less than 1 %
        of the largest part.
    fill_holes : bool, default False
        Assign holes without a background stroke to the object.
    min_area : int, default 0
        Drop parts, and fill holes, of fewer pixels, unless they have a mark.  0: of less than 10 pixels, or
        a hundred-thousandth of an image above a megapixel, or a ten-thousandth of one below 0.1 megapixels, but none
        if `keep` is "all"; 1: none.  The energies are those of the cuts before this.
    rounds : int, default 10
        Maximum number of rounds of fitting colour models and cutting.
    device : {"auto", "cpu", "cuda"}, default "auto"
        Where the cuts are solved.

    Returns
    -------
    Segmentation
        `mask` is bool (H, W), True on the object.

    Raises
    ------
    InputError
        A ValueError with a one-line message: nothing that locates the object, both `strokes` and `trimap`, sizes
        that differ, a box outside the image or without background, or background strokes and nothing else.

    Warns
    -----
    UserWarning
        The object found is empty or covers nearly the whole image, the box was clipped, or fits another object about as
        well (`rival`), or there are object strokes and
        nothing else, so that the sides of the image count as background.

    See Also
    --------
    segment_labels : Several objects in an image.
    segment_volume : Several objects in a volume.

    Examples
    --------
    >>> import numpy as np
    >>> from apps import segment
    >>> image = np.zeros((20, 30), np.uint8)
    >>> image[5:15, 10:20] = 200
    >>> result = segment(image, box=(7, 2, 23, 18), device="cpu")
    >>> int(result.mask.sum())
    100
    """
    rgb = kept_rgb(image)
    marks, name = _marks(rgb, strokes, trimap)
    mask = None if start is None else mask_of(start)
    if marks is None and box is None and mask is None:
        raise InputError("pass strokes, trimap, box or start, got none")
    options = ObjectOptions(keep, fill_holes, min_area)
    hints = combine(rgb.shape[:2], marks, box, name, mask=mask, options=options, rounds=rounds)
    found = find_labels(ImageView(lambda: rgb, hints.marks.shape), hints, device)
    rival = None if found.rival is None else partial(_mask_of, found.rival)
    for note in (*hints.notes, *remarks_on(found.mask, found.rival is not None)):
        warnings.warn(note, stacklevel=2)
    seconds, solved = dict(found.seconds), found.solved
    of_cut = found.energies, seconds, solved.device, solved.method
    return Segmentation(found.mask, hints.marks, *of_cut, rival, (rgb, hints))


def _mask_of(found: Callable[[], Found]) -> np.ndarray:
    return found().mask


def _marks(rgb, strokes, trimap):
    """Marks of the strokes or the trimap, None if there are none, and the argument's name."""
    if strokes is not None and trimap is not None:
        raise InputError("pass strokes or trimap, got both; paint the strokes into the trimap")
    if strokes is None and trimap is None:
        return None, "strokes"
    name, codes, encoding = ("strokes", strokes, "auto") if trimap is None else ("trimap", trimap, "grey")
    return marks_of(codes, encoding, name, to_bytes(rgb)), name
