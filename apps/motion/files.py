"""Flow files, read and written.

    .flo         float32 202021.25, int32 width, int32 height, then x and y motion by rows, little endian; a component
                 beyond 1e9 means unknown (Middlebury)
    .png         three channels of 16 bits: x * 64 + 2^15, y * 64 + 2^15, 1 where known (KITTI); steps of 1/64 pixel,
                 -512 to just below 512
    .npy, .npz   array (H, W, 2), float32; NaN means unknown; the .npz also holds `valid`
    .pfm         three float32 channels, rows bottom up; the third is 1 where known

Reading checks the magic number, the size and the length of the file; writing refuses what the format cannot hold and
is complete or not at all.
"""

import io
import re
from pathlib import Path

import numpy as np

from apps.images import InputError, read_bytes, write_bytes

FLO_MAGIC = np.float32(202021.25)
UNKNOWN = np.float32(1e10)  # as written to .flo
LIMIT = 1e9  # a .flo component beyond this is unknown
KITTI_STEP, KITTI_ZERO = 64, 2**15
SUFFIXES = (".flo", ".png", ".npy", ".npz", ".pfm")
SUFFIX_OF = {"flo": ".flo", "kitti": ".png", "npy": ".npy", "npz": ".npz", "pfm": ".pfm"}


def read_flow(path, name: str = "flow") -> tuple[np.ndarray, np.ndarray]:
    """A flow file as (flow, valid): float32 (H, W, 2), 0 where unknown, and bool (H, W).

    Raises InputError when the file is missing, of another kind, truncated, or not a flow; `name` is what the message
    calls the argument.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{name}: {str(path)!r} is no flow file; name one of {', '.join(SUFFIXES)}")
    data = read_bytes(path, name)
    decode = {".flo": _from_flo, ".png": _from_kitti, ".npy": _from_numpy, ".npz": _from_numpy, ".pfm": _from_pfm}
    try:
        flow, valid = decode[suffix](data)
    except _Unreadable as error:
        raise InputError(f"{name}: cannot read {str(path)!r} ({error})") from None
    valid &= np.isfinite(flow).all(axis=2)
    return np.where(valid[..., None], flow, np.float32(0)).astype(np.float32), valid


def write_flow(path, flow: np.ndarray, valid: np.ndarray | None = None) -> Path:
    """Write a flow (H, W, 2), known where `valid` (H, W, bool) is True; the kind of file follows the suffix.

    Raises InputError as `encoded_flow` does, and where the file cannot be written.
    """
    return write_bytes(path, encoded_flow(path, flow, valid))


def encoded_flow(path, flow: np.ndarray, valid: np.ndarray | None = None) -> bytes:
    """The content of a file of this name that holds a flow.

    Raises InputError for another suffix, a flow of another shape, NaN or infinity where it is known, or motion that
    the format cannot hold.
    """
    path = Path(path)
    encode = {".flo": _to_flo, ".png": _to_kitti, ".npy": _to_npy, ".npz": _to_npz, ".pfm": _to_pfm}
    if path.suffix.lower() not in encode:
        raise InputError(f"flow: cannot write {str(path)!r}; name it with one of {', '.join(SUFFIXES)}")
    flow = np.asarray(flow, np.float32)
    if flow.ndim != 3 or flow.shape[2] != 2 or 0 in flow.shape:
        raise InputError(f"flow must have shape (height, width, 2), got {flow.shape}")
    valid = np.ones(flow.shape[:2], bool) if valid is None else np.asarray(valid, bool)
    if valid.shape != flow.shape[:2]:
        raise InputError(f"valid has shape {valid.shape}, but the flow is {flow.shape[1]}x{flow.shape[0]} pixels")
    if not np.isfinite(flow[valid]).all():
        raise InputError("flow holds NaN or infinity where it is said to be known")
    return encode[path.suffix.lower()](flow, valid)


class _Unreadable(ValueError):
    """Why a file is not what its suffix says."""


def _from_flo(data):
    if len(data) < 12 or np.frombuffer(data, "<f4", 1)[0] != FLO_MAGIC:
        raise _Unreadable("it does not begin as a .flo file does, with the number 202021.25")
    width, height = (int(side) for side in np.frombuffer(data, "<i4", 2, 4))
    if not (0 < width < 100_000 and 0 < height < 100_000):
        raise _Unreadable(f"its size is given as {width}x{height}")
    if len(data) != 12 + 8 * width * height:
        raise _Unreadable(f"{width}x{height} pixels need {12 + 8 * width * height} bytes, and it holds {len(data)}")
    flow = np.frombuffer(data, "<f4", offset=12).reshape(height, width, 2)
    with np.errstate(invalid="ignore"):
        return flow.copy(), (np.abs(flow) <= LIMIT).all(axis=2)


def _to_flo(flow, valid):
    _check_range(flow, valid, LIMIT, ".flo")
    known = np.where(valid[..., None], flow, UNKNOWN).astype("<f4")
    height, width = valid.shape
    return FLO_MAGIC.astype("<f4").tobytes() + np.array([width, height], "<i4").tobytes() + known.tobytes()


def _from_kitti(data):
    import cv2

    if data[:8] != b"\x89PNG\r\n\x1a\n" or data[24:26] != b"\x10\x02":
        raise _Unreadable("flow is kept in a PNG of three channels of 16 bits, which this is not")
    if b"IEND" not in data[-16:]:
        raise _Unreadable("it is truncated")
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if pixels is None:
        raise _Unreadable("broken PNG")
    flow = (pixels[..., 2:0:-1].astype(np.float32) - KITTI_ZERO) / KITTI_STEP  # OpenCV hands channels on reversed
    return flow, pixels[..., 0] > 0


def _to_kitti(flow, valid):
    import cv2

    codes = np.rint(np.where(valid[..., None], flow, 0).astype(np.float64) * KITTI_STEP) + KITTI_ZERO
    if codes.min() < 0 or codes.max() > 65535:
        x, y = np.abs(flow[valid]).max(axis=0)
        raise InputError(f"flow: motion of up to {max(x, y):.0f} pixels, but a KITTI .png holds 512; write .flo")
    pixels = np.dstack([valid.astype(np.uint16), codes[..., 1].astype(np.uint16), codes[..., 0].astype(np.uint16)])
    pixels[~valid] = 0
    return cv2.imencode(".png", pixels)[1].tobytes()


def _from_numpy(data):
    try:
        content = np.load(io.BytesIO(data), allow_pickle=False)
        valid = None
        if not isinstance(content, np.ndarray):
            if "flow" not in content.files:
                raise _Unreadable(f"an .npz file needs an array called flow; this one holds {content.files}")
            valid = content["valid"] if "valid" in content.files else None
            content = content["flow"]
    except _Unreadable:
        raise
    except Exception as error:  # zipfile, struct and numpy each raise their own on broken files
        raise _Unreadable((str(error).splitlines() or [type(error).__name__])[0]) from None
    if content.ndim != 3 or content.shape[2] != 2 or content.dtype.kind not in "fiu" or 0 in content.shape:
        raise _Unreadable(f"a flow has shape (height, width, 2) and holds numbers, got {content.shape} {content.dtype}")
    flow = content.astype(np.float32)
    known = np.isfinite(flow).all(axis=2)
    if valid is not None:
        if valid.shape != known.shape:
            raise _Unreadable(f"its valid has shape {valid.shape}, its flow {flow.shape}")
        known &= valid.astype(bool)
    return flow, known


def _to_npy(flow, valid):
    buffer = io.BytesIO()
    np.save(buffer, np.where(valid[..., None], flow, np.float32(np.nan)))
    return buffer.getvalue()


def _to_npz(flow, valid):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, flow=np.where(valid[..., None], flow, np.float32(np.nan)), valid=valid)
    return buffer.getvalue()


def _from_pfm(data):
    head = re.match(rb"(PF|Pf)\s+(\d+)\s+(\d+)\s+([-+.\deE]+)\s", data[:100])
    if head is None:
        raise _Unreadable("it does not begin as a .pfm file does")
    channels = 3 if head[1] == b"PF" else 1
    if channels == 1:
        raise _Unreadable("one channel; a flow needs three")
    width, height = int(head[2]), int(head[3])
    order = "<" if float(head[4]) < 0 else ">"
    if len(data) - head.end() != 12 * width * height or width * height == 0:
        wanted = head.end() + 12 * width * height
        raise _Unreadable(f"{width}x{height} pixels need {wanted} bytes, and it holds {len(data)}")
    values = np.frombuffer(data, f"{order}f4", offset=head.end()).reshape(height, width, 3)[::-1]
    return values[..., :2].astype(np.float32), values[..., 2] > 0.5


def _to_pfm(flow, valid):
    known = np.where(valid[..., None], flow, np.float32(0))
    values = np.dstack([known, valid]).astype("<f4")[::-1]
    height, width = valid.shape
    return f"PF\n{width} {height}\n-1.0\n".encode() + values.tobytes()


def _check_range(flow, valid, limit, kind):
    largest = np.abs(flow[valid]).max(initial=0)
    if largest > limit:
        raise InputError(f"flow: motion of {largest:.3g} pixels means unknown in a {kind} file; mark it not valid")
