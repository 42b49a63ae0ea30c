"""Arrays as the client of nnInteractive sends them: a header, and chunks compressed by blosc2, little-endian.

4 bytes NNIA, 1 version, 1 codec, 1 number of axes, 1 length of the dtype's name, the name, 8 per axis its length,
4 number of chunks; per chunk 8 its bytes, 8 its bytes compressed, and these
"""

import math
import struct

import blosc2
import numpy as np

HEAD, VERSION, ZSTD = struct.Struct("<4sBBBB"), 1, 1
CHUNK = 1 << 30  # bytes; blosc2 compresses less than 2 GiB at once
KINDS = (
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
)


def packed(array: np.ndarray) -> bytes:
    """An array of one of KINDS."""
    raw, name = memoryview(np.ascontiguousarray(array)).cast("B"), array.dtype.name.encode()
    parts = [
        HEAD.pack(b"NNIA", VERSION, ZSTD, array.ndim, len(name)),
        name,
        struct.pack(f"<{array.ndim}q", *array.shape),
    ]
    starts = range(0, raw.nbytes, CHUNK)
    parts.append(struct.pack("<I", len(starts)))
    for start in starts:
        chunk = raw[start : start + CHUNK]
        data = blosc2.compress2(
            chunk, typesize=array.dtype.itemsize, codec=blosc2.Codec.ZSTD, clevel=1, filters=[blosc2.Filter.NOFILTER]
        )
        parts += [struct.pack("<QQ", chunk.nbytes, len(data)), data]
    return b"".join(parts)


def unpacked(data: bytes, most: int) -> np.ndarray:
    """The array; ValueError for anything else, or if it has more than `most` bytes."""
    try:
        return _unpacked(data, most)
    except (struct.error, UnicodeDecodeError, RuntimeError):
        raise ValueError("the array ends too soon, or its compressed data are damaged") from None


def _unpacked(data: bytes, most: int) -> np.ndarray:
    magic, version, _, axes, length = HEAD.unpack_from(data)
    if (magic, version) != (b"NNIA", VERSION):
        raise ValueError(f"the array must be in version {VERSION} of nnInteractive's format")
    at = HEAD.size + length
    name, shape = data[HEAD.size : at].decode("ascii"), struct.unpack_from(f"<{axes}q", data, at)
    at += 8 * axes
    if name not in KINDS or min(shape, default=0) < 1:
        raise ValueError(f"the array must hold numbers and no axis may be empty, got {name[:40]!r} of shape {shape}")
    size = math.prod(shape) * np.dtype(name).itemsize
    if size > most:
        raise ValueError(
            f"the array needs {size} bytes, but the server accepts {most}; start it with a larger --max-gb"
        )
    found, filled = np.empty(size, np.uint8), 0
    (count,) = struct.unpack_from("<I", data, at)
    at += 4
    for _ in range(count):
        plain, compressed = struct.unpack_from("<QQ", data, at)
        chunk = memoryview(data)[at + 16 : at + 16 + compressed]
        if len(chunk) < compressed or filled + plain > size or blosc2.get_cbuffer_sizes(chunk)[0] != plain:
            raise ValueError("the chunks of the array do not fit its shape")
        blosc2.decompress2(chunk, dst=found[filled : filled + plain])
        filled, at = filled + plain, at + 16 + compressed
    if filled != size:
        raise ValueError(f"the array of {size} bytes ends after {filled}")
    return found.view(name).reshape(shape)
