"""Read and write images of any common kind.

Images are read as float32 RGB in [0, 1], shape (H, W, 3), from any file: 8 or 16 bits; grey, palette, RGB or RGBA; PNG,
JPEG, TIFF, WebP, AVIF, GIF, BMP or PNM.  They are rotated upright by their EXIF orientation (see
apps.common.decoding).  Transparent pixels keep their stored colour, because alpha describes what to display, not what
was photographed.

`apps.common.writing` writes images.
"""

import os
import re
import stat
from pathlib import Path

import numpy as np

from apps.common.arguments import pixels_of
from apps.common.clock import timed
from apps.common.decoding import Unreadable, Unsuitable, decode
from apps.common.errors import InputError
from apps.common.image_metadata import Metadata
from apps.common.metadata_reading import metadata_of
from apps.common.writing import write_bytes, write_image  # noqa: F401  (re-exported, so that images are read and written through one module)

READABLE = (".png", ".jpg", ".jpeg", ".jpe", ".tif", ".tiff", ".bmp", ".webp", ".avif", ".ppm", ".pgm", ".gif")
KEPT_PIXELS = 4_000_000  # see `read_photograph`
FORMATS = "PNG, JPEG, TIFF, WebP, AVIF, GIF, BMP or PNM"  # for messages; AVIF requires Pillow 11.3 or later


def by_number(path: Path) -> list:
    """Sort key of file names by the numbers in them: frame2 before frame10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name.lower())]


@timed("read")
def read_bytes(path, name: str = "image") -> bytes:
    """Read a file; InputError, naming the argument, if it does not exist or cannot be read."""
    with open_file(path, name) as file:
        try:
            data = file.read()
        except (OSError, MemoryError) as error:
            raise _not_readable(path, name, error) from None
    if not data:
        raise InputError(f"{name}: {str(path)!r} is empty; pass a complete file")
    return data


def open_file(path, name: str = "image"):
    """Open a regular file for binary reading; InputError, naming the argument, for anything else.

    Pipes and devices are rejected, because reading them may never end.
    """

    def opener(path, flags):
        return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # opening a pipe would otherwise wait for its writer

    try:
        file = open(path, "rb", opener=opener)
    except FileNotFoundError:
        raise InputError(f"{name}: no file {str(path)!r}; check the path") from None
    except (OSError, ValueError) as error:
        raise _not_readable(path, name, error) from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise InputError(f"{name}: {str(path)!r} is a pipe or a device; pass a regular file")
    return file


@timed("read")
def read_image(path, name: str = "image") -> np.ndarray:
    """Read an image as float32 RGB in [0, 1], shape (H, W, 3), upright.

    Raises InputError if the file is missing, unreadable, truncated, or contains more than one grey, RGB or RGBA frame.
    """
    return stored_rgb(read_pixels(path, name), f"{name}: {str(path)!r}")


@timed("read")
def read_photograph(path, *, keep_bytes: bool = False) -> tuple[np.ndarray, Metadata]:
    """Read an image as `read_image` does, and the colour profile and resolution that its results keep.

    keep_bytes   leave an RGB image of 8 bits with more than KEPT_PIXELS pixels as uint8, a quarter of the memory
    """
    data = read_bytes(path, "image")
    pixels = pixels_in(data, path, "image")
    if keep_bytes and pixels.dtype == np.uint8 and pixels.ndim == 3 and pixels.shape[0] * pixels.shape[1] > KEPT_PIXELS:
        if pixels.shape[2] >= 3:
            return np.ascontiguousarray(pixels[..., :3]), metadata_of(data)
    return stored_rgb(pixels, f"image: {str(path)!r}"), metadata_of(data)


@timed("read")
def read_codes(path, name: str = "strokes") -> np.ndarray:
    """Read a label image: integers (H, W) as stored, including palette indices, or uint8 colours (H, W, 3).

    Integers stored as floats become int64.  Raises InputError as `read_image` does, and for NaN and fractions.
    """
    return codes_of(read_pixels(path, name, indices=True), f"{name}: {str(path)!r}")


def codes_of(codes: np.ndarray, what: str) -> np.ndarray:
    """The result of `read_codes` from pixels as stored, with palette indices; `what` is the start of the messages."""
    if codes.ndim == 3:
        codes = codes[..., 0] if codes.shape[2] <= 2 else codes[..., :3]
    if codes.ndim == 3 and codes.dtype != np.uint8:
        if (codes == codes[..., :1]).all():
            codes = codes[..., 0]
        elif codes.dtype == np.uint16:
            codes = np.rint(codes / 257).astype(np.uint8)
        else:
            raise InputError(f"{what} holds colours of type {codes.dtype}; convert it to 8 bits")
    return np.ascontiguousarray(as_integers(codes, what))


def read_pixels(path, name: str = "image", indices: bool = False) -> np.ndarray:
    """Read an image's values as stored, upright: (H, W) or (H, W, channels).

    Palette images are returned as RGB, or as palette indices if `indices`.  Raises InputError as `read_image` does.
    """
    return pixels_in(read_bytes(path, name), path, name, indices)


def pixels_in(data: bytes, path, name: str, indices: bool = False) -> np.ndarray:
    """As `read_pixels`, of the content of a file; `path` is for messages."""
    try:
        return decode(data, indices)
    except Unsuitable as error:
        raise InputError(f"{name}: {str(path)!r} {error}") from None
    except Unreadable as error:
        raise InputError(f"{name}: cannot read {str(path)!r} ({error}); pass a complete {FORMATS} file") from None


def as_integers(values: np.ndarray, name: str) -> np.ndarray:
    """Convert to integers: bool to uint8, integral floats to int64; InputError for other values."""
    if values.dtype == bool:
        return values.view(np.uint8)
    if values.dtype.kind in "iu":
        return values
    if values.dtype.kind != "f":
        raise InputError(f"{name} must hold integers, got {values.dtype}")
    if not np.isfinite(values).all():
        raise InputError(f"{name} holds NaN or infinity; pass integers")
    fractions = values[values != np.rint(values)]
    if fractions.size:
        raise InputError(f"{name} holds fractions such as {fractions[0]:.6g}; pass integers")
    if (most := float(np.abs(values).max(initial=0))) > 2**53:
        raise InputError(f"{name} holds numbers up to {most:.6g}; floats are exact up to 2**53")
    return values.astype(np.int64)


def to_rgb(pixels, name: str = "image") -> np.ndarray:
    """Convert a grey, RGB or RGBA array to float32 RGB in [0, 1], shape (H, W, 3).

    uint16 is divided by 65535, and other integers, which must be in [0, 255], by 255; floats must be in [0, 1].  Raises
    InputError for another shape or dtype, for NaN, infinity, or values out of range.
    """
    pixels = pixels_of(pixels, name)
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3, 4) or 0 in pixels.shape:
        shape = "(H, W), (H, W, 3) or (H, W, 4)"
        raise InputError(f"{name} must be one grey, RGB or RGBA image of shape {shape}, got shape {pixels.shape}")
    pixels = pixels[..., :3]
    if pixels.dtype in (np.uint8, np.uint16):
        values = pixels.astype(np.float32) / np.float32(np.iinfo(pixels.dtype).max)
    elif pixels.dtype.kind == "b":
        values = pixels.astype(np.float32)
    elif pixels.dtype.kind == "f":
        if not np.isfinite(pixels).all():
            raise InputError(f"{name} holds NaN or infinity; every pixel must be finite")
        low, high = float(pixels.min()), float(pixels.max())
        if low < 0 or high > 1:
            raise InputError(f"{name} holds floats in [{low:.4g}, {high:.4g}]; scale them to [0, 1]")
        values = pixels.astype(np.float32)
    else:
        raise InputError(
            f"{name} must hold integers in [0, 255], uint16, or floats in [0, 1], got {_held(pixels)}; convert it"
        )
    return np.ascontiguousarray(np.broadcast_to(values, (*values.shape[:2], 3)))


def stored_rgb(pixels: np.ndarray, name: str) -> np.ndarray:
    """As `to_rgb`, of pixels from a file, where two channels are grey and alpha."""
    return to_rgb(pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] == 2 else pixels, name)


def check_same_size(array: np.ndarray, shape, name: str, others: str = "the image is") -> None:
    """Raise InputError unless the array has this shape (H, W, ...)."""
    if array.shape != tuple(shape):
        raise InputError(
            f"{name} is {array.shape[1]}x{array.shape[0]} pixels, but {others} {shape[1]}x{shape[0]}; "
            "make them the same size"
        )


def as_floats(rgb: np.ndarray) -> np.ndarray:
    """Convert uint8 to float32 in [0, 1], as `to_rgb` does; floats are returned unchanged."""
    return rgb if rgb.dtype != np.uint8 else rgb.astype(np.float32) / np.float32(255)


def to_bytes(rgb: np.ndarray) -> np.ndarray:
    """Convert floats in [0, 1] to uint8, rounded to the nearest; uint8 is returned unchanged."""
    return rgb if rgb.dtype == np.uint8 else (np.clip(rgb, 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8)


def _held(pixels: np.ndarray) -> str:
    if pixels.dtype.kind in "iu":
        return f"{pixels.dtype} from {pixels.min()} to {pixels.max()}"
    return str(pixels.dtype)


def _not_readable(path, name: str, error: Exception) -> InputError:
    if isinstance(error, MemoryError):
        return InputError(f"{name}: {str(path)!r} is larger than the free memory; pass a smaller file")
    reason = getattr(error, "strerror", None) or str(error)
    return InputError(f"{name}: cannot read {str(path)!r} ({reason}); pass a readable file")
