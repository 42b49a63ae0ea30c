"""Write files atomically: completely or not at all.

A file is written under a random temporary name in the folder of its target, then renamed.  The temporary file is
created exclusively, so that an existing file or link of that name is never followed.  A replaced file keeps its mode.
Links, devices and pipes are not replaced.  The results of an item of a command are renamed `together`, when all of them
are complete and may be written.
"""

import contextlib
import errno
import os
import secrets
import stat
import struct
import zlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from apps.common.errors import BAD_INPUT, DISK_FULL_ERRNOS, SOME_FAILED, OutputError

if TYPE_CHECKING:  # the module is loaded by commands that use no arrays
    import numpy as np

PREFIX, SUFFIX = ".cutmatch-", ".part"
PILLOW_PIXELS = 1_000_000  # larger PNG files are written by OpenCV
INCHES_PER_METRE = 1 / 0.0254
PNG_HEADER = 33  # bytes: the signature and the first chunk, which is of fixed length
RGB, GREY = b"RGB ", b"GRAY"  # bytes 16 to 19 of a colour profile: the colours that it describes

# (temporary path, path, option) of the files of the item of this thread
_together: ContextVar[list[tuple[Path, Path, str]] | None] = ContextVar("together", default=None)


class Metadata(NamedTuple):
    """The ICC profile of a photograph, and pixels per inch in x and y, which its results keep; None where it has none.

    Without its profile, a photograph in Display P3 or Adobe RGB would be shown in other colours.  Nothing else is kept:
    the EXIF orientation has been applied to the pixels, and the place and the time of a photograph do not belong in a
    mask.
    """

    icc: bytes | None = None
    dpi: tuple[float, float] | None = None

    def options(self, pixels: "np.ndarray") -> dict:
        """Keyword arguments of Pillow's `save` for pixels (H, W) or (H, W, channels).

        A profile of other colours than those of the pixels is left out: that of a CMYK file, which has been converted
        to RGB, and that of a photograph for its mask, whose values are no colours.
        """
        space = GREY if pixels.ndim == 2 else RGB
        icc = {"icc_profile": self.icc} if self.icc is not None and self.icc[16:20] == space else {}
        return icc | ({"dpi": self.dpi} if self.dpi is not None else {})

    def added_to_png(self, content: memoryview, pixels: "np.ndarray") -> bytes:
        """A PNG file of pixels that has neither profile nor resolution, with those that `options` chooses."""
        kept, chunks = self.options(pixels), b""
        if "icc_profile" in kept:
            chunks += _chunk(b"iCCP", b"ICC Profile\0\0" + zlib.compress(kept["icc_profile"]))
        if "dpi" in kept:
            per_metre = (round(dpi * INCHES_PER_METRE) for dpi in kept["dpi"])
            chunks += _chunk(b"pHYs", struct.pack(">IIB", *per_metre, 1))
        return b"".join((content[:PNG_HEADER], chunks, content[PNG_HEADER:]))

    def without_profile(self) -> "Metadata":
        """The resolution alone, for masks and label images."""
        return self._replace(icc=None)


NO_METADATA = Metadata()


def write_image(path, pixels, option: str = "--out", metadata: Metadata = NO_METADATA) -> Path:
    """Write grey, RGB or RGBA pixels atomically; the suffix determines the format."""
    path = Path(path)
    return write_bytes(path, encoded_image(pixels, path.suffix, metadata), option)


def encoded_image(pixels, suffix: str, metadata: Metadata = NO_METADATA, **options) -> bytes:
    """Content of an image file of 8 bits, or of 16 if it is grey or PNG; `options` are those of Pillow's `save`."""
    import imageio.v3 as iio
    from PIL import Image

    kind = Image.registered_extensions().get(suffix.lower(), "PNG")
    is_large = pixels.dtype == "uint8" and pixels.shape[0] * pixels.shape[1] > PILLOW_PIXELS
    if kind == "PNG" and (is_large or pixels.dtype == "uint16"):
        return _encoded_by_opencv(pixels, metadata)
    # Level 1 is three times as fast as Pillow's default, and a tenth larger.
    options |= {"compress_level": 1} if kind == "PNG" else {}
    options |= {"format": kind, "extension": ".png", "plugin": "pillow", "is_batch": False}
    return iio.imwrite("<bytes>", pixels, **options, **metadata.options(pixels))


def _encoded_by_opencv(pixels, metadata: Metadata) -> bytes:
    """Content of a PNG file by OpenCV, which is faster than Pillow and stores colours of 16 bits."""
    import cv2

    order = {3: cv2.COLOR_RGB2BGR, 4: cv2.COLOR_RGBA2BGRA}
    content = cv2.imencode(".png", pixels if pixels.ndim == 2 else cv2.cvtColor(pixels, order[pixels.shape[2]]))[1]
    return metadata.added_to_png(content.data, pixels)


def write_bytes(path, data: bytes, option: str = "--out") -> Path:
    """Write a file as `created` does, and return its path."""
    with created(path, option) as file:
        file.write(data)
    return Path(path)


@contextlib.contextmanager
def created(path, option: str = "--out") -> Iterator[BinaryIO]:
    """Context manager: a new file open for writing, which gets its name after the block, or at the end of `together`.

    It is removed if the block raises.  Raises OutputError, naming the option, if it cannot be written.
    """
    path = Path(path)
    with reported(path, option):
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{PREFIX}{os.getpid()}-{secrets.token_hex(8)}{SUFFIX}")
        file = open(unfinished, "xb")  # fails if the name exists, and follows no link
        try:
            with file:
                yield file
            if (results := _together.get()) is None:
                _replace(unfinished, path)
            else:
                results.append((unfinished, path, option))
        except BaseException:
            with contextlib.suppress(OSError):
                unfinished.unlink()
            raise


@contextlib.contextmanager
def together(check: Callable[[Path, str], None]) -> Iterator[None]:
    """Context manager: files that this thread writes in the block get their names at its end, all of them or none.

    check   (path, option) -> None, of all of them before the first gets its name; it raises for one that must not be
            replaced
    """
    results: list[tuple[Path, Path, str]] = []
    token = _together.set(results)
    try:
        yield
        for _, path, option in results:
            check(path, option)
        for unfinished, path, option in results:
            with reported(path, option):
                _replace(unfinished, path)
    finally:
        _together.reset(token)
        for unfinished, *_ in results:
            with contextlib.suppress(OSError):
                unfinished.unlink(missing_ok=True)


def remove_unfinished(folder: Path, process: int) -> None:
    """Remove the temporary files of a killed process from a folder."""
    for path in folder.glob(f"{PREFIX}{process}-*{SUFFIX}"):
        with contextlib.suppress(OSError):
            path.unlink()


def is_special(path) -> bool:
    """Whether `path` exists and is neither a regular file nor a folder: a device, a FIFO or a socket."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextlib.contextmanager
def reported(path, option: str):
    """Convert OSError to an OutputError that names the option, the path and the reason."""
    try:
        yield
    except OSError as error:
        full = error.errno in DISK_FULL_ERRNOS
        hint = "free some space, or choose another folder" if full else "choose a writable folder"
        shown = str(path)
        if error.errno == errno.ENAMETOOLONG:
            hint, shown = "shorten the name", f"{shown[:40]}..."
        reason = error.strerror or str(error)
        status = SOME_FAILED if full else BAD_INPUT
        raise OutputError(f"{option}: cannot write {shown!r} ({reason}); {hint}", status) from None


def _replace(unfinished: Path, target: Path) -> None:
    """Rename over a new name or a regular file, whose mode is kept, so that a private file remains private."""
    with contextlib.suppress(FileNotFoundError):
        mode = os.lstat(target).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise OSError(errno.EEXIST, "a link, a device or a pipe", str(target))
        if stat.S_ISREG(mode):
            os.chmod(unfinished, stat.S_IMODE(mode))
    unfinished.replace(target)


def _chunk(kind: bytes, content: bytes) -> bytes:
    """A chunk of a PNG file."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
