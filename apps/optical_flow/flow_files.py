"""Read flow files of Middlebury and KITTI, and encode those of `cutmatch flow`.

    .flo         float32 202021.25, int32 width, int32 height, then x and y motion row by row, little endian; a
                 component above 1e9 means unknown (Middlebury)
    .png         three channels of 16 bits: x * 64 + 2^15, y * 64 + 2^15, 1 where known (KITTI); steps of 1/64 pixel,
                 -512 to just below 512
    .npz         arrays `flow` (H, W, 2), float32, which is not blanked where `valid` (H, W) is False; not read

Reading checks the magic number, the size and the length of the file.
"""

import io
from pathlib import Path

import numpy as np

from apps.common.images import InputError, deep_png, is_deep_png, read_bytes, reading

FLO_MAGIC = np.float32(202021.25)
UNKNOWN = np.float32(1e10)  # as written to .flo
UNKNOWN_ABOVE = 1e9  # a larger component in a .flo file means unknown
KITTI_STEP, KITTI_ZERO = 64, 2**15
SUFFIXES = (".flo", ".png")


def read_flow(path, name: str = "flow") -> tuple[np.ndarray, np.ndarray]:
    """Read a flow file; return (flow, valid): float32 (H, W, 2), 0 where unknown, and bool (H, W).

    Raises InputError if the file is missing, of another format, truncated, or not a flow; the message calls the
    argument `name`.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{name}: {str(path)!r} is not a flow file; pass one of {', '.join(SUFFIXES)}")
    data = read_bytes(path, name)
    with reading(path, name):
        flow, valid = (_from_flo if suffix == ".flo" else _from_kitti)(data)
    valid &= np.isfinite(flow).all(axis=2)
    return np.where(valid[..., None], flow, np.float32(0)).astype(np.float32), valid


def encoded_flow(path, flow: np.ndarray, valid: np.ndarray | None = None) -> bytes:
    """Encode a flow (H, W, 2), float32, finite where `valid` (H, W, bool; default: everywhere) is True.

    The suffix of `path` selects the format, .flo or .npz.
    """
    encode = _to_flo if Path(path).suffix.lower() == ".flo" else _to_npz
    return encode(np.asarray(flow, np.float32), np.ones(flow.shape[:2], bool) if valid is None else valid)


def _from_flo(data):
    if len(data) < 12 or np.frombuffer(data, "<f4", 1)[0] != FLO_MAGIC:
        raise ValueError("it does not begin with 202021.25, as a .flo file does")
    width, height = (int(side) for side in np.frombuffer(data, "<i4", 2, 4))
    if not (0 < width < 100_000 and 0 < height < 100_000):
        raise ValueError(f"its header states the size {width}x{height}")
    if len(data) != 12 + 8 * width * height:
        raise ValueError(f"{width}x{height} pixels need {12 + 8 * width * height} bytes, and it has {len(data)}")
    flow = np.frombuffer(data, "<f4", offset=12).reshape(height, width, 2)
    with np.errstate(invalid="ignore"):
        return flow.copy(), (np.abs(flow) <= UNKNOWN_ABOVE).all(axis=2)


def _to_flo(flow, valid):
    known = np.where(valid[..., None], flow, UNKNOWN).astype("<f4")
    height, width = valid.shape
    return FLO_MAGIC.astype("<f4").tobytes() + np.array([width, height], "<i4").tobytes() + known.tobytes()


def _from_kitti(data):
    if not is_deep_png(data) or data[25] != 2:
        raise ValueError("a flow is stored in a PNG of three channels of 16 bits, which this is not")
    pixels = deep_png(data)
    flow = (pixels[..., :2].astype(np.float32) - KITTI_ZERO) / KITTI_STEP
    return flow, pixels[..., 2] > 0


def _to_npz(flow, valid):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, flow=flow, valid=valid)
    return buffer.getvalue()
