"""Read and write images of any common kind.

Reading answers one kind of array: float32 RGB in [0, 1], shape (H, W, 3), whatever the file holds: 8 or 16
bits, grey, palette, RGB or RGBA, PNG, JPEG, TIFF or BMP, turned upright as its EXIF orientation says.
Transparent pixels keep the colour stored under them: alpha says what to show, not what was photographed.

`apps.writing` has the other direction.
"""

import io
from pathlib import Path

import numpy as np

from apps.errors import InputError
from apps.writing import write_bytes, write_image  # noqa: F401  (images are read and written under one name)

READABLE = (".png", ".jpg", ".jpeg", ".jpe", ".tif", ".tiff", ".bmp", ".webp", ".ppm", ".pgm", ".gif")
EXIF_ORIENTATION = 0x0112


def read_bytes(path, name: str = "image") -> bytes:
    """The file's bytes; InputError, naming the argument, when there is no such file or it cannot be read."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"{name}: no file {str(path)!r}; check the path") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{name}: cannot read {str(path)!r} ({reason}); pass a readable image file") from None
    if not data:
        raise InputError(f"{name}: {str(path)!r} is empty; pass a complete image file")
    return data


def read_image(path, name: str = "image") -> np.ndarray:
    """Read a picture as float32 RGB in [0, 1], shape (H, W, 3), upright.

    Raises InputError when the file is missing, unreadable, truncated, or holds more than one grey, RGB or
    RGBA frame.
    """
    return to_rgb(_decode(read_bytes(path, name), path, name, indices=False), f"{name}: {str(path)!r}")


def read_codes(path, name: str = "scribbles") -> np.ndarray:
    """Read a label picture without touching its values: (H, W) codes, palette indices included, or (H, W, 3)
    uint8.

    Raises InputError as `read_image` does.
    """
    codes = _decode(read_bytes(path, name), path, name, indices=True)
    if codes.dtype == bool:
        codes = codes.astype(np.uint8)
    if codes.ndim == 3:
        codes = codes[..., 0] if codes.shape[2] <= 2 else codes[..., :3]
    if codes.dtype == np.uint16:
        # Programs that save 8-bit labels as 16 bits either keep the values or multiply them by 257.
        codes = codes // 257 if codes.max() > 255 else codes
    return np.ascontiguousarray(codes)


def read_pixels(path, name: str = "image") -> np.ndarray:
    """Read a picture's values as the file holds them, upright: (H, W) or (H, W, channels).

    Raises InputError as `read_image` does.
    """
    return _decode(read_bytes(path, name), path, name, indices=False)


def to_rgb(pixels, name: str = "image") -> np.ndarray:
    """Any grey, RGB or RGBA array as float32 RGB in [0, 1], shape (H, W, 3).

    Integers are divided by the largest value of their type; floats must lie in [0, 1] already.
    Raises InputError for another shape or type, for NaN, infinity, or floats outside [0, 1].
    """
    pixels = np.asarray(pixels)
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 2, 3, 4) or 0 in pixels.shape:
        raise InputError(f"{name} must be one grey, RGB or RGBA picture, got shape {pixels.shape}")
    pixels = pixels[..., :1] if pixels.shape[2] <= 2 else pixels[..., :3]
    if pixels.dtype.kind == "u":
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
        raise InputError(f"{name} must hold unsigned integers or floats, got {pixels.dtype}")
    return np.ascontiguousarray(np.broadcast_to(values, (*values.shape[:2], 3)))


def to_bytes(rgb: np.ndarray) -> np.ndarray:
    """Floats in [0, 1] as uint8, rounded to the nearest."""
    return np.uint8(np.clip(rgb, 0.0, 1.0) * 255.0 + 0.5)


def _decode(data: bytes, path, name: str, indices: bool) -> np.ndarray:
    """Pixels of the file's only frame as stored, upright."""
    try:
        if data[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
            return _decode_tiff(data)
        if data[:8] == b"\x89PNG\r\n\x1a\n" and data[24:26] in (b"\x10\x02", b"\x10\x06"):
            return _decode_deep_png(data)
        return _decode_with_pillow(data, indices)
    except InputError:
        raise
    except Exception as error:
        # Decoders raise their own zoo of errors on broken files; each of them means the same to the user.
        reason = (str(error).splitlines() or [type(error).__name__])[0].replace(repr(io.BytesIO), "")
        if "cannot identify" in reason:
            reason = "not an image, or of an unknown kind"
        raise InputError(
            f"{name}: cannot read {str(path)!r} ({reason}); pass a complete PNG, JPEG, TIFF or BMP file"
        ) from None


def _decode_with_pillow(data: bytes, indices: bool) -> np.ndarray:
    from PIL import Image, ImageOps

    image = Image.open(io.BytesIO(data))
    image.load()  # raises on truncated data, which lazy loading would leave for later
    image = ImageOps.exif_transpose(image)
    if image.mode == "P" and indices:
        return np.array(image)
    if image.mode in ("1", "L", "LA", "RGB", "RGBA", "I;16", "I;16B", "I;16L", "F"):
        pixels = np.array(image)
        return pixels.astype(np.uint16) if image.mode.startswith("I;16") else pixels
    if image.mode == "I":
        pixels = np.array(image)
        if pixels.min() < 0 or pixels.max() > 65535:
            raise InputError("image: 32-bit integers; convert it to 8 or 16 bits")
        return pixels.astype(np.uint16)
    return np.array(image.convert("RGB"))  # palette, CMYK, YCbCr, Lab, ...


def _decode_deep_png(data: bytes) -> np.ndarray:
    """16-bit RGB or RGBA, which Pillow would cut to 8 bits."""
    import cv2

    if b"IEND" not in data[-16:]:
        raise ValueError("image file is truncated")
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if pixels is None:
        raise ValueError("broken PNG")
    order = [2, 1, 0] if pixels.shape[2] == 3 else [2, 1, 0, 3]
    return pixels[..., order]


def _decode_tiff(data: bytes) -> np.ndarray:
    import tifffile

    with tifffile.TiffFile(io.BytesIO(data)) as file:
        if len(file.pages) > 1 and file.pages[1].shape == file.pages[0].shape:
            raise ValueError(f"{len(file.pages)} pages; split it into single pictures")
        page = file.pages[0]
        photometric = getattr(page.photometric, "name", "")
        if photometric in ("PALETTE", "YCBCR", "CMYK", "SEPARATED", "CIELAB", "MINISWHITE"):
            return _decode_with_pillow(data, indices=photometric == "PALETTE")
        try:
            pixels = page.asarray()
        except ValueError as error:
            if "imagecodecs" not in str(error):
                raise
            return _decode_with_pillow(
                data, indices=False
            )  # LZW and others that tifffile leaves to a package of its own
        if page.planarconfig == tifffile.PLANARCONFIG.SEPARATE and pixels.ndim == 3:
            pixels = np.moveaxis(pixels, 0, -1)
        tag = page.tags.get(EXIF_ORIENTATION)
    return _upright(pixels, int(tag.value) if tag is not None else 1)


def _upright(pixels: np.ndarray, orientation: int) -> np.ndarray:
    """Undo the eight EXIF orientations."""
    if orientation in (5, 6, 7, 8):
        pixels = np.swapaxes(pixels, 0, 1)
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    return pixels
