"""Cut an object out of every frame of a clip, from strokes on one or more key frames.

A key frame with strokes of both kinds is segmented from them alone (apps.segmentation.segmentation); the first one
needs both, or a box or a start mask.  Between such key frames the mask is carried from frame to frame, each
frame from the key frame that is nearer:

    frame     0   1   2   3   4   5   6   7   8   9
    strokes           *                   *                  key frames 2 and 7
    carried   <───────   ───────>  <──────   ───────>        0, 1, 3, 4 from 2;  5, 6, 8, 9 from 7

A later key frame with strokes of one kind corrects the mask that is carried to it, near the strokes that contradict it.
The corrected part is carried on, and back through the frames before, up to one whose own mask agrees with it; nothing
else of these frames changes:

    strokes           *                   -                  frame 7 is corrected
    carried   <───────   ──────────────>     ───────>
    corrected                     <──────                    5 and 6, as 4 agrees

Frames that wait for a later key frame are kept in a temporary file, so the memory does not grow with the length of the
clip.  Frames are used with 8 bits per channel.

A mask is carried to a neighbouring frame by its motion, an uncertain band, and one exact cut.

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

from __future__ import annotations

import copy
import itertools
import shelve
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from apps.common.arguments import check_number
from apps.common.images import InputError, as_floats, check_same_size, to_bytes, to_rgb
from apps.common.rectangles import bounds, widened
from apps.segmentation.colour_models import COMPONENTS, Mixture, fit_mixture, lab_image, make_palette
from apps.segmentation.fit import find_labels
from apps.segmentation.grid_cut import banded_cut, edges_of
from apps.segmentation.hints import Hints, combine
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN, check_open, part_with
from apps.segmentation.masks import mask_of
from apps.segmentation.model import ImageView
from apps.segmentation.soft_start import outline_distance
from apps.segmentation.strokes import check_kinds, check_marks, marks_of
from apps.segmentation.terms import SMOOTHNESS, UNIT
from gridcut.core.cut import Cut
from gridcut.device import DeviceName

CORRECTION_REACH = 0.1  # of the longer side: pixels around a correcting stroke that are decided again
BAND = 6.0  # pixels on either side of the carried outline
THIN = 2  # pixels: half the width of differences that are ignored, as of two outlines of one object
FAR = np.float32(1e4)  # pixels: distance of what is not to change from an outline
MAX_DISAGREEMENT = 4.0  # pixels: maximum u_p
DISTANCE_WEIGHT = 0.5  # nats per pixel
COLOUR_WEIGHT = 0.1  # nats per nat of a model; more lets shadows join the object
RARE = 1e-8  # density added to each model, per cubic Lab unit, which bounds the cost of a pixel
REFIT_FRAMES = 5  # frames between two fits of the recent models
MIN_SIDE = 32  # pixels: smaller frames are padded for the flow


@dataclass(frozen=True, slots=True)
class VideoFrame:
    """A frame of `segment_video`.

    Attributes
    ----------
    number : int
        Number of the frame, from 0.
    frame : ndarray of uint8, (H, W, 3)
        The frame, RGB.
    mask : ndarray of bool, (H, W)
        True on the object.
    key : int
        Number of the key frame that the mask, or a correction of it, comes from; equal to `number` for a key frame.
    energy : float or None
        Energy of the mask in nats: of the whole frame for a key frame, else of the uncertain band; None if no pixel was
        uncertain, as without an object, or where no stroke contradicts the mask carried to a key frame.  Energies of
        key frames and other frames cannot be compared.
    is_certified : bool
        Whether the mask is a minimum cut that has been certified.  False for a key frame, whose mask is found in
        several steps, and if no pixel was uncertain.
    seconds : float
        Time spent on this frame.
    """

    number: int
    frame: np.ndarray
    mask: np.ndarray
    key: int
    energy: float | None
    is_certified: bool
    seconds: float


def segment_video(
    frames: Iterable[ArrayLike],
    strokes: Mapping[int, ArrayLike] | None = None,
    *,
    box: Sequence[int] | None = None,
    start: ArrayLike | None = None,
    device: DeviceName = "auto",
) -> Iterator[VideoFrame]:
    """Cut an object out of every frame of a clip, given strokes on some frames, or a box or mask of the first.

    Parameters
    ----------
    frames : iterable of array_like, each (H, W), (H, W, 3) or (H, W, 4)
        The frames in order, iterated once: integers in [0, 255], uint16, or floats in [0, 1]; all of the same size.
    strokes : mapping from int to array_like, each (H, W) or (H, W, 3), optional
        Strokes by the number of their frame, in any of the encodings of `apps.segmentation.strokes`.  The first key
        frame needs strokes on the object and on the background; on later ones, strokes of one kind correct the carried
        mask.
    box, start
        Box or start mask of frame 0, as in `segment`.
    device : {"auto", "cpu", "cuda"}, default "auto"
        Where the cuts are solved.

    Yields
    ------
    VideoFrame
        One per frame, in order.  Frames before a key frame follow once the key frame has been read.

    Raises
    ------
    TypeError
        If `strokes` is not a mapping from integers.
    InputError
        A ValueError with a one-line message: nothing that locates the object, strokes of another size or of one kind on
        the first key frame, a key frame beyond the end, frames of different sizes, or an empty clip.  Strokes are
        checked before the first frame is read, except their size.

    See Also
    --------
    segment : An object in an image.

    Examples
    --------
    >>> import numpy as np
    >>> from apps import segment_video
    >>> frames = np.full((4, 20, 40), 30, np.uint8)
    >>> for number, frame in enumerate(frames):
    ...     frame[5:15, 8 + number : 18 + number] = 200
    >>> strokes = np.zeros((20, 40), np.uint8)
    >>> strokes[9:11, 10:16] = 1
    >>> strokes[1, 2:38] = 2
    >>> [int(frame.mask.sum()) for frame in segment_video(frames, {0: strokes}, device="cpu")]
    [100, 100, 100, 100]
    """
    strokes = {} if strokes is None else strokes
    if not isinstance(strokes, Mapping):
        raise TypeError(f"strokes must be a mapping from the number of a frame to its strokes, got {type(strokes)}")
    for number in strokes:
        check_number(number, "strokes: the number of a frame", integer=True)
    marks = {int(number): marks_of(codes, name=f"strokes[{number}]") for number, codes in strokes.items()}
    hints = {number: Hints(one) for number, one in marks.items()}
    read: Iterator[np.ndarray] = (to_rgb(frame, "frames") for frame in frames)
    if box is not None or start is not None:
        mask = None if start is None else mask_of(start)
        for first in itertools.islice(read, 1):
            hints[0] = combine(first.shape[:2], marks.get(0), box, "strokes[0]", mask=mask)
            for note in hints[0].notes:
                warnings.warn(note, stacklevel=2)
            read = itertools.chain([first], read)
    return segment_marked_video(read, hints, device)


def segment_marked_video(
    frames: Iterable[np.ndarray],
    hints: Mapping[int, Hints],
    device: DeviceName = "auto",
    named: Callable[[int], str] = lambda number: f"strokes[{number}]",
) -> Iterator[VideoFrame]:
    """Like `segment_video`, for float32 RGB frames in [0, 1] and hints by frame.

    named   number of a frame -> name of its marks, for messages
    """
    if not hints:
        raise InputError("strokes: none given; mark the object and the background on at least one frame")
    if min(hints) < 0:
        raise InputError(f"{named(min(hints))}: frames are numbered from 0; use 0 or more")
    for number, given in hints.items():
        check_open(given.marks, named(number))
    if not _is_complete(hints[min(hints)]):
        check_kinds(hints[min(hints)].marks, named(min(hints)), ", and the first key frame needs both kinds")
    return _segmented(frames, hints, device, named)


def _segmented(frames, hints, device, named):
    keys = sorted(hints)
    carrier: Any = None
    last, shape, count = None, None, 0
    with tempfile.TemporaryDirectory() as folder, shelve.open(f"{folder}/waiting") as waiting:
        for number, rgb in enumerate(frames):
            start = time.perf_counter()
            count, frame = number + 1, to_bytes(rgb)
            shape = frame.shape if shape is None else shape
            check_same_size(frame, shape, f"frames: frame {number}", "the first is")
            following = next((key for key in keys if key >= number), None)
            if following == number:
                given, name = hints[number], named(number)
                check_same_size(given.marks, shape[:2], name, "the frames are")
                if corrects := not _is_complete(given):
                    carrier.next(frame)
                    carried = carrier.mask.copy()
                    mask, energy = _corrected(frame, carried, given.marks, device, name)
                    carrier.correct(frame, mask, carried)
                else:
                    if not given.is_located:
                        check_marks(given.marks, shape[:2], name)
                    found = find_labels(ImageView(partial(as_floats, frame), frame.shape[:2]), given, device)
                    mask, energy = found.mask, found.energies[-1]
                    carrier = Carrier(frame, mask, device)
                last, seconds = number, time.perf_counter() - start
                yield from _carried_backward(waiting, copy.copy(carrier), number, corrects)
                yield VideoFrame(number, frame, mask, number, energy, False, seconds)
            elif following is not None and carrier is not None and not _is_complete(hints[following]):
                waiting[str(number)] = frame, _carried(carrier, number, frame, last, start)
            elif carrier is not None and (following is None or 2 * number <= last + following):
                yield _carried(carrier, number, frame, last, start)
            else:
                waiting[str(number)] = frame, None
    if not count:
        raise InputError("frames: the clip has no frame")
    if keys[-1] >= count:
        raise InputError(f"{named(keys[-1])} is beyond the end: the clip has {count} frames, 0 to {count - 1}")


def _corrected(frame, carried, marks, device, name):
    """The mask carried to a key frame, corrected in a part with the strokes that contradict it, and near them.

    All else keeps its label, and the colours are those of the whole frame.  Also the energy; None if no stroke does.
    """
    from scipy import ndimage

    carried_labels = carried.view(np.int8)
    wrong = (marks != OPEN) & (marks != carried_labels)
    is_near = ndimage.distance_transform_edt(~wrong) <= CORRECTION_REACH * max(marks.shape) if wrong.any() else wrong
    completed = np.where((marks == OPEN) & ~is_near, carried_labels, marks)
    check_kinds(completed, name, ", and nothing of it is carried to this frame")
    if not (completed == OPEN).any():
        return np.where(marks == OPEN, carried, marks == OBJECT), None
    found = find_labels(ImageView(partial(as_floats, frame), marks.shape), Hints(completed), device)
    is_changed = part_with(wrong, found.mask ^ carried, THIN)
    return np.where(is_changed, found.mask, carried), found.energies[-1]


def _carried(carrier, number, frame, key, start, own=None) -> VideoFrame:
    """The next frame of a carrier, certified; `start`: when the time of this frame began; `own`: as `Carrier.next`."""
    cut = carrier.next(frame, own)
    if cut is not None:
        cut.check()
    energy = None if cut is None else cut.value / UNIT
    return VideoFrame(number, frame, carrier.mask.copy(), key, energy, cut is not None, time.perf_counter() - start)


def _carried_backward(waiting, carrier: Carrier, key: int, corrects: bool) -> Iterator[VideoFrame]:
    """Carry the mask of a key frame, or its correction, back through the waiting frames; then yield these in order.

    A correction is carried to the last frame whose mask agrees with it.
    """
    numbers = sorted(map(int, waiting))
    for number in reversed(numbers):
        if corrects and not carrier.differs:
            break
        frame, found = waiting[str(number)]
        own = found.mask if corrects else None
        found = _carried(carrier, number, frame, key, time.perf_counter(), own)
        if not corrects or carrier.differs:
            waiting[str(number)] = frame, found
    for number in numbers:
        yield waiting.pop(str(number))[1]


def _is_complete(given: Hints) -> bool:
    """Whether hints locate the object by themselves, and do not only correct a mask."""
    return given.is_located or all((given.marks == mark).any() for mark in (OBJECT, BACKGROUND))


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
        self._change: Any = None  # bool (H, W): pixels that differ from another mask; None without one
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
            inside = (array[window] for array in (distance, disagreement, band))
            self.mask[window], cut = self._cut(as_floats(frame[window]), *inside)
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
