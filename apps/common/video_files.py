"""Write figures as a video: MP4, AVI or GIF, read back before it replaces anything."""

import io
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from apps.common.containers import check_container
from apps.common.errors import SOME_FAILED, InputError, OutputError
from apps.common.writing import check_space, write_bytes, written_by_name

SUFFIXES = (".mp4", ".avi", ".gif")
CODECS = {".mp4": "mp4v", ".avi": "MJPG"}


def check_video(path, option: str = "--video") -> Path:
    """Return the path; raise InputError if `write_video` does not support its suffix."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{option}: {str(path)!r} must end in {', '.join(SUFFIXES)}")
    return path


def write_video(path, figures: Iterable[np.ndarray], rate: float, option: str = "--video") -> Path:
    """Write uint8 RGB figures of the same size as a video, atomically, at `rate` frames per second.

    The figures are drawn one at a time; only a GIF is collected in memory.  Odd sides lose a line, because codecs
    require even ones.  Errors name the option.
    """
    path = check_video(path, option)
    suffix = path.suffix.lower()
    write = _gif if suffix == ".gif" else _encoded
    return write(path, figures, rate, option)


def _gif(path: Path, figures, rate: float, option: str) -> Path:
    from PIL import Image

    frames = [Image.fromarray(figure).quantize(128, dither=Image.Dither.NONE) for figure in figures]
    buffer = io.BytesIO()
    pause = max(20, round(1000 / rate))  # browsers play shorter pauses more slowly
    frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:], duration=pause, loop=0)
    return write_bytes(path, buffer.getvalue(), option)


def _encoded(path: Path, figures, rate: float, option: str) -> Path:
    import cv2

    writer, count, codec = None, 0, CODECS[path.suffix.lower()]
    with written_by_name(path, option) as unfinished:
        try:
            for figure in figures:
                even = _even(figure)
                if writer is None:
                    writer = cv2.VideoWriter(str(unfinished), cv2.VideoWriter_fourcc(*codec), rate, even.shape[1::-1])
                    if not writer.isOpened():
                        check_space(unfinished.parent)
                        raise InputError(f"{option}: cannot write {str(path)!r}; choose a writable folder, or .gif")
                writer.write(np.ascontiguousarray(even[..., ::-1]))
                count += 1
        finally:
            if writer is not None:
                writer.release()
        _verify(unfinished, path, count, option)
    return path


def _even(figure: np.ndarray) -> np.ndarray:
    """The figure with even sides; a side of one pixel is doubled."""
    height, width = figure.shape[:2]
    figure = figure.repeat(2, 0) if height == 1 else figure
    figure = figure.repeat(2, 1) if width == 1 else figure
    return figure[: figure.shape[0] // 2 * 2, : figure.shape[1] // 2 * 2]


def _verify(unfinished: Path, path: Path, count: int, option: str) -> None:
    """Raise OutputError unless the file is complete, because OpenCV does not report a full disk."""
    import cv2

    video, readable = cv2.VideoCapture(str(unfinished)), 0
    try:
        while video.isOpened() and video.grab():
            readable += 1
    finally:
        video.release()
    try:
        check_container(unfinished)
    except InputError:  # its end is missing, but no frame
        readable -= 1
    if readable != count:
        check_space(unfinished.parent)
        raise OutputError(
            f"{option}: cannot write {str(path)!r} ({readable} of {count} frames can be read back); choose another "
            "folder, or .gif",
            SOME_FAILED,
        )
