"""Cut an object out of every frame of a clip, from strokes on one or more key frames.

A key frame with strokes of both kinds is segmented from them alone (apps.segmentation.segmentation); the first one
needs both, or a box or a start mask.  Between such key frames the mask is carried from frame to frame (video_carry.py),
each frame from the key frame that is nearer:

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
from apps.segmentation.fit import find_labels
from apps.segmentation.hints import Hints, combine
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN, check_open, part_with
from apps.segmentation.masks import mask_of
from apps.segmentation.model import ImageView
from apps.segmentation.strokes import check_kinds, check_marks, marks_of
from apps.segmentation.terms import UNIT
from apps.segmentation.video_carry import THIN, Carrier
from gridcut.device import DeviceName

CORRECTION_REACH = 0.1  # of the longer side: pixels around a correcting stroke that are decided again


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
