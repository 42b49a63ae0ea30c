"""A frame and what is computed from it alone, which the pair before it and the pair after it share."""

import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from apps.common.images import read_image, to_bytes

if TYPE_CHECKING:
    from apps.motion.points import Points


MAX_PIXELS = 1_300_000  # larger frames are reduced: their flow is then more accurate, and takes less time and memory
SEED_PIXELS = 100_000  # of the frame in which SIFT points are found: dense flow needs few
RATIO = 0.9  # size ratio of successive levels of the pyramid
MIN_SIDE = 25  # pixels, of its coarsest level
PRESMOOTHING_SIGMA = 0.6  # pixels: smoothing of the frame before it is reduced
# The quick flow.
SEED_SCALE = 0.25  # size at which seeds are followed
MIN_SCALE, MAX_SCALE = 0.25, 0.7  # sizes of its coarsest and of its finest level
QUICK_LEVELS = 7
MIN_QUICK_SIDE = 24  # pixels, of its coarsest level
# Its levels, counted from the coarsest: those with the weighted median, and the one where hidden pixels are found.
WEIGHTED_LEVELS = (0, 2)
CHECKED_LEVEL = 4


class FrameLevel(NamedTuple):
    """One frame at one size: grey (0..255), (H, W), and Lab, (H, W, 3), float32; Lab is None where it is not used."""

    grey: np.ndarray
    lab: np.ndarray | None


class kept:  # noqa: N801
    """A property computed on first use and kept; threads that share the object wait for the one that computes it."""

    def __init__(self, compute: Callable[[Any], Any]):
        self.compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner, name: str):
        self.name = name

    def __get__(self, frame, owner=None) -> Any:
        with frame.locks[self.name]:  # each its own, so that threads compute different results concurrently
            if self.name not in vars(frame):
                vars(frame)[self.name] = self.compute(frame)  # which is found before this property from now on
        return vars(frame)[self.name]


class Frame:
    """A frame, from float32 RGB (H, W, 3) in [0, 1] or from the path of an image, which is read on first use.

    Another process receives the source alone, and reads and computes everything itself.
    """

    def __init__(self, source: Path | np.ndarray):
        self.source = source
        self.locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def __reduce__(self):
        return Frame, (self.source.absolute() if isinstance(self.source, Path) else self.source,)

    @kept
    def rgb(self) -> np.ndarray:
        """The frame, float32 RGB; InputError if it cannot be read."""
        return read_image(self.source, "frames") if isinstance(self.source, Path) else self.source

    @property
    def shape(self) -> tuple[int, int]:
        """(height, width)."""
        return self.rgb.shape[:2]

    @kept
    def reduced(self) -> "Frame | None":
        """The frame at MAX_PIXELS, or None if it has no more."""
        import cv2

        scale = (MAX_PIXELS / (self.shape[0] * self.shape[1])) ** 0.5
        if scale >= 1:
            return None
        size = tuple(round(side * scale) for side in self.shape[::-1])
        return Frame(cv2.resize(self.rgb, size, interpolation=cv2.INTER_AREA))

    @kept
    def bytes(self) -> np.ndarray:
        """The frame as uint8 RGB."""
        return to_bytes(self.rgb)

    @kept
    def grey(self) -> np.ndarray:
        """The frame in grey, 0 to 255, float32 (H, W)."""
        import cv2

        return cv2.cvtColor(self.rgb, cv2.COLOR_RGB2GRAY) * 255

    @kept
    def seed_points(self) -> "Points":
        """The SIFT points of `apps.motion.sparse`, of the frame at up to SEED_PIXELS pixels."""
        import cv2

        from apps.motion.sparse import seed_points_of

        return seed_points_of(cv2.cvtColor(self.bytes, cv2.COLOR_RGB2GRAY), SEED_PIXELS)

    @kept
    def levels(self) -> list[FrameLevel]:
        """The pyramid of `apps.optical_flow.refine`, finest first."""
        import cv2

        lab = cv2.cvtColor(self.rgb, cv2.COLOR_RGB2LAB)
        levels = [FrameLevel(cv2.GaussianBlur(self.grey, (0, 0), PRESMOOTHING_SIGMA), lab)]
        while True:
            height, width = (round(side * RATIO) for side in levels[-1].grey.shape)
            if min(height, width) <= MIN_SIDE:
                return levels
            levels.append(FrameLevel(*(cv2.resize(x, (width, height)) for x in levels[-1])))

    @kept
    def quick_levels(self) -> list[FrameLevel]:
        """The levels of the quick flow, finest first, each reduced from the frame by averages over pixels."""
        import cv2

        def reduced(pixels, size):
            return cv2.resize(pixels, size[::-1], interpolation=cv2.INTER_AREA)

        sizes = quick_sizes(self.shape)
        coloured = *WEIGHTED_LEVELS, min(CHECKED_LEVEL, len(sizes) - 1)
        levels = []
        for number, size in enumerate(sizes):
            lab = cv2.cvtColor(reduced(self.rgb, size), cv2.COLOR_RGB2LAB) if number in coloured else None
            levels.append(FrameLevel(reduced(self.grey, size), lab))
        return levels[::-1]

    @kept
    def descriptors(self) -> list[np.ndarray]:
        """The descriptors of `apps.optical_flow.propagate` on the finest level of the pyramid."""
        from apps.optical_flow.propagate import described

        return described(self.levels[0].grey)

    @kept
    def quick_descriptors(self) -> list[np.ndarray]:
        """The descriptors of `apps.optical_flow.propagate` at SEED_SCALE."""
        from apps.optical_flow.propagate import described

        return described(self.grey, SEED_SCALE)


def quick_sizes(shape: tuple[int, int]) -> list[tuple[int, int]]:
    """The sizes (height, width) of the levels of the quick flow of a frame, coarsest first."""
    coarsest = min(max(MIN_SCALE, MIN_QUICK_SIDE / min(shape)), MAX_SCALE)
    scales = coarsest * (MAX_SCALE / coarsest) ** (np.arange(QUICK_LEVELS) / (QUICK_LEVELS - 1))
    return list(dict.fromkeys((round(shape[0] * scale), round(shape[1] * scale)) for scale in scales))


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
