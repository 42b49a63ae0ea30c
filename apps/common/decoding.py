"""Decode images and arrays from the bytes of a file.

Reader libraries raise dozens of exception types on broken files.  The functions of this module raise two, both with a
one-line message without the file's name, which the caller adds:

    Unreadable   the file is broken, truncated or of an unknown kind; the message is the reason
    Unsuitable   the file is valid, but not a single image; the message continues "FILE ..." and states the remedy

No object is ever unpickled.

Pillow, tifffile and OpenCV are called directly.  imageio wraps them, but allocates the pixels before their number can
be compared with the size of the file, ignores orientations, reduces colours of 16 bits to 8, leaves CMYK as it is,
drops the transparency of palettes, and returns one page of many.
"""

import io
import logging
import struct
import threading
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import numpy as np

EXIF_ORIENTATION = 0x0112
TIFF_MAGIC = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
NPY_MAGIC = b"\x93NUMPY"
PNG_MAGIC = b"\x89PNG\r\n\x1a\n"
PNG_CHANNELS = {2: 3, 4: 2, 6: 4}  # by the colour type: RGB, grey and alpha, RGBA
DEFLATE_RATIO = 1032  # maximum number of bytes per byte of deflated data
MAX_PACKED = 10_000  # the same for any other compression, approximately, except for
MAX_WEBP = 16383  # pixels along a side of a frame
UNBOUNDED = ("WEBP", "AVIF", "JPEG2000")  # Pillow's formats that store a constant image of any size in a few bytes
HEIC = tuple(b"ftyp" + brand for brand in (b"heic", b"heix", b"heim", b"hevc", b"mif1", b"msf1"))
MAX_BANDS = 16  # TIFF pages at most this wide are probably bands, saved without stating so
# In these formats, Pillow also counts thumbnails, layers and reduced pages as frames.
SINGLE_FORMATS = ("MPO", "PSD", "TIFF")
INDEXED = ("P", "PA")
AS_STORED = ("1", "L", "LA", "RGB", "RGBA", "F")

_collecting = threading.local()


class Unreadable(ValueError):
    """Why a file cannot be decoded, in one line."""


class Unsuitable(Unreadable):
    """Why a valid file is not a single image."""


def decode(data: bytes, indices: bool = False) -> np.ndarray:
    """Decode the only frame of an image file, upright: (H, W) or (H, W, channels), in the file's own dtype.

    Palette images are returned as RGB, or as palette indices if `indices`.  Grey values are brightness: they are
    inverted if a TIFF file stores white as 0.  Raises Unreadable or Unsuitable.
    """
    with decoding_errors():
        if data[:4] in TIFF_MAGIC:
            pixels = _from_tiff(data, indices)
        elif is_deep_png(data):
            pixels = upright(deep_png(data), _png_orientation(data))
        else:
            pixels = _with_pillow(data, indices)
        if pixels.ndim not in (2, 3) or 0 in pixels.shape:
            raise Unreadable(f"its pixels have the shape {pixels.shape}")
        return pixels


def load_array(source, mapped: bool = False) -> np.ndarray:
    """Load the array of a .npy file from its bytes or, memory-mapped if `mapped`, from its path.  Raises Unreadable."""
    with decoding_errors():
        with open(source, "rb") if mapped else io.BytesIO(source) as file:
            head = file.read(len(NPY_MAGIC))
            if head[:2] == b"PK":
                raise Unreadable("it is an archive, such as .npz, not a .npy array")
            if head != NPY_MAGIC:
                raise Unreadable("it does not start with the header of a .npy file")
            if mapped:
                return np.load(source, mmap_mode="r", allow_pickle=False)
            file.seek(0)
            return np.load(file, allow_pickle=False)


@contextmanager
def decoding_errors():
    """Convert any exception of a reader library to Unreadable with a one-line reason."""
    try:
        yield
    except Unreadable:
        raise
    except MemoryError as error:
        raise Unreadable(f"out of memory: {error}" if str(error) else "out of memory") from None
    except Exception as error:  # no common base class: OSError, ValueError, struct.error, TokenError, cv2.error, ...
        reason = (str(error).splitlines() or [""])[0].strip() or type(error).__name__
        if "cannot identify" in reason:
            reason = "not an image, or of an unknown kind"
        raise Unreadable(reason) from None


@contextmanager
def page_warnings():
    """Collect tifffile's log messages about missing pages in this thread; its messages are not printed."""
    logging.getLogger("tifffile").addFilter(_collect)
    before, _collecting.warnings = getattr(_collecting, "warnings", None), []
    try:
        yield _collecting.warnings
    finally:
        _collecting.warnings = before


def _collect(record) -> bool:
    """Filter of tifffile's logger, shared by all threads: whether to print a record."""
    warnings = getattr(_collecting, "warnings", None)
    if warnings is not None and "page offset" in (message := record.getMessage()):
        warnings.append(message)
    return warnings is None


def open_tiff(source):
    """tifffile's TiffFile of a path or of a file in memory; Unreadable if its pages have no end.

    tifffile would follow a circular list of pages endlessly.
    """
    import tifffile

    with open(source, "rb") if isinstance(source, Path) else nullcontext(source) as file:
        _check_pages(file)
        file.seek(0)
        return tifffile.TiffFile(source)


def _check_pages(file) -> None:
    """Follow the offsets of the pages; what else is damaged, tifffile reports."""
    head, end = file.read(16), file.seek(0, io.SEEK_END)
    order, big = "<>"[head[:2] == b"MM"], 43 in head[2:4]  # BigTIFF has 64-bit offsets
    count, entry, link = (order + form for form in (("Q", "20s", "Q") if big else ("H", "12s", "I")))
    with suppress(struct.error, OverflowError):
        at, used, seen = struct.unpack_from(link, head, 8 if big else 4)[0], 0, set()
        while 0 < at < end:
            seen.add(at)
            file.seek(at)
            (entries,) = struct.unpack(count, file.read(struct.calcsize(count)))
            file.seek(entries * struct.calcsize(entry), io.SEEK_CUR)
            (at,) = struct.unpack(link, file.read(struct.calcsize(link)))
            used += struct.calcsize(count) + entries * struct.calcsize(entry) + struct.calcsize(link)
            if used > end or at in seen:
                raise Unreadable("its pages overlap, or their list is circular")


def check_whole(series) -> None:
    """Raise Unsuitable if an OME series has pages in other files; tifffile would fill these with zeros."""
    if series.kind == "ome" and (missing := sum(page is None for page in series.pages)):
        raise Unsuitable(f"lacks {missing} of {len(series.pages)} pages, as if in other files; save all in one file")


def check_claim(claimed: int, data: bytes) -> None:
    """Raise Unreadable, before memory is allocated, if the pixels need more bytes than the file can contain."""
    if claimed > MAX_PACKED * len(data):
        raise Unreadable(f"its pixels would take {claimed} bytes, more than its {len(data)} bytes can hold")


def open_image(data: bytes):
    """Pillow's image of a file; Unreadable, before memory is allocated, if it cannot contain the pixels."""
    from PIL import Image, UnidentifiedImageError

    try:
        image = Image.open(io.BytesIO(data))
    except UnidentifiedImageError:
        if data[4:12] in HEIC:
            raise Unreadable("it is HEIC, as of many telephones; export it as JPEG or PNG") from None
        raise
    check_frame(image, data)
    return image


def check_frame(image, data: bytes) -> None:
    """Raise Unreadable if the present frame of Pillow's image needs more bytes than the file can contain."""
    if image.format == "WEBP" and max(image.size) > MAX_WEBP:  # of an animation; a single image has no more
        raise Unreadable(f"its canvas of {image.width}x{image.height} is larger than a WebP frame can be")
    if image.format not in UNBOUNDED:
        check_claim(image.width * image.height * len(image.getbands()), data)


def is_deep_png(data: bytes) -> bool:
    """Whether this is a PNG with several 16-bit channels, which Pillow would reduce to 8 bits."""
    return data[:8] == PNG_MAGIC and data[24:25] == b"\x10" and data[25:26] in (b"\x02", b"\x04", b"\x06")


def deep_png(data: bytes) -> np.ndarray:
    """Pixels of a PNG that `is_deep_png`, as stored: uint16 (H, W, channels), in the order R, G, B, alpha."""
    import cv2

    with decoding_errors():
        chunks = list(_png_chunks(data))
        for kind, chunk in chunks:
            if kind == b"acTL" and (frames := int.from_bytes(chunk[:4], "big")) > 1:
                raise Unsuitable(_not_a_single_frame(frames))
        width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
        channels = PNG_CHANNELS[data[25]]
        capacity = DEFLATE_RATIO * sum(len(chunk) for kind, chunk in chunks if kind == b"IDAT")
        if height * width * channels * 2 > capacity:
            raise Unreadable(f"{width}x{height} pixels are more than its {len(data)} bytes can hold")
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
        if pixels is None:
            raise Unreadable("broken PNG")
        if pixels.ndim != 3 or pixels.dtype != np.uint16:
            raise Unreadable(f"broken PNG: its pixels came out as {pixels.dtype} of shape {pixels.shape}")
        if channels == 2:
            return pixels[..., [0, -1]]
        return pixels[..., [2, 1, 0] if pixels.shape[2] == 3 else [2, 1, 0, 3]]


def upright(pixels: np.ndarray, orientation: int) -> np.ndarray:
    """Undo the eight EXIF orientations."""
    if orientation in (5, 6, 7, 8):
        pixels = np.swapaxes(pixels, 0, 1)
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    return pixels


def inverted(pixels: np.ndarray) -> np.ndarray:
    """Brightness of pixels stored with white as 0."""
    if pixels.dtype.kind not in "bu":
        raise Unreadable(f"{pixels.dtype} with white as 0")
    return ~pixels


def _not_a_single_frame(frames: int) -> str:
    return f"holds {frames} frames; pass a single image (cutmatch flow, track and segment --clip accept sequences)"


def _png_chunks(data: bytes):
    """Kinds and contents of a PNG's chunks; Unreadable if the file ends before its last chunk."""
    at = len(PNG_MAGIC)
    while True:
        length, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        if at + 12 + length > len(data):
            raise Unreadable("image file is truncated")
        yield kind, data[at + 8 : at + 8 + length]
        if kind == b"IEND":
            return
        at += 12 + length


def _png_orientation(data: bytes) -> int:
    # Pillow searches all of these chunks, also behind the pixels, and decodes the pixels for that.
    if not {kind for kind, _ in _png_chunks(data)} & {b"eXIf", b"tEXt", b"zTXt", b"iTXt"}:
        return 1
    with open_image(data) as image:
        return image.getexif().get(EXIF_ORIENTATION, 1)


def _with_pillow(data: bytes, indices: bool) -> np.ndarray:
    from PIL import ImageOps

    image = open_image(data)
    if image.format not in SINGLE_FORMATS and (frames := getattr(image, "n_frames", 1)) > 1:
        raise Unsuitable(_not_a_single_frame(frames))
    image.load()  # raises on truncated data; lazy loading would raise later
    kind = image.format
    ImageOps.exif_transpose(image, in_place=True)  # without a copy of an upright image
    if image.mode in AS_STORED or (indices and image.mode in INDEXED):
        return np.array(image)
    if image.mode.startswith("I;16"):
        return np.array(image).astype(np.uint16)
    if image.mode == "I":
        pixels = np.array(image)
        if kind == "TIFF":
            return pixels  # 32 bits are kept, because they may be labels
        if pixels.min() < 0 or pixels.max() > 65535:
            raise Unreadable("32-bit integers; convert it to 8 or 16 bits")
        return pixels.astype(np.uint16)
    if image.mode in INDEXED and "transparency" in image.info:
        return np.array(image.convert("RGBA"))
    return np.array(image.convert("RGB"))  # palette, CMYK, YCbCr, Lab, ...


def _from_tiff(data: bytes, indices: bool) -> np.ndarray:
    import tifffile

    with page_warnings() as warnings, open_tiff(io.BytesIO(data)) as file:
        if len(file.pages) > 1 and file.pages[1].shape == file.pages[0].shape:
            height, width = file.pages[0].shape[:2]
            bands = f" of {width}x{height} pixels, perhaps {width} bands of one image" if width <= MAX_BANDS else ""
            raise Unsuitable(f"holds {len(file.pages)} pages{bands}; split it into single images")
        if warnings:
            raise Unreadable(f"truncated: {warnings[0]}")
        page = file.pages[0]
        check_claim(page.nbytes, data)
        photometric = getattr(page.photometric, "name", "")
        white_is_0 = photometric == "MINISWHITE"
        few_bits = page.bitspersample < 8  # Pillow scales 2 and 4 bits to the range of 8
        if few_bits or photometric in ("PALETTE", "YCBCR", "CMYK", "SEPARATED", "CIELAB"):
            return _with_pillow(data, indices)
        try:
            pixels = page.asarray()
        except ValueError as error:
            if "imagecodecs" not in str(error):
                raise
            # LZW and others, for which tifffile needs an optional package
            pixels = _with_pillow(data, indices)
            # Pillow inverts 8 bits itself, but no other depth.
            return inverted(pixels) if white_is_0 and pixels.dtype != np.uint8 else pixels
        if page.planarconfig == tifffile.PLANARCONFIG.SEPARATE and pixels.ndim == 3:
            pixels = np.moveaxis(pixels, 0, -1)
        tag = page.tags.get(EXIF_ORIENTATION)
    return upright(inverted(pixels) if white_is_0 else pixels, int(tag.value) if tag is not None else 1)
