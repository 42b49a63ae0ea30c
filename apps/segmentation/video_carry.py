"""Carry the mask of one frame of a clip to a neighbouring frame: motion, an uncertain band, one exact cut.

With z_p the signed distance of pixel p from the outline of the last mask, positive inside, moved to the new frame
along the optical flow (DIS [1]), and u_p the disagreement of the flows in both directions, the mask x (True: object)
minimises

    E(x) = sum_p D_p(x_p)  +  sum_pq w_pq [x_p != x_q],

    D_p(background) - D_p(object) = DISTANCE_WEIGHT * z_p / (1 + u_p)
                                    + COLOUR_WEIGHT * log(p(colour_p | object) / p(colour_p | background))

in the band |z_p| <= BAND + u_p.  Pixels outside it are fixed to their side, and strokes are fixed everywhere.  So the
flow says where the outline is within a few pixels, and colours and image edges place it exactly, which removes the
flow's errors before they accumulate.  Colours have a small weight, because their models describe the whole object and
the whole background.  The weights w_pq are those of apps.segmentation.segmentation.  Only the bounding box of the band
is computed, and costs are multiples of 1 / UNIT, in which the cut is exact.

Each colour model is the mean of that of the key frame and of a recent frame, so that it follows the light but cannot
drift away.

The mask is smoothed as that of an image, so parts of a few pixels that only one key frame's strokes hold may vanish.

[1] Kroeger, Timofte, Dai, Van Gool. "Fast optical flow using dense inverse search." ECCV 2016.
"""

from typing import Any

import numpy as np

from apps.common.images import as_floats
from apps.common.rectangles import bounds, widened
from apps.segmentation.colour_models import COMPONENTS, Mixture, fit_mixture, lab_image, make_palette
from apps.segmentation.grid_cut import banded_cut, edges_of
from apps.segmentation.soft_start import outline_distance
from apps.segmentation.terms import SMOOTHNESS, UNIT
from gridcut.core.cut import Cut
from gridcut.device import DeviceName

BAND = 6.0  # pixels on either side of the carried outline
THIN = 2  # pixels: half the width of differences that are ignored, as of two outlines of one object
FAR = np.float32(1e4)  # pixels: distance of what is not to change from an outline
MAX_DISAGREEMENT = 4.0  # pixels: maximum u_p
DISTANCE_WEIGHT = 0.5  # nats per pixel
COLOUR_WEIGHT = 0.1  # nats per nat of a model; more lets shadows join the object
RARE = 1e-8  # density added to each model, per cubic Lab unit, which bounds the cost of a pixel
REFIT_FRAMES = 5  # frames between two fits of the recent models
MIN_SIDE = 32  # pixels: smaller frames are padded for the flow


class Carrier:
    """Carries a mask from frame to frame, in either direction of time.

    Parameters
    ----------
    frame : ndarray of uint8, (H, W, 3)
        Key frame, RGB.
    mask : ndarray of bool, (H, W)
        Its mask.
    device : str
        Where the cuts are solved.
    """

    def __init__(self, frame: np.ndarray, mask: np.ndarray, device: DeviceName):
        import cv2

        self.mask, self.device = mask, device
        self._grey = _grey(frame)
        self._flow: Any = cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_FAST)
        height, width = mask.shape
        self._pixels = np.dstack(np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32)))
        self._change: np.ndarray | None = None  # pixels that differ from another mask; None without one
        self._models: list = []  # pairs (object, background) of Mixture: of the key frame, and of a recent one
        self._age = 0
        self._learn(frame)

    @property
    def differs(self) -> bool:
        """Whether the mask differs from the other one by more than THIN pixels somewhere."""
        return self._change is not None and bool(self._change.any())

    def correct(self, frame: np.ndarray, mask: np.ndarray, other: np.ndarray) -> None:
        """Replace the mask of the last frame; the recent models are fitted to it, and `other` is what it was."""
        self.mask, self._change = mask, _thick(mask ^ other)
        self._learn(frame)

    def _learn(self, frame: np.ndarray) -> None:
        """Fit the recent models, or the first ones, to the mask of a whole frame."""
        rgb = as_floats(frame)
        self._fit(make_palette(rgb, lab_image(rgb)), self.mask)

    def next(self, frame: np.ndarray, other: np.ndarray | None = None) -> Cut | None:
        """Carry the mask to this frame, uint8 RGB (H, W, 3), the neighbour of the last one; its cut, if there is any.

        other   mask of this frame, bool (H, W), which is kept but where the mask differed from it in the last frame
        """
        grey = _grey(frame)
        parts = [self.mask] if other is None else [self.mask, self._change]
        (distance, *change), disagreement = self._moved([signed_distance(part) for part in parts], grey)
        self._grey = grey
        if other is not None:
            distance = np.where(change[0] >= -BAND - disagreement, distance, np.where(other, FAR, -FAR))
        band = np.abs(distance) <= BAND + disagreement
        self.mask = distance > 0
        cut = None
        if (box := bounds(band)) is not None:
            window = widened(box, 1, band.shape)  # with one pixel around it, which is fixed
            parts = (array[window] for array in (distance, disagreement, band))
            self.mask[window], cut = self._cut(as_floats(frame[window]), *parts)
        self._change = None if other is None else _thick(self.mask ^ other)
        return cut

    def _moved(self, distances, grey):
        """Arrays (H, W) of signed distances in the new frame, and the disagreement of both flows, in pixels."""
        import cv2

        backward, forward = self._flow_between(grey, self._grey), self._flow_between(self._grey, grey)
        origin = self._pixels + backward
        *moved, ahead = (
            cv2.remap(array, origin, None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
            for array in (*distances, forward)
        )
        u, v = cv2.split(backward + ahead)
        return moved, np.minimum(cv2.magnitude(u, v), MAX_DISAGREEMENT)

    def _flow_between(self, first, second):
        import cv2

        height, width = first.shape
        below, right = max(0, MIN_SIDE - height), max(0, MIN_SIDE - width)
        if below or right:
            first, second = (
                cv2.copyMakeBorder(grey, 0, below, 0, right, cv2.BORDER_REPLICATE) for grey in (first, second)
            )
        return np.ascontiguousarray(self._flow.calc(first, second, None)[:height, :width])

    def _cut(self, rgb, distance, disagreement, band) -> tuple[np.ndarray, Cut]:
        lab = lab_image(rgb)
        palette = make_palette(rgb, lab)
        evidence = COLOUR_WEIGHT * self._log_ratio(palette.colour)[palette.index]
        evidence += DISTANCE_WEIGHT * distance / (1 + disagreement)
        costs = np.rint(UNIT * evidence).astype(np.int32)
        labels, cut = banded_cut(costs, edges_of(lab, SMOOTHNESS), distance > 0, band, device=self.device)
        self._age += 1
        if self._age % REFIT_FRAMES == 0:
            self._fit(palette, labels)
        return labels, cut

    def _log_ratio(self, colour):
        """log(p(colour | object) / p(colour | background)) at Lab colours (n, 3)."""
        of_object, of_background = (
            np.mean([model.density(colour) for model in models], axis=0) for models in zip(*self._models, strict=True)
        )
        return np.log(of_object + RARE) - np.log(of_background + RARE)

    def _fit(self, palette, mask) -> None:
        """Fit the recent models, or the first ones, unless a kind has no pixel."""
        if mask.any() and not mask.all():
            fitted: tuple[Mixture, ...] = tuple(
                fit_mixture(palette.colour, palette.counts(part), COMPONENTS) for part in (mask, ~mask)
            )
            self._models = [*self._models[:1], fitted]


def signed_distance(mask: np.ndarray) -> np.ndarray:
    """Distance of each pixel from the outline in pixels, positive on the mask (H, W); float32.

    If the mask has no outline, the distance is that of an outline farther away than the image is large.
    """
    if mask.all() or not mask.any():
        return np.full(mask.shape, (1 if mask.any() else -1) * float(sum(mask.shape)), np.float32)
    return outline_distance(mask) - np.where(mask, np.float32(0.5), np.float32(-0.5))


def _thick(mask: np.ndarray) -> np.ndarray:
    """The parts of a mask that are wider than 2 THIN pixels."""
    import cv2

    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * THIN + 1, 2 * THIN + 1))
    return cv2.morphologyEx(mask.view(np.uint8), cv2.MORPH_OPEN, disc).view(bool)


def _grey(frame) -> np.ndarray:
    import cv2

    return cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)
