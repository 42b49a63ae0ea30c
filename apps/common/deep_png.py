"""Write PNG files with several channels of 16 bits, which Pillow cannot, with colour profile and resolution."""

import struct
import zlib

import numpy as np

from apps.common.decoding import PNG_MAGIC
from apps.common.image_metadata import NO_METADATA, Metadata

HEADER_END = len(PNG_MAGIC) + 25  # the end of the chunk IHDR, behind which the others may start
INCHES_PER_METRE = 1 / 0.0254


def encoded_deep_png(pixels: np.ndarray, metadata: Metadata = NO_METADATA) -> bytes:
    """Content of a PNG file of uint16 RGB pixels (H, W, 3)."""
    import cv2

    done, encoded = cv2.imencode(".png", pixels[..., ::-1])
    assert done, "OpenCV writes any uint16 array of three channels"
    data = encoded.tobytes()
    return data[:HEADER_END] + metadata_chunks(metadata, pixels) + data[HEADER_END:]


def metadata_chunks(metadata: Metadata, pixels: np.ndarray) -> bytes:
    """The chunks of the colour profile and the resolution of a PNG file of pixels (H, W) or (H, W, channels)."""
    kept = metadata.options(pixels)
    chunks = b""
    if "icc_profile" in kept:
        chunks += png_chunk(b"iCCP", b"ICC Profile\0\0" + zlib.compress(kept["icc_profile"]))
    if "dpi" in kept:
        per_metre = (round(dpi * INCHES_PER_METRE) for dpi in kept["dpi"])
        chunks += png_chunk(b"pHYs", struct.pack(">IIB", *per_metre, 1))
    return chunks


def png_chunk(kind: bytes, content: bytes) -> bytes:
    """A chunk of a PNG file."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
