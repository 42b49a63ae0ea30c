"""Read and write images of any common kind: the one door for images and arrays in files.

Images are read as float32 RGB in [0, 1], shape (H, W, 3), from any file: 8 or 16 bits; grey, palette, RGB or RGBA; PNG,
JPEG, TIFF, WebP, AVIF, GIF, BMP or PNM.  They are rotated upright by their EXIF orientation.  Transparent pixels keep
their stored colour, because alpha describes what to display, not what was photographed.

imageio decodes them with the plugin pillow, always named: its own choice ends in unsuitable plugins.  Two kinds of file
go past it: a PNG of several 16-bit channels, which Pillow reduces to 8 bits, to OpenCV; and TIFF to tifffile, because
imageio's plugin for it raises errors for unusual resolutions.  Pillow's limit on the number of pixels holds for all.

`reading` turns what any library raises for a damaged file into an InputError of one line.  No object is unpickled.
`apps.common.writing` writes images.
"""

import io
import logging
import os
import re
import stat
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from apps.common.arguments import pixels_of
from apps.common.errors import InputError
from apps.common.file_kinds import is_image
from apps.common.writing import NO_METADATA, Metadata, write_bytes, write_image  # noqa: F401  (re-exported)

KEPT_PIXELS = 4_000_000  # an RGB image of 8 bits with more is kept as uint8
FORMATS = "PNG, JPEG, TIFF, WebP, AVIF, GIF, BMP or PNM"  # for messages; AVIF requires Pillow 11.3 or later
TIFF_MAGIC = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
ONE_FRAME = (b"\xff\xd8", b"8BPS", *TIFF_MAGIC)  # JPEG, PSD, TIFF: Pillow counts thumbnails, layers, reduced pages
HEIC = tuple(b"ftyp" + brand for brand in (b"heic", b"heix", b"heim", b"hevc", b"mif1", b"msf1"))
AS_STORED = ("1", "L", "LA", "RGB", "RGBA", "F", "I")
EXIF_ORIENTATION = 0x0112
TURNED = (5, 6, 7, 8)  # EXIF orientations that exchange the sides
FLIPPED = {2: 1, 3: -1, 4: 0, 6: 1, 7: -1, 8: 0}  # then what they flip, in OpenCV: columns 1, rows 0, both -1
ICC_TAG, X_TAG, Y_TAG, UNIT_TAG = 34675, 282, 283, 296  # of TIFF
PER_INCH = {2: 1.0, 3: 2.54}  # units of TIFF: inch and centimetre
MAX_DPI = 65535  # as a JPEG stores it


def by_number(path: Path) -> list:
    """Sort key of file names by the numbers in them: frame2 before frame10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name.lower())]


def images_by_number(folder: Path) -> list[Path]:
    """The images of a folder, by the numbers in their names."""
    inside = (path for path in folder.iterdir() if is_image(path) and not path.name.startswith("."))
    return sorted(inside, key=by_number)


def read_bytes(path, name: str = "image") -> bytes:
    """Read a file; InputError, naming the argument, if it does not exist or cannot be read."""
    with open_file(path, name) as file, reading(path, name, "pass a readable file, or a smaller one"):
        data = file.read()
    if not data:
        raise InputError(f"{name}: {str(path)!r} is empty; pass a complete file")
    return data


def open_file(path, name: str = "image"):
    """Open a regular file for binary reading; InputError, naming the argument, for anything else.

    Pipes and devices are rejected, because reading them may never end.
    """

    def opener(path, flags):
        return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # opening a pipe would otherwise wait for its writer

    with reading(path, name, "pass a readable file"):
        try:
            file = open(path, "rb", opener=opener)
        except FileNotFoundError:
            raise InputError(f"{name}: no file {str(path)!r}; check the path") from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise InputError(f"{name}: {str(path)!r} is a pipe or a device; pass a regular file")
    return file


def read_image(path, name: str = "image") -> np.ndarray:
    """Read an image as float32 RGB in [0, 1], shape (H, W, 3), upright.

    Raises InputError if the file is missing, unreadable, truncated, or contains more than one grey, RGB or RGBA frame.
    """
    return stored_rgb(read_pixels(path, name), f"{name}: {str(path)!r}")


def read_photograph(path, *, keep_bytes: bool = False) -> tuple[np.ndarray, Metadata]:
    """Read an image as `read_image` does, and the colour profile and resolution that its results keep.

    keep_bytes   leave an RGB image of 8 bits with more than KEPT_PIXELS pixels as uint8, a quarter of the memory
    """
    pixels, metadata = image_in(read_bytes(path, "image"), path)
    as_rgb = kept_rgb if keep_bytes and pixels.shape[2:] != (2,) else stored_rgb
    return as_rgb(pixels, f"image: {str(path)!r}"), metadata


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
    return image_in(data, path, name, indices)[0]


def image_in(data: bytes, path, name: str = "image", indices: bool = False) -> tuple[np.ndarray, Metadata]:
    """The result of `pixels_in`, and the colour profile and resolution; none where they are unusable."""
    with reading(path, name, f"pass a complete {FORMATS} file"):
        pixels, metadata = (_from_tiff if data[:4] in TIFF_MAGIC else _with_pillow)(data, indices)
        if pixels.ndim not in (2, 3) or 0 in pixels.shape:
            raise ValueError(f"its pixels have the shape {pixels.shape}")
    return pixels, metadata


class Unsuitable(ValueError):
    """Why a valid file is not of the kind that is read; the message continues "FILE ..." and states the remedy."""


@contextmanager
def reading(path, name: str, remedy: str = "pass a complete file"):
    """Convert what a library raises for a damaged file to InputError: one line with the argument's and file's names."""
    try:
        yield
    except InputError:
        raise
    except Unsuitable as error:
        raise InputError(f"{name}: {str(path)!r} {error}") from None
    except Exception as error:  # no common base class: OSError, ValueError, struct.error, TokenError, cv2.error, ...
        reason = "out of memory" if isinstance(error, MemoryError) else getattr(error, "strerror", None) or str(error)
        reason = " ".join(reason.split())[:300] or type(error).__name__
        raise InputError(f"{name}: cannot read {str(path)!r} ({reason}); {remedy}") from None


def load_array(source, mapped: bool = False) -> np.ndarray:
    """Load the array of a .npy file from its bytes or, memory-mapped if `mapped`, from its path; for `reading`."""
    if mapped:
        return np.lib.format.open_memmap(source, mode="r")
    return np.lib.format.read_array(io.BytesIO(source), allow_pickle=False)


@contextmanager
def open_tiff(source, stack: bool = True):
    """tifffile's TiffFile of a path or of a file in memory; ValueError for missing pages, which it only logs.

    The pages of a stack are counted first: in a circular list, tifffile would read one after the other endlessly.
    """
    import tifffile

    thread, logger = threading.get_ident(), logging.getLogger("tifffile")

    def checked(record) -> bool:
        if record.thread == thread and ("page offset" in (text := record.getMessage()) or "circular" in text):
            raise ValueError(f"truncated: {text}")
        return record.thread != thread

    logger.addFilter(checked)
    try:
        with tifffile.TiffFile(source) as file:
            len(file.pages if stack else ())
            pages = file.series[0].pages if stack and file.is_ome else []  # tifffile fills those of other files with 0
            if missing := sum(page is None for page in pages):
                raise Unsuitable(f"lacks {missing} of {len(pages)} pages, as if in other files; save all in one file")
            yield file
    finally:
        logger.removeFilter(checked)


def is_deep_png(data: bytes) -> bool:
    """Whether this is a PNG with several 16-bit channels, which Pillow would reduce to 8 bits."""
    return data[:4] == b"\x89PNG" and data[24:25] == b"\x10" and data[25:26] in (b"\x02", b"\x04", b"\x06")


def deep_png(data: bytes) -> np.ndarray:
    """Pixels of a PNG that `is_deep_png`, as stored: uint16 (H, W, channels), in the order R, G, B, alpha."""
    import cv2  # not through imageio, whose plugin would write the bytes to a file, and copy the pixels twice

    if b"IEND" not in data[-(1 << 17) :]:
        raise ValueError("image file is truncated")
    _check_size(*(int.from_bytes(data[at : at + 4], "big") for at in (16, 20)))
    if (pixels := cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)) is None:
        raise ValueError("broken PNG")
    if data[25] == 4:  # grey and alpha
        return pixels[..., [0, -1]]
    return cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB if pixels.shape[2] == 3 else cv2.COLOR_BGRA2RGBA)


def upright(pixels: np.ndarray, orientation: int) -> np.ndarray:
    """Undo the eight EXIF orientations."""
    if orientation not in range(2, 9):
        return pixels
    import cv2  # at 24 megapixels four times as fast as NumPy, for types that it knows

    turned = np.ascontiguousarray(pixels).view({1: "u1", 2: "u2", 4: "i4", 8: "f8"}[pixels.itemsize])
    if orientation in TURNED:
        turned = cv2.transpose(turned)
    if orientation != 5:
        turned = cv2.flip(turned, FLIPPED[orientation], turned if orientation in TURNED else None)  # a copy in place
    return turned.view(pixels.dtype)


def inverted(pixels: np.ndarray) -> np.ndarray:
    """Brightness of pixels stored with white as 0."""
    if pixels.dtype.kind not in "bu":
        raise ValueError(f"{pixels.dtype} with white as 0")
    return ~pixels


def open_with_pillow(data: bytes):
    """imageio's reader of a file in memory by its plugin pillow; ValueError for another kind of file."""
    import imageio.v3 as iio

    try:
        return iio.imopen(data, "r", plugin="pillow")
    except OSError as error:
        if "Pillow can not read" not in str(error.__cause__):
            raise error.__cause__ or error from None
        kind = "it is HEIC, as of many telephones; export it as JPEG or PNG" if data[4:12] in HEIC else ""
        raise ValueError(kind or "not an image, or of an unknown kind") from None


def _with_pillow(data: bytes, indices: bool) -> tuple[np.ndarray, Metadata]:
    """Pixels, upright, and metadata; those of TIFF are read by tifffile."""
    with open_with_pillow(data) as file:
        if not data.startswith(ONE_FRAME) and (frames := file.properties(index=...).n_images) > 1:
            hint = "pass a single image (cutmatch flow, track and segment --clip accept sequences)"
            raise Unsuitable(f"holds {frames} frames; {hint}")
        if is_deep_png(data):
            pixels = deep_png(data)
        else:
            pixels = file.read(index=0, mode=_mode_of(file.metadata(index=0), indices))
        about = file.metadata(index=0, exclude_applied=False)  # while reading, Pillow may have turned the pixels
    if pixels.dtype == np.int32 and data[:4] not in TIFF_MAGIC:  # PNM; the labels of a TIFF keep 32 bits
        pixels = pixels.astype(np.uint16)
    pixels = pixels.astype(pixels.dtype.newbyteorder("="), copy=False)
    turn = about.get("Orientation", 1)
    return upright(pixels, turn), _metadata(about.get("icc_profile"), about.get("dpi"), turn)


def _mode_of(about: dict, indices: bool) -> str | None:
    """Pillow's mode to convert an image to; None for its own."""
    mode = about["mode"]
    if mode in ("P", "PA"):
        return mode if indices else "RGBA" if "transparency" in about else "RGB"
    return None if mode in AS_STORED or mode.startswith("I;16") else "RGB"  # CMYK, YCbCr, Lab, ...


def _from_tiff(data: bytes, indices: bool) -> tuple[np.ndarray, Metadata]:
    """Pixels, upright, and metadata; by Pillow for the colours, the bits and the compression that tifffile lacks."""
    with open_tiff(io.BytesIO(data), stack=False) as file:
        page = file.pages[0]
        with suppress(IndexError):
            if file.pages[1].shape == page.shape:
                raise Unsuitable("holds several pages; split it into single images")
        _check_size(page.imagewidth, page.imagelength)
        values = {tag.code: tag.value for tag in page.tags}
        turn = values.get(EXIF_ORIENTATION, 1)
        metadata = _metadata(values.get(ICC_TAG), _tiff_dpi(values), turn)
        kind = getattr(page.photometric, "name", "")
        if page.bitspersample < 8 or kind in ("PALETTE", "YCBCR", "CMYK", "SEPARATED", "CIELAB"):
            return _with_pillow(data, indices)[0], metadata  # which scales 2 and 4 bits to the range of 8
        try:
            pixels = page.asarray()
        except ValueError as error:
            if "imagecodecs" not in str(error):
                raise
            # LZW and others, for which tifffile needs an optional package; Pillow inverts 8 bits, but no other depth.
            pixels, _ = _with_pillow(data, indices)
            return inverted(pixels) if kind == "MINISWHITE" and pixels.dtype != np.uint8 else pixels, metadata
        if page.planarconfig == 2 and pixels.ndim == 3:  # one plane per channel
            pixels = np.moveaxis(pixels, 0, -1)
    return upright(inverted(pixels) if kind == "MINISWHITE" else pixels, turn), metadata


def _tiff_dpi(values: dict) -> list[float] | None:
    """Pixels per inch by the tags of a page."""
    per_inch = PER_INCH.get(values.get(UNIT_TAG, 2))
    if per_inch is None or X_TAG not in values or Y_TAG not in values:
        return None
    return [per_inch * above / below for above, below in (values[X_TAG], values[Y_TAG]) if below]


def _metadata(icc, dpi, orientation: int) -> Metadata:
    """Metadata, upright; files hold profiles of a few bytes, and resolutions of 0, infinity and fractions over 0."""
    try:
        x, y = (float(one) for one in dpi)
        kept = (x, y) if 1 <= min(x, y) and max(x, y) <= MAX_DPI else None
    except (TypeError, ValueError, ZeroDivisionError):
        kept = None
    is_profile = isinstance(icc, bytes) and len(icc) > 128 and icc[36:40] == b"acsp"  # of the header of 128 bytes
    return Metadata(icc if is_profile else None, kept[::-1] if kept and orientation in TURNED else kept)


def _check_size(width: int, height: int) -> None:
    """Raise ValueError for more pixels than Pillow decodes."""
    from PIL import Image

    if Image.MAX_IMAGE_PIXELS is not None and width * height > 2 * Image.MAX_IMAGE_PIXELS:
        raise ValueError(f"its {width}x{height} pixels exceed the limit of {2 * Image.MAX_IMAGE_PIXELS}")


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


def kept_rgb(pixels, name: str = "image") -> np.ndarray:
    """As `to_rgb`, but RGB of 8 bits with more than KEPT_PIXELS pixels stays uint8, a quarter of the memory."""
    pixels = pixels_of(pixels, name)
    is_rgb = pixels.dtype == np.uint8 and pixels.ndim == 3 and pixels.shape[2] in (3, 4)
    if is_rgb and pixels.shape[0] * pixels.shape[1] > KEPT_PIXELS:
        return np.ascontiguousarray(pixels[..., :3])
    return to_rgb(pixels, name)


def stored_rgb(pixels: np.ndarray, name: str) -> np.ndarray:
    """As `to_rgb`, of pixels from a file, where two channels are grey and alpha."""
    return to_rgb(pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] == 2 else pixels, name)


def check_same_size(array: np.ndarray, shape, name: str, others: str = "the image is") -> None:
    """Raise InputError unless the array has this shape: (H, W), (H, W, 3), or (D, H, W) of a volume."""
    if array.shape != tuple(shape):
        is_volume = len(shape) == 3 and shape[2] != 3
        size, wanted = ("x".join(map(str, one if is_volume else one[1::-1])) for one in (array.shape, shape))
        unit = "voxels" if is_volume else "pixels"
        raise InputError(f"{name} is {size} {unit}, but {others} {wanted}; make them the same size")


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
