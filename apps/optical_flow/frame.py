"""A frame and what is computed from it alone, which the pair before it and the pair after it share."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from apps.common.images import read_image, to_bytes, to_rgb

if TYPE_CHECKING:
    from apps.motion.points import Points


SEED_PIXELS = 100_000  # of the frame in which SIFT points are found: dense flow needs few
RATIO = 0.9  # size ratio of successive levels of the pyramid
MIN_SIDE = 25  # pixels, of its coarsest level
PRESMOOTHING_SIGMA = 0.6  # pixels: smoothing of the frame before it is reduced


class FrameLevel(NamedTuple):
    """One frame at one size: grey (0..255), (H, W), and Lab, (H, W, 3), float32."""

    grey: np.ndarray
    lab: np.ndarray


class Frame:
    """A frame, float32 RGB (H, W, 3) in [0, 1]; everything else is computed on first use and kept.

    Threads may share a frame: a thread that needs what another one computes waits for it.
    """

    def __init__(self, rgb: np.ndarray):
        self.rgb = rgb
        self._kept: dict[Any, _Kept] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """(height, width)."""
        return self.rgb.shape[:2]

    @property
    def bytes(self) -> np.ndarray:
        """The frame as uint8 RGB."""
        return self._once("bytes", lambda: to_bytes(self.rgb))

    @property
    def grey(self) -> np.ndarray:
        """The frame in grey, 0 to 255, float32 (H, W)."""
        import cv2

        return self._once("grey", lambda: cv2.cvtColor(self.rgb, cv2.COLOR_RGB2GRAY) * 255)

    @property
    def grey_bytes(self) -> np.ndarray:
        """The frame in grey, uint8 (H, W)."""
        return self._once("grey bytes", lambda: np.uint8(self.grey + 0.5))

    @property
    def seed_points(self) -> "Points":
        """The SIFT points of `apps.motion.sparse`, of the frame at up to SEED_PIXELS pixels."""
        from apps.motion.points import grey_frame
        from apps.motion.sparse import seed_points_of

        return self._once("seed points", lambda: seed_points_of(grey_frame(self.bytes), SEED_PIXELS))

    @property
    def levels(self) -> list[FrameLevel]:
        """The pyramid of `apps.optical_flow.refine`, finest first."""
        return self._once("levels", lambda: _pyramid(self))

    @property
    def descriptors(self) -> list[np.ndarray]:
        """The descriptors of `apps.optical_flow.propagate` on the finest level of the pyramid."""
        from apps.optical_flow.propagate import described

        return self._once("descriptors", lambda: described(self.levels[0].grey))

    def coarse_descriptors(self, scale: float) -> list[np.ndarray]:
        """The descriptors of `apps.optical_flow.propagate` of the frame at a share of its size."""
        from apps.optical_flow.propagate import described

        return self._once(("descriptors", scale), lambda: described(self.grey, scale))

    def grey_at(self, size: tuple[int, int]) -> np.ndarray:
        """The frame in grey reduced to a size (height, width) by averages over pixels, float32."""
        return self._once(("grey", size), lambda: _reduced(self.grey, size))

    def lab_at(self, size: tuple[int, int]) -> np.ndarray:
        """The frame in Lab reduced to a size (height, width), float32 (H, W, 3)."""
        import cv2

        return self._once(("lab", size), lambda: cv2.cvtColor(_reduced(self.rgb, size), cv2.COLOR_RGB2LAB))

    def _once(self, key, compute: Callable[[], Any]) -> Any:
        kept = self._kept.setdefault(key, _Kept())
        with kept.lock:
            if not kept.is_computed:
                kept.value, kept.is_computed = compute(), True
            return kept.value


class _Kept:
    """One result of a frame, with a lock of its own: threads compute different results of a frame concurrently."""

    __slots__ = ("is_computed", "lock", "value")

    def __init__(self):
        self.lock, self.is_computed, self.value = threading.Lock(), False, None


def for_both(compute: Callable[[Frame], Any], first: Frame, second: Frame) -> list:
    """Return [compute(first), compute(second)], computed in two threads if this thread may use them."""
    from gridcut.device import run_threads, thread_count

    frames = first, second
    return run_threads(lambda number: compute(frames[number]), 2) if thread_count() > 1 else list(map(compute, frames))


def while_preparing(work: Callable[[], Any], first: Frame, second: Frame) -> Any:
    """Return work(), while another thread computes the levels and descriptors of two frames, if there is one."""
    from gridcut.device import run_threads, thread_count

    if thread_count() == 1:
        return work()
    # The last worker of run_threads is the calling thread, whose limit of threads `work` observes.
    return run_threads(lambda worker: work() if worker else (first.descriptors, second.descriptors), 2)[1]


class SharedFrame:
    """A frame that is read when the first of its two pairs needs it, and kept for the other one.

    Another process receives the source alone, a path or an array, and reads and computes everything itself.
    """

    def __init__(self, source: Path | np.ndarray):
        self._source = source
        self._frame: Frame | None = None
        self._lock = threading.Lock()

    def get(self) -> Frame:
        """Return the frame; InputError if it cannot be read."""
        with self._lock:
            if self._frame is None:
                is_path = isinstance(self._source, Path)
                self._frame = Frame(read_image(self._source, "frames") if is_path else to_rgb(self._source, "frames"))
            return self._frame

    def __reduce__(self):
        return SharedFrame, (self._source,)


class SharedPair:
    """The two frames of a pair of a sequence."""

    def __init__(self, first: SharedFrame, second: SharedFrame):
        self.first, self.second = first, second

    def __repr__(self) -> str:
        return "SharedPair()"  # digests of a pair are made of its sources and of this text


class SharedFrames:
    """Makes the pairs of a sequence, in order; the second frame of a pair is the first of the next one.

    Only the newest frame is kept here: the others live as long as their pairs.
    """

    def __init__(self):
        self._source, self._frame = None, None

    def pair(self, first: Path | np.ndarray, second: Path | np.ndarray) -> SharedPair:
        """Return the pair of two sources, which are compared by identity."""
        one = self._frame if self._frame is not None and self._source is first else SharedFrame(first)
        self._source, self._frame = second, SharedFrame(second)
        return SharedPair(one, self._frame)


def _pyramid(frame: Frame) -> list[FrameLevel]:
    import cv2

    lab = cv2.cvtColor(frame.rgb, cv2.COLOR_RGB2LAB)
    levels = [FrameLevel(cv2.GaussianBlur(frame.grey, (0, 0), PRESMOOTHING_SIGMA), lab)]
    while True:
        height, width = (round(side * RATIO) for side in levels[-1].grey.shape)
        if min(height, width) <= MIN_SIDE:
            return levels
        levels.append(FrameLevel(*(cv2.resize(x, (width, height)) for x in levels[-1])))


def _reduced(pixels: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    import cv2

    return cv2.resize(pixels, size[::-1], interpolation=cv2.INTER_AREA)
