"""Write PNG files on all threads, from figures that are computed block by block; also colours of 16 bits.

Pillow writes a PNG on one thread, and cannot store several channels of 16 bits.

A figure of 24 megapixels is 72 MB, and deflating it takes longer than computing it.  Blocks of rows are therefore
computed, filtered and deflated independently: the figure is never in memory as a whole.  Deflate streams of blocks that
end with a full flush can be joined, and the checksum of the whole stream follows from those of the blocks [1].

All rows are filtered with "up", the first of a block, whose predecessor is in another block, with "sub" [2].  Together
with run lengths instead of a search for matches, files of photographs are smaller than Pillow's, in less than half the
time of one core.

[1] Deutsch, Gailly. "ZLIB compressed data format specification version 3.3." RFC 1950.  Adler. `adler32_combine` of
    zlib.
[2] W3C. "Portable Network Graphics (PNG) specification." Section 9, filtering.
"""

import struct
import zlib
from collections.abc import Callable
from functools import partial

import numpy as np

from apps.common.decoding import PNG_MAGIC
from apps.common.image_metadata import NO_METADATA, Metadata
from apps.common.row_blocks import blocks_of, in_parallel

SUB, UP = 1, 2  # filters
COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}  # by the number of channels: grey, with alpha, RGB, RGBA
ADLER_BASE = 65521
LEVEL = 1
ZLIB_HEADER = b"\x78\x01"
INCHES_PER_METRE = 1 / 0.0254


class Figure:
    """A figure that is computed in blocks of rows.

    rows       rows(first, last): uint8 or uint16 pixels (last - first, W) or (last - first, W, channels)
    shape      (H, W)
    metadata   of the file
    """

    def __init__(self, rows: Callable[[int, int], np.ndarray], shape, metadata: Metadata = NO_METADATA):
        self.rows, self.shape, self.metadata = rows, tuple(shape[:2]), metadata


def encoded_figures(figures: list[Figure]) -> list[bytes]:
    """Contents of the PNG files of figures; blocks of all figures are shared among the threads."""
    jobs = [(figure, block) for figure in figures for block in blocks_of(figure.shape)]
    parts = iter(in_parallel([partial(_deflated_block, figure, *block) for figure, block in jobs]))
    return [_file(figure, [next(parts) for _ in blocks_of(figure.shape)]) for figure in figures]


def _deflated_block(figure: Figure, first: int, last: int):
    return _deflated(figure.rows(first, last), last == figure.shape[0])


def _deflated(pixels: np.ndarray, is_last: bool):
    """Filter and deflate a block: data, checksum and length before compression, channels and bits per channel."""
    channels = 1 if pixels.ndim == 2 else pixels.shape[2]
    size = pixels.dtype.itemsize * channels  # bytes per pixel
    stored = np.ascontiguousarray(pixels, pixels.dtype.newbyteorder(">"))
    lines = stored.view(np.uint8).reshape(pixels.shape[0], -1)
    filtered = np.empty((lines.shape[0], lines.shape[1] + 1), np.uint8)
    filtered[0, 0], filtered[1:, 0] = SUB, UP
    filtered[0, 1 : 1 + size] = lines[0, :size]
    np.subtract(lines[0, size:], lines[0, :-size], out=filtered[0, 1 + size :])
    np.subtract(lines[1:], lines[:-1], out=filtered[1:, 1:])
    deflater = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, zlib.Z_RLE)
    data = deflater.compress(filtered.data) + deflater.flush(zlib.Z_FINISH if is_last else zlib.Z_FULL_FLUSH)
    return data, zlib.adler32(filtered.data), filtered.size, channels, 8 * pixels.dtype.itemsize


def _file(figure: Figure, parts: list) -> bytes:
    """The file of a figure from its deflated blocks."""
    height, width = figure.shape
    channels, bits = parts[0][3:]
    checksum = 1
    for _, adler, length, *_ in parts:
        checksum = joined_checksum(checksum, adler, length)
    header = struct.pack(">IIBBBBB", width, height, bits, COLOUR_TYPES[channels], 0, 0, 0)
    like = np.empty((0, 0) if channels <= 2 else (0, 0, 3), np.uint8)
    chunks = [_chunk(b"IHDR", header), _metadata_chunks(figure.metadata, like)]
    for k, (data, *_) in enumerate(parts):
        start = ZLIB_HEADER if k == 0 else b""
        end = struct.pack(">I", checksum) if k == len(parts) - 1 else b""
        chunks.append(_chunk(b"IDAT", start + data + end))
    return b"".join([PNG_MAGIC, *chunks, _chunk(b"IEND", b"")])


def _metadata_chunks(metadata: Metadata, pixels: np.ndarray) -> bytes:
    """The chunks of the colour profile and the resolution of a PNG file of pixels (H, W) or (H, W, channels)."""
    kept = metadata.options(pixels)
    chunks = b""
    if "icc_profile" in kept:
        chunks += _chunk(b"iCCP", b"ICC Profile\0\0" + zlib.compress(kept["icc_profile"]))
    if "dpi" in kept:
        per_metre = (round(dpi * INCHES_PER_METRE) for dpi in kept["dpi"])
        chunks += _chunk(b"pHYs", struct.pack(">IIB", *per_metre, 1))
    return chunks


def _chunk(kind: bytes, content: bytes) -> bytes:
    """A chunk of a PNG file."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def joined_checksum(first: int, second: int, length: int) -> int:
    """Adler-32 of two joined strings, from the checksums of both and the length of the second."""
    a = (first & 0xFFFF) + (second & 0xFFFF) - 1
    b = (first >> 16) + (second >> 16) + length * ((first & 0xFFFF) - 1)
    return b % ADLER_BASE << 16 | a % ADLER_BASE
