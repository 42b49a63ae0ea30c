"""Read and write disparity files.

    .png         16 bits, disparity * 256 rounded, 0 where unknown (KITTI); steps of 1/256 pixel, up to 255.99.
                 A disparity of 0 is written as 1 / 256, since 0 means unknown.
    .pfm         float32, bottom row first, infinity where unknown (Middlebury)

Ground truth may have another scale: a grey image contains disparity * scale, and 0 where unknown.
"""

import re
from pathlib import Path

import cv2
import numpy as np

from apps.common.images import InputError, read_bytes, read_pixels, reading
from apps.common.writing import encoded_image

PNG_SCALE = 256


def encoded(disparity: np.ndarray, kind: str) -> bytes:
    """Encode disparities (H, W) in pixels, all of them known, as the content of a file; kind: "png" or "pfm".

    Raises InputError for disparities outside the range of a 16-bit PNG.
    """
    values = np.asarray(disparity, np.float32)
    return _to_png(values) if kind == "png" else cv2.imencode(".pfm", values)[1].tobytes()


def read_disparity(path, scale: float | None = None, name: str = "--truth") -> tuple[np.ndarray, np.ndarray]:
    """Read a disparity file; return (disparity, known): float32 (H, W) in pixels, 0 where unknown, and bool (H, W).

    The values are divided by `scale`, by default 256 for a 16-bit image and 1 for .pfm.  An 8-bit image has
    no default.  Raises InputError for unusable files; the message calls the argument `name`.
    """
    if Path(path).suffix.lower() == ".pfm":
        data = read_bytes(path, name)
        with reading(path, name):
            values = _from_pfm(data)
        known = np.isfinite(values)
        return np.where(known, values, 0).astype(np.float32) / np.float32(scale or 1), known
    codes = _codes(path, name)
    if scale is None:
        if codes.dtype != np.uint16:
            raise InputError(
                f"{name}: {str(path)!r} is an 8-bit image; pass --truth-scale, the number of grey levels per pixel of "
                "disparity"
            )
        scale = PNG_SCALE
    known = np.isfinite(codes) & (codes > 0)
    return np.where(known, codes, 0).astype(np.float32) / np.float32(scale), known


def _codes(path, name):
    codes = read_pixels(path, name, indices=True)
    if codes.dtype.kind not in "buif":
        raise InputError(f"{name}: {str(path)!r} contains {codes.dtype}; pass an image of numbers")
    return codes[..., 0] if codes.ndim == 3 else codes


def check_png(max_disparity: float) -> None:
    """Raise InputError for disparities outside the range of a 16-bit PNG."""
    if round(max_disparity * PNG_SCALE) > 65535:
        raise InputError(
            f"disparities of up to {max_disparity:.0f} pixels, but a 16-bit PNG is limited to 255.99; use --format pfm"
        )


def _to_png(values):
    check_png(float(values.max(initial=0)))
    codes = np.rint(values.astype(np.float64) * PNG_SCALE)
    return encoded_image(np.maximum(codes, 1).astype(np.uint16), ".png")


def _from_pfm(data):
    """Not by OpenCV, which divides by the scale; that of Middlebury's files, 1 / 255, has no meaning."""
    head = re.match(rb"Pf\s+([1-9]\d{0,8})\s+([1-9]\d{0,8})\s+(-?)[\d.eE+-]+\s", data)
    if head is None:
        raise ValueError("it does not start with the header of a .pfm file of one channel")
    width, height = int(head[1]), int(head[2])
    values = np.frombuffer(data, "<f4" if head[3] else ">f4", width * height, head.end())
    return values.reshape(height, width)[::-1].astype(np.float32)
