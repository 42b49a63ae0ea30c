"""Read the frames of a sequence one at a time, from any supported container.

Containers are a video file, a folder of images or of .npy frames, a .npy stack (T, H, W) or (T, H, W, 3), a multi-page
TIFF, or an animated GIF, PNG or WebP.  A `Sequence` can be iterated repeatedly and keeps one frame in memory.  Each
frame is float32 RGB in [0, 1] of shape (H, W, 3); all frames have the same size.
"""

import contextlib
import io
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from apps.common.containers import AVI, check_container
from apps.common.decoding import (
    Unreadable,
    check_claim,
    check_frame,
    check_whole,
    decoding_errors,
    inverted,
    load_array,
    open_image,
    open_tiff,
    page_warnings,
)
from apps.common.images import READABLE, InputError, by_number, open_file, read_bytes, read_image, to_rgb

ANIMATED = (".gif", ".png", ".webp")  # suffixes of image files that may contain several frames
DEFAULT_RATE = 10.0  # frames per second, if the container does not specify a rate


@dataclass(frozen=True, slots=True)
class Sequence:
    """Frames that can be iterated repeatedly.

    Attributes
    ----------
    name : str
        Name of the file or folder, without suffix.
    shape : tuple
        (height, width) of every frame.
    rate : float
        Frames per second.
    count : int or None
        Number of frames stated by the container; None if unknown.
    """

    name: str
    shape: tuple
    rate: float
    count: int | None
    _frames: Callable[[], Iterator[np.ndarray]]

    def __iter__(self) -> Iterator[np.ndarray]:
        for number, frame in enumerate(self._frames()):
            if frame.shape[:2] != self.shape:
                raise InputError(
                    f"input: frame {number} is {frame.shape[1]}x{frame.shape[0]} pixels, but the first is "
                    f"{self.shape[1]}x{self.shape[0]}; make all frames the same size"
                )
            yield frame


def open_sequence(path, name: str = "input") -> Sequence:
    """Open a sequence; raise InputError if the path does not exist, is unusable, or has fewer than two frames."""
    path = Path(path)
    if os.path.isdir(path):
        return _folder(path, name)
    if not os.path.exists(path):
        raise InputError(f"{name}: no file or folder {str(path)!r}; check the path")
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return _frames_of(_load(path, name), path, name)
    if suffix in (".tif", ".tiff"):
        return _tiff(path, name)
    if suffix == ".gif" or (suffix in ANIMATED and not is_single_image(path)):
        return _animation(path, name)
    if suffix in READABLE:
        raise InputError(f"{name}: {str(path)!r} is a single image; pass a video, a folder of frames or a stack")
    return _video(path, name)


def frames_in(folder: Path) -> list[Path]:
    """The files of the frames of a folder, in order."""
    files = [p for p in folder.iterdir() if p.suffix.lower() in (*READABLE, ".npy") and not p.name.startswith(".")]
    return sorted(files, key=by_number)


def is_single_image(path) -> bool:
    """Return whether a file has the suffix of an image and contains a single frame, as far as can be determined."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in READABLE or suffix in (".tif", ".tiff", ".gif") or not os.path.isfile(path):
        return False
    if suffix not in ANIMATED:
        return True
    from PIL import Image

    try:
        with decoding_errors(), Image.open(io.BytesIO(read_bytes(path))) as image:
            return getattr(image, "n_frames", 1) < 2
    except (Unreadable, InputError):
        return True  # reading it as an image reports the error


def _folder(path: Path, name: str) -> Sequence:
    """Open the images or .npy frames of a folder, sorted by the numbers in their names: frame2 before frame10."""
    files = frames_in(path)
    if len(files) < 2:
        raise InputError(f"{name}: folder {str(path)!r} contains {_frame_count(len(files))}; two or more are needed")
    kinds = {p.suffix.lower() for p in files}
    if ".npy" in kinds and len(kinds) > 1:
        raise InputError(f"{name}: folder {str(path)!r} contains both images and .npy files; keep one kind")
    if ".npy" in kinds:
        arrays = [_load(p, name) for p in files]
        for file, array in zip(files, arrays, strict=True):
            if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (3, 4)) or 0 in array.shape:
                raise InputError(f"{name}: {str(file)!r} has shape {array.shape}; a frame is (H, W) or (H, W, 3)")
            if array.dtype != arrays[0].dtype:
                raise InputError(
                    f"{name}: {str(file)!r} contains {array.dtype}, but {files[0].name!r} {arrays[0].dtype}; frames "
                    "must have the same type"
                )
        low, high = _range(arrays, path, name)
        return _sequence(path.resolve().name, DEFAULT_RATE, len(files), lambda: (_scaled(a, low, high) for a in arrays))
    return _sequence(path.resolve().name, DEFAULT_RATE, len(files), lambda: (read_image(p, name) for p in files))


def _frames_of(stack: np.ndarray, path: Path, name: str) -> Sequence:
    if stack.ndim not in (3, 4) or (stack.ndim == 4 and stack.shape[3] not in (1, 3, 4)) or 0 in stack.shape:
        raise InputError(f"{name}: {str(path)!r} has shape {stack.shape}; a stack is (T, H, W) or (T, H, W, 3)")
    if len(stack) < 2:
        raise InputError(f"{name}: {str(path)!r} contains {_frame_count(len(stack))}; two or more are needed")
    if stack.dtype.kind not in "buif":
        raise InputError(f"{name}: {str(path)!r} contains {stack.dtype}; pass numbers")
    low, high = _range(stack, path, name)
    return _sequence(path.stem, DEFAULT_RATE, len(stack), lambda: (_scaled(frame, low, high) for frame in stack))


def _tiff(path: Path, name: str) -> Sequence:
    data = read_bytes(path, name)
    try:
        with decoding_errors(), page_warnings() as warnings, open_tiff(io.BytesIO(data)) as file:
            if not file.series:
                raise Unreadable("no page")
            series, page = file.series[0], file.pages[0]
            single = len(series.axes.replace("S", "")) < 3  # S: the colour channels
            check_claim(series.nbytes, data)
            stack = series.asarray()
            if warnings:
                raise Unreadable(warnings[0])
            check_whole(series)
            photometric = getattr(page.photometric, "name", "")
            if photometric == "MINISWHITE":
                stack = inverted(stack)
            elif photometric == "PALETTE":
                stack = np.moveaxis(page.colormap[:, stack], 0, -1)
    except Unreadable as error:
        raise _unreadable(path, name, error) from None
    return _frames_of(stack[None] if single else stack, path, name)


def _animation(path: Path, name: str) -> Sequence:
    data = read_bytes(path, name)

    def pages():
        try:
            with decoding_errors(), open_image(data) as image:
                for page in range(image.n_frames):
                    image.seek(page)
                    check_frame(image, data)  # GIF: a frame may enlarge the image
                    yield np.array(image.convert("RGB"))
        except Unreadable as error:
            raise _unreadable(path, name, error) from None

    count = sum(1 for _ in pages())
    if count < 2:
        raise InputError(f"{name}: {str(path)!r} contains {_frame_count(count)}; two or more are needed")
    return _sequence(path.stem, DEFAULT_RATE, count, lambda: (to_rgb(page, name) for page in pages()))


def _unreadable(path, name: str, error: Exception) -> InputError:
    return InputError(f"{name}: cannot read {str(path)!r} ({error}); pass a complete file")


def _video(path: Path, name: str) -> Sequence:
    import cv2

    message = f"{name}: cannot read {str(path)!r} as a video; pass a file that OpenCV can play, or a folder of frames"
    kind = check_container(path, name)
    absolute = os.path.abspath(path)  # a relative path may look like a URL, such as http:

    def frames():
        with _silenced_stderr():
            video = cv2.VideoCapture(absolute)
        number = 0
        try:
            while True:
                with _silenced_stderr():
                    is_read, bgr = video.read()
                if not is_read:
                    break
                number += 1
                yield to_rgb(bgr[..., ::-1] if bgr.ndim == 3 else bgr, f"{name}: {str(path)!r}")
        finally:
            video.release()
        # Other containers than AVI state a duration, from which the number of frames is only estimated.
        if kind == AVI and number < count:
            raise InputError(
                f"{name}: {str(path)!r} is incomplete: only {number} of its {int(count)} frames can be read; "
                "copy it again, or pass a folder of frames"
            )

    with _silenced_stderr():
        video = cv2.VideoCapture(absolute)
        opened = video.isOpened()
        rate, count = (video.get(what) for what in (cv2.CAP_PROP_FPS, cv2.CAP_PROP_FRAME_COUNT)) if opened else (0, 0)
        video.release()
    if not opened:
        raise InputError(message)
    first = [frame for _, frame in zip(range(2), frames(), strict=False)]
    if not first:
        raise InputError(message)
    if len(first) < 2:
        raise InputError(f"{name}: {str(path)!r} contains one frame; two or more are needed")
    rate = rate if 0 < rate < 1000 else DEFAULT_RATE
    return _sequence(path.stem, rate, int(count) if count > 0 else None, frames)


def _sequence(name: str, rate: float, count, frames) -> Sequence:
    return Sequence(name, next(iter(frames())).shape[:2], rate, count, frames)


def _load(path: Path, name: str) -> np.ndarray:
    open_file(path, name).close()  # mapping a pipe would block until its other end is opened
    try:
        array = load_array(path, mapped=True)
    except Unreadable as error:
        raise InputError(f"{name}: cannot read {str(path)!r} ({error}); pass a .npy file of numbers") from None
    if array.dtype.kind not in "buif":
        raise InputError(f"{name}: {str(path)!r} contains {array.dtype}; pass numbers")
    return array


def _range(arrays, path, name: str) -> tuple[float, float]:
    """Return the values mapped to 0 and 1: the type's range up to 16 bits, [0, 1] for floats inside, else extremes."""
    dtype = arrays[0].dtype
    if dtype.kind == "b":
        return 0.0, 1.0
    if dtype.kind == "u" and dtype.itemsize <= 2:
        return 0.0, float(np.iinfo(dtype).max)
    low, high = min(float(a.min()) for a in arrays), max(float(a.max()) for a in arrays)
    if not np.isfinite([low, high]).all():
        raise InputError(f"{name}: {str(path)!r} contains NaN or infinity; every pixel must be finite")
    if high - low > 1e300:
        raise InputError(f"{name}: {str(path)!r} contains values from {low:.4g} to {high:.4g}; scale them to [0, 1]")
    if dtype.kind == "f" and low >= 0 and high <= 1:
        return 0.0, 1.0
    return low, high if high > low else low + 1.0


def _scaled(frame: np.ndarray, low: float, high: float) -> np.ndarray:
    # Values of 4 and 8 bytes may need more precision, and their range a larger exponent, than float32 has.
    exact: type[np.floating] = np.float32 if frame.dtype.itemsize <= 2 or (low, high) == (0.0, 1.0) else np.float64
    values = (np.asarray(frame, exact) - exact(low)) / exact(high - low)
    return to_rgb(np.clip(values, 0.0, 1.0), "input")


def _frame_count(count: int) -> str:
    return {0: "no frame", 1: "one frame"}.get(count, f"{count} frames")


@contextlib.contextmanager
def _silenced_stderr():
    """Redirect file descriptor 2, to which video decoders write messages; the user gets one line from this program."""
    try:
        saved = os.dup(2)
    except OSError:  # stderr is closed
        yield
        return
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(null)
        os.close(saved)
