"""Portable float maps (.pfm): three header lines for kind, size and scale, then float32 rows from bottom to top.

A negative scale means little endian.
"""

import math
import re

import numpy as np

CHANNELS = {b"PF": 3, b"Pf": 1}


def decode_pfm(data: bytes, channels: int) -> np.ndarray:
    """Decode float32 values (H, W) or (H, W, 3); ValueError with the reason for any other file."""
    head = re.match(rb"(PF|Pf)\s+(\d+)\s+(\d+)\s+([-+.\deE]+)\s", data[:100])
    if head is None:
        raise ValueError("it does not start with the header of a .pfm file")
    if CHANNELS[head[1]] != channels:
        found, required = ("one channel", "three") if channels == 3 else ("three channels", "one")
        raise ValueError(f"{found}; {required} needed")
    width, height = int(head[2]), int(head[3])
    try:
        scale = float(head[4])
    except ValueError:
        scale = 0.0
    if not math.isfinite(scale) or scale == 0:
        raise ValueError(f"its scale is given as {head[4].decode()!r}, which must be a number other than 0")
    needed = head.end() + 4 * channels * width * height
    if len(data) != needed or width * height == 0:
        raise ValueError(f"{width}x{height} pixels need {needed} bytes, and it holds {len(data)}")
    values = np.frombuffer(data, "<f4" if scale < 0 else ">f4", offset=head.end())
    return values.reshape((height, width, 3) if channels == 3 else (height, width))[::-1].astype(np.float32)


def encode_pfm(values: np.ndarray) -> bytes:
    """Encode values (H, W) or (H, W, 3) as a little-endian file."""
    kind = b"PF" if values.ndim == 3 else b"Pf"
    height, width = values.shape[:2]
    return kind + f"\n{width} {height}\n-1.0\n".encode() + values[::-1].astype("<f4").tobytes()
