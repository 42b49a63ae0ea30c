"""Disparity files, read and written.

    .png         16 bits, disparity * 256 rounded, 0 where unknown (KITTI); steps of 1/256 pixel, up to 255.99.
                 A disparity of 0 is written as 1 / 256, since 0 says unknown.
    .pfm         one float32 channel, rows bottom up, infinity where unknown (Middlebury)
    .npy         float32 (H, W), NaN where unknown

Truths come in other scales as well: a grey picture holds disparity * scale, and 0 where unknown.
Reading checks the kind, the size and the length of the file.
"""

import io
import re
from pathlib import Path

import numpy as np

from apps.images import InputError, read_bytes, read_codes

PNG_SCALE = 256


def encoded(disparity: np.ndarray, kind: str) -> bytes:
    """A file's content for disparities (H, W) in pixels, all of them known; kind: "png", "pfm" or "npy".

    Raises InputError for disparities that a PNG of 16 bits cannot hold.
    """
    values = np.asarray(disparity, np.float32)
    if kind == "png":
        return _to_png(values)
    if kind == "pfm":
        height, width = values.shape
        return f"Pf\n{width} {height}\n-1.0\n".encode() + values[::-1].astype("<f4").tobytes()
    buffer = io.BytesIO()
    np.save(buffer, values)
    return buffer.getvalue()


def read_disparity(path, scale: float | None = None, name: str = "--truth") -> tuple[np.ndarray, np.ndarray]:
    """A disparity file as (disparity, known): float32 (H, W) in pixels, 0 where unknown, and bool (H, W).

    What the file holds is divided by `scale`; by default 256 for a picture of 16 bits and 1 for .pfm and .npy.  A
    picture of 8 bits needs it said.  Raises InputError, calling the argument `name`.
    """
    suffix = Path(path).suffix.lower()
    if suffix in (".pfm", ".npy"):
        data = read_bytes(path, name)
        try:
            values = _from_pfm(data) if suffix == ".pfm" else _from_npy(data)
        except ValueError as error:
            raise InputError(f"{name}: cannot read {str(path)!r} ({error}); pass a complete file") from None
        known = np.isfinite(values)
        return np.where(known, values, 0).astype(np.float32) / np.float32(scale or 1), known
    codes = _codes(path, name)
    if scale is None:
        if codes.dtype != np.uint16:
            raise InputError(
                f"{name}: {str(path)!r} is a picture of 8 bits; say with --truth-scale how many grey levels a pixel "
                "of disparity is"
            )
        scale = PNG_SCALE
    return codes.astype(np.float32) / np.float32(scale), codes > 0


def _codes(path, name):
    data = read_bytes(path, name)
    if data[:8] == b"\x89PNG\r\n\x1a\n" and data[24:26] == b"\x10\x00":
        import cv2

        if b"IEND" in data[-16:]:
            codes = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
            if codes is not None:
                return codes
        raise InputError(f"{name}: cannot read {str(path)!r} (truncated); pass a complete PNG file")
    codes = read_codes(path, name)
    return codes[..., 0] if codes.ndim == 3 else codes


def _to_png(values):
    import cv2

    codes = np.rint(values.astype(np.float64) * PNG_SCALE)
    if codes.max(initial=0) > 65535:
        raise InputError(
            f"disparities of up to {values.max():.0f} pixels, but a PNG of 16 bits ends at 255.99; use --format pfm"
        )
    return cv2.imencode(".png", np.maximum(codes, 1).astype(np.uint16))[1].tobytes()


def _from_npy(data):
    try:
        values = np.load(io.BytesIO(data), allow_pickle=False)
    except Exception as error:  # numpy raises several kinds on broken files
        raise ValueError((str(error).splitlines() or ["broken"])[0]) from None
    if not isinstance(values, np.ndarray) or values.ndim != 2 or values.dtype.kind not in "fiu" or 0 in values.shape:
        raise ValueError("disparities are one array of numbers, height by width")
    return values.astype(np.float32)


def _from_pfm(data):
    head = re.match(rb"Pf\s+(\d+)\s+(\d+)\s+([-+.\deE]+)\s", data[:100])
    if head is None:
        raise ValueError("it does not begin as a .pfm file of one channel does")
    width, height = int(head[1]), int(head[2])
    if len(data) - head.end() != 4 * width * height or width * height == 0:
        raise ValueError(f"{width}x{height} pixels need {head.end() + 4 * width * height} bytes, it holds {len(data)}")
    order = "<" if float(head[3]) < 0 else ">"
    return np.frombuffer(data, f"{order}f4", offset=head.end()).reshape(height, width)[::-1].astype(np.float32)
