"""A frame and what is computed from it alone, which the pair before it and the pair after it share."""

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from apps.common.images import to_bytes


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
        self._kept: dict = {}
        self._lock = threading.RLock()

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
    def levels(self) -> list[FrameLevel]:
        """The pyramid of `apps.flow.refine`, finest first."""
        from apps.flow.refine import frame_pyramid

        return self._once("levels", lambda: frame_pyramid(self))

    @property
    def descriptors(self) -> list[np.ndarray]:
        """The descriptors of `apps.flow.propagate` on the finest level of the pyramid."""
        from apps.flow.propagate import described

        return self._once("descriptors", lambda: described(self.levels[0].grey))

    def coarse_descriptors(self, scale: float) -> list[np.ndarray]:
        """The descriptors of `apps.flow.propagate` of the frame at a share of its size."""
        from apps.flow.propagate import described

        return self._once(("descriptors", scale), lambda: described(self.grey, scale))

    def grey_at(self, size: tuple[int, int]) -> np.ndarray:
        """The frame in grey reduced to a size (height, width) by averages over pixels, float32."""
        return self._once(("grey", size), lambda: _reduced(self.grey, size))

    def lab_at(self, size: tuple[int, int]) -> np.ndarray:
        """The frame in Lab reduced to a size (height, width), float32 (H, W, 3)."""
        import cv2

        return self._once(("lab", size), lambda: cv2.cvtColor(_reduced(self.rgb, size), cv2.COLOR_RGB2LAB))

    def _once(self, key, compute: Callable[[], Any]) -> Any:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = compute()
            return self._kept[key]


def _reduced(pixels: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    import cv2

    return cv2.resize(pixels, size[::-1], interpolation=cv2.INTER_AREA)
