"""Figures and videos of tracks as trails over the frames, in one colour per track.

Figures are uint8 RGB.  Small frames are enlarged by an integer factor, so that trails can be distinguished.
"""

import io
import os
from pathlib import Path

import numpy as np

from apps.common.errors import SOME_FAILED, InputError, OutputError
from apps.common.images import to_bytes
from apps.common.writing import write_bytes, written_by_name
from apps.track.tracking import Tracks

SUFFIXES = (".mp4", ".avi", ".gif")
CODECS = {".mp4": "mp4v", ".avi": "MJPG"}
MIN_LONG_SIDE = 800  # pixels: minimum length of a figure's longer side
BACKGROUND_BRIGHTNESS = 0.6  # relative brightness of the frame under the trails
MIN_CONTRAST = 0.5  # frames with a smaller range of values are stretched
SUBPIXEL_BITS = 3  # of coordinates in OpenCV's drawing functions
PROBE_BYTES = 1 << 16  # written to test whether a disk is full
HUE_STEP = 0.618034  # share of the colour circle from one track to the next


class Trails:
    """Draws tracks over frames of the same size.

    Parameters
    ----------
    tracks : Tracks
        Their x and y are drawn; a third axis is ignored.
    shape : tuple, optional
        (height, width) of the frames; without frames, the figure is fitted to the tracks.
    """

    def __init__(self, tracks: Tracks, shape: tuple | None = None):
        position = tracks.detections.position[:, :2]
        low = np.zeros(2)
        scale = 1.0
        if shape is None:
            # Without frames the unit of length is unknown: fit the tracks into the default size.
            low, high = position.min(axis=0), position.max(axis=0)
            extent = max(float((high - low).max()), 1e-9)
            scale = MIN_LONG_SIDE / extent
            shape = tuple(int(s) for s in np.maximum(1, np.ceil((high - low) * scale * 1.02 + 20))[::-1])
            low = low - (0.01 * (high - low) + 10 / scale)
            self.zoom = 1
        else:
            self.zoom = int(np.clip(np.ceil(MIN_LONG_SIDE / max(shape)), 1, 8))
        self.shape = (shape[0] * self.zoom, shape[1] * self.zoom)
        scaled = ((position - low) * scale + 0.5) * self.zoom - 0.5
        self.position = np.rint(np.clip(scaled, -1e6, 1e6) * 2**SUBPIXEL_BITS).astype(np.int32)
        self.colour = colours(len(tracks))[tracks.track]
        self.tracks = tracks

    def figure(self, frame: np.ndarray | None) -> np.ndarray:
        """Draw all trails over the last frame (H, W, 3), or over black, with circles at tracks in the last frame."""
        shown = self._background(frame)
        self._draw(shown, np.arange(len(self.tracks.link)))
        when = self.tracks.detections.frame
        self._rings(shown, np.flatnonzero((when == when.max()) & (self.tracks.length[self.tracks.track] > 1)))
        return shown

    def frame_figure(self, number: int, frame: np.ndarray | None, tail: int) -> np.ndarray:
        """Draw frame `number` with its detections and the links of the last `tail` frames."""
        shown = self._background(frame)
        when = self.tracks.detections.frame
        later = when[self.tracks.link[:, 1]]
        self._draw(shown, np.flatnonzero((later <= number) & (later > number - tail)))
        self._rings(shown, np.flatnonzero(when == number))
        return shown

    def _draw(self, shown, links) -> None:
        import cv2

        first, second = self.position[self.tracks.link[links, 0]], self.position[self.tracks.link[links, 1]]
        colour = self.colour[self.tracks.link[links, 1]]
        for a, b, c in zip(first.tolist(), second.tolist(), colour.tolist(), strict=True):
            cv2.line(shown, a, b, c, self._width(), cv2.LINE_AA, SUBPIXEL_BITS)

    def _rings(self, shown, detections) -> None:
        import cv2

        radius = 3 * self._width() << SUBPIXEL_BITS
        for a, c in zip(self.position[detections].tolist(), self.colour[detections].tolist(), strict=True):
            cv2.circle(shown, a, radius, c, 1, cv2.LINE_AA, SUBPIXEL_BITS)

    def _width(self) -> int:
        return max(1, max(self.shape) // 1000)

    def _background(self, frame) -> np.ndarray:
        if frame is None:
            return np.zeros((*self.shape, 3), np.uint8)
        low, high = np.percentile(frame, (0.2, 99.8))
        if high - low < MIN_CONTRAST:
            frame = (frame - low) / max(high - low, 1e-3)
        dimmed = to_bytes(BACKGROUND_BRIGHTNESS * frame)
        return np.ascontiguousarray(dimmed.repeat(self.zoom, 0).repeat(self.zoom, 1))


def colours(count: int) -> np.ndarray:
    """Return bright colours (count, 3), uint8; successive hues are far from each other."""
    import cv2

    hue = np.uint8(np.arange(max(count, 1)) * HUE_STEP % 1.0 * 180)
    hsv = np.stack([hue, np.full_like(hue, 190), np.full_like(hue, 255)], axis=-1)[None]
    return cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB)[0][:count]


def check_video(path) -> Path:
    """Return the path; raise InputError if `write_video` does not support its suffix."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"--video: {str(path)!r} must end in {', '.join(SUFFIXES)}")
    return path


def write_video(path, figures, rate: float) -> Path:
    """Write uint8 RGB figures of the same size as a video, atomically, at `rate` frames per second."""
    path = check_video(path)
    suffix = path.suffix.lower()
    return _gif(path, figures, rate) if suffix == ".gif" else _encoded(path, figures, rate, CODECS[suffix])


def _gif(path: Path, figures, rate: float) -> Path:
    from PIL import Image

    frames = [Image.fromarray(figure).quantize(128, dither=Image.Dither.NONE) for figure in figures]
    buffer = io.BytesIO()
    pause = max(20, round(1000 / rate))  # browsers play shorter pauses more slowly
    frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:], duration=pause, loop=0)
    return write_bytes(path, buffer.getvalue(), "--video")


def _encoded(path: Path, figures, rate: float, codec: str) -> Path:
    import cv2

    writer, count = None, 0
    with written_by_name(path, "--video") as unfinished:
        try:
            for figure in figures:
                even = figure[: figure.shape[0] // 2 * 2, : figure.shape[1] // 2 * 2]  # codecs require even sides
                if writer is None:
                    writer = cv2.VideoWriter(str(unfinished), cv2.VideoWriter_fourcc(*codec), rate, even.shape[1::-1])
                    if not writer.isOpened():
                        _check_space(unfinished.parent)
                        raise InputError(f"--video: cannot write {str(path)!r}; choose a writable folder, or .gif")
                writer.write(np.ascontiguousarray(even[..., ::-1]))
                count += 1
        finally:
            if writer is not None:
                writer.release()
        _verify(unfinished, path, count)
    return path


def _verify(unfinished: Path, path: Path, count: int) -> None:
    """Raise OutputError unless all frames can be read back, because OpenCV does not report a full disk."""
    import cv2

    video, readable = cv2.VideoCapture(str(unfinished)), 0
    try:
        while video.isOpened() and video.grab():
            readable += 1
    finally:
        video.release()
    if readable != count:
        _check_space(unfinished.parent)
        raise OutputError(
            f"--video: cannot write {str(path)!r} ({readable} of {count} frames can be read back); choose another "
            "folder, or .gif",
            SOME_FAILED,
        )


def _check_space(folder: Path) -> None:
    """Raise OSError if the folder has no space for another PROBE_BYTES."""
    with open(folder / "room", "wb") as file:
        file.write(bytes(PROBE_BYTES))
        file.flush()
        os.fsync(file.fileno())
