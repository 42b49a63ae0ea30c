"""Read the frames of a sequence one at a time, from any supported container, and write videos.

Containers are a video file, a folder of images, a .npy stack (T, H, W) or (T, H, W, 3), a multi-page TIFF, or an
animated GIF, PNG or WebP.  A `Sequence` can be iterated repeatedly and keeps one frame in memory.  Each
frame is float32 RGB in [0, 1] of shape (H, W, 3); all frames have the same size.

Videos are read and written by av, of the extra `video`; imageio's plugin for it does not turn the frames of a turned
telephone, and prints a trace besides the error of an encoder.  FFmpeg, on which av builds, also opens playlists, which
refer to other files: the formats that it may open are therefore listed.
"""

import io
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from apps.common.file_kinds import ANIMATED, IMAGES, TIFF
from apps.common.images import (
    InputError,
    Unsuitable,
    check_same_size,
    images_by_number,
    inverted,
    load_array,
    open_file,
    open_tiff,
    open_with_pillow,
    read_bytes,
    read_image,
    reading,
    to_rgb,
)
from apps.common.suggestions import install
from apps.common.writing import created, write_bytes

DEFAULT_RATE = 10.0  # frames per second, if the container does not specify a rate
VIDEO_FORMATS = (  # names in FFmpeg
    "asf,avi,dv,flv,h264,hevc,ivf,m4v,matroska,webm,mjpeg,mov,mp4,m4a,3gp,3g2,mj2,mpeg,mpegts,mpegvideo,mxf,ogg,"
    "yuv4mpegpipe"
)
WRITTEN = (".mp4", ".avi", ".gif")
# The codec of a video by its suffix, its pixel format, and options of the encoder.
CODECS = {
    ".mp4": ("libx264", "yuv420p", {"preset": "ultrafast", "crf": "21"}),  # H.264, which browsers play
    ".avi": ("mjpeg", "yuvj420p", {"qmin": "2", "qmax": "4"}),
}


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
    count : int
        Number of frames.
    """

    name: str
    shape: tuple
    rate: float
    count: int
    _frames: Callable[[], Iterator[np.ndarray]]

    def __iter__(self) -> Iterator[np.ndarray]:
        for number, frame in enumerate(self._frames()):
            check_same_size(frame[..., 0], self.shape, f"input: frame {number}", "the first is")
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
        open_file(path, name).close()  # mapping a pipe would block until its other end is opened
        with reading(path, name, "pass a .npy file of numbers"):
            stack = load_array(path, mapped=True)
        return _frames_of(stack, path, name)
    if suffix in TIFF:
        return _tiff(path, name)
    if suffix in ANIMATED and not is_single_image(path):
        return _animation(path, name)
    if suffix in IMAGES:
        raise InputError(f"{name}: {str(path)!r} is a single image; pass a video, a folder of frames or a stack")
    return _video(path, name)


def is_single_image(path) -> bool:
    """Whether a file has the suffix of an image, not of a TIFF, and contains one frame, as far as can be determined."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in IMAGES or suffix in TIFF or not os.path.isfile(path):
        return False
    if suffix not in ANIMATED:
        return True
    try:
        with reading(path, "image"), open_with_pillow(read_bytes(path)) as file:
            return file.properties(index=...).n_images < 2
    except InputError:
        return True  # reading it as an image reports the error


def _folder(path: Path, name: str) -> Sequence:
    files = images_by_number(path)
    return _sequence(path, name, len(files), lambda: (read_image(p, name) for p in files), stem=path.resolve().name)


def _frames_of(stack: np.ndarray, path: Path, name: str) -> Sequence:
    if stack.ndim not in (3, 4) or (stack.ndim == 4 and stack.shape[3] not in (1, 3, 4)) or 0 in stack.shape[1:]:
        raise InputError(f"{name}: {str(path)!r} has shape {stack.shape}; a stack is (T, H, W) or (T, H, W, 3)")
    if stack.dtype.kind not in "buif":
        raise InputError(f"{name}: {str(path)!r} contains {stack.dtype}; pass numbers")
    low, high = _range(stack, path, name) if len(stack) else (0.0, 1.0)
    return _sequence(path, name, len(stack), lambda: (_scaled(frame, low, high) for frame in stack))


def _tiff(path: Path, name: str) -> Sequence:
    with reading(path, name), open_tiff(io.BytesIO(read_bytes(path, name))) as file:
        if not file.series:
            raise ValueError("no page")
        series, page = file.series[0], file.pages[0]
        single = len(series.axes.replace("S", "")) < 3  # S: the colour channels
        stack = series.asarray()
        photometric = getattr(page.photometric, "name", "")
        if photometric == "MINISWHITE":
            stack = inverted(stack)
        elif photometric == "PALETTE":
            stack = np.moveaxis(page.colormap[:, stack], 0, -1)
    return _frames_of(stack[None] if single else stack, path, name)


def _animation(path: Path, name: str) -> Sequence:
    data = read_bytes(path, name)

    def frames():
        with reading(path, name), open_with_pillow(data) as file:
            for frame in file.iter(mode="RGB"):
                yield to_rgb(frame, name)

    return _sequence(path, name, sum(1 for _ in frames()), frames)


def _video(path: Path, name: str) -> Sequence:
    open_file(path, name).close()  # reports a pipe, and a file without permission
    _check_av(f"{name}: {str(path)!r} is read as a video, which")
    import av

    whitelist = {"options": {"format_whitelist": VIDEO_FORMATS}}
    held, end = 0, 0
    with reading(path, name, "pass a complete MP4, AVI, Matroska, WebM or MPEG file as a video, or a folder of frames"):
        with open(path, "rb") as file, av.open(file, **whitelist) as video:
            stream = video.streams.video[0]
            for packet in video.demux(stream):
                if packet.size and not packet.is_corrupt:
                    held, end = held + 1, max(end, (packet.pts or 0) + (packet.duration or 0))
            rate, missing = float(stream.guessed_rate or 0), stream.frames - held
            if stated := stream.metadata.get("DURATION"):  # of Matroska, which states no number of frames
                hours, minutes, seconds = map(float, stated.split(":"))
                missing = round(max(rate, 1) * (3600 * hours + 60 * minutes + seconds - end * float(stream.time_base)))
        if not held:
            raise ValueError("it holds no frame")
        if missing > 0:
            raise Unsuitable(f"is truncated: it holds {held} of its {held + missing} frames; copy it again")

    def frames():
        with reading(path, name, "copy it again"), open(path, "rb") as file, av.open(file, **whitelist) as video:
            video.streams.video[0].thread_type = "AUTO"
            for frame in video.decode(video=0):
                turned = np.rot90(frame.to_ndarray(format="rgb24"), round(frame.rotation / 90))
                yield to_rgb(turned, f"{name}: {str(path)!r}")

    return _sequence(path, name, held, frames, rate=rate if 0 < rate < 1000 else DEFAULT_RATE)


def _check_av(what: str) -> None:
    """Raise InputError, starting with `what`, if the package for videos is not installed."""
    try:
        import av  # noqa: F401
    except ImportError:
        raise InputError(f"{what} requires av; {install('video', 'av')}") from None


def check_video(path, option: str = "--video") -> Path:
    """Return the path; raise InputError if `write_video` does not support its suffix."""
    path = Path(path)
    if path.suffix.lower() not in WRITTEN:
        raise InputError(f"{option}: {str(path)!r} must end in {', '.join(WRITTEN)}")
    if path.suffix.lower() != ".gif":
        _check_av(f"{option}: {path.suffix.lower()}")
    return path


def write_video(path, figures: Iterable[np.ndarray], rate: float, option: str = "--video") -> Path:
    """Write uint8 RGB figures of the same size as a video, atomically, at `rate` frames per second.

    The figures are drawn one at a time; only a GIF is collected in memory.  Odd sides lose a line, because codecs
    require even ones.  Errors name the option.
    """
    path = check_video(path, option)
    suffix = path.suffix.lower()
    if suffix == ".gif":
        import imageio.v3 as iio

        buffer, pause = io.BytesIO(), max(20, round(1000 / rate))  # browsers play shorter pauses more slowly
        with iio.imopen(buffer, "w", plugin="pillow", extension=suffix) as file:
            for figure in figures:
                file.write(figure, is_batch=False, bits=7, duration=pause, loop=0)
        return write_bytes(path, buffer.getvalue(), option)
    import av

    codec, pixels, options = CODECS[suffix]
    with created(path, option) as file, av.open(file.name, "w", suffix[1:]) as video:
        stream = video.add_stream(codec, Fraction(rate).limit_denominator(65535), options)
        stream.pix_fmt = pixels
        for figure in map(_even, figures):
            if not stream.codec_context.is_open:
                stream.height, stream.width = figure.shape[:2]
            video.mux(stream.encode(av.VideoFrame.from_ndarray(figure)))
        video.mux(stream.encode())
    return path


def _even(figure: np.ndarray) -> np.ndarray:
    """The figure with even sides; a side of one pixel is doubled."""
    height, width = figure.shape[:2]
    figure = figure.repeat(2, 0) if height == 1 else figure
    figure = figure.repeat(2, 1) if width == 1 else figure
    return figure[: figure.shape[0] // 2 * 2, : figure.shape[1] // 2 * 2]


def _sequence(path: Path, name: str, count: int, frames, rate: float = DEFAULT_RATE, stem: str = "") -> Sequence:
    """A sequence; InputError for fewer than two frames."""
    if count < 2:
        what = "one frame" if count else "no frame"
        raise InputError(f"{name}: {str(path)!r} contains {what}; two or more are needed")
    return Sequence(stem or path.stem, next(iter(frames())).shape[:2], rate, count, frames)


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
    if dtype.kind == "f" and low >= 0 and high <= 1:
        return 0.0, 1.0
    return low, high if high > low else low + 1.0


def _scaled(frame: np.ndarray, low: float, high: float) -> np.ndarray:
    # Values of 4 and 8 bytes may need more precision, and their range a larger exponent, than float32 has.
    exact: type[np.floating] = np.float32 if frame.dtype.itemsize <= 2 or (low, high) == (0.0, 1.0) else np.float64
    values = (np.asarray(frame, exact) - exact(low)) / exact(high - low)
    return to_rgb(np.clip(values, 0.0, 1.0), "input")
