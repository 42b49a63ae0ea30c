"""Read the colour profile and the resolution of an image file (`apps.common.image_metadata`)."""

import io

from apps.common.decoding import EXIF_ORIENTATION, TIFF_MAGIC, Unreadable, decoding_errors, open_tiff, page_warnings
from apps.common.image_metadata import NO_METADATA, Metadata

TURNED = (5, 6, 7, 8)  # EXIF orientations that exchange the sides
ICC_HEADER = 128  # bytes
ICC_SIGNATURE = b"acsp"  # bytes 36 to 39 of a profile
ICC_TAG, X_TAG, Y_TAG, UNIT_TAG = 34675, 282, 283, 296  # of TIFF
INCH, CENTIMETRE = 2, 3  # units of TIFF
MAX_DPI = 65535  # as a JPEG stores it


def metadata_of(data: bytes) -> Metadata:
    """Metadata of an image file from its bytes, upright; none where they are unusable.

    Broken files have none either: decoding their pixels reports them.
    """
    try:
        with decoding_errors():
            icc, dpi, orientation = (_of_tiff if data[:4] in TIFF_MAGIC else _with_pillow)(data)
    except Unreadable:
        return NO_METADATA
    if dpi is not None and orientation in TURNED:
        dpi = dpi[::-1]
    is_profile = isinstance(icc, bytes) and len(icc) > ICC_HEADER and icc[36:40] == ICC_SIGNATURE
    return Metadata(icc if is_profile else None, dpi)


def _with_pillow(data: bytes):
    from PIL import Image

    with Image.open(io.BytesIO(data)) as image:
        dpi = _resolution(image.info.get("dpi"))
        # For a PNG, Pillow may decode the pixels to find the orientation; equal resolutions do not need it.
        different = dpi is not None and dpi[0] != dpi[1]
        return image.info.get("icc_profile"), dpi, image.getexif().get(EXIF_ORIENTATION) if different else None


def _of_tiff(data: bytes):
    """The same with tifffile, which decodes TIFF files and opens more of them than Pillow."""
    with page_warnings(), open_tiff(io.BytesIO(data)) as file:
        tags = file.pages[0].tags
        values = {
            code: tags[code].value for code in (ICC_TAG, X_TAG, Y_TAG, UNIT_TAG, EXIF_ORIENTATION) if code in tags
        }
    per_inch = {INCH: 1.0, CENTIMETRE: 2.54}.get(values.get(UNIT_TAG, INCH))
    dpi = None
    if per_inch is not None and X_TAG in values and Y_TAG in values:
        dpi = _resolution([per_inch * above / below for above, below in (values[X_TAG], values[Y_TAG]) if below])
    return values.get(ICC_TAG), dpi, values.get(EXIF_ORIENTATION)


def _resolution(dpi) -> tuple[float, float] | None:
    """Pixels per inch if both are usable; files hold zeros, infinities and fractions over 0."""
    try:
        x, y = (float(one) for one in dpi)
    except (TypeError, ValueError, ZeroDivisionError):
        return None
    return (x, y) if 1 <= x <= MAX_DPI and 1 <= y <= MAX_DPI else None
