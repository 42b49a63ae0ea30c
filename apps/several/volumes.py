"""Volumes, read and written: a TIFF of many pages, a .npy of three axes, or a folder of slices.

Axes are z, y, x; slices of a folder follow the numbers in their names.  Values are kept as they are.
"""

import io
import logging
import re
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from apps.images import READABLE, InputError, read_bytes, read_pixels, write_bytes

TIFF = (".tif", ".tiff")


def is_volume(path: Path, folder: bool) -> bool:
    """Whether a path holds a volume: a .npy, a TIFF of several pages, or, if `folder`, a folder of slices."""
    if path.is_dir():
        return folder
    if path.suffix.lower() == ".npy":
        return True
    if path.suffix.lower() not in TIFF or not path.is_file():
        return False
    import tifffile

    try:
        with complaints() as said, tifffile.TiffFile(path) as file:
            return len(file.pages) > 1 or bool(said)
    except (tifffile.TiffFileError, OSError, ValueError):
        return False  # reading it as a picture will say what is wrong


@contextmanager
def complaints():
    """What tifffile says meanwhile of pages that are not there; nothing that it logs is printed."""
    logger, said = logging.getLogger("tifffile"), []

    class Listener(logging.Handler):
        def emit(self, record):
            if "page offset" in (message := record.getMessage()):
                said.append(message)

    listener, passes_on = Listener(logging.WARNING), logger.propagate
    logger.addHandler(listener)
    logger.propagate = False
    try:
        yield said
    finally:
        logger.removeHandler(listener)
        logger.propagate = passes_on


def read_volume(path, name: str = "image") -> np.ndarray:
    """A volume (D, H, W) of numbers, finite.

    Raises InputError, calling the argument `name`, when there is none, it is broken, or it is no volume of grey values.
    """
    path = Path(path)
    if path.is_dir():
        volume = _read_slices(path, name)
    else:
        data = read_bytes(path, name)
        try:
            volume = _decode(data, path.suffix.lower())
        except Exception as error:  # numpy and tifffile raise many kinds on broken files
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise InputError(f"{name}: cannot read {str(path)!r} ({reason}); pass a complete TIFF or .npy") from None
    if volume.ndim != 3 or volume.dtype.kind not in "buif" or 0 in volume.shape:
        raise InputError(
            f"{name}: {str(path)!r} holds {volume.dtype} of shape {volume.shape}; a volume has three axes z, y, x of "
            "grey values"
        )
    if volume.dtype.kind == "f" and not np.isfinite(volume).all():
        raise InputError(f"{name}: {str(path)!r} holds NaN or infinity; every voxel must be finite")
    return volume.view(np.uint8) if volume.dtype == bool else volume


def read_seeds(path, name: str = "--labels") -> np.ndarray:
    """A volume of whole numbers, 0 or more; InputError as `read_volume`."""
    seeds = read_volume(path, name)
    if seeds.dtype.kind == "f" or seeds.min() < 0:
        raise InputError(f"{name}: {str(path)!r} must hold whole numbers, 0 where nothing is said, got {seeds.dtype}")
    if seeds.max() > 65535:
        raise InputError(f"{name}: {str(path)!r} holds values up to {seeds.max()}; 65535 is the most")
    return seeds.astype(np.uint8 if seeds.max() < 256 else np.uint16)


def write_volume(path: Path, labels: np.ndarray) -> Path:
    """Write labels (D, H, W), uint8 or uint16, as a .npy or a deflated TIFF, by the suffix."""
    buffer = io.BytesIO()
    if path.suffix == ".npy":
        np.save(buffer, labels)
    else:
        import tifffile

        tifffile.imwrite(buffer, labels, compression="zlib", photometric="minisblack", metadata={"axes": "ZYX"})
    return write_bytes(path, buffer.getvalue())


def _decode(data, suffix):
    if suffix == ".npy":
        return np.asarray(np.load(io.BytesIO(data), allow_pickle=False))
    import tifffile

    with complaints() as said, tifffile.TiffFile(io.BytesIO(data)) as file:
        volume = file.asarray()
    if said:
        raise ValueError(said[0])
    return volume


def _read_slices(folder, name):
    files = [p for p in folder.iterdir() if p.suffix.lower() in READABLE and not p.name.startswith(".")]
    if len(files) < 2:
        held = "one picture" if files else "no picture"
        raise InputError(f"{name}: folder {str(folder)!r} holds {held}; a volume has two slices or more")
    files.sort(key=lambda p: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", p.name.lower())])
    slices = [read_pixels(path, name) for path in files]
    for path, codes in zip(files, slices, strict=True):
        if codes.shape != slices[0].shape or codes.dtype != slices[0].dtype:
            raise InputError(
                f"{name}: {str(path)!r} is {codes.dtype} of shape {codes.shape}, but {files[0].name!r} is "
                f"{slices[0].dtype} of shape {slices[0].shape}; slices must be alike"
            )
    stack = np.stack(slices)
    if stack.ndim == 4:  # grey pictures saved in colour
        if (stack != stack[..., :1]).any():
            raise InputError(f"{name}: the slices of {str(folder)!r} are coloured; pass grey ones")
        stack = stack[..., 0]
    return stack
